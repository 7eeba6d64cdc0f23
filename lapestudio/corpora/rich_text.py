"""Rich text (.rtf), read by the package striprtf."""

import re
from collections.abc import Iterator

from lapestudio.core.errors import UserError
from lapestudio.corpora.legacy_fonts import warn_of_fonts
from lapestudio.corpora.reader import Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_bytes

_FONT = re.compile(r"\\f\d+[^;{}]*? ([^;{}\\]+);")
# striprtf gives one line feed for \par and for \line; the latter is no end of a paragraph.
_LINE_BREAK = re.compile(r"\\line(?![a-z])\s?")
_BREAK_MARK = "\ue000"


def read_rtf(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Yield the paragraphs.

    Raises:
        UserError: the file is damaged.
    """
    from striprtf.striprtf import rtf_to_text

    # RTF is ASCII; other letters are escaped, or stand as bytes of the code page.
    source = read_bytes(file).decode("latin-1")
    warn_of_fonts(file, _FONT.findall(source[:100_000]), reading)
    marked = _LINE_BREAK.sub(lambda _match: rf"\u{ord(_BREAK_MARK) - 65536}?", source)
    try:
        text: str = rtf_to_text(marked, errors="replace")  # type: ignore[no-untyped-call]
    except (ValueError, IndexError, KeyError, LookupError, RecursionError) as error:
        raise UserError(f"{file} is damaged rich text; save it again.") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if paragraph := line.replace(_BREAK_MARK, "\n").strip():
            yield Segment(paragraph, str(file), f"paragraph {number}")


READER = Reader(
    name="rich text",
    suffixes=frozenset({".rtf"}),
    recognises=lambda head: head.data.lstrip()[:5] == b"{\\rtf",
    read=read_rtf,
)
