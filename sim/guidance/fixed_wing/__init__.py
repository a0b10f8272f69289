"""Guidance of fixed-wing aircraft: a law wants a direction or an acceleration, the aircraft banks and pulls."""
