"""What a reader of one format family is: the seam at which further formats are added.

A new format is one module with a `READER`, and its entry in `reading.READERS`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from lapestudio.core.errors import UserError
from lapestudio.corpora.segment import Segment

Report = Callable[[str], None]
"""Takes the one-sentence account of a fault that can be passed over (a broken line); may raise to stop the reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A format family that can be read."""

    name: str
    """As shown to the user."""
    suffixes: frozenset[str]
    """Lower case, with the dot: files that are taken for this format when a folder is read."""
    recognises: Callable[[str], bool]
    """Whether the first characters of a file (without byte order mark) look like this format."""
    read: Callable[[Path, Report], Iterator[Segment]]
    """Stream the segments of a file; faults of single lines go to the report, the others raise UserError."""


def stop_at_fault(fault: str) -> NoReturn:
    """Report a fault by ending the reading.

    Raises:
        UserError: always, with `fault` as its text.
    """
    raise UserError(fault)
