"""Worlds: the contract, and one module per backend."""
