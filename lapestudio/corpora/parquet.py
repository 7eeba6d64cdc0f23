"""Parquet files, as data sets are published: the wanted columns, batch by batch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lapestudio.core.errors import UserError
from lapestudio.corpora.columns import column_parts, language_column, text_columns
from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.tables import rows_to_segments
from lapestudio.corpora.tmx import language_parts, main_language

_ROWS = 1000
_LOOKED_AT = 200


def read_parquet(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the text of the wanted columns.

    Raises:
        UserError: damaged, no column with text, or rows in other languages only.
    """
    with _opened(file) as table:
        pairs = _pair_column(table)
        if pairs is not None:
            yield from _sides(file, table, pairs, reading)
            return
        header = _text_names(table)
        first = _first_rows(table, header)
        text = text_columns(header, first, reading)
        language = language_column(header, first)
        chosen = [column for column, name in enumerate(header) if reading.takes(name, column in text)]
        if not chosen:
            listed = ", ".join(table.schema_arrow.names[:12])
            raise UserError(f"{file} has no column with running text (columns here: {listed}); choose one.")
        # No other column is read from the disk.
        wanted = sorted({*chosen, *([language] if language is not None else [])})
        names = [header[column] for column in wanted]
        rows = enumerate(_rows(table, names), start=1)
        places = [wanted.index(column) for column in chosen]
        place = wanted.index(language) if language is not None else None
        yield from rows_to_segments(file, rows, header=names, chosen=places, language=place, reading=reading)


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the columns, or the languages of a column of translations."""
    with _opened(file) as table:
        pairs = _pair_column(table)
        if pairs is None:
            header = _text_names(table)
            return column_parts(header, _first_rows(table, header), reading)
        found: dict[str, tuple[int, str]] = {}
        batch = next(table.iter_batches(_LOOKED_AT, columns=[pairs]), None)
        for record in batch.column(0).to_pylist() if batch is not None else []:
            for language, text in (record or {}).items():
                number, example = found.get(main_language(language), (0, text or ""))
                found[main_language(language)] = number + bool(text), example
        return language_parts(found, reading)


@contextmanager
def _opened(file: SourceFile) -> Iterator[Any]:
    import pyarrow
    import pyarrow.parquet

    with file.open() as stream:
        try:
            yield pyarrow.parquet.ParquetFile(stream)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, OSError) as error:
            raise UserError(f"{file} is damaged or cut off; copy or download it again.") from error


def _pair_column(table: Any) -> str | None:
    """Return the column that holds a text by language (`translation` in OPUS data sets), where there is one."""
    import pyarrow

    for field in table.schema_arrow:
        if pyarrow.types.is_struct(field.type) and field.name in ("translation", "translations"):
            return str(field.name)
    return None


def _text_names(table: Any) -> list[str]:
    import pyarrow

    types = pyarrow.types
    return [
        field.name
        for field in table.schema_arrow
        if types.is_string(field.type) or types.is_large_string(field.type) or types.is_dictionary(field.type)
    ]


def _first_rows(table: Any, names: Sequence[str]) -> list[list[str]]:
    batch = next(table.iter_batches(_LOOKED_AT, columns=list(names)), None) if names else None
    return [] if batch is None else _cells(batch)


def _rows(table: Any, names: Sequence[str]) -> Iterator[list[str]]:
    for batch in table.iter_batches(_ROWS, columns=list(names)):
        # Arrow gives the columns in the order of the file.
        order = [batch.schema.names.index(name) for name in names]
        for row in _cells(batch):
            yield [row[place] for place in order]


def _cells(batch: Any) -> list[list[str]]:
    columns = [column.to_pylist() for column in batch.columns]
    return [["" if cell is None else str(cell) for cell in row] for row in zip(*columns, strict=True)]


def _sides(file: SourceFile, table: Any, column: str, reading: Reading) -> Iterator[Segment]:
    number = 0
    others: set[str] = set()
    found = False
    for batch in table.iter_batches(_ROWS, columns=[column]):
        for record in batch.column(0).to_pylist():
            number += 1
            for language, text in (record or {}).items():
                part = main_language(language)
                if not text or not str(text).strip():
                    reading.skip("empty side")
                elif reading.takes(part, reading.wants_language(part)):
                    found = True
                    unit = f"row {number}"
                    yield Segment(str(text).strip(), str(file), unit, field=part, language=language, unit=unit)
                else:
                    others.add(part)
    if others and not found and reading.parts is None:
        raise UserError(f"{file} has text in {', '.join(sorted(others))}, but none in {reading.language}.")


def _recognises(head: Head) -> bool:
    return head.data.startswith(b"PAR1")


READER = Reader(
    name="Parquet",
    suffixes=frozenset({".parquet"}),
    recognises=_recognises,
    read=read_parquet,
    find_parts=find_parts,
)
