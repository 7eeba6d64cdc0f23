"""Translation memories (TMX): each unit says the same in several languages, which are the file's parts."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from lapestudio.core.errors import UserError
from lapestudio.corpora.reader import Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.xml_stream import xml_elements

# Codes of the translation tool; text inside <hi> and <sub> is text.
_CODES = frozenset({"bpt", "ept", "ph", "it", "ut"})
_LOOKED_AT = 2000


def read_tmx(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the sides of the units that are in the wanted languages.

    Raises:
        UserError: not well-formed, or no unit is in the wanted language.
    """
    others: set[str] = set()
    found = False
    for number, unit in enumerate(xml_elements(file, reading, ("tu",)), start=1):
        for variant in unit.findall("tuv"):
            language = variant.get("lang", "")
            part = main_language(language)
            segment = variant.find("seg")
            text = " ".join(inline_text(segment, _CODES).split()) if segment is not None else ""
            if not text:
                reading.skip("empty side")
            elif reading.takes(part, reading.wants_language(part)):
                found = True
                yield Segment(text, str(file), f"unit {number}", field=part, language=language, unit=f"unit {number}")
            else:
                others.add(part)
    if not found and others and reading.parts is None:
        raise UserError(other_languages(file, others, reading))


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the languages in the first units."""
    found: dict[str, tuple[int, str]] = {}
    for number, unit in enumerate(xml_elements(file, reading, ("tu",))):
        if number == _LOOKED_AT:
            break
        for variant in unit.findall("tuv"):
            segment = variant.find("seg")
            text = " ".join(inline_text(segment, _CODES).split()) if segment is not None else ""
            count, example = found.get(main_language(variant.get("lang", "")), (0, text))
            found[main_language(variant.get("lang", ""))] = count + bool(text), example or text
    return language_parts(found, reading)


def language_parts(found: dict[str, tuple[int, str]], reading: Reading) -> list[Part]:
    """Return languages with their numbers of segments and an example each as parts."""
    return [
        Part(
            name=language,
            kind="language",
            is_default=reading.wants_language(language),
            language=language,
            num_segments=number,
            example=example,
        )
        for language, (number, example) in sorted(found.items())
    ]


def main_language(tag: str) -> str:
    """Return the first subtag, by which files of translation tools are compared: en-GB, EN and en_US are en."""
    return tag.replace("_", "-").partition("-")[0].lower()


def inline_text(element: Element, codes: frozenset[str]) -> str:
    """Return the text of a segment without the codes of the translation tool."""
    parts = [element.text or ""]
    for child in element:
        parts.append("" if child.tag in codes else inline_text(child, codes))
        parts.append(child.tail or "")
    return "".join(parts)


def other_languages(file: SourceFile, found: set[str], reading: Reading) -> str:
    """Return the sentence for a file that has text, but none in the wanted language."""
    listed = ", ".join(sorted(found))
    return f"{file} has text in {listed}, but none in {reading.language}; choose one of them, or another file."


READER = Reader(
    name="TMX",
    suffixes=frozenset({".tmx"}),
    recognises=lambda head: head.text is not None and "<tmx" in head.text[:4096],
    read=read_tmx,
    find_parts=find_parts,
)
