"""What every reader gives: a piece of running text and where it came from. Used all along the line."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A piece of running text: a line of a text file, the text of a JSONL record."""

    text: str
    """Never empty, without white space at its ends."""
    document: str
    """Identity of the document it belongs to; the segments of a document follow each other."""
    location: str
    """Where in the file, for people: "line 12"."""
    field: str | None = None
    """Column, tier or key it was taken from, where the format has such."""
    language: str | None = None
    """Language that the file itself states, as it states it."""
