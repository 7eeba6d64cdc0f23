"""Plain text files: each line that is not blank is a segment, the file is the document."""

from collections.abc import Iterator

from lapestudio.corpora.reader import Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_lines


def read_plain_text(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the lines of a text file.

    Raises:
        UserError: not readable, empty or binary.
    """
    document = str(file)
    for number, line in read_lines(file, reading):
        text = line.strip()
        if text:
            yield Segment(text, document, f"line {number}")


READER = Reader(
    name="plain text",
    suffixes=frozenset({".txt", ".text"}),
    recognises=lambda head: head.text is not None,
    read=read_plain_text,
)
