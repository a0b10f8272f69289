"""Environments over the one scheduler."""
