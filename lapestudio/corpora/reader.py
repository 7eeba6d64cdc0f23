"""What a reader of one format family is: the seam at which formats are added.

A format is one module with a `READER`, and its entry in `formats.READERS`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from lapestudio.core.errors import UserError
from lapestudio.core.languages import same_language
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile

Report = Callable[[str], None]
"""Takes the one-sentence account of a fault that can be passed over (a broken line); may raise to stop the reading."""
ALL_PARTS = ("*",)


def stop_at_fault(fault: str) -> NoReturn:
    """Report a fault by ending the reading.

    Raises:
        UserError: always, with `fault` as its text.
    """
    raise UserError(fault)


@dataclass(slots=True, kw_only=True)
class Reading:
    """How a file is to be read; and what the reader found out, which grows while it reads."""

    language: str | None = None
    """BCP-47 tag of the language whose text is wanted; tells code pages, columns and tiers apart."""
    parts: tuple[str, ...] | None = None
    """Tiers, columns, fields or languages of the file to take; empty: those that its reader takes for the text.
    A name that ends in * stands for all that begin so."""
    encoding: str | None = None
    """How the bytes are to be understood; empty: found out."""
    report: Report = stop_at_fault
    found_encoding: str | None = None
    """How the bytes were understood, as Python names it; formats that say so by themselves leave it empty."""
    skipped: Counter[str] = field(default_factory=Counter)
    """What was left out on purpose: reason ("untranslated entry") -> number."""
    warnings: list[str] = field(default_factory=list)
    """Whole sentences about things that are no faults but should be known."""
    is_other_language: bool = False
    """Whether the file is, by its name, the half of a pair that was not asked for; giving nothing is no fault then."""

    def skip(self, reason: str, number: int = 1) -> None:
        """Note that something was left out on purpose."""
        self.skipped[reason] += number

    def warn(self, sentence: str) -> None:
        """Note something that the user should know, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def takes(self, part: str, default: bool) -> bool:
        """Say whether a part is wanted; `default` holds where the user has not chosen."""
        if self.parts is None:
            return default
        return any(part == name or (name.endswith("*") and part.startswith(name[:-1])) for name in self.parts)

    def wants_language(self, stated: str | None) -> bool:
        """Say whether text that states its language is wanted; all is where either side says nothing."""
        return self.language is None or not stated or same_language(stated, self.language)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A tier, column, field or language of a file, of which the user can choose."""

    name: str
    kind: str
    """"tier", "column", "field" or "language", for people."""
    is_default: bool
    """Whether it is read when the user has not chosen."""
    language: str | None = None
    """As the file states it."""
    num_segments: int | None = None
    """Empty where only the beginning of the file was looked at."""
    example: str = ""
    parent: str | None = None
    """Name of the tier that it depends on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNotes:
    """What became known of a file while it was read."""

    path: Path
    format_name: str
    encoding: str | None
    """Found out or given; nothing where the format says so by itself."""
    num_segments: int
    skipped: Counter[str]
    """What was left out on purpose: reason -> number."""
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The beginning of a file, to recognise its format by."""

    path: Path
    data: bytes
    """At most `text_lines.HEAD_BYTES` bytes."""
    text: str | None
    """The same decoded, without a byte order mark; nothing where it is not text."""

    @property
    def suffix(self) -> str:
        """Ending of the name, lower case, with its dot."""
        return self.path.suffix.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A format family that can be read."""

    name: str
    """As shown to the user."""
    suffixes: frozenset[str]
    """Lower case, with the dot: files that are looked at when a folder is read. They decide the format only where
    no reader recognises the content."""
    recognises: Callable[[Head], bool]
    """Whether the beginning of a file is surely of this format."""
    read: Callable[[SourceFile, Reading], Iterator[Segment]]
    """Stream the segments of a file. Faults of single lines and records go to `Reading.report`, things left out on
    purpose to `Reading.skip`; what makes the file useless raises UserError with one sentence that begins with the
    file's name."""
    find_parts: Callable[[SourceFile, Reading], Sequence[Part]] | None = None
    """List what can be chosen in a file; empty where the format has nothing to choose."""
