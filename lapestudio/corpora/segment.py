"""What every reader gives: a piece of running text and where it came from. Used all along the line."""

from typing import NamedTuple


class Segment(NamedTuple):
    """A piece of running text: a line of a text file, an annotation, a paragraph, a cell of a table.

    A named tuple and no dataclass: ten million of them are made of a large file, four times as fast.
    """

    text: str
    """Never empty, without white space at its ends; a line break inside is one that the file's author made."""
    document: str
    """Identity of the document it belongs to; the segments of a document follow each other."""
    location: str
    """Where in the file, for people: "line 12"."""
    field: str | None = None
    """Column, tier or key it was taken from, where the format has such."""
    language: str | None = None
    """Language that the file itself states, as it states it."""
    unit: str | None = None
    """What it shares, within its document, with the same thing said in another language, tier or column."""
    speaker: str | None = None
    """Who says it, where the file says so."""
    span_s: tuple[float, float] | None = None
    """Start and end in the recording, in seconds."""
