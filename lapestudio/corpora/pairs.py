"""Segments of two languages, tiers or columns to pairs that say the same."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from lapestudio.corpora.segment import Segment

Pair = tuple[Segment, Segment]


def join_pairs(segments: Iterable[Segment], first: str, second: str) -> Iterator[Pair]:
    """Yield the pairs in the order of their first sides; one document is held in memory at a time.

    Args:
        segments: all parts of the files, as readers give them.
        first: field (tier, column, language) of the first sides.
        second: field of the second sides.
    """
    for _document, members in groupby(segments, key=lambda segment: segment.document):
        left: list[Segment] = []
        right: dict[str, list[Segment]] = {}
        for segment in members:
            if segment.unit is None:
                continue
            if segment.field == first:
                left.append(segment)
            elif segment.field == second:
                right.setdefault(segment.unit, []).append(segment)
        for segment in left:
            for other in right.get(segment.unit or "", ())[:1]:
                yield segment, other
