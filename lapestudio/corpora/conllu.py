"""CoNLL-U treebanks: the sentence as its comment says, else put together from the tokens."""

import re
from collections.abc import Iterator
from itertools import chain

from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_lines

_COLUMNS = 10
_ID = re.compile(r"(\d+)(?:-(\d+)|\.(\d+))?$")
_COMMENT = re.compile(r"#\s*([\w ]+?)\s*=\s*(.*)$")
_TEXT = "text"


def read_conllu(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the sentences; rows that are broken are reported, and the sentence is kept without them.

    Raises:
        UserError: not readable.
    """
    document = str(file)
    for number, (line, comments, rows) in enumerate(_sentences(file, reading), start=1):
        if "newdoc id" in comments or "newdoc" in comments:
            document = f"{file}#{comments.get('newdoc id') or number}"
        name = comments.get("sent_id", "")
        texts = {key: text for key, text in comments.items() if key.startswith(f"{_TEXT}_") and text}
        texts[_TEXT] = comments.get(_TEXT) or _rebuilt(rows)
        place = f"line {line}" + (f", {name}" if name else "")
        if not texts[_TEXT]:
            reading.skip("empty sentence")
        for key in sorted(texts, key=lambda key: key != _TEXT):
            if texts[key] and reading.takes(key, key == _TEXT):
                language = key.partition("_")[2] or None
                yield Segment(texts[key], document, place, field=key, language=language, unit=f"sentence {number}")


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the sentences and their translations."""
    found: dict[str, tuple[int, str]] = {}
    for _line, comments, rows in _sentences(file, reading):
        texts = {key: text for key, text in comments.items() if key.startswith(f"{_TEXT}_")}
        texts[_TEXT] = comments.get(_TEXT) or _rebuilt(rows)
        for key, text in texts.items():
            number, example = found.get(key, (0, text))
            found[key] = number + 1, example
    return [
        Part(name=key, kind="field", is_default=key == _TEXT, num_segments=number, example=example)
        for key, (number, example) in sorted(found.items())
    ]


def _sentences(file: SourceFile, reading: Reading) -> Iterator[tuple[int, dict[str, str], list[list[str]]]]:
    """Yield first line, comments and rows of each sentence."""
    comments: dict[str, str] = {}
    rows: list[list[str]] = []
    first = 1
    for number, line in chain(read_lines(file, reading, line_ends="lf", long_lines="drop"), [(0, "")]):
        if not line.strip():
            if comments or rows:
                yield first, comments, rows
            comments, rows, first = {}, [], number + 1
        elif line.startswith("#"):
            match = _COMMENT.match(line)
            comments.update({match[1]: match[2].strip()} if match is not None else {line[1:].strip(): ""})
        else:
            row = line.split("\t")
            if len(row) < _COLUMNS - 2 or not _ID.match(row[0]):
                reading.report(f"{file}, line {number}: no row of CoNLL-U (ten columns that begin with a number).")
                continue
            rows.append(row)


def _rebuilt(rows: list[list[str]]) -> str:
    """Put the surface words together; a range stands for its parts, an empty node for nothing."""
    text, covered = "", 0
    for row in rows:
        match = _ID.match(row[0])
        if match is None or match[3] is not None or int(match[1]) <= covered:
            continue
        if match[2] is not None:
            covered = int(match[2])
        misc = row[-1].split("|")
        text += row[1] + ("" if "SpaceAfter=No" in misc else " ")
    return text.strip()


def _recognises(head: Head) -> bool:
    if head.text is None:
        return False
    rows = [line for line in head.text[:20_000].split("\n") if line.strip() and not line.startswith("#")][:3]
    return bool(rows) and all(len(row.split("\t")) == _COLUMNS and _ID.match(row.split("\t")[0]) for row in rows[:2])


READER = Reader(
    name="CoNLL-U",
    suffixes=frozenset({".conllu", ".conll"}),
    recognises=_recognises,
    read=read_conllu,
    find_parts=find_parts,
)
