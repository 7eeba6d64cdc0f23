"""Plain text files: each line that is not blank is a segment, the file is the document."""

from collections.abc import Iterator
from pathlib import Path

from lapestudio.corpora.reader import Reader, Report
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.text_lines import read_lines


def read_plain_text(path: Path, _report: Report) -> Iterator[Segment]:
    """Stream the lines of a text file.

    Raises:
        UserError: not readable, or not text in UTF-8.
    """
    document = str(path)
    for number, line in read_lines(path):
        text = line.strip()
        if text:
            yield Segment(text=text, document=document, location=f"line {number}")


READER = Reader(
    name="plain text",
    suffixes=frozenset({".txt", ".text"}),
    recognises=bool,
    read=read_plain_text,
)
