"""Policies: what decides for an agent."""
