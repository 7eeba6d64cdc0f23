"""Segments as they were read to clean ones: each step can be switched off, and says what it removed or changed.

It is a stream in small batches; what is remembered of the past is eight bytes a segment.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import compress, islice

from lapestudio.core.text_settings import CleaningSettings
from lapestudio.corpora.key_set import KeySet
from lapestudio.corpora.language_check import is_surely_other, knows
from lapestudio.corpora.markup import without_markup
from lapestudio.corpora.mojibake import repaired
from lapestudio.corpora.near_duplicates import NearDuplicates
from lapestudio.corpora.normalising import normalise
from lapestudio.corpora.script_check import fits
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.text_key import text_keys

MAX_EXAMPLES = 20
_FIRST_BATCH = 64
_BATCH = 2048
_NAMES = {
    "compose": "letters composed",
    "remove_invisible": "invisible characters",
    "repair_double_encoding": "double encoding repaired",
    "remove_markup": "markup",
    "min_characters": "too short",
    "check_script": "other script",
    "check_language": "other language",
    "remove_duplicates": "duplicate",
    "remove_near_duplicates": "near duplicate",
    "remove_held_out": "in the held-out text",
    "empty": "empty",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A segment that a step removed or changed."""

    before: str
    after: str
    """Empty where it was removed."""
    location: str
    document: str


@dataclass(slots=True, kw_only=True)
class StepResult:
    """What a step did."""

    setting: str
    """The step's field in `CleaningSettings`; "empty" for segments of which nothing remained."""
    name: str
    """A short name in English."""
    num_removed: int = 0
    num_changed: int = 0
    examples: list[Example] = field(default_factory=list)
    """The first `MAX_EXAMPLES`."""


@dataclass(slots=True)
class CleaningLog:
    """What each step did, by its setting."""

    steps: dict[str, StepResult] = field(default_factory=dict)

    def results(self) -> list[StepResult]:
        """Return the steps that did something, in their order."""
        return [self.steps[setting] for setting in _NAMES if setting in self.steps]

    def removed(self, setting: str, segment: Segment) -> None:
        """Note a segment that was left out."""
        step = self._step(setting)
        step.num_removed += 1
        self._keep(step, segment, "")

    def changed(self, setting: str, segment: Segment, after: str) -> None:
        """Note a segment whose text was changed."""
        step = self._step(setting)
        step.num_changed += 1
        self._keep(step, segment, after)

    def _step(self, setting: str) -> StepResult:
        if setting not in self.steps:
            self.steps[setting] = StepResult(setting=setting, name=_NAMES[setting])
        return self.steps[setting]

    def _keep(self, step: StepResult, segment: Segment, after: str) -> None:
        if len(step.examples) < MAX_EXAMPLES:
            step.examples.append(
                Example(before=segment.text, after=after, location=segment.location, document=segment.document)
            )


def clean(
    segments: Iterable[Segment],
    settings: CleaningSettings,
    *,
    language: str | None,
    log: CleaningLog,
    held_out_keys: KeySet | None = None,
) -> Iterator[Segment]:
    """Stream the segments that remain, in order.

    Args:
        segments: as readers give them.
        settings: which steps.
        language: BCP-47 tag; without it scripts and languages are not checked.
        log: grows while the stream is gone through.
        held_out_keys: text keys of segments that must not occur; case and spacing make no difference.
    """
    tests = _tests(settings, language)
    duplicates = KeySet() if settings.remove_duplicates else None
    near_duplicates = NearDuplicates() if settings.remove_near_duplicates else None
    stream = iter(segments)
    size = _FIRST_BATCH
    while batch := list(islice(stream, size)):
        size = _BATCH
        kept = _made_plain(batch, settings, log)
        for setting, is_good in tests:
            kept = _kept(kept, [is_good(segment.text) for segment in kept], setting, log)
        if duplicates is not None:
            kept = _kept(kept, duplicates.add(text_keys(kept)).tolist(), "remove_duplicates", log)
        if near_duplicates is not None:
            is_new = near_duplicates.are_new([segment.text for segment in kept])
            kept = _kept(kept, is_new.tolist(), "remove_near_duplicates", log)
        if held_out_keys is not None:
            kept = _kept(kept, (~held_out_keys.contains(text_keys(kept))).tolist(), "remove_held_out", log)
        yield from kept


def _tests(settings: CleaningSettings, language: str | None) -> list[tuple[str, Callable[[str], bool]]]:
    """Return the steps that look at one text and keep it or not, the quick ones first."""
    tests: list[tuple[str, Callable[[str], bool]]] = []
    if shortest := settings.min_characters:
        tests.append(("min_characters", lambda text: len(text) >= shortest))
    if settings.check_script and language is not None:
        tests.append(("check_script", lambda text: fits(text, language)))
    if settings.check_language and language is not None and knows(language):
        tests.append(("check_language", lambda text: not is_surely_other(text, language)))
    return tests


def _made_plain(batch: list[Segment], settings: CleaningSettings, log: CleaningLog) -> list[Segment]:
    composes, removes = settings.compose, settings.remove_invisible
    markup, repairs = settings.remove_markup, settings.repair_double_encoding
    is_composed = unicodedata.is_normalized
    kept: list[Segment] = []
    for segment in batch:
        text = segment.text
        # Before anything else: to the other steps, half of a letter that was stored twice may be a control character.
        if repairs and (repair := repaired(text)):
            log.changed("repair_double_encoding", segment, repair)
            text = repair
        # Most text is plain already; this loop sees every segment of a corpus.
        if not (text.isprintable() and "  " not in text and (not composes or is_composed("NFC", text))):
            plain = normalise(text, composes=composes, removes_invisible=removes)
            if plain != text:
                _note_plain(segment, text, plain, composes=composes, removes=removes, log=log)
                text = plain
        if markup and (stripped := without_markup(text)) != text:
            # An entity may stand for a character that is not plain.
            text = normalise(stripped, composes=composes, removes_invisible=removes)
            log.changed("remove_markup", segment, text)
        if not text:
            log.removed("empty", segment)
        elif text == segment.text:
            kept.append(segment)
        else:
            kept.append(segment._replace(text=text))
    return kept


def _note_plain(segment: Segment, before: str, after: str, *, composes: bool, removes: bool, log: CleaningLog) -> None:
    """Note why a text was changed; white space alone is not worth a word."""
    bare = "".join(before.split())
    if removes and len(normalise(bare, composes=False)) < len(bare):
        log.changed("remove_invisible", segment, after)
    if composes and not unicodedata.is_normalized("NFC", before):
        log.changed("compose", segment, after)


def _kept(segments: list[Segment], is_good: list[bool], setting: str, log: CleaningLog) -> list[Segment]:
    """Return the good ones and note the others."""
    if all(is_good):
        return segments
    for segment, good in zip(segments, is_good, strict=True):
        if not good:
            log.removed(setting, segment)
    return list(compress(segments, is_good))
