"""Bytes on disk to numbered lines of text, as a stream: what all readers of line-based formats stand on.

Lines end at LF, CRLF or CR, or at LF alone; never at U+2028, U+0085 or a vertical tab, which lie inside sentences.
"""

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from lapestudio.core.errors import UserError

MAX_LINE_CHARACTERS = 1 << 22
HEAD_BYTES = 1 << 16
_CHUNK_BYTES = 1 << 20
_MAX_CONTROL_SHARE = 0.05
_CONTROLS = bytes(set(range(0x20)) - set(b"\t\n\v\f\r\x1a\x1b") | {0x7F})
_WIDE_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_BINARY_FORMATS = {
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a zip archive or an office document",
    b"\xd0\xcf\x11\xe0": "an old office document",
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"PAR1": "a Parquet table",
}
_MARKUP_FORMATS = {
    b"{\\rtf": "an RTF document",
    b"<?xml": "an XML document",
    b"<!doctype": "an HTML or XML document",
    b"<html": "an HTML document",
}


@contextmanager
def explaining_file_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's errors about `path` into sentences.

    Raises:
        UserError: the body raised an OSError.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist; check the name, or choose the file again.") from error
    except PermissionError as error:
        raise UserError(
            f"{path} may not be read; ask its owner for permission, or copy it to your own folder."
        ) from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.") from error


def read_head(path: Path) -> str:
    """Return the beginning of a text file, to recognise its format by.

    Raises:
        UserError: not readable, empty, binary, of a known format that is not text, or not in UTF-8.
    """
    with explaining_file_errors(path), path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise UserError(f"{path} is empty; choose a file with text.")
    _refuse_other_content(path, head)
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    try:
        return decoder.decode(head, final=False)
    except UnicodeDecodeError as error:
        raise _encoding_fault(path) from error


def read_lines(path: Path, *, line_ends: Literal["any", "lf"] = "any") -> Iterator[tuple[int, str]]:
    """Stream the lines of a UTF-8 file (with or without byte order mark), without their ends.

    A line of more than `MAX_LINE_CHARACTERS` comes in several pieces of the same number, so that memory stays flat.

    Args:
        path: the file.
        line_ends: what ends a line: LF, CRLF and CR, or LF alone.

    Yields:
        Line number from 1, and the text.

    Raises:
        UserError: not readable, not UTF-8 (names the line and the byte), or NUL characters in it.
    """
    number = 1
    try:
        with (
            explaining_file_errors(path),
            path.open(encoding="utf-8-sig", newline=None if line_ends == "any" else "\n") as file,
        ):
            while piece := file.readline(MAX_LINE_CHARACTERS):
                if "\0" in piece:
                    raise UserError(f"{path}, line {number}: NUL characters; this is not a text file.")
                whole = piece.endswith("\n")
                yield number, piece[:-1] if whole else piece
                number += whole
    except UnicodeDecodeError as error:
        raise _encoding_fault(path) from error


def _refuse_other_content(path: Path, head: bytes) -> None:
    for mark, encoding in _WIDE_MARKS.items():
        if head.startswith(mark):
            raise UserError(f"{path} is written in {encoding}; save it as UTF-8.")
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()[:16].lower()
    found = [name for magic, name in _BINARY_FORMATS.items() if head.startswith(magic)]
    found += [name for magic, name in _MARKUP_FORMATS.items() if start.startswith(magic)]
    if found:
        raise UserError(f"{path} is {found[0]}, which cannot be read; save its text as plain text in UTF-8.")
    num_controls = len(head) - len(head.translate(None, _CONTROLS))
    if b"\0" in head or num_controls > _MAX_CONTROL_SHARE * len(head):
        raise UserError(f"{path} is a binary file; choose a file with plain text in UTF-8.")


def _encoding_fault(path: Path) -> UserError:
    """Return the sentence that says where `path` stops being UTF-8; reads the file again up to that place."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    offset, line, last = 0, 1, b""
    with explaining_file_errors(path), path.open("rb") as file:
        while True:
            chunk = file.read(_CHUNK_BYTES)
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                sound = error.object[: error.start]
                line += _count_line_ends(last, sound[pending:] if len(sound) > pending else b"")
                return UserError(
                    f"{path}, line {line}: not in UTF-8 (byte {offset - pending + error.start + 1:,} of the file); "
                    "open it in a text editor and save it with the encoding UTF-8."
                )
            if not chunk:
                return UserError(f"{path} was changed while it was read; try again.")
            line += _count_line_ends(last, chunk)
            offset, last = offset + len(chunk), chunk[-1:]


def _count_line_ends(before: bytes, chunk: bytes) -> int:
    """Count the line ends of `chunk`; a CRLF that began in the byte `before` it was counted there already."""
    split_pair = before == b"\r" and chunk.startswith(b"\n")
    return chunk.count(b"\n") + chunk.count(b"\r") - chunk.count(b"\r\n") - split_pair
