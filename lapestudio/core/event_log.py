"""The event stream on disk: the worker appends whole lines, any number of readers follow."""

from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from lapestudio.core.events import Event, event_from_line, event_to_line

_LAST_BYTES = 32 * 1024


class EventWriter:
    """Appends events to a file; each is on its way to disk when `write` returns, and nobody need be reading."""

    def __init__(self, path: Path) -> None:
        self._file = Path(path).open("ab+")  # noqa: SIM115 - closed by close()
        self._close_half_line()

    def write(self, event: Event) -> None:
        """Append one event."""
        self._file.write(event_to_line(event).encode("utf-8") + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _close_half_line(self) -> None:
        # A killed worker may have left half a line; the next event must not be glued to it.
        if self._file.tell() == 0:
            return
        self._file.seek(-1, 2)
        if self._file.read(1) != b"\n":
            self._file.write(b"\n")
            self._file.flush()


class EventTail:
    """Follows an event file from its beginning; half a line is left for the next look.

    Lines that are no events (cut off by a kill) are counted in `num_damaged` and passed over.
    """

    def __init__(self, path: Path) -> None:
        self._path = Path(path)
        self._offset = 0
        self.num_damaged = 0

    def read_new(self) -> list[Event]:
        """Return the events that were appended since the last call; none where the file does not exist yet."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return []
        whole, newline, _rest = data.rpartition(b"\n")
        self._offset += len(whole) + len(newline)
        return [event for line in whole.split(b"\n") if line and (event := self._parse(line)) is not None]

    def _parse(self, line: bytes) -> Event | None:
        event = _event_or_none(line)
        self.num_damaged += event is None
        return event


def read_last_events(path: Path) -> list[Event]:
    """Return the last events of a file of any length, oldest first; none where the file does not exist."""
    try:
        with Path(path).open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LAST_BYTES))
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return []
    # The first line is cut off where the file is longer, the last one where a writer is at it.
    return [event for line in lines if line and (event := _event_or_none(line)) is not None]


def _event_or_none(line: bytes) -> Event | None:
    try:
        return event_from_line(line)
    except ValidationError:
        return None
