"""What a recipe tells while it works: the stage, how far it is, how fast, and how long it will take.

In: counts done and in all, from a stage. Out: events.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from lapestudio.core.events import Emit, NoticeEvent, ProgressEvent, StageEvent

_MIN_ELAPSED_S = 0.5


class StageProgress:
    """Turns `(done, total)` into progress events with the rate since the stage began and the time left.

    Args:
        emit: takes the events.
        stage: name of the stage.
        unit: what is counted.
        already: how much an earlier attempt has done, which says nothing about the rate of this one.
    """

    def __init__(self, emit: Emit, stage: str, unit: str, *, already: int = 0) -> None:
        self._emit = emit
        self._already = already
        self._stage = stage
        self._unit = unit
        self._begin = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Tell that `done` of `total` (0: not known) are done."""
        elapsed_s = time.monotonic() - self._begin
        # The first moments are no measure of what is to come.
        now_done = done - self._already
        rate = now_done / elapsed_s if elapsed_s > _MIN_ELAPSED_S and now_done > 0 else None
        remaining = max(0, total - done) / rate if rate and total else None
        self._emit(
            ProgressEvent(
                stage=self._stage, done=done, total=total, unit=self._unit, rate_per_s=rate, remaining_s=remaining
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContext:
    """What every recipe is given besides its spec."""

    emit: Emit
    should_stop: Callable[[], bool]

    def stage(self, name: str, text: str, unit: str = "tokens", *, already: int = 0) -> StageProgress:
        """Announce a stage and return its progress."""
        self.emit(StageEvent(name=name, text=text))
        return StageProgress(self.emit, name, unit, already=already)

    def note(self, text: str) -> None:
        """Tell something the user should know."""
        self.emit(NoticeEvent(text=text))

    def warn(self, text: str) -> None:
        """Tell something the user should worry about."""
        self.emit(NoticeEvent(level="warning", text=text))

    def check_stop(self, text: str) -> None:
        """Leave the recipe where somebody has asked to stop.

        Raises:
            StoppedEarlyError: with `text`, which says what was reached.
        """
        if self.should_stop():
            raise StoppedEarlyError(text)


class StoppedEarlyError(Exception):
    """A recipe was left before its end because somebody asked; the text says what was reached."""
