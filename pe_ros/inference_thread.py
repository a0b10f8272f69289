"""The thread that a policy decides in: the newest request wins, and nothing waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pe_sim.policies.base import Views


class InferenceThread:
    """Runs decisions one after another; a decision that comes while one runs replaces the one that waits."""

    def __init__(self, decide: Callable[[int, int, Views], None], on_missed: Callable[[], None]) -> None:
        self._decide = decide
        self._on_missed = on_missed
        self._wake = threading.Condition()
        self._waiting: tuple[int, int, Views] | None = None
        self._open = True
        self._thread = threading.Thread(target=self._run, name="inference", daemon=True)
        self._thread.start()

    def put(self, episode: int, instant: int, views: Views) -> None:
        """Ask for a decision."""
        with self._wake:
            if self._waiting is not None:
                self._on_missed()
            self._waiting = (episode, instant, views)
            self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                while self._open and self._waiting is None:
                    self._wake.wait()
                if not self._open:
                    return
                job, self._waiting = self._waiting, None
            assert job is not None
            self._decide(*job)

    def close(self) -> None:
        """End after the decision under way."""
        with self._wake:
            self._open = False
            self._wake.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=2.0)
