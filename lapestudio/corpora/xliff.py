"""XLIFF 1.2 and 2: sources and their translations; the two languages are the parts."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from lapestudio.core.errors import UserError
from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.tmx import inline_text, language_parts, main_language, other_languages
from lapestudio.corpora.xml_stream import xml_document

_CODES = frozenset({"bpt", "ept", "ph", "it", "x", "bx", "ex", "sc", "ec", "cp", "mrk-note"})
_UNFINISHED = frozenset({"new", "needs-translation", "needs-l10n", "needs-adaptation", "initial"})


def read_xliff(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Yield the sides of the units that are in the wanted languages.

    Raises:
        UserError: not well-formed, or neither side is in the wanted language.
    """
    languages: set[str] = set()
    found = False
    for number, (name, source, target) in enumerate(_units(file, reading), start=1):
        for language, text in (source, target):
            part = main_language(language)
            languages.add(part)
            if text and reading.takes(part, reading.wants_language(part)):
                found = True
                unit = f"unit {number}"
                yield Segment(text, str(file), f"unit {name}", field=part, language=language, unit=unit)
    if not found and languages and reading.parts is None:
        raise UserError(other_languages(file, languages, reading))


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the two languages."""
    found: dict[str, tuple[int, str]] = {}
    for _name, source, target in _units(file, reading):
        for language, text in (source, target):
            number, example = found.get(main_language(language), (0, text))
            found[main_language(language)] = number + bool(text), example or text
    return language_parts(found, reading)


def _units(file: SourceFile, reading: Reading) -> Iterator[tuple[str, tuple[str, str], tuple[str, str]]]:
    """Yield name, source and target of each unit that is translated, the sides with their languages."""
    root = xml_document(file, reading)
    for holder in root.iter("file"):
        source_language = holder.get("source-language") or root.get("srcLang") or ""
        target_language = holder.get("target-language") or root.get("trgLang") or ""
        for unit in holder.iter():
            if unit.tag not in ("trans-unit", "segment"):
                continue
            source, target = unit.find("source"), unit.find("target")
            if (reason := _reason_to_skip(unit, source, target)) is not None:
                reading.skip(reason)
                continue
            assert source is not None
            assert target is not None
            yield (
                unit.get("id") or unit.get("resname") or "",
                (source_language, " ".join(inline_text(source, _CODES).split())),
                (target_language, " ".join(inline_text(target, _CODES).split())),
            )


def _reason_to_skip(unit: Element, source: Element | None, target: Element | None) -> str | None:
    if unit.get("translate") == "no" or source is None:
        return "not translatable"
    if target is None or not inline_text(target, _CODES).strip():
        return "no target"
    if (target.get("state") or unit.get("state")) in _UNFINISHED:
        return "needs translation"
    return None


def _recognises(head: Head) -> bool:
    return head.text is not None and "<xliff" in head.text[:4096]


READER = Reader(
    name="XLIFF",
    suffixes=frozenset({".xlf", ".xliff"}),
    recognises=_recognises,
    read=read_xliff,
    find_parts=find_parts,
)
