"""Evaluation: rollouts and what they show."""
