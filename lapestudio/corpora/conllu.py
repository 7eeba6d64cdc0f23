"""CoNLL-U treebanks: the sentence as its comment says, else put together from the tokens."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from lapestudio.corpora.reader import Head, Part, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_lines

_COLUMNS = 10
_FEWEST_COLUMNS = 8
_FORM, _MISC = 1, 9
_ID = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})|\.([0-9]{1,9}))?$")
_COMMENT = re.compile(r"#\s*([\w ]+?)\s*=\s*(.*)$")
_TEXT, _TRANSLATION = "text", "text_"
_LOOKED_AT = 1000


@dataclass(slots=True)
class _Sentence:
    line: int
    comments: dict[str, str] = field(default_factory=dict)
    rows: list[list[str]] = field(default_factory=list)

    def texts(self) -> dict[str, str]:
        """Return what the sentence says, by field; nothing that is empty."""
        texts = {_TEXT: _shown(self.comments.get(_TEXT, "")) or _rebuilt(self.rows)}
        texts.update({key: text for key, text in self.comments.items() if key.startswith(_TRANSLATION)})
        return {key: text for key, text in texts.items() if text}


def read_conllu(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the sentences; rows that are broken are reported, and the sentence is kept without them.

    Raises:
        UserError: not readable.
    """
    document = str(file)
    default = _default(file, reading)
    for number, sentence in enumerate(_sentences(file, reading), start=1):
        comments = sentence.comments
        if "newdoc id" in comments or "newdoc" in comments:
            document = f"{file}#{comments.get('newdoc id') or number}"
        texts = sentence.texts()
        if _TEXT not in texts:
            reading.skip("sentence without words")
        name = comments.get("sent_id")
        for key, text in texts.items():
            if reading.takes(key, key == default):
                yield Segment(
                    text,
                    document,
                    f"line {sentence.line}" + (f", {name}" if name else ""),
                    field=key,
                    language=key.removeprefix(_TRANSLATION) if key != _TEXT else None,
                    unit=f"sentence {number}",
                    speaker=comments.get("speaker_id") or comments.get("speaker") or None,
                )


def find_parts(file: SourceFile, reading: Reading) -> list[Part]:
    """List the sentences and their translations.

    Raises:
        UserError: not readable.
    """
    default = _default(file, reading)
    found: dict[str, tuple[int, str]] = {}
    for sentence in _sentences(file, _quiet(reading)):
        for key, text in sentence.texts().items():
            number, example = found.get(key, (0, text))
            found[key] = number + 1, example
    return [
        Part(
            name=key,
            kind="field",
            is_default=key == default,
            language=key.removeprefix(_TRANSLATION) if key != _TEXT else None,
            num_segments=number,
            example=example,
        )
        for key, (number, example) in sorted(found.items())
    ]


def _default(file: SourceFile, reading: Reading) -> str:
    """Return the field that is read without a choice: the translation where that is what is in the wanted language."""
    if reading.language is None or reading.parts is not None:
        return _TEXT
    for sentence in islice(_sentences(file, _quiet(reading)), _LOOKED_AT):
        for key in sentence.texts():
            language = key.removeprefix(_TRANSLATION)
            if key != _TEXT and language and reading.wants_language(language):
                return key
    return _TEXT


def _quiet(reading: Reading) -> Reading:
    """Return a reading for a first look: faults are told once, when the text is read."""
    return replace(reading, report=lambda _fault: None, skipped=Counter(), warnings=[])


def _sentences(file: SourceFile, reading: Reading) -> Iterator[_Sentence]:
    sentence = _Sentence(1)
    for number, line in chain(read_lines(file, reading, line_ends="lf", long_lines="drop"), [(0, "")]):
        if not line.strip():
            if sentence.comments or sentence.rows:
                yield sentence
            sentence = _Sentence(number + 1)
        elif line.startswith("#"):
            match = _COMMENT.match(line)
            sentence.comments.update({match[1]: match[2].strip()} if match is not None else {line[1:].strip(): ""})
        else:
            row = line.split("\t")
            if len(row) < _FEWEST_COLUMNS or not _ID.match(row[0]):
                reading.report(
                    f"{file}, line {number}: no row of CoNLL-U (ten columns that begin with a number); correct it."
                )
                continue
            sentence.rows.append(row)


def _rebuilt(rows: list[list[str]]) -> str:
    """Put the surface words together; a range stands for its parts, an empty node for nothing."""
    text, covered = "", 0
    for row in rows:
        match = _ID.match(row[0])
        if match is None or match[3] is not None or int(match[1]) <= covered:
            continue
        if match[2] is not None:
            covered = int(match[2])
        misc = row[_MISC].split("|") if len(row) > _MISC else ()
        text += row[_FORM] + ("" if "SpaceAfter=No" in misc else " ")
    return _shown(text.strip())


def _shown(text: str) -> str:
    """Return a text, or nothing where a treebank withholds its words for the sake of rights and has _ for each."""
    return text if text.replace("_", " ").strip() else ""


def _recognises(head: Head) -> bool:
    if head.text is None:
        return False
    rows = [line for line in head.text[:20_000].split("\n") if line.strip() and not line.startswith("#")][:2]
    return bool(rows) and all(len(row.split("\t")) == _COLUMNS and _ID.match(row.split("\t")[0]) for row in rows)


READER = Reader(
    name="CoNLL-U",
    suffixes=frozenset({".conllu", ".conll"}),
    recognises=_recognises,
    read=read_conllu,
    find_parts=find_parts,
)
