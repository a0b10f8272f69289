"""Guidance: policies nobody trains."""
