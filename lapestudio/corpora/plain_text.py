"""Plain text files: each line that is not blank is a segment, the file is the document."""

from collections.abc import Iterator

from lapestudio.corpora.mojibake import repaired
from lapestudio.corpora.reader import Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_lines

_LOOKED_AT = 20_000
_ASCII_SPACE = " \t\r\n\f\v"


def read_plain_text(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the lines of a text file; warn where lines look as if they were stored twice.

    Raises:
        UserError: not readable, empty or binary.
    """
    document = str(file)
    first_damaged = num_damaged = 0
    for number, line in read_lines(file, reading):
        text = line.strip()
        if text:
            whole = line.strip(_ASCII_SPACE)
            # "à" that was stored twice ends in a no-break space, other letters in a control character.
            if len(whole) != len(text) and repaired(whole) is not None:
                text = whole
            if number < _LOOKED_AT and not text.isascii() and repaired(text) is not None:
                first_damaged, num_damaged = first_damaged or number, num_damaged + 1
            yield Segment(text, document, f"line {number}")
    if num_damaged:
        others = f" and {num_damaged - 1:,} more" if num_damaged > 1 else ""
        reading.warn(
            f"{file}, line {first_damaged}{others}: the letters look as if they were stored twice; repair them with "
            "the cleaning step for it, or choose another encoding."
        )


READER = Reader(
    name="plain text",
    suffixes=frozenset({".txt", ".text"}),
    recognises=lambda head: head.text is not None,
    read=read_plain_text,
)
