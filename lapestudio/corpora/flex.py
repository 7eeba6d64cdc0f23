"""FLEx interlinear texts (.flextext): phrases in a vernacular, with translations in languages of analysis.

A phrase's own text is taken where it has one, else its words are put together.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from lapestudio.core.errors import UserError
from lapestudio.corpora.interlinear_words import Item, join_words
from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.tier_choice import surely_another
from lapestudio.corpora.tmx import other_languages
from lapestudio.corpora.xml_stream import text_of, xml_elements

_NAMES = {"gls": "translation", "lit": "literal translation", "note": "note"}
_TEXT, _TRANSLATION = "text:", "translation:"
_MILLISECONDS = re.compile(r"[0-9]{1,12}")
# A phonetic transcription: the vernacular written in IPA.
_PHONETIC = "fonipa"


@dataclass(slots=True)
class _Found:
    """What the file has under one name."""

    language: str
    example: str
    num_segments: int = 0


@dataclass(slots=True)
class _Survey:
    """All fields of a file, in the order in which they come."""

    fields: dict[str, _Found] = field(default_factory=dict)
    vernaculars: set[str] = field(default_factory=set)

    def default_fields(self, reading: Reading) -> frozenset[str]:
        """Return the fields that are read without a choice: the vernacular, or what is in the wanted language."""
        texts = {
            name: found.language
            for name, found in self.fields.items()
            if name.startswith(_TEXT) and found.language in self.vernaculars
        }
        texts = {name: code for name, code in texts.items() if _PHONETIC not in code.casefold()} or texts
        if reading.language is None:
            return frozenset(texts)
        exact = [name for name, code in texts.items() if code.casefold() == reading.language.casefold()]
        wanted = exact or [name for name, code in texts.items() if reading.wants_language(code)]
        translations = [
            name
            for name, found in self.fields.items()
            if name.startswith(_TRANSLATION) and found.language and reading.wants_language(found.language)
        ]
        possible = [name for name, code in texts.items() if not surely_another(code, reading.language)]
        return frozenset(wanted or translations or possible)


def read_flex(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Yield the wanted fields of each phrase, text by text.

    Raises:
        UserError: not well-formed, or nothing in the wanted language.
    """
    defaults: frozenset[str] = frozenset()
    if reading.parts is None:
        survey = _survey(file, reading)
        defaults = survey.default_fields(reading)
        languages = {found.language for found in survey.fields.values() if found.language}
        if survey.vernaculars and languages and not defaults:
            raise UserError(other_languages(file, languages, reading))
    for text_number, text in enumerate(xml_elements(file, reading, {"interlinear-text"}), start=1):
        document = f"{file}#{text.get('guid') or text_number}"
        for name, language, content in _titles(text):
            if reading.takes(name, name in defaults):
                yield Segment(content, document, "title", field=name, language=language or None, unit="title")
        vernaculars = _vernaculars(text)
        for number, phrase in enumerate(text.iter("phrase"), start=1):
            fields = _fields(phrase, vernaculars)
            if not fields:
                reading.skip("empty phrase")
            wanted = [one for one in fields if reading.takes(one[0], one[0] in defaults)]
            yield from _segments(phrase, wanted, document, number)


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the kinds of text by language.

    Raises:
        UserError: not well-formed.
    """
    survey = _survey(file, reading)
    defaults = survey.default_fields(reading)
    return [
        Part(
            name=name,
            kind="field",
            is_default=name in defaults,
            language=found.language or None,
            num_segments=found.num_segments,
            example=found.example,
        )
        for name, found in survey.fields.items()
    ]


def _survey(file: SourceFile, reading: Reading) -> _Survey:
    survey = _Survey()
    for text in xml_elements(file, reading, {"interlinear-text"}):
        vernaculars = _vernaculars(text)
        survey.vernaculars.update(vernaculars)
        fields = [field for phrase in text.iter("phrase") for field in _fields(phrase, vernaculars)]
        for name, language, content in [*fields, *_titles(text)]:
            survey.fields.setdefault(name, _Found(language, content)).num_segments += 1
    return survey


def _segments(phrase: Element, fields: list[tuple[str, str, str]], document: str, number: int) -> Iterator[Segment]:
    label = next((text_of(item) for item in phrase.findall("item") if item.get("type") == "segnum"), "")
    edges = [phrase.get(f"{edge}-time-offset", "") for edge in ("begin", "end")]
    span = (int(edges[0]) / 1000, int(edges[1]) / 1000) if all(map(_MILLISECONDS.fullmatch, edges)) else None
    for name, language, content in fields:
        yield Segment(
            content,
            document,
            f"phrase {label or number}",
            field=name,
            language=language or None,
            unit=phrase.get("guid") or f"phrase {number}",
            speaker=phrase.get("speaker") or None,
            span_s=span,
        )


def _vernaculars(text: Element) -> list[str]:
    """Return the codes of a text's vernaculars: as it states them, else those of its words and phrases."""
    stated = [one.get("lang", "") for one in text.iter("language") if one.get("vernacular") == "true"]
    if stated:
        return list(dict.fromkeys(stated))
    holders = [*text.iter("word"), *text.iter("phrase")]
    items = [item for holder in holders for item in holder.findall("item") if item.get("type") == "txt"]
    return list(dict.fromkeys(item.get("lang", "") for item in items))


def _titles(text: Element) -> list[tuple[str, str, str]]:
    items = [item for item in text.findall("item") if item.get("type") == "title"]
    titles = [(f"title:{item.get('lang', '')}", item.get("lang", ""), text_of(item)) for item in items]
    return [title for title in titles if title[2]]


def _fields(phrase: Element, vernaculars: list[str]) -> list[tuple[str, str, str]]:
    """Return (name, language, content) of what a phrase says, in the vernacular first; nothing that is empty."""
    texts = {item.get("lang", ""): text_of(item) for item in phrase.findall("item") if item.get("type") == "txt"}
    for language in vernaculars:
        if not texts.get(language):
            texts[language] = join_words(_items(phrase, language))
    fields = [(f"{_TEXT}{language}", language, content) for language, content in texts.items()]
    for item in phrase.findall("item"):
        name = _NAMES.get(item.get("type", ""))
        if name is not None:
            language = item.get("lang", "")
            fields.append((f"{name}:{language}", language, text_of(item)))
    return [one for one in fields if one[2]]


def _items(phrase: Element, language: str) -> list[Item]:
    """Return a phrase's words and marks in one of its languages."""
    items = [item for word in phrase.iter("word") for item in word.findall("item") if item.get("lang") == language]
    kinds = [(text_of(item), item.get("type")) for item in items]
    return [Item(content, kind == "punct") for content, kind in kinds if content and kind in ("txt", "punct")]


def _recognises(head: Head) -> bool:
    return head.text is not None and "<interlinear-text" in head.text and "<document" in head.text[:4096]


READER = Reader(
    name="FLEx interlinear text",
    suffixes=frozenset({".flextext"}),
    recognises=_recognises,
    read=read_flex,
    find_parts=find_parts,
)
