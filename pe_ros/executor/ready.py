"""The sources that have something to do, served in turn."""

from __future__ import annotations

from collections import deque

from pe_ros.executor.coroutines import Coroutines
from pe_ros.executor.sources import Source

# Items taken from one source before the others have their turn.
_BATCH = 32


class ReadyQueue:
    """First come, first served; a source that has more to do after its turn goes to the end.

    Attributes:
        stopped: serve nothing any more.

    Args:
        ready: the queue; also given to `coroutines`, which appends sources that had to wait.
        coroutines: knows whether a source must wait for a suspended callback.
    """

    def __init__(self, ready: deque[Source], coroutines: Coroutines) -> None:
        self._ready = ready
        self._coroutines = coroutines
        self.stopped = False

    def __bool__(self) -> bool:
        return bool(self._ready)

    def queue(self, source: Source) -> None:
        """Append a source that may have something to do, if it is not there yet."""
        if not source.queued:
            source.queued = True
            self._ready.append(source)

    def report(self, source: Source) -> None:
        """Append a source that something was reported of."""
        source.report()
        self.queue(source)

    def serve_all(self) -> None:
        """Give every source that is ready now its turn."""
        for _ in range(len(self._ready)):
            self._serve(self._ready.popleft(), _BATCH)

    def serve_one(self) -> bool:
        """Run one callback, if any is ready."""
        while self._ready:
            if self._serve(self._ready.popleft(), 1):
                return True
        return False

    def _serve(self, source: Source, limit: int) -> int:
        """Run up to `limit` callbacks of a source, giving how many ran; the rest stays queued, after errors too."""
        source.queued = False
        served = 0
        more = True
        try:
            while more and served < limit and not (self.stopped or source.removed):
                if self._coroutines.holding and not source.may_run():
                    more = False
                    self._coroutines.park(source)
                else:
                    ran = source.serve_one()
                    served += ran
                    more = ran and source.drains
        finally:
            if more and not source.removed:
                self.queue(source)
        return served
