"""Figures of a training for TensorBoard, where it is installed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

LOG = logging.getLogger(__name__)


class Board:
    """Writes figures under ``<directory>/tensorboard``; does nothing where TensorBoard is not installed.

    Where they cannot be written any more, e.g. because the disk is full, it says so once and the training goes on:
    what must not be lost is in the checkpoint.

    Args:
        directory: of the training.
        steps: steps so far: what an interrupted run has written beyond them is hidden.
    """

    def __init__(self, directory: Path, steps: int) -> None:
        self._writer: Any = None
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            return
        self._directory = directory / "tensorboard"
        self._try(lambda: self._open(SummaryWriter, steps))

    def _open(self, writer: Any, steps: int) -> None:
        self._writer = writer(str(self._directory), purge_step=steps or None)

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except OSError as fault:
            LOG.warning("%s: figures cannot be written: %s", self._directory, fault.strerror or fault)
            self._writer = None

    def write(self, steps: int, figures: dict[str, float]) -> None:
        """Write figures at a number of steps."""
        if self._writer is not None:
            self._try(lambda: self._add(steps, figures))

    def _add(self, steps: int, figures: dict[str, float]) -> None:
        for name, value in figures.items():
            self._writer.add_scalar(name, value, steps)

    def close(self) -> None:
        """Write out what is still in memory."""
        if self._writer is not None:
            self._try(self._writer.close)
