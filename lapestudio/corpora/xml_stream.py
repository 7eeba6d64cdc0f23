"""XML from strangers to a stream of elements, in bounded memory: no entity is expanded, nothing is fetched.

Names come without their namespaces, since the same format is written with and without them.
"""

import codecs
import re
from collections.abc import Collection, Iterator
from html.entities import html5
from typing import BinaryIO, Literal
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from lapestudio.core.errors import UserError
from lapestudio.corpora.encodings import WIDE, detect_encoding
from lapestudio.corpora.reader import Head, Reading
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import HEAD_BYTES, MAX_DOCUMENT_BYTES

MAX_DEPTH = 200
MAX_ELEMENT_CHARACTERS = 1 << 26
_CHUNK_BYTES = 1 << 18
_PROLOGUE = re.compile(r"\s*(?:<\?[^>]*\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[[^\]]*\]\s*)?>)", re.DOTALL)
_ROOT = re.compile(r"\s*<(?:[\w.-]+:)?([\w.-]+)[\s/>]")


def has_root(head: Head, *names: str) -> bool:
    """Say whether a file begins like an XML document whose root has one of `names`; prose about XML does not."""
    return head.text is not None and root_name(head.text) in names


def root_name(text: str) -> str | None:
    """Return the name of the first element of a document, without its namespace; nothing where `text` is no XML."""
    position = 0
    while match := _PROLOGUE.match(text, position):
        position = match.end()
    root = _ROOT.match(text, position)
    return root[1] if root is not None else None


def xml_elements(file: SourceFile, reading: Reading, names: Collection[str]) -> Iterator[Element]:
    """Stream the outermost elements with one of `names`, each complete, with all that is in it.

    An element is dropped from memory when the next one is asked for. Tags and attributes have no namespace: `xml:lang`
    is `lang`. Where `lang` stands on an element around, it is copied to the element that is yielded, under the key
    `inherited-lang`; the names of the elements around it, from the root, are under `path`, joined by "/".

    Raises:
        UserError: not well-formed, with the line; an entity is declared; nested deeper than `MAX_DEPTH`; one element
            larger than `MAX_ELEMENT_CHARACTERS`.
    """
    collector = _Collector(file, frozenset(names))
    with file.open() as stream:
        for chunk in _chunks(stream, reading, collector):
            collector.feed(chunk)
            yield from collector.take()
        collector.feed("", is_last=True)
        yield from collector.take()


def xml_document(file: SourceFile, reading: Reading) -> Element:
    """Return the root of a document whose format has to be in memory as a whole.

    Raises:
        UserError: as `xml_elements`; the file is longer than `MAX_DOCUMENT_BYTES`.
    """
    collector = _Collector(file, None)
    size = 0
    with file.open() as stream:
        for chunk in _chunks(stream, reading, collector):
            size += len(chunk)
            if size > MAX_DOCUMENT_BYTES:
                raise UserError(f"{file} is larger than {MAX_DOCUMENT_BYTES >> 20} MB; split it.")
            collector.feed(chunk)
        collector.feed("", is_last=True)
    return next(iter(collector.take()))


Event = tuple[Literal["start", "end", "text"], str, dict[str, str] | str]


def xml_events(file: SourceFile, reading: Reading) -> Iterator[Event]:
    """Stream starts (with attributes) and ends of elements and the text between: for markers in running text.

    Raises:
        UserError: as `xml_elements`.
    """
    events: list[Event] = []
    collector = _Collector(file, frozenset())
    collector.report_to(events)
    with file.open() as stream:
        for chunk in _chunks(stream, reading, collector):
            collector.feed(chunk)
            yield from events
            events.clear()
        collector.feed("", is_last=True)
        yield from events


def text_of(element: Element) -> str:
    """Return all text in an element, with runs of white space as one space."""
    return " ".join("".join(element.itertext()).split())


def _chunks(stream: BinaryIO, reading: Reading, collector: "_Collector") -> Iterator[str | bytes]:
    """Yield the document as bytes where the parser finds out the encoding, else as characters.

    UTF-16 may come without a mark, or under a declaration that says otherwise; a user may know better than the file.
    """
    head = stream.read(HEAD_BYTES)
    if not head:
        raise UserError(f"{collector.file} is empty; choose a file with text.")
    encoding = reading.encoding
    if encoding is None:
        found = detect_encoding(head, language=reading.language, is_whole=False)
        encoding = found if found in WIDE else None
    if encoding is None:
        yield head
        while chunk := stream.read(_CHUNK_BYTES):
            yield chunk
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(head).removeprefix("\ufeff")
    while chunk := stream.read(_CHUNK_BYTES):
        yield decoder.decode(chunk)


class _Collector:
    """Builds the wanted elements; of everything else it keeps the names around."""

    def __init__(self, file: SourceFile, names: frozenset[str] | None) -> None:
        self.file = file
        self._names = names
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._data
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.SkippedEntityHandler = self._name_character
        self._around: list[tuple[str, str | None]] = []
        self._builder: TreeBuilder | None = None
        self._depth = 0
        self._size = 0
        self._done: list[Element] = []
        self._events: list[Event] = []

    def report_to(self, events: list["Event"]) -> None:
        """Build nothing; note everything in `events`."""
        self._events = events
        self._parser.StartElementHandler = self._note_start
        self._parser.EndElementHandler = self._note_end
        self._parser.CharacterDataHandler = lambda text: events.append(("text", "", text))

    def feed(self, data: str | bytes, *, is_last: bool = False) -> None:
        try:
            self._parser.Parse(data, is_last)
        except expat.ExpatError as error:
            reason = expat.errors.messages.get(error.code, str(error))
            raise UserError(
                f"{self.file}, line {error.lineno}: not well-formed XML ({reason}); export the file again."
            ) from error

    def take(self) -> list[Element]:
        done, self._done = self._done, []
        return done

    def _note_start(self, name: str, attributes: dict[str, str]) -> None:
        self._go_deeper()
        self._events.append(("start", name.rpartition(":")[2], _plain(attributes)))

    def _note_end(self, name: str) -> None:
        self._depth -= 1
        self._events.append(("end", name.rpartition(":")[2], ""))

    def _go_deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise UserError(
                f"{self.file}, line {self._parser.CurrentLineNumber}: elements inside elements more than "
                f"{MAX_DEPTH} deep; this is no document."
            )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        self._go_deeper()
        plain = _plain(attributes)
        if self._builder is None:
            if self._names is not None and name not in self._names:
                self._around.append((name, plain.get("lang") or (self._around[-1][1] if self._around else None)))
                return
            plain["path"] = "/".join(around for around, _lang in self._around)
            if self._around and (language := self._around[-1][1]):
                plain["inherited-lang"] = language
            self._builder, self._size = TreeBuilder(), 0
            self._top = self._depth
        self._builder.start(name, plain)

    def _end(self, name: str) -> None:
        if self._builder is None:
            self._around.pop()
        else:
            self._builder.end(name.rpartition(":")[2])
            if self._depth == self._top:
                self._done.append(self._builder.close())
                self._builder = None
        self._depth -= 1

    def _data(self, text: str) -> None:
        if self._builder is None:
            return
        self._size += len(text)
        if self._size > MAX_ELEMENT_CHARACTERS and self._names is not None:
            raise UserError(
                f"{self.file}, line {self._parser.CurrentLineNumber}: one entry with more than "
                f"{MAX_ELEMENT_CHARACTERS >> 20} million characters; split the file."
            )
        self._builder.data(text)

    def _name_character(self, name: str, is_parameter: bool) -> None:
        """Take a character by its name: a DTD that lies elsewhere declares it, and the letter must not be lost."""
        if not is_parameter and (handler := self._parser.CharacterDataHandler) is not None:
            handler(html5.get(f"{name};", "\ufffd"))

    def _refuse_entity(self, name: str, is_parameter: int, *_rest: object) -> None:
        if is_parameter:
            return  # Those of old TEI files; the parser never expands them.
        raise UserError(
            f'{self.file} declares the entity "{name}", which documents from strangers must not; export it again '
            "without a DOCTYPE."
        )


def _plain(attributes: dict[str, str]) -> dict[str, str]:
    """Return attributes without namespaces and their declarations."""
    return {key.rpartition(":")[2]: value for key, value in attributes.items() if not key.startswith("xmlns")}
