"""Praat TextGrids, long and short: a stream of strings, numbers and flags in a fixed order, whatever stands between."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lapestudio.core.errors import UserError
from lapestudio.corpora.elan import clock
from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_text
from lapestudio.corpora.tier_choice import Tier, text_tiers

# A string with doubled quotes, a number that stands alone, or a flag. What stands between says nothing: names with "=",
# indices such as "item [1]:", and comments from "!" to the end of a line.
_TOKEN = re.compile(
    r'"((?:[^"]|"")*+)"|(?:\[\d*\]:?|![^\n]*)|(?<![^\s=])(-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)(?!\S)|<(exists|absent)>'
)
_INTERVALS = "IntervalTier"


@dataclass(frozen=True, slots=True, kw_only=True)
class _GridTier:
    name: str
    labels: list[tuple[float, float, str]]
    """Start and end in seconds, equal for a point, and the label."""


def read_textgrid(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Yield the labels of the wanted tiers.

    Raises:
        UserError: no TextGrid, or cut off.
    """
    tiers = _tiers(file, reading)
    defaults = _defaults(tiers, reading)
    for tier in tiers:
        if not reading.takes(tier.name, tier.name in defaults):
            continue
        for start, end, label in tier.labels:
            if not label:
                reading.skip("empty label")
                continue
            place = clock(start) if start == end else f"{clock(start)} to {clock(end)}"
            speaker = tier.name.partition("@")[2] or None
            unit = f"{start:.3f}"
            yield Segment(label, str(file), place, field=tier.name, unit=unit, speaker=speaker, span_s=(start, end))


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the tiers."""
    tiers = _tiers(file, reading)
    defaults = _defaults(tiers, reading)
    return [
        Part(
            name=tier.name,
            kind="tier",
            is_default=tier.name in defaults,
            num_segments=sum(bool(label) for _start, _end, label in tier.labels),
            example=next((label for _start, _end, label in tier.labels if label), ""),
        )
        for tier in tiers
    ]


def _defaults(tiers: list[_GridTier], reading: Reading) -> frozenset[str]:
    facts = []
    for tier in tiers:
        said = [label for label in tier.labels if label[2]]
        texts, spans = [text for _start, _end, text in said], [(start, end) for start, end, _text in said]
        facts.append(Tier(name=tier.name, texts=texts, spans=spans))
    return text_tiers(facts, reading.language)


def _tiers(file: SourceFile, reading: Reading) -> list[_GridTier]:
    values = (match for match in _TOKEN.finditer(read_text(file, reading)) if match.lastindex)
    try:
        # The first string is "ooTextFile", in old files "ooTextFile short".
        if not _string(values).startswith("ooTextFile") or _string(values) != "TextGrid":
            raise UserError(f"{file} is a file of Praat but no TextGrid; export a TextGrid.")
        _number(values), _number(values)
        if next(values)[3] != "exists":
            return []
        return [_tier(values) for _number_of_tier in range(int(_number(values)))]
    except (StopIteration, ValueError, OverflowError) as error:
        raise UserError(f"{file} ends in the middle, or is no TextGrid; save it anew in Praat.") from error


def _tier(values: "Iterator[re.Match[str]]") -> _GridTier:
    kind, name = _string(values), _label(_string(values))
    _number(values), _number(values)
    labels = []
    for _place in range(int(_number(values))):
        start = _number(values)
        end = _number(values) if kind == _INTERVALS else start
        labels.append((start, end, _label(_string(values))))
    return _GridTier(name=name, labels=labels)


def _label(text: str) -> str:
    return " ".join(text.split())


def _string(values: "Iterator[re.Match[str]]") -> str:
    match = next(values)
    if match[1] is None:
        raise ValueError("a string was due")
    return match[1].replace('""', '"')


def _number(values: "Iterator[re.Match[str]]") -> float:
    match = next(values)
    if match[2] is None:
        raise ValueError("a number was due")
    return float(match[2])


def _recognises(head: Head) -> bool:
    return head.text is not None and "ooTextFile" in head.text[:200] and "TextGrid" in head.text[:400]


READER = Reader(
    name="Praat TextGrid",
    suffixes=frozenset({".textgrid"}),
    recognises=_recognises,
    read=read_textgrid,
    find_parts=find_parts,
)
