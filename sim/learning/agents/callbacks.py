"""Callbacks: called at each stage of training and testing, with everything there is at that stage as keywords."""

from __future__ import annotations

from typing import Any


class BaseCallback:
    """Does nothing; override what is wanted. Set :attr:`stop_training` to end a training after the present step.

    Attributes:
        stop_training: whether to end.
    """

    stop_training = False

    def on_update_start(self, iterations: int, **kwargs: Any) -> dict[str, Any] | None:
        """Called before the learner learns from a batch, ``iterations`` batches so far."""

    def on_update_end(self, iterations: int, **kwargs: Any) -> dict[str, Any] | None:
        """Called after it, with its metrics as ``info``; what is returned is added to them."""

    def on_train_step(self, current_step: int, **kwargs: Any) -> None:
        """Called after each step of the environments."""

    def on_train_epochs_end(self, current_step: int, **kwargs: Any) -> None:
        """Called after each update, with ``update_info``."""

    def on_train_episode_info(self, **kwargs: Any) -> None:
        """Called at the end of each episode, with ``env_id`` and ``infos``."""

    def on_train_step_end(self, current_step: int, **kwargs: Any) -> None:
        """Called last in each step."""

    def on_test_step(self, **kwargs: Any) -> None:
        """Called after each step of a test."""

    def on_test_end(self, **kwargs: Any) -> None:
        """Called at the end of a test, with ``scores``."""
