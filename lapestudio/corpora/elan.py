"""ELAN annotation files (.eaf): tiers of annotations in time order, whatever their order in the file.

An annotation is aligned to time by itself, or hangs on another one; subdivisions of one parent form a chain. Slots
without a time lie between their neighbours. Source: the EAF schema 3.0 of the Max Planck Institute.
"""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from lapestudio.core.errors import UserError
from lapestudio.corpora.annotation_order import Annotation, AnnotationTier, Ordering
from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.tier_choice import Tier, surely_another, text_tiers
from lapestudio.corpora.tmx import other_languages
from lapestudio.corpora.xml_stream import text_of, xml_document

_MILLISECONDS = re.compile(r"-?[0-9]{1,15}")


def read_elan(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Yield the annotations of the wanted tiers, tier by tier.

    Raises:
        UserError: not well-formed, or its text states that it is in another language.
    """
    ordering = _ordering(file, reading)
    defaults = _defaults(ordering, reading)
    stated = {tier.language for tier in ordering.tiers if tier.language and any(one.text for one in tier.annotations)}
    if (
        stated
        and not defaults
        and reading.parts is None
        and any(surely_another(one, reading.language) for one in stated)
    ):
        raise UserError(other_languages(file, stated, reading))
    for tier in ordering.tiers:
        if not reading.takes(tier.name, tier.name in defaults):
            continue
        for annotation in ordering.in_order(tier):
            if not annotation.text:
                reading.skip("empty annotation")
                continue
            span = ordering.span(annotation)
            yield Segment(
                annotation.text,
                str(file),
                annotation.id if span is None else f"{clock(span[0])} to {clock(span[1])}",
                field=tier.name,
                language=tier.language,
                unit=ordering.top(annotation).id,
                speaker=tier.speaker,
                span_s=span,
            )


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the tiers."""
    ordering = _ordering(file, reading)
    defaults = _defaults(ordering, reading)
    parts = []
    for tier in ordering.tiers:
        texts = [annotation.text for annotation in ordering.in_order(tier) if annotation.text]
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


def _defaults(ordering: Ordering, reading: Reading) -> frozenset[str]:
    """Return the tiers of text: of those that state the wanted language where some do, and of no other language."""
    filled = [tier for tier in ordering.tiers if any(annotation.text for annotation in tier.annotations)]
    stated = [tier for tier in filled if tier.language and reading.language and reading.wants_language(tier.language)]
    chosen = text_tiers([_tier_facts(tier, ordering) for tier in (stated or filled)], reading.language)
    return frozenset(
        tier.name for tier in filled if tier.name in chosen and not surely_another(tier.language, reading.language)
    )


def _tier_facts(tier: AnnotationTier, ordering: Ordering) -> Tier:
    said = [annotation for annotation in tier.annotations if annotation.text]
    spans = [span for annotation in said if (span := ordering.span(annotation)) is not None]
    return Tier(
        name=tier.name,
        kind=tier.kind,
        is_top=tier.parent is None,
        texts=[annotation.text for annotation in said],
        spans=spans if len(spans) == len(said) else (),
    )


def _ordering(file: SourceFile, reading: Reading) -> Ordering:
    root = xml_document(file, reading)
    return Ordering([_tier(element) for element in root.iter("TIER")], _slot_times(root))


def _slot_times(root: Element) -> dict[str, float]:
    """Return the time of each slot in seconds; those without one lie evenly between their neighbours."""
    slots = [(slot.get("TIME_SLOT_ID", ""), _seconds(slot.get("TIME_VALUE"))) for slot in root.iter("TIME_SLOT")]
    times: dict[str, float] = {}
    waiting: list[str] = []
    before: float | None = None
    for name, value in slots:
        if value is None:
            waiting.append(name)
            continue
        if before is not None:
            step = (value - before) / (len(waiting) + 1)
            times.update({slot: before + step * place for place, slot in enumerate(waiting, start=1)})
        times[name] = before = value
        waiting.clear()
    return times


def _seconds(value: str | None) -> float | None:
    return int(value) / 1000 if value is not None and _MILLISECONDS.fullmatch(value) else None


def _tier(element: Element) -> AnnotationTier:
    tier = AnnotationTier(
        name=element.get("TIER_ID", ""),
        kind=element.get("LINGUISTIC_TYPE_REF", ""),
        parent=element.get("PARENT_REF") or None,
        language=element.get("LANG_REF") or None,
        speaker=element.get("PARTICIPANT") or None,
    )
    for order, annotation in enumerate(one for holder in element.findall("ANNOTATION") for one in holder):
        value = annotation.find("ANNOTATION_VALUE")
        first, last = annotation.get("TIME_SLOT_REF1"), annotation.get("TIME_SLOT_REF2")
        tier.annotations.append(
            Annotation(
                id=annotation.get("ANNOTATION_ID") or f"{tier.name}#{order}",
                text=text_of(value) if value is not None else "",
                parent=annotation.get("ANNOTATION_REF"),
                previous=annotation.get("PREVIOUS_ANNOTATION"),
                slots=(first, last) if first and last else None,
            )
        )
    return tier


def _recognises(head: Head) -> bool:
    return head.text is not None and "<ANNOTATION_DOCUMENT" in head.text[:4096]


READER = Reader(
    name="ELAN", suffixes=frozenset({".eaf"}), recognises=_recognises, read=read_elan, find_parts=find_parts
)
