"""Toolbox texts and MDF dictionaries, with wrapped blocks, repeated fields, and what looks like them but is not."""

import tracemalloc
from pathlib import Path

import pytest

from lapestudio.corpora.pairs import join_pairs
from tests.corpora.one_file import OneFile

TEXT = r"""\_sh v3.0  400  Text
\_DateStampHasFourDigitYear

\id Zgodba
\ti Zgodba o mački

\ref Zgodba.001
\tx Mačka    spi   pod
\mb mačk -a  spi   pod
\ge cat  -F  sleep under
\tx drevesom.
\mb drev   -esom
\ge tree   -INS
\ft The cat sleeps
under the tree.
\dt 12/Mar/2004

\_marker that is none
\ref Zgodba.002
\tx Da.
\ft

\id Druga
\ref Druga.001
\tx Imamo knjige.
\ft We have books.
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1250"])
def test_records_of_a_text(tmp_path: Path, ends: str, encoding: str) -> None:
    file = OneFile(tmp_path / "a.txt", TEXT.replace("\n", ends), encoding=encoding)
    segments = file.segments(language="sl")
    assert [(one.text, one.document.removeprefix(str(file.path)), one.location, one.unit) for one in segments] == [
        ("Mačka spi pod drevesom.", "#Zgodba", "line 8, Zgodba.001", "record 1"),
        ("Da.", "#Zgodba", "line 20, Zgodba.002", "record 2"),
        ("Imamo knjige.", "#Druga", "line 25, Druga.001", "record 3"),
    ]
    assert file.format_name == "Toolbox"
    assert [[left.text, right.text] for left, right in join_pairs(file.segments("*", language="sl"), "tx", "ft")] == [
        ["Mačka spi pod drevesom.", "The cat sleeps under the tree."],
        ["Imamo knjige.", "We have books."],
    ]
    parts = {name: (part.num_segments, part.is_default, part.example) for name, part in file.parts("sl").items()}
    assert parts == {
        "ref": (3, False, "Zgodba.001"),
        "tx": (3, True, "Mačka spi pod drevesom."),
        "mb": (1, False, "mačk -a spi pod drev -esom"),
        "ge": (1, False, "cat -F sleep under tree -INS"),
        "ft": (2, False, "The cat sleeps under the tree."),
        "dt": (1, False, "12/Mar/2004"),
    }
    assert file.faults == []


DICTIONARY = r"""\lx moe
\ps v
\sn 1
\ge sleep
\ge lie
\rf Sina 12
\xv Ua moe le pusi
i lalo o le laau.
\xe The cat sleeps
under the tree.
\xv Moe ia!
\xe Sleep!
\1s oute moe
\xv E moe.
\dt 01/Jan/2001

\lx pusi
\ge cat

\lx tusi
\xv
\xe A sentence that has not been written down yet.
\xv O le tusi.
\xe The book.
"""


def test_examples_of_a_dictionary_are_units_of_their_own(tmp_path: Path) -> None:
    file = OneFile(tmp_path / "a.db", DICTIONARY)
    segments = file.segments()
    assert [(one.text, one.location, one.unit) for one in segments] == [
        ("Ua moe le pusi i lalo o le laau.", "line 7, moe", "record 1, example 1"),
        ("Moe ia!", "line 11, moe", "record 1, example 2"),
        ("E moe.", "line 14, moe", "record 1, example 3"),
        ("O le tusi.", "line 23, tusi", "record 3, example 2"),
    ]
    assert [[left.text, right.text] for left, right in join_pairs(file.segments("*"), "xv", "xe")] == [
        ["Ua moe le pusi i lalo o le laau.", "The cat sleeps under the tree."],
        ["Moe ia!", "Sleep!"],
        ["O le tusi.", "The book."],
    ]
    assert file.texts("ge") == ["sleep", "lie", "cat"]
    assert file.texts("1s") == ["oute moe"]
    assert file.texts("lx") == ["moe", "pusi", "tusi"]
    assert file.default_parts() == ["xv"]


def test_a_dictionary_without_examples_says_what_it_has(tmp_path: Path) -> None:
    file = OneFile(tmp_path / "a.db", "\\lx moe\n\\ps v\n\\de to sleep, as people do\n\n\\lx pusi\n\\de a cat\n")
    assert file.texts() == []
    [fault] = file.faults
    assert (
        fault == f"{file.path} has no field with running text, such as tx or xv (fields here: de, lx, ps); choose one."
    )
    assert file.texts("lx") == ["moe", "pusi"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # Records that begin with the text; a title stands before them.
        ("\\ti Naslov\n\\tx Da.\n\\ft Yes.\n\\tx Ne.\n\\ft No.\n", ["Da.", "Ne."]),
        ("\\ref 1\n\\t Da.\n\\ft Yes, indeed, of course.\n", ["Da."]),
        ("\\ref 1\n\\utt Da.\n\\mb d -a\n", ["Da."]),
        # No usual marker: the one with most running text that is not named like something else.
        (
            "\\ref 1\n\\vern Mačka spi pod drevesom.\n\\ft The cat sleeps under the old tree.\n\\ps n v\n",
            ["Mačka spi pod drevesom."],
        ),
        ("\\ref 1\n\\tx\n\\tx Da.\n", ["Da."]),
        ("\\id 1\n\\tx Da.\n\\id 2\n\\tx Ne.\n", ["Da.", "Ne."]),
    ],
)
def test_records_and_text_by_other_markers(tmp_path: Path, content: str, expected: list[str]) -> None:
    file = OneFile(tmp_path / "a.txt", content)
    assert file.texts() == expected
    assert file.format_name == "Toolbox"


@pytest.mark.parametrize(
    ("content", "format_name"),
    [
        ("\\id MAT sl\n\\c 1\n\\p\n\\v 1 Mačka spi.\n", "USFM"),
        ("\\documentclass{article}\n\\ref{tx}\n\\section{lx}\nMačka spi.\n", "plain text"),
        ("\\tx alone is no record\n", "plain text"),
        ("Mačka spi.\n\\ref 1\n\\tx Da.\n", "plain text"),
        ("\\\\server\\lx\\tx\nMačka spi.\n", "plain text"),
    ],
)
def test_what_only_looks_like_it(tmp_path: Path, content: str, format_name: str) -> None:
    file = OneFile(tmp_path / "a.txt", content)
    assert file.texts()
    assert file.format_name == format_name


def test_memory_stays_flat_in_a_record_without_end(tmp_path: Path) -> None:
    lines = [f"\\xv Moe {place}" for place in range(200_000)]
    file = OneFile(tmp_path / "a.db", "\n".join(["\\lx moe", *lines, "\\lx pusi", "\\xv O le pusi.", ""]))
    tracemalloc.start()
    assert file.texts() == ["O le pusi."]
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 20
    assert file.faults == [
        f"{file.path}, line 1: a record of more than 1 million characters; begin each record with \\lx."
    ]
    many = "\n".join(f"\\m{place} x" for place in range(50_000))
    assert len(OneFile(tmp_path / "b.db", f"\\lx moe\n\\xv Moe ia.\n{many}\n").parts()) == 1000
