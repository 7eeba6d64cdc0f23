"""Segments to figures about a corpus: what the user sees before a file is used, and the fingerprint a run records."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lapestudio.core.errors import UserError
from lapestudio.core.languages import find_language
from lapestudio.corpora.reader import Report, stop_at_fault
from lapestudio.corpora.reading import find_files, find_unreadable_files, read
from lapestudio.corpora.segment import Segment

MAX_PROBLEMS = 100
_LOOK_EVERY = 1000
# Thai, Lao, Tibetan, Myanmar, Khmer, Japanese kana, Han: words stand without spaces between them.
_UNSPACED_LETTER = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusSummary:
    """What a corpus holds.

    `problems` are whole sentences: faulty lines and files that were passed over.
    """

    language: str
    num_files: int
    num_documents: int
    num_segments: int
    num_characters: int
    num_words: int
    """Runs between spaces that hold a letter or digit; says little where `words_are_spaced` is false."""
    words_are_spaced: bool
    """Whether the writing puts spaces between words; where not (Thai, Chinese ...), characters are what counts."""
    fingerprint: str
    preview: list[Segment]
    problems: list[str]


def describe(
    paths: Iterable[Path],
    *,
    language: str,
    preview: int = 50,
    on_error: Literal["raise", "collect"] = "raise",
    is_cancelled: Callable[[], bool] | None = None,
) -> CorpusSummary:
    """Read a corpus once, as a stream, and count.

    Args:
        paths: files and folders.
        language: code or name of the language that the text is said to be in.
        preview: number of first segments to keep.
        on_error: "collect" notes faults in `problems` and goes on with the next line or file.
        is_cancelled: looked at while reading; when it says so, the rest is left out and the summary is void.

    Raises:
        UserError: an unknown language; with "raise" also the first fault in a file.
    """
    code = find_language(language).code
    problems = _Problems()
    tally = _Tally(preview, is_cancelled)
    collect = on_error == "collect"
    for file in _files(paths, problems, collect=collect):
        if not collect:
            tally.add_file(file, stop_at_fault)
            continue
        try:
            tally.add_file(file, problems.add)
        except UserError as error:
            problems.add(str(error))
    return CorpusSummary(
        language=code,
        num_files=len(tally.digests),
        num_documents=tally.num_documents,
        num_segments=tally.num_segments,
        num_characters=tally.num_characters,
        num_words=tally.num_words,
        words_are_spaced=tally.num_unspaced * 2 < tally.num_characters or not tally.num_characters,
        fingerprint=_combine(tally.digests),
        preview=tally.preview,
        problems=problems.sentences(),
    )


def corpus_fingerprint(paths: Iterable[Path]) -> str:
    """Return 64 hex digits that stand for the text content, whatever the files' names, order, line ends or marks.

    Raises:
        UserError: as `read`.
    """
    tally = _Tally(0, None)
    for file in _files(paths, _Problems(), collect=False):
        tally.add_file(file, stop_at_fault)
    return _combine(tally.digests)


@dataclass(slots=True)
class _Problems:
    """The first problems in words, the others as a number: a million broken lines must not fill the memory."""

    kept: list[str] = field(default_factory=list)
    num_all: int = 0

    def add(self, sentence: str) -> None:
        self.num_all += 1
        if len(self.kept) < MAX_PROBLEMS:
            self.kept.append(sentence)

    def sentences(self) -> list[str]:
        num_more = self.num_all - len(self.kept)
        return [*self.kept, f"There are {num_more:,} more problems."] if num_more else self.kept


class _Tally:
    """Sums over the files that were read.

    Args:
        preview_size: number of first segments to keep.
        is_cancelled: whether to leave out the rest.
    """

    def __init__(self, preview_size: int, is_cancelled: Callable[[], bool] | None) -> None:
        self._is_cancelled = is_cancelled
        self.preview: list[Segment] = []
        self.digests: list[bytes] = []
        self.num_documents = 0
        self.num_segments = 0
        self.num_characters = 0
        self.num_words = 0
        self.num_unspaced = 0
        self._preview_size = preview_size

    def add_file(self, file: Path, report: Report) -> None:
        """Count a file; what came before a fault that raises stays counted."""
        digest = hashlib.sha256()
        document: str | None = None
        for segment in read(file, report=report):
            if segment.document != document:
                document = segment.document
                self.num_documents += 1
                digest.update(b"\0")
            digest.update(segment.text.encode("utf-8") + b"\n")
            self._add_segment(segment)
            if self.num_segments % _LOOK_EVERY == 0 and self._is_cancelled is not None and self._is_cancelled():
                return
        self.digests.append(digest.digest())

    def _add_segment(self, segment: Segment) -> None:
        self.num_segments += 1
        self.num_characters += len(segment.text)
        self.num_words += sum(any(map(str.isalnum, run)) for run in segment.text.split())
        if not segment.text.isascii():
            self.num_unspaced += sum(1 for _ in _UNSPACED_LETTER.finditer(segment.text))
        if len(self.preview) < self._preview_size:
            self.preview.append(segment)


def _files(paths: Iterable[Path], problems: _Problems, *, collect: bool) -> Iterator[Path]:
    """Yield each file once; note what a folder holds beside readable files."""
    seen: set[Path] = set()
    for path in map(Path, paths):
        try:
            found = find_files(path)
        except UserError as error:
            if not collect:
                raise
            problems.add(str(error))
            continue
        for file in find_unreadable_files(path):
            problems.add(f"{file} was passed over: files with this ending cannot be read.")
        for file in found:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield file


def _combine(digests: list[bytes]) -> str:
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()
