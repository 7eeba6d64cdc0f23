"""A job in a terminal: its events as lines on standard error, its progress on one line, Ctrl+C asks it to stop.

In: a run folder. Out: the job's terminal event; tables for standard output.
"""

import math
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from lapestudio.core.event_log import EventTail
from lapestudio.core.events import (
    Event,
    MetricsEvent,
    NoticeEvent,
    ProgressEvent,
    StageEvent,
    TerminalEvent,
    is_terminal,
)
from lapestudio.core.run_folder import RunFolder
from lapestudio.jobs import stopping
from lapestudio.jobs.starting import start
from lapestudio.jobs.watching import RunWatcher

_LOOK_EVERY_S = 0.1
_USUAL_COLUMNS = 80
_PLAIN_PROGRESS_EVERY_S = 10.0
_CONTROL_PREFIX = "control_loss/"


def say(text: str) -> None:
    """Print a line for people on standard error."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def run_in_foreground(run: RunFolder) -> TerminalEvent:
    """Start the job of `run`, show what it says and return how it ended.

    Raises:
        UserError: it cannot be started.
    """
    # What an earlier attempt said is known already.
    num_earlier = len(EventTail(run.events_file).read_new())
    report = TerminalReport(is_live=sys.stderr.isatty())
    with _stopping_on_signals(run):
        start(run)
        events = list(_shown(RunWatcher(run), num_earlier, report))
    report.close()
    end = events[-1]
    if not is_terminal(end):
        raise TypeError(f"a watcher ended with {end.type}, which ends no job")
    return end


def _shown(watcher: RunWatcher, num_earlier: int, report: "TerminalReport") -> Iterator[Event]:
    while not watcher.is_over:
        events = watcher.poll()
        skipped = min(num_earlier, len(events))
        num_earlier -= skipped
        for event in events[skipped:]:
            report.show(event)
            yield event
        time.sleep(_LOOK_EVERY_S)


class TerminalReport:
    """Prints events as they come.

    Args:
        is_live: whether the terminal can show progress on one line that changes.
    """

    def __init__(self, *, is_live: bool) -> None:
        self._is_live = is_live
        self._width = 0
        self._last_plain = -math.inf

    def show(self, event: Event) -> None:
        """Print one event, if it tells people something."""
        match event:
            case StageEvent():
                self._line(event.text)
            case NoticeEvent():
                self._line(f"{'Warning' if event.level == 'warning' else 'Note'}: {event.text}")
            case ProgressEvent():
                self._progress(event)
            case MetricsEvent() if "validation_loss" in event.values:
                self._line(_validation_line(event))
            case _:
                pass

    def close(self) -> None:
        """Leave the cursor on a fresh line."""
        self._erase()

    def _line(self, text: str) -> None:
        self._erase()
        say(text)

    def _progress(self, event: ProgressEvent) -> None:
        text = "  " + _progress_text(event)
        if self._is_live:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL_COLUMNS
            text = text[: columns - 1]
            sys.stderr.write("\r" + text.ljust(self._width))
            sys.stderr.flush()
            self._width = len(text)
        elif time.monotonic() - self._last_plain >= _PLAIN_PROGRESS_EVERY_S:
            self._last_plain = time.monotonic()
            say(text)

    def _erase(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
            self._width = 0


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows as aligned columns: the first to the left, the others to the right."""
    lines = [list(header), *[list(row) for row in rows]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    texts = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    return "\n".join([texts[0], "  ".join("-" * width for width in widths), *texts[1:]])


def size_text(num_bytes: int) -> str:
    """Return a size for people."""
    size, units = float(num_bytes), ["bytes", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:  # noqa: PLR2004 - decimal units
        size, units = size / 1000, units[1:]
    return f"{size:.0f} {units[0]}" if units[0] == "bytes" else f"{size:.1f} {units[0]}"


def duration_text(duration_s: float) -> str:
    """Return a duration as minutes and seconds, or hours and minutes."""
    minutes, seconds = divmod(round(duration_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _progress_text(event: ProgressEvent) -> str:
    parts = [f"{event.done:,} {event.unit}"]
    if event.total:
        parts = [f"{event.done / event.total:4.0%}", f"{event.done:,} of {event.total:,} {event.unit}"]
    if event.rate_per_s is not None:
        parts.append(f"{event.rate_per_s:,.0f} {event.unit}/s")
    if event.remaining_s is not None:
        parts.append(f"{duration_text(event.remaining_s)} left")
    return "  ".join(parts)


def _validation_line(event: MetricsEvent) -> str:
    values = event.values
    parts = [f"validation {values['validation_loss']:.3f}"]
    if "train_loss" in values:
        parts.insert(0, f"training {values['train_loss']:.3f}")
    controls = [name for name in values if name.startswith(_CONTROL_PREFIX)]
    parts += [f"{name.removeprefix(_CONTROL_PREFIX)} {values[name]:.3f}" for name in controls]
    return f"  step {event.step}: loss {', '.join(parts)}"


@contextmanager
def _stopping_on_signals(run: RunFolder) -> Iterator[None]:
    requests = 0

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        nonlocal requests
        requests += 1
        if requests == 1:
            say("\nStopping after this step; press Ctrl+C again to end the job at once.")
            stopping.request(run)
        elif requests == 2:  # noqa: PLR2004 - ask, end, kill
            say("\nEnding the job; press Ctrl+C again to kill it.")
            stopping.terminate(run)
        else:
            stopping.kill(run)

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
