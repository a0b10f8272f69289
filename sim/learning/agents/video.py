"""The best episode of a test as a video: its first picture and one after each of its steps, of that episode only."""

from __future__ import annotations

import importlib
import logging
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.errors import PeError

log = logging.getLogger(__name__)

Frames = list[NDArray[np.uint8]]


class EpisodeRecorder:
    """Collects the pictures of the episodes under way and keeps those of the best.

    Args:
        infos: of the reset, each with a 'frame'.

    Attributes:
        best: pictures of the best episode, uint8 (H, W, 3) each; steps + 1 of them.
        best_score: its score.
    """

    def __init__(self, infos: list[dict[str, Any]]) -> None:
        self._running: list[Frames] = [[info["frame"]] for info in infos]
        self.best: Frames = []
        self.best_score = -np.inf

    def add(self, infos: list[dict[str, Any]]) -> None:
        """Take the pictures after a step."""
        for frames, info in zip(self._running, infos, strict=True):
            frames.append(info["frame"])

    def end(self, i: int, info: dict[str, Any], *, counted: bool) -> None:
        """End the episode of environment ``i``; ``counted`` whether it is one of the test's."""
        if counted and info["episode_score"] > self.best_score:
            self.best, self.best_score = self._running[i], info["episode_score"]
        self._running[i] = [info["reset_frame"]]


def write_video(path: Path, frames: Frames, fps: int) -> Path:
    """Write pictures to ``path`` with the suffix .gif, or .npz ('frames' (T, H, W, 3), 'fps') without imageio.

    Raises:
        PeError: if there are none, or they cannot be written.
    """
    if not frames:
        raise PeError("video", "there are no pictures to write")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            imageio: Any = importlib.import_module("imageio.v3")
        except ImportError:
            written = path.with_suffix(".npz")
            np.savez_compressed(written, frames=np.stack(frames), fps=fps)
            log.warning("imageio is not installed: the pictures are in %s; pip install imageio for a video", written)
            return written
        written = path.with_suffix(".gif")
        imageio.imwrite(written, np.stack(frames), duration=1000.0 / fps, loop=0)
    except OSError as fault:
        raise PeError(str(path), f"cannot be written: {fault.strerror or fault}") from fault
    return written
