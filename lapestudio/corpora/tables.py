r"""Tables as text: CSV and TSV with the habits of spreadsheets, Tatoeba, Common Voice and Leipzig.

Where tabs part the columns, quotes are text, unless a whole field is one well-formed quoted string; and only LF ends a
row. In CSV a quoted field may hold line breaks.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from lapestudio.core.errors import UserError
from lapestudio.core.languages import find_language
from lapestudio.corpora.columns import column_parts, distinct_names, language_column, text_columns
from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_lines

Row = list[str]
# The module's own limit is smaller than what one stray quote gathers; ours is kept by `_quoted_rows`.
csv.field_size_limit(1 << 24)
_DELIMITERS = (",", ";", "|")
_LOOKED_AT = 200
_MAX_FIELD_CHARACTERS = 1 << 22
_QUOTED = re.compile(r'"((?:[^"]|"")*)"$')
_NUMBER = re.compile(r"\d+$")
_NONE = r"\N"
_MIN_ROWS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """What is known of a table after its first rows."""

    delimiter: str
    header: list[str]
    num_header_rows: int
    """Rows before the data: the header, and what stands above it."""
    rows: list[Row]
    """The first of the data."""
    text: list[int]
    language: int | None


def read_table(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the text of the wanted columns, row by row.

    Raises:
        UserError: not readable, no column with text, or rows in other languages only.
    """
    table = _look(file, reading)
    chosen = [column for column, name in enumerate(table.header) if reading.takes(name, column in table.text)]
    if not chosen:
        wanted = ", ".join(reading.parts or ())
        listed = ", ".join(table.header[:12])
        raise UserError(
            f"{file} has no column {wanted} (columns here: {listed}); choose another one."
            if reading.parts is not None
            else f"{file} has no column with running text (columns here: {listed}); choose one."
        )
    rows = islice(_rows(file, reading, table.delimiter), table.num_header_rows, None)
    yield from rows_to_segments(
        file, rows, header=table.header, chosen=chosen, language=table.language, reading=reading
    )


def rows_to_segments(
    file: SourceFile,
    rows: Iterator[tuple[int, Row]],
    *,
    header: Sequence[str],
    chosen: Sequence[int],
    language: int | None,
    reading: Reading,
) -> Iterator[Segment]:
    """Stream the chosen cells of rows; rows that state another language than the wanted one are left out.

    Raises:
        UserError: all rows state other languages.
    """
    others: set[str] = set()
    found = False
    document = str(file)
    for number, row in rows:
        stated = row[language].strip() if language is not None and language < len(row) else ""
        stated = "" if stated == _NONE else stated
        if stated and not reading.wants_language(stated):
            others.add(stated)
            continue
        for column in chosen:
            text = row[column].strip() if column < len(row) else ""
            if not text or text == _NONE:
                reading.skip("empty cell")
                continue
            found = True
            yield Segment(
                text, document, f"row {number}", field=header[column], language=stated or None, unit=f"row {number}"
            )
    if others and not found:
        listed = ", ".join(sorted(others)[:12])
        raise UserError(
            f"{file} has rows in {listed}, but none in {reading.language}; choose another language or file."
        )


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the columns."""
    table = _look(file, reading)
    return column_parts(table.header, table.rows, reading)


def _look(file: SourceFile, reading: Reading) -> _Table:
    # Faults in the first rows are told when the rows are read.
    quiet = replace(reading, report=lambda _fault: None)
    lines = [line for _number, line in islice(read_lines(file, quiet, line_ends="lf", long_lines="drop"), _LOOKED_AT)]
    reading.found_encoding = quiet.found_encoding
    delimiter = _delimiter(lines, file.suffix)
    rows = [row for _number, row in islice(_rows(file, quiet, delimiter), _LOOKED_AT)]
    if not rows:
        raise UserError(f"{file} holds no rows; choose another file.")
    place = header_row(rows)
    width = max(map(len, rows))
    if place is None:
        header, data = _names_without_header(rows, width), rows
        num_header_rows = 0
    else:
        header, data = rows[place] + [""] * (width - len(rows[place])), rows[place + 1 :]
        num_header_rows = place + 1
    names = distinct_names(header)
    return _Table(
        delimiter=delimiter,
        header=names,
        num_header_rows=num_header_rows,
        rows=data,
        text=text_columns(names, data, reading),
        language=language_column(names, data),
    )


def _delimiter(lines: Sequence[str], suffix: str) -> str:
    """Return what parts the columns: the character that most lines have equally often."""
    filled = [line for line in lines if line.strip()]
    if suffix in (".tsv", ".tab") or sum("\t" in line for line in filled) * 2 > len(filled):
        return "\t"
    counts = {mark: [line.count(mark) for line in filled] for mark in _DELIMITERS}

    def regularity(mark: str) -> tuple[int, int]:
        numbers = [number for number in counts[mark] if number]
        usual = max(set(numbers), key=numbers.count, default=0)
        return numbers.count(usual), usual

    return max(_DELIMITERS, key=regularity)


def header_row(rows: Sequence[Row]) -> int | None:
    """Return the row with the names of the columns; nothing where the data begin at once.

    Above it there may be a title. Names are short, differ, and are no numbers.
    """
    width = max(len(row) for row in rows)
    for place, row in enumerate(rows[:5]):
        cells = [cell.strip() for cell in row]
        if len(row) < min(width, 2) or len([cell for cell in cells if cell]) < len(cells) - 1:
            continue
        if any(_NUMBER.match(cell) or len(cell) > 40 for cell in cells) or len(set(cells)) < len(cells) - 1:  # noqa: PLR2004
            return None
        if all(len(cell.split()) <= 4 and not cell.endswith((".", "!", "?")) for cell in cells):  # noqa: PLR2004
            return place if len(rows) > place + 1 else None
        return None
    return None


def _names_without_header(rows: Sequence[Row], width: int) -> list[str]:
    """Name the columns of the known forms without a header: Tatoeba's and Leipzig's."""
    first = [row[0] for row in rows]
    if all(_NUMBER.match(cell.strip()) for cell in first):
        if width >= 3 and all(len(row) >= 3 and _is_language(row[1]) for row in rows):  # noqa: PLR2004
            return ["id", "lang", "text", *[""] * (width - 3)]
        if len(rows) >= _MIN_ROWS or width == 2:  # noqa: PLR2004
            return ["id", "text", *[""] * (width - 2)]
    return [""] * width


def _is_language(cell: str) -> bool:
    cell = cell.strip()
    if cell == _NONE:
        return True
    if not 2 <= len(cell) <= 12 or not cell.isascii():  # noqa: PLR2004
        return False
    try:
        find_language(cell)
    except UserError:
        return False
    return True


def _rows(file: SourceFile, reading: Reading, delimiter: str) -> Iterator[tuple[int, Row]]:
    """Yield number and cells of each row that is not blank."""
    lines = read_lines(file, reading, line_ends="lf" if delimiter == "\t" else "any", long_lines="drop")
    if delimiter != "\t":
        yield from _quoted_rows(file, lines, reading, delimiter)
        return
    is_leipzig = "-sentences" in file.path.name
    for number, line in lines:
        if line.strip():
            # A tab inside a sentence of a two-column file is white space.
            cells = line.split("\t", 1) if is_leipzig else line.split("\t")
            yield number, [_unquoted(cell) for cell in cells]


def _unquoted(cell: str) -> str:
    if cell.startswith('"') and (match := _QUOTED.match(cell.strip())) is not None:
        return match[1].replace('""', '"')
    return cell


def _quoted_rows(
    file: SourceFile, lines: Iterator[tuple[int, str]], reading: Reading, delimiter: str
) -> Iterator[tuple[int, Row]]:
    """Yield the rows of CSV; a quoted field may go on in the next line, but not without end."""
    pending, first = "", 0
    for number, line in lines:
        text = f"{pending}\n{line}" if first else line
        if _is_open(text, delimiter):
            if len(text) < _MAX_FIELD_CHARACTERS:
                pending, first = text, first or number
                continue
            reading.report(f"{file}, line {first}: a quote is opened and not closed; close or remove it.")
        if text.strip():
            yield first or number, _cells(text, delimiter)
        pending, first = "", 0
    if first:
        # The quote was no quote: its lines are rows.
        reading.report(f"{file}, line {first}: a quote is opened and not closed; close or remove it.")
        for offset, line in enumerate(pending.split("\n")):
            if line.strip():
                yield first + offset, [cell.strip() for cell in line.split(delimiter)]


def _is_open(text: str, delimiter: str) -> bool:
    """Say whether a quoted field goes on after `text`."""
    if text.count('"') % 2 == 0:
        return False
    # Only a quote at the beginning of a field opens one; others are inches or apostrophes.
    return re.search(rf'(?:^|{re.escape(delimiter)})\s*"(?:[^"]|"")*$', text) is not None


def _cells(text: str, delimiter: str) -> Row:
    return next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])


def _recognises(head: Head) -> bool:
    if head.text is None or head.suffix in (".srt", ".vtt", ".conllu", ".po"):
        return False
    lines = [line for line in head.text[:20_000].split("\n") if line.strip()]
    lines = lines[:-1] if len(head.text) > 20_000 else lines  # noqa: PLR2004
    # Three columns or a number before a tab: prose has neither in every line.
    rows = [line.split("\t") for line in lines[:50]]
    if len(rows) < _MIN_ROWS:
        return False
    return all(len(row) >= 2 and _NUMBER.match(row[0].strip()) for row in rows) or (  # noqa: PLR2004
        len({len(row) for row in rows}) == 1 and len(rows[0]) >= 3  # noqa: PLR2004
    )


READER = Reader(
    name="table",
    suffixes=frozenset({".csv", ".tsv", ".tab"}),
    recognises=_recognises,
    read=read_table,
    find_parts=find_parts,
)
