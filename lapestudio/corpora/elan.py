"""ELAN annotation files (.eaf): tiers of annotations in time order, whatever their order in the file.

An annotation is aligned to time by itself, or hangs on another one; subdivisions of one parent form a chain. Slots
without a time take that of their neighbours. Source: the EAF schema 3.0 of the Max Planck Institute.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.tier_choice import Tier, text_tiers
from lapestudio.corpora.xml_stream import text_of, xml_document

Span = tuple[float, float]


@dataclass(slots=True, kw_only=True)
class _Annotation:
    id: str
    text: str
    parent: str | None
    previous: str | None
    slots: tuple[str, str] | None
    order: int


@dataclass(slots=True, kw_only=True)
class _EafTier:
    name: str
    kind: str
    parent: str | None
    language: str | None
    speaker: str | None
    annotations: list[_Annotation] = field(default_factory=list)


class _Document:
    """The tiers of a file, and the times of their annotations."""

    def __init__(self, root: Element) -> None:
        self._times = _slot_times(root)
        self.tiers = [_tier(element) for element in root.iter("TIER")]
        self._by_id = {one.id: one for tier in self.tiers for one in tier.annotations}

    def span(self, annotation: _Annotation) -> Span | None:
        """Return start and end in seconds; a dependent annotation has those of the one it hangs on."""
        top = self.top(annotation)
        if top.slots is None:
            return None
        start, end = (self._times.get(slot) for slot in top.slots)
        return None if start is None or end is None else (start, end)

    def top(self, annotation: _Annotation) -> _Annotation:
        """Return the annotation with a time that an annotation hangs on, or the last one that can be found."""
        seen = set()
        while annotation.slots is None and annotation.parent in self._by_id and annotation.id not in seen:
            seen.add(annotation.id)
            annotation = self._by_id[annotation.parent]
        return annotation

    def in_order(self, tier: _EafTier) -> list[_Annotation]:
        """Return a tier's annotations by time; those of one parent by their chain, else as in the file."""
        ranks: dict[str, int] = {}

        def rank(annotation: _Annotation) -> int:
            chain = []
            current: _Annotation | None = annotation
            while current is not None and current.id not in ranks and current.id not in chain:
                chain.append(current.id)
                current = self._by_id.get(current.previous or "")
            base = ranks.get(current.id, -1) if current is not None else -1
            ranks.update({name: position for position, name in enumerate(reversed(chain), start=base + 1)})
            return ranks[annotation.id]

        def key(annotation: _Annotation) -> tuple[float, float, tuple[int, ...]]:
            start, end = self.span(annotation) or (float("inf"), float("inf"))
            path: list[int] = []
            current: _Annotation | None = annotation
            seen = set()
            while current is not None and current.id not in seen:
                seen.add(current.id)
                path.append(rank(current) if current.previous or current.slots is None else 0)
                current = self._by_id.get(current.parent or "") if current.slots is None else None
            return start, end, (*reversed(path), annotation.order)

        return sorted(tier.annotations, key=key)


def read_elan(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Yield the annotations of the wanted tiers, tier by tier.

    Raises:
        UserError: not well-formed.
    """
    document = _Document(xml_document(file, reading))
    defaults = _defaults(document, reading)
    for tier in document.tiers:
        if not reading.takes(tier.name, tier.name in defaults):
            continue
        for annotation in document.in_order(tier):
            if not annotation.text:
                reading.skip("empty annotation")
                continue
            span = document.span(annotation)
            yield Segment(
                annotation.text,
                str(file),
                annotation.id if span is None else f"{clock(span[0])} to {clock(span[1])}",
                field=tier.name,
                language=tier.language,
                unit=document.top(annotation).id,
                speaker=tier.speaker,
                span_s=span,
            )


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the tiers."""
    document = _Document(xml_document(file, reading))
    defaults = _defaults(document, reading)
    parts = []
    for tier in document.tiers:
        texts = [annotation.text for annotation in document.in_order(tier) if annotation.text]
        parts.append(
            Part(
                name=tier.name,
                kind="tier",
                is_default=tier.name in defaults,
                language=tier.language,
                num_segments=len(texts),
                example=texts[0] if texts else "",
                parent=tier.parent,
            )
        )
    return parts


def clock(seconds: float) -> str:
    """Return a place in a recording as minutes and seconds."""
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes):02d}:{rest:06.3f}"


def _defaults(document: _Document, reading: Reading) -> frozenset[str]:
    """Return the tiers of text; where tiers state the wanted language, of those alone."""
    tiers = document.tiers
    stated = [tier for tier in tiers if tier.language and reading.language and reading.wants_language(tier.language)]
    chosen = [
        Tier(
            name=tier.name,
            kind=tier.kind,
            is_top=tier.parent is None,
            texts=[annotation.text for annotation in tier.annotations if annotation.text],
        )
        for tier in (stated or tiers)
    ]
    return text_tiers(chosen)


def _slot_times(root: Element) -> dict[str, float]:
    """Return the time of each slot in seconds; those without one lie evenly between their neighbours."""
    slots = [(slot.get("TIME_SLOT_ID", ""), slot.get("TIME_VALUE")) for slot in root.iter("TIME_SLOT")]
    values = [int(value) / 1000 if value and value.lstrip("-").isdigit() else None for _name, value in slots]
    known = [place for place, value in enumerate(values) if value is not None]
    times: dict[str, float] = {}
    for place, (name, _value) in enumerate(slots):
        value = values[place]
        if value is None:
            before = max((other for other in known if other < place), default=None)
            after = min((other for other in known if other > place), default=None)
            if before is None or after is None:
                continue
            low, high = values[before], values[after]
            assert low is not None
            assert high is not None
            value = low + (high - low) * (place - before) / (after - before)
        times[name] = value
    return times


def _tier(element: Element) -> _EafTier:
    tier = _EafTier(
        name=element.get("TIER_ID", ""),
        kind=element.get("LINGUISTIC_TYPE_REF", ""),
        parent=element.get("PARENT_REF"),
        language=element.get("LANG_REF"),
        speaker=element.get("PARTICIPANT"),
    )
    for order, holder in enumerate(element.findall("ANNOTATION")):
        for annotation in holder:
            value = annotation.find("ANNOTATION_VALUE")
            slots = (annotation.get("TIME_SLOT_REF1"), annotation.get("TIME_SLOT_REF2"))
            tier.annotations.append(
                _Annotation(
                    id=annotation.get("ANNOTATION_ID", f"{tier.name}#{order}"),
                    text=text_of(value) if value is not None else "",
                    parent=annotation.get("ANNOTATION_REF"),
                    previous=annotation.get("PREVIOUS_ANNOTATION"),
                    slots=(slots[0], slots[1]) if slots[0] and slots[1] else None,
                    order=order,
                )
            )
    return tier


def _recognises(head: Head) -> bool:
    return head.text is not None and "<ANNOTATION_DOCUMENT" in head.text[:4096]


READER = Reader(
    name="ELAN", suffixes=frozenset({".eaf"}), recognises=_recognises, read=read_elan, find_parts=find_parts
)
