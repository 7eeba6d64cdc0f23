"""Which column of a table holds the text, and which says the language: by usual names, else by what is in them."""

from collections.abc import Sequence

from lapestudio.corpora.reader import Part, Reading
from lapestudio.corpora.script_check import fits

TEXT_NAMES = (
    "text", "content", "sentence", "raw_content", "document", "body", "paragraph", "utterance", "transcription",
    "transcript", "segment", "phrase", "target", "message", "description",
)  # fmt: skip
"""Names under which data sets and spreadsheets keep running text, the likeliest first."""
LANGUAGE_NAMES = ("language", "lang", "locale", "iso_639_3", "iso639_3", "iso639-3", "language_code", "lang_code")
_LOOKED_AT = 200


def text_columns(header: Sequence[str], rows: Sequence[Sequence[str]], reading: Reading) -> list[int]:
    """Return the columns to read when the user has not chosen: one, or none where no column has text.

    Args:
        header: (num_columns,) names; empty ones where there are none.
        rows: the first rows.
        reading: the language whose script the text should have.
    """
    names = [name.strip().casefold() for name in header]
    for name in TEXT_NAMES:
        if name in names and any(_cell(row, names.index(name)) for row in rows):
            return [names.index(name)]
    scores = [(_score(rows, column, reading), -column) for column in range(len(header))]
    best, column = max(scores, default=(0.0, 0))
    return [-column] if best > 0 else []


def language_column(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int | None:
    """Return the column that says the language of each row, where there is one."""
    names = [name.strip().casefold() for name in header]
    for name in LANGUAGE_NAMES:
        if name in names and any(_cell(row, names.index(name)) for row in rows):
            return names.index(name)
    return None


def column_parts(header: Sequence[str], rows: Sequence[Sequence[str]], reading: Reading) -> list[Part]:
    """Return the columns as what can be chosen."""
    chosen = text_columns(header, rows, reading)
    return [
        Part(
            name=name,
            kind="column",
            is_default=column in chosen,
            example=next((cell for row in rows if (cell := _cell(row, column))), ""),
        )
        for column, name in enumerate(header)
    ]


def distinct_names(header: Sequence[str]) -> list[str]:
    """Return names that tell columns apart: empty and repeated ones get their number."""
    names: list[str] = []
    for number, name in enumerate(header, start=1):
        plain = " ".join(name.split()) or f"column {number}"
        names.append(plain if plain not in names else f"{plain} ({number})")
    return names


def _score(rows: Sequence[Sequence[str]], column: int, reading: Reading) -> float:
    """Return how much a column looks like running text: words of letters, in the language's script."""
    cells = [cell for row in rows[:_LOOKED_AT] if (cell := _cell(row, column))]
    if not cells:
        return 0.0
    text = "\n".join(cells)
    share = sum(character.isalpha() or character.isspace() for character in text) / len(text)
    if share < 0.7:  # noqa: PLR2004 - numbers, names of files and the like have fewer letters
        return 0.0
    words = len(text.split()) / len(cells)
    distinct = len(set(cells)) / len(cells)
    in_script = 1.0 if reading.language is None or fits(text, reading.language) else 0.1
    return words * distinct * in_script * len(cells) / max(1, len(rows[:_LOOKED_AT]))


def _cell(row: Sequence[str], column: int) -> str:
    return row[column].strip() if column < len(row) else ""
