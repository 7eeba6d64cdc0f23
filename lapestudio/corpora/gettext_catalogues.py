"""Catalogues of gettext (.po, .mo): the translations, or what was translated."""

import re
import struct
from collections.abc import Iterator
from typing import Any

from lapestudio.core.errors import UserError
from lapestudio.corpora.encodings import detect_encoding
from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_bytes

_SOURCE, _TARGET = "msgid", "msgstr"
_CHARSET = re.compile(rb"charset=([A-Za-z0-9._-]+)")
_MO_MAGIC = (b"\xde\x12\x04\x95", b"\x95\x04\x12\xde")
# One that stands at or in a word marks a shortcut key; between digits or alone it is text.
_ACCELERATOR = re.compile(r"[_&](?=[^\W\d_])")


def read_catalogue(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Yield the translations that are finished.

    Raises:
        UserError: the file is damaged.
    """
    catalogue = _catalogue(file, reading)
    language = catalogue.metadata.get("Language") or None
    for number, entry in enumerate(catalogue, start=1):
        if (reason := _reason_to_skip(entry)) is not None:
            reading.skip(reason)
            continue
        for form, (source, target) in enumerate(_pairs(entry)):
            unit = f"entry {number}" + (f", form {form + 1}" if entry.msgid_plural else "")
            # Compiled catalogues have no lines.
            line = getattr(entry, "linenum", None)
            place = f"line {line}" if line else unit
            for part, text in ((_SOURCE, source), (_TARGET, target)):
                plain = " ".join(_ACCELERATOR.sub("", text).split())
                if plain and reading.takes(part, part == _TARGET):
                    stated = language if part == _TARGET else None
                    yield Segment(plain, str(file), place, field=part, language=stated, unit=unit)


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List both sides."""
    catalogue = _catalogue(file, reading)
    entries = [entry for entry in catalogue if _reason_to_skip(entry) is None]
    pairs = [pair for entry in entries for pair in _pairs(entry)]
    return [
        Part(
            name=part,
            kind="field",
            is_default=part == _TARGET,
            language=(catalogue.metadata.get("Language") or None) if part == _TARGET else None,
            num_segments=len(pairs),
            example=pairs[0][place] if pairs else "",
        )
        for place, part in enumerate((_SOURCE, _TARGET))
    ]


def _pairs(entry: Any) -> list[tuple[str, str]]:
    if not entry.msgid_plural:
        return [(entry.msgid, entry.msgstr)]
    forms = sorted(entry.msgstr_plural.items())
    return [(entry.msgid if not form else entry.msgid_plural, text) for form, text in forms]


def _reason_to_skip(entry: Any) -> str | None:
    if entry.obsolete:
        return "obsolete"
    if "fuzzy" in entry.flags:
        return "fuzzy"
    return None if entry.msgstr or any(entry.msgstr_plural.values()) else "untranslated"


def _catalogue(file: SourceFile, reading: Reading) -> Any:
    import polib

    data = read_bytes(file)
    try:
        if data.startswith(_MO_MAGIC):
            return polib.mofile(data)
        stated = _CHARSET.search(data[:20_000])
        encoding = reading.encoding or (stated[1].decode("ascii") if stated is not None else None)
        if encoding is None or encoding.casefold() == "charset":
            encoding = detect_encoding(data, language=reading.language) or "utf-8"
        reading.found_encoding = encoding.casefold().replace("iso-8859-", "iso8859-")
        text = data.decode(encoding, "replace").removeprefix("\ufeff")
        # Other line ends than LF and CRLF lie inside strings.
        return polib.pofile(text.replace("\u2028", " ").replace("\x85", " "))
    except (OSError, ValueError, LookupError, struct.error) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"{file} is a damaged catalogue of gettext ({reason}); export it again.") from error


def _recognises(head: Head) -> bool:
    if head.data.startswith(_MO_MAGIC):
        return True
    if head.text is None:
        return False
    return (
        re.search(r"^msgid ", head.text, re.MULTILINE) is not None
        and re.search(r"^msgstr", head.text, re.MULTILINE) is not None
    )


READER = Reader(
    name="gettext",
    suffixes=frozenset({".po", ".mo", ".pot"}),
    recognises=_recognises,
    read=read_catalogue,
    find_parts=find_parts,
)
