"""Annotations that hang on each other, over several tiers: what each hangs on, when it is said, and their order."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Span = tuple[float, float]
_DEEPEST = 32
_NEVER = float("inf")


@dataclass(slots=True, kw_only=True)
class Annotation:
    """A label; aligned to two time slots, or hanging on another annotation."""

    id: str
    text: str
    parent: str | None
    previous: str | None
    """The one before it among those that divide the same parent."""
    slots: tuple[str, str] | None


@dataclass(slots=True, kw_only=True)
class AnnotationTier:
    """A tier, with its annotations in any order."""

    name: str
    kind: str
    parent: str | None
    language: str | None
    speaker: str | None
    annotations: list[Annotation] = field(default_factory=list)


class Ordering:
    """The tiers of a file, put in order.

    Args:
        tiers: all of them.
        times: seconds, by time slot.
    """

    def __init__(self, tiers: Sequence[AnnotationTier], times: Mapping[str, float]) -> None:
        self.tiers = tiers
        self._times = times
        self._by_id = {annotation.id: annotation for tier in tiers for annotation in tier.annotations}
        self._ranks: dict[str, int] = {}
        for tier in tiers:
            ordered = _chained(tier.annotations)
            self._ranks.update({annotation.id: rank for rank, annotation in enumerate(ordered)})
        self._hang_on_time()

    def span(self, annotation: Annotation) -> Span | None:
        """Return start and end in seconds; what has no time of its own has that of what it hangs on."""
        for one in self._upwards(annotation):
            if one.slots is not None and all(slot in self._times for slot in one.slots):
                start, end = (self._times[slot] for slot in one.slots)
                return min(start, end), max(start, end)
        return None

    def top(self, annotation: Annotation) -> Annotation:
        """Return the annotation that all the others of the same utterance hang on."""
        return self._upwards(annotation)[-1]

    def in_order(self, tier: AnnotationTier) -> list[Annotation]:
        """Return a tier's annotations by time, those of one parent by their chain, and what is left as in the file."""
        return sorted(tier.annotations, key=self._key)

    def _key(self, annotation: Annotation) -> tuple[Span, tuple[int, ...]]:
        path = [self._ranks[one.id] for one in self._upwards(annotation)]
        return self.span(annotation) or (_NEVER, _NEVER), tuple(reversed(path))

    def _upwards(self, annotation: Annotation) -> list[Annotation]:
        """Return an annotation and all that it hangs on; a file that goes round in circles has an end here too."""
        line = [annotation]
        while len(line) < _DEEPEST and (parent := self._by_id.get(line[-1].parent or "")) is not None:
            line.append(parent)
        return line

    def _hang_on_time(self) -> None:
        """Give annotations with a time, on tiers that depend on others, the parent within whose time they lie."""
        tiers = {tier.name: tier for tier in self.tiers}
        for tier in self.tiers:
            over = tiers.get(tier.parent or "")
            if over is None:
                continue
            timed = sorted(
                ((span, one.id) for one in over.annotations if one.slots and (span := self.span(one)) is not None),
            )
            starts = [span[0] for span, _name in timed]
            for annotation in tier.annotations:
                span = self.span(annotation) if annotation.slots and annotation.parent is None else None
                if span is None:
                    continue
                middle = (span[0] + span[1]) / 2
                place = bisect_right(starts, middle) - 1
                if place >= 0 and middle <= timed[place][0][1]:
                    annotation.parent = timed[place][1]


def _chained(annotations: Sequence[Annotation]) -> list[Annotation]:
    """Return annotations each behind its predecessor, else as in the file."""
    names = {annotation.id for annotation in annotations}
    followers: dict[str, list[Annotation]] = {}
    heads: list[Annotation] = []
    for annotation in annotations:
        known = annotation.previous if annotation.previous in names else None
        (heads if known is None else followers.setdefault(known, [])).append(annotation)
    ordered: list[Annotation] = []
    # Chains without a beginning, which go round in a circle, come last.
    for head in (*heads, *annotations):
        waiting = [head]
        while waiting:
            one = waiting.pop()
            if one.id in names:
                names.discard(one.id)
                ordered.append(one)
                waiting += reversed(followers.get(one.id, ()))
    return ordered
