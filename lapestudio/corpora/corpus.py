"""The text of a language as the jobs and the window see it: read, cleaned, and with an account of what was left out.

In: files and what the user has decided about them. Out: segments, as a stream that can be gone through again.
"""

from collections.abc import Iterator
from itertools import islice

from lapestudio.core.specs import CorpusSource
from lapestudio.corpora.cleaning import CleaningLog, clean
from lapestudio.corpora.key_set import KeySet
from lapestudio.corpora.reader import Report, stop_at_fault
from lapestudio.corpora.reading import ReadingLog, read_all
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.text_key import text_keys

_BATCH = 2048


class Corpus:
    """The clean text of a language, read anew each time it is gone through.

    Args:
        source: the files and how they are read and cleaned.
        report: gets a sentence for each fault; without it the first one raises UserError.
    """

    def __init__(self, source: CorpusSource, *, report: Report = stop_at_fault) -> None:
        self.source = source
        self._report = report
        self.reading_log = ReadingLog()
        """What became known of each file when the text was last gone through."""
        self.cleaning_log = CleaningLog()
        """What was left out when the text was last gone through."""

    def __iter__(self) -> Iterator[Segment]:
        self.reading_log, self.cleaning_log = ReadingLog(), CleaningLog()
        source = self.source
        segments = read_all(
            source.paths,
            language=source.language,
            options=source.reading,
            report=self._report,
            log=self.reading_log,
            normaliser=None,
        )
        return clean(
            segments,
            source.cleaning,
            language=source.language,
            log=self.cleaning_log,
            held_out_keys=self._held_out_keys(),
        )

    def _held_out_keys(self) -> KeySet | None:
        """Return the keys of what is kept for testing; nothing where nothing is, or where it may occur."""
        source = self.source
        if not source.held_out or not source.cleaning.remove_held_out:
            return None
        keys = KeySet()
        held_out = Corpus(source.model_copy(update={"paths": source.held_out, "held_out": ()}), report=self._report)
        segments = iter(held_out)
        while batch := list(islice(segments, _BATCH)):
            keys.add(text_keys(batch))
        return keys
