"""PDF documents with a text layer, read by PDFium: lines put together to paragraphs.

A PDF says where letters stand, not what they are: the text of some scripts comes out wrong, and nobody can tell by
program. Every PDF is marked as doubtful.
"""

import io
import re
from collections.abc import Iterator
from typing import Any

from lapestudio.core.errors import UserError
from lapestudio.corpora.reader import Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_bytes

_END = re.compile(r"[.!?…:;\u0964\u06d4\u3002]['\"»”\u2019)]*$")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]$")
_ODD = re.compile("[\ufffd\x00-\x08\x0e-\x1f\ue000-\uf8ff]")
_SHORT_LINE = 0.7


def read_pdf(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the paragraphs, page by page.

    Raises:
        UserError: damaged, or protected by a password.
    """
    import pypdfium2

    data = read_bytes(file)
    try:
        document: Any = pypdfium2.PdfDocument(io.BytesIO(data))
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).casefold():
            raise UserError(f"{file} is protected by a password; save it without one.") from error
        raise UserError(f"{file} is a damaged PDF document; copy or download it again.") from error
    num_empty = num_odd = 0
    try:
        for number in range(len(document)):
            text = _page_text(document, number)
            num_odd += len(_ODD.findall(text))
            paragraphs = list(_paragraphs(text))
            num_empty += not paragraphs
            for place, paragraph in enumerate(paragraphs, start=1):
                yield Segment(_ODD.sub("\ufffd", paragraph), str(file), f"page {number + 1}, paragraph {place}")
    finally:
        document.close()
    reading.warn(f"{file}: the text of a PDF may have wrong letters or a wrong order; look at it before you use it.")
    if num_odd:
        reading.warn(f"{file}: {num_odd:,} characters have no meaning that the document tells; look for wrong letters.")
    if num_empty:
        reading.skip("page without text (scanned?)", num_empty)


def _page_text(document: Any, number: int) -> str:
    page = document[number]
    try:
        text_page = page.get_textpage()
        try:
            # PDFium marks a word that it has put together over the end of a line.
            return str(text_page.get_text_bounded()).replace("\ufffe", "").replace("\x02", "")
        finally:
            text_page.close()
    finally:
        page.close()


def _paragraphs(text: str) -> Iterator[str]:
    """Put lines together: a paragraph ends at an empty line, or where a sentence ends in a line that is short."""
    lines = [line.strip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    width = max(map(len, lines), default=0)
    paragraph = ""
    for line in [*lines, ""]:
        if not line:
            if paragraph:
                yield paragraph
            paragraph = ""
            continue
        if _HYPHEN.search(paragraph) and line[:1].islower():
            # Only before a small letter: "North-" and "South" stay two.
            paragraph = paragraph[:-1] + line
        else:
            paragraph = f"{paragraph} {line}".strip()
        if _END.search(line) and len(line) < _SHORT_LINE * width:
            yield paragraph
            paragraph = ""


READER = Reader(
    name="PDF", suffixes=frozenset({".pdf"}), recognises=lambda head: b"%PDF-" in head.data[:1024], read=read_pdf
)
