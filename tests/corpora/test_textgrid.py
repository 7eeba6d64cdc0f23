"""Praat TextGrids in both forms and many encodings, with what people write into labels."""

import time
from pathlib import Path

import pytest

from tests.corpora.one_file import OneFile

Label = tuple[float, float, str]


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def long_form(*tiers: tuple[str, list[Label]]) -> str:
    lines = ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", "xmin = 0 ", "xmax = 9 ", "tiers? <exists> "]
    lines += [f"size = {len(tiers)} ", "item []: "]
    for number, (name, labels) in enumerate(tiers, start=1):
        is_points = all(start == end for start, end, _text in labels)
        kind, what = ("TextTier", "points") if is_points else ("IntervalTier", "intervals")
        lines += [f"    item [{number}]:", f'        class = "{kind}" ', f"        name = {quoted(name)} "]
        lines += ["        xmin = 0 ", "        xmax = 9 ", f"        {what}: size = {len(labels)} "]
        for place, (start, end, text) in enumerate(labels, start=1):
            lines.append(f"        {what} [{place}]:")
            times = [f"number = {start}"] if is_points else [f"xmin = {start}", f"xmax = {end}"]
            lines += [f"            {one} " for one in times]
            lines.append(f"            {'mark' if is_points else 'text'} = {quoted(text)} ")
    return "\n".join(lines) + "\n"


def short_form(
    *tiers: tuple[str, list[Label]], header: str = 'File type = "ooTextFile"\nObject class = "TextGrid"'
) -> str:
    lines = [header, "", "0", "9", "<exists>", str(len(tiers))]
    for name, labels in tiers:
        lines += ['"IntervalTier"', quoted(name), "0", "9", str(len(labels))]
        lines += [f"{start}\n{end}\n{quoted(text)}" for start, end, text in labels]
    return "\n".join(lines) + "\n"


SPEECH: list[Label] = [(0, 1.5, "O le pusi ua moe."), (1.5, 2, ""), (2, 4.25, "E lua a matou tusi fou.")]
ENGLISH: list[Label] = [(0, 1.5, "The cat is asleep over there."), (2, 4.25, "We have got two new books, you see.")]
WORDS: list[Label] = [(0, 0.5, "o"), (0.5, 0.7, "le"), (0.7, 1, "pusi"), (1, 1.2, "ua"), (1.2, 1.5, "moe")]


@pytest.mark.parametrize("form", [long_form, short_form])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252"])
def test_forms_and_encodings(tmp_path: Path, form: object, encoding: str) -> None:
    assert callable(form)
    labels = [(0, 1, "Où est-il allé, cet été ?"), (1, 2, "Là-bas, près du château.")]
    content = form(("parole", labels)).replace("\n", "\r\n")
    file = OneFile(tmp_path / "a.TextGrid", content, encoding=encoding)
    assert file.texts(language="fr") == [text for _start, _end, text in labels]
    assert file.format_name == "Praat TextGrid"


@pytest.mark.parametrize("form", [long_form, short_form])
@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ('Tā fai mai: ""Sau!""', 'Tā fai mai: ""Sau!""'),
        ('"', '"'),
        ("[1] ma le [2]:", "[1] ma le [2]:"),
        ("e 5 xmin = 7 text ! <exists>", "e 5 xmin = 7 text ! <exists>"),
        ("ulua'i\nlaina\r\n  lona\tlua", "ulua'i laina lona lua"),
        ("12", "12"),
        ("ŋa:", "ŋa:"),
    ],
)
def test_labels_come_out_as_they_were_typed(tmp_path: Path, form: object, label: str, expected: str) -> None:
    assert callable(form)
    file = OneFile(tmp_path / "a.TextGrid", form(("utt [1]", [(0, 1, label), (1, 2, "moe")])))
    assert file.texts() == [expected, "moe"]
    assert list(file.parts()) == ["utt [1]"]


def test_old_headers_comments_and_numbers(tmp_path: Path) -> None:
    """What other programs and old versions of Praat write; a comment may hold anything."""
    old = short_form(("utt", SPEECH), header='File type = "ooTextFile short"\n"TextGrid"')
    assert OneFile(tmp_path / "a.TextGrid", old).texts() == ["O le pusi ua moe.", "E lua a matou tusi fou."]
    noted = long_form(("utt", [(1e-05, 2.5e0, "Sau!")])).replace("xmin = 0", 'xmin = 0 ! 7 "seven" <absent>')
    assert OneFile(tmp_path / "b.TextGrid", noted).segments()[0].span_s == (1e-05, 2.5)


def test_points_empty_tiers_and_places(tmp_path: Path) -> None:
    file = OneFile(
        tmp_path / "a.TextGrid",
        long_form(("tx@Sina", SPEECH), ("tones", [(0.25, 0.25, "H*"), (63.5, 63.5, "L%")]), ("nothing", [(0, 9, "")])),
    )
    assert [(one.location, one.span_s, one.speaker) for one in file.segments()] == [
        ("00:00.000 to 00:01.500", (0.0, 1.5), "Sina"),
        ("00:02.000 to 00:04.250", (2.0, 4.25), "Sina"),
    ]
    assert file.skipped == {"empty label": 1}
    assert [(one.text, one.location) for one in file.segments("tones")] == [("H*", "00:00.250"), ("L%", "01:03.500")]
    parts = file.parts()
    assert [(part.name, part.num_segments, part.example) for part in parts.values()] == [
        ("tx@Sina", 2, "O le pusi ua moe."),
        ("tones", 2, "H*"),
        ("nothing", 0, ""),
    ]


def test_tiers_are_joined_by_their_times(tmp_path: Path) -> None:
    file = OneFile(tmp_path / "a.TextGrid", long_form(("utt", SPEECH), ("free translation", ENGLISH)))
    units = {segment.unit: segment.text for segment in file.segments("free translation")}
    assert [(one.text, units[one.unit]) for one in file.segments("utt")] == [
        ("O le pusi ua moe.", "The cat is asleep over there."),
        ("E lua a matou tusi fou.", "We have got two new books, you see."),
    ]


THAI: list[Label] = [(0, 2, "แมวนอนอยู่ใต้ต้นไม้"), (2, 4, "เรามีหนังสือใหม่สองเล่ม")]


@pytest.mark.parametrize(
    ("tiers", "language", "expected"),
    [
        ([("words", WORDS), ("phones", [(0, 0.2, "o"), (0.2, 0.3, "l")])], None, ["words"]),
        ([("phones", [(0, 0.2, "o"), (0.2, 0.3, "l")])], None, ["phones"]),
        ([("mots", WORDS), ("enquête", SPEECH)], None, ["enquête"]),
        # A language that is written without spaces.
        (
            [("x", [(0, 1, "แมว"), (1, 1.5, "นอน"), (1.5, 2, "อยู่"), (2, 3, "ใต้"), (3, 4, "ต้นไม้")]), ("y", THAI)],
            None,
            ["y"],
        ),
        ([("sm", SPEECH), ("en", ENGLISH)], "sm", ["sm"]),
        ([("sm", SPEECH), ("en", ENGLISH)], "en", ["en"]),
        ([("gls-en", ENGLISH), ("utt", SPEECH)], "en", ["gls-en"]),
        # Speakers take turns, whatever their tiers are called.
        (
            [("Sina", SPEECH), ("Tui", [(1.5, 2, "O fea?"), (4.25, 6, "Ia, lelei tele.")]), ("en", ENGLISH)],
            "sm",
            ["Sina", "Tui"],
        ),
        ([("Sina - utt", SPEECH), ("Tui - utt", [(4.25, 6, "Ia, lelei tele.")])], None, ["Sina - utt", "Tui - utt"]),
        # Two versions of one text at the same times are no two speakers.
        ([("utt", SPEECH), ("utt normalised", SPEECH)], None, ["utt"]),
        ([("talk", SPEECH), ("noise", [(1.5, 2, "a dog barks in the yard")])], None, ["talk"]),
    ],
)
def test_the_default_tier(
    tmp_path: Path, tiers: list[tuple[str, list[Label]]], language: str | None, expected: list[str]
) -> None:
    file = OneFile(tmp_path / "a.TextGrid", short_form(*tiers))
    assert file.default_parts(language) == expected
    assert file.texts(language=language) == file.texts(*expected)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (long_form(("utt", SPEECH))[:-60], "ends in the middle"),
        (long_form(("utt", SPEECH)).replace("size = 3", "size = 999999999"), "ends in the middle"),
        (long_form(("utt", SPEECH)).replace("size = 3", "size = 1e999"), "ends in the middle"),
        (long_form(("utt", SPEECH)).replace("size = 3", 'size = "three"'), "ends in the middle"),
        (long_form(("utt", SPEECH)).replace('"TextGrid"', '"PitchTier"'), "no TextGrid"),
        (long_form(("utt", SPEECH)).replace("<exists>", "<absent>"), "holds no text"),
        (long_form(), "holds no text"),
    ],
)
def test_damaged_grids_are_told_in_one_sentence(tmp_path: Path, content: str, reason: str) -> None:
    file = OneFile(tmp_path / "a.TextGrid", content)
    assert file.texts() == []
    [fault] = file.faults
    assert fault.startswith(str(file.path))
    assert reason in fault


def test_a_large_grid_with_an_open_quote_is_refused_soon(tmp_path: Path) -> None:
    content = (
        short_form(("utt", [(place, place + 1, 'o "le" pusi') for place in range(50_000)])) + '"' + "x" * 10_000_000
    )
    begin = time.monotonic()
    assert len(OneFile(tmp_path / "a.TextGrid", content).texts()) == 50_000
    damaged = content.replace('"utt"', '"utt', 1)
    assert OneFile(tmp_path / "b.TextGrid", damaged).texts() == []
    assert time.monotonic() - begin < 10
