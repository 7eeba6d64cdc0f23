"""Spreadsheets (.xlsx, .ods, .xls), read by the package python-calamine: the wanted columns of each sheet."""

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from lapestudio.core.errors import UserError
from lapestudio.corpora.archives import MAX_RATIO
from lapestudio.corpora.columns import column_parts, distinct_names, language_column, text_columns
from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.tables import Row, header_row, rows_to_segments
from lapestudio.corpora.text_lines import MAX_DOCUMENT_BYTES, read_bytes

_LOOKED_AT = 200
_OLE = b"\xd0\xcf\x11\xe0"


def read_spreadsheet(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Yield the text of the wanted columns, sheet by sheet.

    Raises:
        UserError: damaged, protected by a password, too large, or no column with text.
    """
    any_column = False
    for sheet, rows in _sheets(file):
        place = header_row(rows[:_LOOKED_AT])
        header, data = _split(rows, place)
        first = data[:_LOOKED_AT]
        text = text_columns(header, first, reading)
        chosen = [column for column, name in enumerate(header) if reading.takes(name, column in text)]
        if not chosen:
            continue
        any_column = True
        numbered = enumerate(data, start=1 + (0 if place is None else place + 1))
        language = language_column(header, first)
        segments = rows_to_segments(file, numbered, header=header, chosen=chosen, language=language, reading=reading)
        for segment in segments:
            yield segment._replace(location=f"{sheet}, {segment.location}", unit=f"{sheet}, {segment.unit}")
    if not any_column:
        raise UserError(f"{file} has no column with running text; choose one.")


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the columns of all sheets."""
    parts: dict[str, Part] = {}
    for _sheet, rows in _sheets(file):
        header, data = _split(rows, header_row(rows[:_LOOKED_AT]))
        for part in column_parts(header, data[:_LOOKED_AT], reading):
            parts.setdefault(part.name, part)
    return list(parts.values())


def _split(rows: list[Row], place: int | None) -> tuple[list[str], list[Row]]:
    width = max(map(len, rows))
    if place is None:
        return distinct_names([""] * width), rows
    return distinct_names([*rows[place], *[""] * (width - len(rows[place]))]), rows[place + 1 :]


def _sheets(file: SourceFile) -> Iterator[tuple[str, list[Row]]]:
    """Yield name and rows of each sheet that has some."""
    import python_calamine

    data = read_bytes(file)
    _check_size(file, data)
    try:
        workbook: Any = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        for name in workbook.sheet_names:
            rows = [[_text(cell) for cell in row] for row in workbook.get_sheet_by_name(name).to_python()]
            rows = [row for row in rows if any(cell for cell in row)]
            if rows:
                yield str(name), rows
    except python_calamine.PasswordError as error:
        raise UserError(f"{file} is protected by a password; save it without one.") from error
    except (python_calamine.CalamineError, python_calamine.ZipError, python_calamine.XmlError) as error:
        if data.startswith(_OLE):
            raise UserError(f"{file} is damaged or protected by a password; save it as .xlsx without one.") from error
        raise UserError(f"{file} is a damaged spreadsheet; save it again.") from error


def _text(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()


def _check_size(file: SourceFile, data: bytes) -> None:
    """Refuse a spreadsheet that would grow out of bounds: the library has it all in memory."""
    if not data.startswith(b"PK"):
        return
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(info.file_size for info in archive.infolist())
    except zipfile.BadZipFile as error:
        raise UserError(f"{file} is a damaged spreadsheet; save it again.") from error
    if size > MAX_DOCUMENT_BYTES or (size > 1 << 20 and size > MAX_RATIO * len(data)):
        raise UserError(f"{file} grows out of all bounds when it is unpacked; save it as CSV.")


def _recognises(head: Head) -> bool:
    if head.data.startswith(b"PK\x03\x04"):
        return (
            head.suffix in (".xlsx", ".xlsm", ".ods", ".xlsb")
            or b"xl/" in head.data[:4096]
            or b"application/vnd.oasis.opendocument.spreadsheet" in head.data[:200]
        )
    return head.data.startswith(_OLE) and head.suffix == ".xls"


READER = Reader(
    name="spreadsheet",
    suffixes=frozenset({".xlsx", ".xlsm", ".xlsb", ".ods", ".xls"}),
    recognises=_recognises,
    read=read_spreadsheet,
    find_parts=find_parts,
)
