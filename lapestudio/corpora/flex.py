"""FLEx interlinear texts (.flextext): phrases in a vernacular, with translations in languages of analysis.

A phrase's own text is taken where it has one, else its words are put together.
"""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.xml_stream import text_of, xml_document, xml_elements

_OPENING = "«“\u2018(„\u201a[{¿¡<"
_CLOSING = "»”\u2019).,;:!?…]}>%"
_NAMES = {"gls": "translation", "lit": "literal translation", "note": "note"}


def read_flex(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Yield the wanted fields of each phrase, text by text.

    Raises:
        UserError: not well-formed.
    """
    vernaculars = _vernaculars(file, reading)
    for text_number, text in enumerate(xml_elements(file, reading, {"interlinear-text"}), start=1):
        document = f"{file}#{text.get('guid') or text_number}"
        for number, (field, language, content) in enumerate(_titles(text), start=1):
            if content and reading.takes(field, default=False):
                yield Segment(content, document, f"title {number}", field=field, language=language, unit="title")
        for number, phrase in enumerate(text.iter("phrase"), start=1):
            fields = _fields(phrase, vernaculars)
            if not any(content for _field, _language, content in fields):
                reading.skip("empty phrase")
            label = next((text_of(item) for item in phrase.findall("item") if item.get("type") == "segnum"), "")
            for field, language, content in fields:
                is_default = field.startswith("text:") and _is_wanted(language, vernaculars, reading)
                if content and reading.takes(field, is_default):
                    yield Segment(
                        content,
                        document,
                        f"phrase {label or number}",
                        field=field,
                        language=language,
                        unit=phrase.get("guid") or f"phrase {number}",
                        speaker=phrase.get("speaker"),
                    )


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the kinds of text by language."""
    vernaculars = _vernaculars(file, reading)
    found: dict[str, tuple[str, int, str]] = {}
    for text in xml_elements(file, reading, {"interlinear-text"}):
        fields = [field for phrase in text.iter("phrase") for field in _fields(phrase, vernaculars)]
        for field, language, content in [*fields, *_titles(text)]:
            if content:
                _language, number, example = found.get(field, (language, 0, content))
                found[field] = language, number + 1, example
    return [
        Part(
            name=field,
            kind="field",
            is_default=field.startswith("text:") and _is_wanted(language, vernaculars, reading),
            language=language,
            num_segments=number,
            example=example,
        )
        for field, (language, number, example) in found.items()
    ]


def _is_wanted(language: str, vernaculars: list[str], reading: Reading) -> bool:
    """Say whether a vernacular is the wanted one; all are where none states the language that was named."""
    if any(reading.wants_language(stated) for stated in vernaculars):
        return reading.wants_language(language)
    return language in vernaculars


def _vernaculars(file: SourceFile, reading: Reading) -> list[str]:
    root = xml_document(file, reading)
    stated = [one.get("lang", "") for one in root.iter("language") if one.get("vernacular") == "true"]
    if stated:
        return list(dict.fromkeys(stated))
    words = [item.get("lang", "") for word in root.iter("word") for item in word.findall("item")[:1]]
    phrases = [
        item.get("lang", "") for one in root.iter("phrase") for item in one.findall("item") if item.get("type") == "txt"
    ]
    return list(dict.fromkeys(words + phrases))


def _titles(text: Element) -> list[tuple[str, str, str]]:
    items = [item for item in text.findall("item") if item.get("type") == "title"]
    return [(f"title:{item.get('lang', '')}", item.get("lang", ""), text_of(item)) for item in items]


def _fields(phrase: Element, vernaculars: list[str]) -> list[tuple[str, str, str]]:
    """Return (field, language, content) of what a phrase says, in the vernacular first."""
    texts = {item.get("lang", ""): text_of(item) for item in phrase.findall("item") if item.get("type") == "txt"}
    for language in vernaculars:
        if not texts.get(language) and (words := _joined(phrase, language)):
            texts[language] = words
    fields = [(f"text:{language}", language, content) for language, content in texts.items()]
    for item in phrase.findall("item"):
        name = _NAMES.get(item.get("type", ""))
        if name is not None:
            fields.append((f"{name}:{item.get('lang', '')}", item.get("lang", ""), text_of(item)))
    return fields


def _joined(phrase: Element, language: str) -> str:
    """Put words and punctuation together: no space after what opens, none before what closes."""
    joined = ""
    for word in phrase.iter("word"):
        for item in word.findall("item"):
            kind, content = item.get("type"), text_of(item)
            if kind not in ("txt", "punct") or item.get("lang") != language or not content:
                continue
            glued = kind == "punct" and content[0] in _CLOSING
            glued = glued or (bool(joined) and joined[-1] in _OPENING)
            joined += content if glued or not joined else f" {content}"
    return joined


def _recognises(head: Head) -> bool:
    return head.text is not None and "<interlinear-text" in head.text and "<document" in head.text[:4096]


READER = Reader(
    name="FLEx interlinear text",
    suffixes=frozenset({".flextext"}),
    recognises=_recognises,
    read=read_flex,
    find_parts=find_parts,
)
