"""Figures of a training for TensorBoard, where it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Board:
    """Writes figures under ``<directory>/tensorboard``; does nothing where TensorBoard is not installed.

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
        self._writer = SummaryWriter(str(directory / "tensorboard"), purge_step=steps or None)

    def write(self, steps: int, figures: dict[str, float]) -> None:
        """Write figures at a number of steps."""
        if self._writer is not None:
            for name, value in figures.items():
                self._writer.add_scalar(name, value, steps)

    def close(self) -> None:
        """Write out what is still in memory."""
        if self._writer is not None:
            self._writer.close()
