"""Bytes of a file to text: its beginning, its lines as a stream, or all of it; what readers of text formats stand on.

Lines end at LF, CRLF or CR, or at LF alone; never at U+2028, U+0085 or a vertical tab, which lie inside sentences.
"""

import codecs
import io
import unicodedata
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Literal, TextIO

from lapestudio.core.errors import UserError
from lapestudio.corpora.encodings import WIDE, detect_encoding
from lapestudio.corpora.reader import Head, Reading
from lapestudio.corpora.source_file import SourceFile

HEAD_BYTES = 1 << 16
MAX_LINE_BYTES = 1 << 22
MAX_DOCUMENT_BYTES = 1 << 28
"""Longest file of a format that has to be in memory as a whole."""
_CHUNK_BYTES = 1 << 20
_MAX_CONTROL_SHARE = 0.05
_ODD = frozenset({"Cc", "Cn", "Co", "Cs"})
"""Categories of characters that text hardly has: control, unassigned, private, surrogate."""
_CONTROLS = bytes(set(range(0x20)) - set(b"\t\n\v\f\r\x1a\x1b") | {0x7F})
LineEnds = Literal["any", "lf"]


def read_head(file: SourceFile, reading: Reading) -> Head:
    """Return the beginning of a file.

    Raises:
        UserError: not readable, or empty.
    """
    with file.open() as stream:
        data = stream.read(HEAD_BYTES)
    if not data:
        raise UserError(f"{file} is empty; choose a file with text.")
    encoding = _chosen_encoding(file, reading) or sniff_encoding(data, reading)
    if encoding is None:
        return Head(path=file.path, data=data, text=None)
    text = codecs.getincrementaldecoder(encoding)("replace").decode(data, final=False)
    return Head(path=file.path, data=data, text=text.removeprefix("\ufeff"))


def sniff_encoding(data: bytes, reading: Reading) -> str | None:
    """Return the encoding of the beginning of a file, or nothing where it is binary."""
    encoding = detect_encoding(data, language=reading.language, is_whole=len(data) < HEAD_BYTES)
    if encoding is None:
        return None
    if encoding in WIDE:
        text = codecs.getincrementaldecoder(encoding)("replace").decode(data, final=False)
        num_odd = sum(unicodedata.category(character) in _ODD for character in text if not character.isspace())
        return None if num_odd > _MAX_CONTROL_SHARE * len(text) else encoding
    num_controls = len(data) - len(data.translate(None, _CONTROLS))
    return None if num_controls > _MAX_CONTROL_SHARE * len(data) else encoding


def text_encoding(file: SourceFile, reading: Reading) -> str:
    """Return how the bytes of a text file are to be understood, and note it in `reading`.

    Raises:
        UserError: not readable, empty or binary, or the encoding that was asked for does not exist.
    """
    encoding = _chosen_encoding(file, reading)
    if encoding is None:
        with file.open() as stream:
            data = stream.read(HEAD_BYTES)
        if not data:
            raise UserError(f"{file} is empty; choose a file with text.")
        encoding = sniff_encoding(data, reading)
    if encoding is None:
        raise UserError(f"{file} is a binary file; choose a file with text.")
    reading.found_encoding = encoding
    return encoding


def _chosen_encoding(file: SourceFile, reading: Reading) -> str | None:
    if reading.encoding is None:
        return None
    try:
        return codecs.lookup(reading.encoding).name
    except LookupError as error:
        raise UserError(f'{file}: there is no encoding "{reading.encoding}"; choose one such as cp1252.') from error


@contextmanager
def open_text(file: SourceFile, reading: Reading, *, newline: str = "") -> Iterator[TextIO]:
    """Open a text file to read characters; bytes that are no text in its encoding become U+FFFD.

    Raises:
        UserError: as `text_encoding`, or reading fails.
    """
    encoding = text_encoding(file, reading)
    with file.open() as stream:
        text = io.TextIOWrapper(stream, encoding, "replace", newline=newline)
        try:
            if encoding in {"utf-8", "utf-16-le", "utf-16-be"} and text.read(1) != "\ufeff":
                text.seek(0)
            yield text
        finally:
            text.detach()


def read_text(file: SourceFile, reading: Reading) -> str:
    """Return all text of a file whose format has to be in memory as a whole.

    Raises:
        UserError: as `text_encoding`, or the file is longer than `MAX_DOCUMENT_BYTES`.
    """
    encoding = text_encoding(file, reading)
    return read_bytes(file).decode(encoding, "replace").removeprefix("\ufeff")


def read_bytes(file: SourceFile) -> bytes:
    """Return all bytes of a file whose format has to be in memory as a whole.

    Raises:
        UserError: not readable, or longer than `MAX_DOCUMENT_BYTES`.
    """
    chunks: list[bytes] = []
    size = 0
    with file.open() as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_DOCUMENT_BYTES:
                raise UserError(
                    f"{file} is larger than {MAX_DOCUMENT_BYTES >> 20} MB, as files of this kind never are; split it."
                )
    return b"".join(chunks)


def read_lines(
    file: SourceFile, reading: Reading, *, line_ends: LineEnds = "any", long_lines: Literal["split", "drop"] = "split"
) -> Iterator[tuple[int, str]]:
    """Stream the lines of a text file, without their ends.

    Lines that are no text in the file's encoding are reported and passed over. A file that begins in ASCII and goes on
    in a code page is understood by that code page.

    Args:
        file: the file.
        reading: how to understand it.
        line_ends: what ends a line: LF, CRLF and CR, or LF alone with an optional CR before it.
        long_lines: a line of more than `MAX_LINE_BYTES` comes in several pieces of the same number, or is reported
            and left out; memory stays flat.

    Yields:
        Line number from 1, and the text.

    Raises:
        UserError: as `text_encoding`.
    """
    lines = _Lines(file, reading, line_ends, long_lines)
    with file.open() as stream:
        yield from lines.of(stream)


class _Lines:
    """The state between two blocks of a file."""

    def __init__(
        self, file: SourceFile, reading: Reading, line_ends: LineEnds, long_lines: Literal["split", "drop"]
    ) -> None:
        self._file = file
        self._reading = reading
        self._ends = line_ends
        self._drops_long = long_lines == "drop"
        self._encoding = text_encoding(file, reading)
        self._is_ascii = True
        self._number = 1

    def of(self, stream: BinaryIO) -> Iterator[tuple[int, str]]:
        if self._encoding in WIDE:
            yield from self._wide_lines(stream)
            return
        if self._encoding == "utf-8-sig":
            stream.read(len(codecs.BOM_UTF8))
        rest = b""
        while chunk := stream.read(_CHUNK_BYTES):
            rest += chunk
            cut = self._last_end(rest)
            if cut == 0 and len(rest) > MAX_LINE_BYTES:
                rest = yield from self._long_line(rest, stream)
                continue
            yield from self._split(self._decode(rest[:cut]))
            rest = rest[cut:]
        if rest:
            yield from self._split(self._decode(rest))

    def _last_end(self, data: bytes) -> int:
        """Return how many bytes belong to lines that are complete; a CR at the very end may be half a line end."""
        last = data.rfind(b"\n")
        if self._ends == "any":
            last = max(last, data.rfind(b"\r", 0, len(data) - 1))
        return last + 1

    def _decode(self, block: bytes) -> str | list[str | None]:
        """Return the text of whole lines, or, where some are not in the encoding, a list with holes."""
        try:
            text = block.decode(self._encoding)
        except UnicodeDecodeError:
            if self._is_ascii and self._reading.encoding is None and self._switch(block):
                return self._decode(block)
            return self._decode_singly(block)
        self._is_ascii = self._is_ascii and text.isascii()
        return text

    def _switch(self, block: bytes) -> bool:
        """Take another encoding when the first characters beyond ASCII show that the file is not in UTF-8."""
        found = detect_encoding(block, language=self._reading.language)
        if found is None or found == self._encoding or found in WIDE:
            return False
        self._encoding = self._reading.found_encoding = found
        return True

    def _decode_singly(self, block: bytes) -> list[str | None]:
        lines: list[str | None] = []
        for number, line in enumerate(self._parts(block), self._number):
            try:
                lines.append(line.decode(self._encoding))
            except UnicodeDecodeError as error:
                lines.append(None)
                self._reading.report(
                    f"{self._file}, line {number}: not in {self._encoding.upper()} (byte {error.start + 1:,} of the "
                    "line); choose another encoding, or correct the line."
                )
        return lines

    def _parts(self, block: bytes) -> list[bytes]:
        if self._ends == "any":
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return block.removesuffix(b"\n").split(b"\n")

    def _split(self, decoded: str | list[str | None]) -> Iterator[tuple[int, str]]:
        if isinstance(decoded, str):
            if self._ends == "any" and "\r" in decoded:
                decoded = decoded.replace("\r\n", "\n").replace("\r", "\n")
            decoded = [*decoded.removesuffix("\n").split("\n")] if decoded else []
        start = self._number
        self._number += len(decoded)
        strips = self._ends == "lf"
        for number, line in enumerate(decoded, start):
            if line is not None:
                yield number, line.removesuffix("\r") if strips else line

    def _long_line(self, rest: bytes, stream: BinaryIO) -> Generator[tuple[int, str], None, bytes]:
        """Yield a line that is too long in pieces, or none of it; return the bytes after it."""
        number = self._number
        if self._drops_long:
            self._reading.report(f"{self._file}, line {number}: longer than {MAX_LINE_BYTES >> 20} MB; split the line.")
        else:
            self._reading.warn(
                f"{self._file}, line {number}: longer than {MAX_LINE_BYTES >> 20} MB; it is taken in pieces."
            )
        decoder = codecs.getincrementaldecoder(self._encoding)("replace")
        while True:
            end = min((at for mark in b"\n\r" if (at := rest.find(mark)) >= 0), default=-1)
            if self._ends == "lf":
                end = rest.find(b"\n")
            piece = rest if end < 0 else rest[:end]
            if piece and not self._drops_long:
                yield number, decoder.decode(piece, final=end >= 0)
            if end >= 0:
                self._number += 1
                # A CRLF is one line end, also where the chunk ends between the two.
                if rest[end : end + 1] == b"\r":
                    rest += stream.read(1) if end + 1 == len(rest) else b""
                    end += rest[end + 1 : end + 2] == b"\n"
                return rest[end + 1 :]
            rest = stream.read(_CHUNK_BYTES)
            if not rest:
                return b""

    def _wide_lines(self, stream: BinaryIO) -> Iterator[tuple[int, str]]:
        decoder = codecs.getincrementaldecoder(self._encoding)("replace")
        rest = ""
        is_first = True
        while chunk := stream.read(_CHUNK_BYTES):
            text = decoder.decode(chunk)
            rest += text.removeprefix("\ufeff") if is_first else text
            is_first = False
            last = rest.rfind("\n")
            if self._ends == "any":
                last = max(last, rest.rfind("\r", 0, len(rest) - 1))
            if last < 0 and len(rest) > MAX_LINE_BYTES:
                self._reading.warn(f"{self._file}, line {self._number}: too long; it is taken in pieces.")
                yield self._number, rest
                rest = ""
                continue
            yield from self._split(rest[: last + 1])
            rest = rest[last + 1 :]
        if rest:
            yield from self._split(rest)
