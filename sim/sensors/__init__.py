"""Sensors: what an agent can know."""
