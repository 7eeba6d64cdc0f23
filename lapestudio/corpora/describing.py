"""A corpus to figures about it: what the user sees before it is used, and the fingerprint that a run records."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Literal

from lapestudio.core.errors import UserError
from lapestudio.core.languages import find_language
from lapestudio.core.specs import CorpusSource
from lapestudio.corpora.corpus import Corpus
from lapestudio.corpora.corpus_summary import CorpusSummary
from lapestudio.corpora.language_check import check
from lapestudio.corpora.reader import Report, stop_at_fault
from lapestudio.corpora.reading import find_unreadable_files
from lapestudio.corpora.script_check import script_shares
from lapestudio.corpora.segment import Segment

MAX_PROBLEMS = 100
_SAMPLE_SIZE = 400
_TALLIED_TOGETHER = 1000
# Thai, Lao, Tibetan, Myanmar, Khmer, Japanese kana, Han: words stand without spaces between them.
_UNSPACED_RUN = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]+"
)
# From its first letter or digit on, a run between spaces counts as a word.
_WORD = re.compile(r"\w\S*")


def describe(
    source: CorpusSource,
    *,
    preview: int = 50,
    on_error: Literal["raise", "collect"] = "raise",
    is_cancelled: Callable[[], bool] | None = None,
    on_progress: Callable[[int], None] | None = None,
    on_segments: Callable[[list[Segment]], None] | None = None,
) -> CorpusSummary:
    """Read a corpus once, as a stream, and count.

    Args:
        source: the files, and how they are read and cleaned.
        preview: number of first segments to keep.
        on_error: "collect" notes faults in `problems` and goes on with the next line or file.
        is_cancelled: looked at while reading; when it says so, the rest is left out and the summary is void.
        on_progress: called now and then with the number of characters so far.
        on_segments: gets the clean segments, some hundred at a time, in order.

    Raises:
        UserError: an unknown language; with "raise" also the first fault in a file.
    """
    find_language(source.language)
    problems = _Problems()
    collect = on_error == "collect"
    report: Report = problems.add if collect else stop_at_fault
    corpus = Corpus(source, report=report)
    tally = _Tally(preview)
    try:
        for batch in _batches(corpus, is_cancelled):
            tally.add(batch)
            if on_segments is not None:
                on_segments(batch)
            if on_progress is not None:
                on_progress(tally.num_characters)
    except UserError as error:
        report(str(error))
    for path in source.paths:
        if passed_over := find_unreadable_files(path):
            problems.add(_passed_over(path, passed_over))
    sample = tally.sample
    return CorpusSummary(
        language=source.language,
        num_files=corpus.reading_log.num_files,
        num_documents=tally.num_documents,
        num_segments=tally.num_segments,
        num_characters=tally.num_characters,
        num_words=tally.num_words,
        words_are_spaced=tally.num_unspaced * 2 < tally.num_characters or not tally.num_characters,
        fingerprint=tally.fingerprint(),
        preview=tally.preview,
        files=corpus.reading_log.files,
        skipped=dict(corpus.reading_log.skipped),
        cleaning=corpus.cleaning_log.results(),
        scripts=script_shares("\n".join(sample)),
        verdict=check(sample, source.language) if sample else None,
        problems=problems.sentences(),
    )


def corpus_fingerprint(source: CorpusSource) -> str:
    """Return 64 hex digits that stand for the clean text, whatever the files' names, order, line ends or marks.

    Raises:
        UserError: the first fault in a file.
    """
    tally = _Tally(0)
    for batch in _batches(Corpus(source), None):
        tally.add(batch)
    return tally.fingerprint()


def _batches(corpus: Corpus, is_cancelled: Callable[[], bool] | None) -> Iterable[list[Segment]]:
    segments = iter(corpus)
    while batch := list(islice(segments, _TALLIED_TOGETHER)):
        yield batch
        if is_cancelled is not None and is_cancelled():
            return


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
    """Sums over the segments.

    Args:
        preview_size: number of first segments to keep.
    """

    def __init__(self, preview_size: int) -> None:
        self._preview_size = preview_size
        self.preview: list[Segment] = []
        self.num_documents = 0
        self.num_segments = 0
        self.num_characters = 0
        self.num_words = 0
        self.num_unspaced = 0
        self.sample: list[str] = []
        self._sample_every = 1
        self._document: str | None = None
        self._digest = hashlib.sha256()
        self._sum = 0

    def add(self, batch: list[Segment]) -> None:
        """Count segments."""
        if len(self.preview) < self._preview_size:
            self.preview += batch[: self._preview_size - len(self.preview)]
        # Every n-th segment; when there are too many of them, every second of those, and n doubles.
        self.sample += [
            segment.text for segment in batch[-self.num_segments % self._sample_every :: self._sample_every]
        ]
        while len(self.sample) > _SAMPLE_SIZE:
            self.sample, self._sample_every = self.sample[::2], 2 * self._sample_every
        text = "\n".join([segment.text for segment in batch])
        self.num_segments += len(batch)
        self.num_characters += len(text) - len(batch) + 1
        self.num_words += len(_WORD.findall(text))
        if not text.isascii():
            self.num_unspaced += sum(map(len, _UNSPACED_RUN.findall(text)))
        # The segments of a document follow each other: where first and last agree, all do.
        if batch[0].document == batch[-1].document == self._document:
            self._digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
        else:
            self._add_documents(batch)

    def fingerprint(self) -> str:
        """Return the sum of the documents' digests: no order is better than another."""
        total = self._sum + (int.from_bytes(self._digest.digest(), "little") if self._document is not None else 0)
        return f"{total % 2**256:064x}"

    def _add_documents(self, batch: list[Segment]) -> None:
        for document, members in groupby(batch, key=_document_of):
            if document != self._document:
                if self._document is not None:
                    self._sum += int.from_bytes(self._digest.digest(), "little")
                self._document, self._digest = document, hashlib.sha256()
                self.num_documents += 1
            self._digest.update("".join(f"{segment.text}\n" for segment in members).encode("utf-8", "surrogatepass"))


_document_of = attrgetter("document")


def _passed_over(folder: Path, files: list[Path]) -> str:
    if len(files) == 1:
        return f"{files[0]} was passed over: files with this ending cannot be read."
    endings = Counter(file.suffix.lower() or "no ending" for file in files)
    named = ", ".join(f"{number:,} x {ending}" for ending, number in endings.most_common(5))
    return f"{len(files):,} files in {folder} were passed over, since such files cannot be read ({named})."
