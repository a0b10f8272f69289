"""Dynamics of the kinematic world: one model per module."""
