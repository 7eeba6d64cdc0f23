"""All formats that can be read, and which of them a file is in.

The content decides; the ending does only where that says nothing.
"""

import codecs

from lapestudio.core.errors import UserError
from lapestudio.corpora import (
    conllu,
    elan,
    epub,
    flex,
    gettext_catalogues,
    jsonl,
    open_documents,
    parallel_lines,
    parquet,
    pdf,
    plain_text,
    rich_text,
    spreadsheets,
    subtitles,
    tables,
    tei,
    textgrid,
    tmx,
    toolbox,
    usfm,
    web_pages,
    wikipedia,
    word_documents,
    xliff,
)
from lapestudio.corpora.reader import Head, Reader, Reading
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_head

READERS: tuple[Reader, ...] = (
    parquet.READER,
    spreadsheets.READER,
    word_documents.READER,
    open_documents.READER,
    epub.READER,
    pdf.READER,
    rich_text.READER,
    elan.READER,
    textgrid.READER,
    flex.READER,
    tei.READER,
    tmx.READER,
    xliff.READER,
    usfm.USX_READER,
    wikipedia.READER,
    web_pages.READER,
    gettext_catalogues.READER,
    usfm.READER,
    toolbox.READER,
    subtitles.READER,
    conllu.READER,
    jsonl.READER,
    parallel_lines.READER,
    tables.READER,
)
"""All formats but plain text; where several recognise a file, the first one takes it."""
_BINARY_FORMATS = {
    b"PK\x03\x04": "a zip archive or an office document without text",
    b"\xd0\xcf\x11\xe0": "an old or a password-protected office document; save it as .docx without a password",
    b"7z\xbc\xaf": "a 7z archive; unpack it",
    b"Rar!": "a RAR archive; unpack it",
    b"SQLite format 3": "a database; export its text",
}


def reader_for(file: SourceFile, reading: Reading) -> Reader:
    """Return the reader for a file.

    Raises:
        UserError: not readable, empty, or of no known format.
    """
    head = read_head(file, reading)
    for reader in READERS:
        if reader.recognises(head):
            return reader
    for reader in READERS:
        if head.suffix in reader.suffixes:
            return reader
    if head.text is None or any(head.data.startswith(magic) for magic in _BINARY_FORMATS):
        raise UserError(_refusal(head))
    return plain_text.READER


def readable_suffixes() -> frozenset[str]:
    """Return the endings of files that are looked at when a folder is read."""
    return frozenset(suffix for reader in (*READERS, plain_text.READER) for suffix in reader.suffixes)


def _refusal(head: Head) -> str:
    start = head.data.removeprefix(codecs.BOM_UTF8)
    found = next((name for magic, name in _BINARY_FORMATS.items() if start.startswith(magic)), None)
    if found is not None:
        return f"{head.path} cannot be read: it is {found}."
    return f"{head.path} is a binary file of a kind that cannot be read; choose a file with text."
