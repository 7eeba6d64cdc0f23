"""Every format on a sample of its own, alone, in a folder, under a name that says nothing, and inside an archive."""

import zipfile
from pathlib import Path

import pytest

from lapestudio.core.errors import UserError
from lapestudio.core.text_settings import ReadingOptions
from lapestudio.corpora import elan, tables
from lapestudio.corpora.formats import READERS
from lapestudio.corpora.reader import Reading
from lapestudio.corpora.reading import ReadingLog, look_into, read, read_all
from lapestudio.corpora.source_file import SourceFile
from tests.corpora.sample_files import SAMPLES, Sample, write_samples


def texts(path: Path, sample: Sample, log: ReadingLog | None = None) -> list[str]:
    options = {str(path / "*"): ReadingOptions(parts=sample.parts), str(path): ReadingOptions(parts=sample.parts)}
    faults: list[str] = []
    found = read_all([path], language=sample.language, options=options, log=log, report=faults.append)
    result = [segment.text for segment in found]
    if path.suffix != ".zip":
        assert faults == []
    return result


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_read_as_its_format(tmp_path: Path, name: str) -> None:
    write_samples(tmp_path, name)
    log = ReadingLog()
    assert texts(tmp_path / name, SAMPLES[name], log) == SAMPLES[name].segments
    assert {note.format_name for note in log.files} == {SAMPLES[name].format_name}


# What no content tells: two columns, Parquet's siblings and the like are told by it; these need their names.
NEED_NAMES = {"tabl.csv", "dewis.csv", "modfeddi.csv", "cym-sentences.txt", "opus.zip"}


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in NEED_NAMES])
def test_the_content_tells_the_format_whatever_the_name(tmp_path: Path, name: str) -> None:
    file = tmp_path / "download"
    file.write_bytes(SAMPLES[name].make())
    log = ReadingLog()
    assert texts(file, SAMPLES[name], log) == SAMPLES[name].segments
    assert {note.format_name for note in log.files} == {SAMPLES[name].format_name}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_read_inside_an_archive(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(f"folder/{name}", SAMPLES[name].make())
    assert texts(archive, SAMPLES[name]) == SAMPLES[name].segments


def test_a_folder_of_all_formats_is_read_in_one_go(tmp_path: Path) -> None:
    write_samples(tmp_path / "maes")
    faults: list[str] = []
    log = ReadingLog()
    found = [segment.text for segment in read_all([tmp_path / "maes"], language="cy", report=faults.append, log=log)]
    expected = [text for sample in SAMPLES.values() if sample.parts is None for text in sample.segments]
    assert not set(expected) - set(found)
    assert faults == []
    assert {note.format_name for note in log.files} >= {sample.format_name for sample in SAMPLES.values()}


def test_every_reader_has_a_sample() -> None:
    assert {reader.name for reader in READERS} - {sample.format_name for sample in SAMPLES.values()} == {"PDF"}


@pytest.mark.parametrize("name", SAMPLES)
def test_what_can_be_chosen_is_what_can_be_read(tmp_path: Path, name: str) -> None:
    """Each part that is listed gives text, the default ones together what is read without a choice."""
    write_samples(tmp_path, name)
    path = tmp_path / name
    sample = SAMPLES[name]
    if name.endswith(".zip"):
        path = path / "GNOME.cy-en.cy"
    look = look_into(path, language=sample.language, options=ReadingOptions(), report=lambda _fault: None)
    for part in look.parts:
        options = {str(tmp_path / name): ReadingOptions(parts=(part.name,))}
        found = [segment.text for segment in read_all([tmp_path / name], options=options, report=lambda _fault: None)]
        if part.num_segments is not None and part.kind != "language":
            assert len(found) == part.num_segments, part
        if part.example:
            assert found, part
    if look.parts and sample.parts is None:
        chosen = tuple(part.name for part in look.parts if part.is_default)
        options = {str(tmp_path / name): ReadingOptions(parts=chosen)}
        again = read_all([tmp_path / name], language=sample.language, options=options, report=lambda _fault: None)
        assert [segment.text for segment in again] == sample.segments


# Details of single formats


def test_ordinary_prose_is_taken_for_nothing_else(tmp_path: Path) -> None:
    prose = {
        "a": "Chapter 1\n\nIt was 10:30 --> late. \\id was a marker, he said.\n<p>Not a page.</p>\n",
        "b": "1. First\n2. Second\n3. Third\n",
        "c": "One, two, three, four.\nFive, six, seven, eight.\nNine, ten, eleven, twelve.\n",
        "d": "msgid is a word.\n{curly}\n[[links]]\n",
    }
    for name, content in prose.items():
        file = tmp_path / f"{name}.txt"
        file.write_text(content, encoding="utf-8")
        log = ReadingLog()
        assert [s.text for s in read_all([file], log=log)] == [line for line in content.splitlines() if line]
        assert log.files[0].format_name == "plain text"


def test_wrong_parts_and_languages_are_told(tmp_path: Path) -> None:
    write_samples(tmp_path, "tabl.csv", "cof.tmx", "sgwrs.eaf", "cofnodion.jsonl", "opus.parquet", "cyfieithu.xlf")
    for name, options, language, sentence in (
        (
            "tabl.csv",
            ReadingOptions(parts=("nope",)),
            "cy",
            "has no column nope (columns here: rhif, cymraeg",
        ),
        ("sgwrs.eaf", ReadingOptions(parts=("nope",)), "cy", 'holds no text under "nope"'),
        ("cof.tmx", ReadingOptions(), "ka", "has text in cy, en, but none in ka"),
        ("cyfieithu.xlf", ReadingOptions(), "ka", "has text in cy, en, but none in ka"),
        ("cofnodion.jsonl", ReadingOptions(), "ka", "has records in cy, cym, en, but none in ka"),
        ("opus.parquet", ReadingOptions(), "ka", "has text in cy, en, but none in ka"),
    ):
        path = tmp_path / name
        with pytest.raises(UserError) as caught:
            list(read(path, language=language, options={str(path): options}))
        assert str(caught.value).startswith(str(path))
        assert sentence in str(caught.value)


def test_the_same_choice_holds_for_all_such_files_of_a_folder(tmp_path: Path) -> None:
    write_samples(tmp_path, "sgwrs.eaf", "cyfieithiad.eaf", "tabl.csv")
    options = {str(tmp_path / "*.eaf"): ReadingOptions(parts=("ft@*",))}
    assert [s.text for s in read(tmp_path, language="cy", options=options)] == ["The dog is sleeping."] * 2 + SAMPLES[
        "tabl.csv"
    ].segments


def test_places_speakers_and_times_of_annotations(tmp_path: Path) -> None:
    write_samples(tmp_path, "sgwrs.eaf")
    segments = list(read(tmp_path / "sgwrs.eaf"))
    assert [(one.speaker, one.span_s, one.location) for one in segments] == [
        ("Siân", (0.0, 0.9), "00:00.000 to 00:00.900"),
        ("Siân", (0.9, 2.0), "00:00.900 to 00:02.000"),
        ("Huw", (0.0, 2.0), "00:00.000 to 00:02.000"),
    ]
    assert elan.clock(3725.5) == "62:05.500"


def test_an_open_note_of_a_bible_is_told(tmp_path: Path) -> None:
    write_samples(tmp_path, "41MRK.usfm")
    log = ReadingLog()
    list(read_all([tmp_path], log=log))
    [warning] = log.files[0].warnings
    assert "line 7: a note is not closed" in warning
    headings = {str(tmp_path / "41MRK.usfm"): ReadingOptions(parts=("headings",))}
    assert [s.text for s in read(tmp_path / "41MRK.usfm", options=headings)] == ["Pennawd"]


def test_a_legacy_font_is_told(tmp_path: Path) -> None:
    file = tmp_path / "a.rtf"
    file.write_bytes(rb"{\rtf1\ansi{\fonttbl{\f0\fnil Preeti;}}g]kfn\par}")
    log = ReadingLog()
    list(read_all([file], log=log))
    assert "uses the font Preeti" in log.files[0].warnings[0]


@pytest.mark.parametrize(
    ("content", "delimiter", "header"),
    [
        ("a,b\n1,x\n", ",", ["a", "b"]),
        ("a;b;c\n1;x,y;z\n", ";", ["a", "b", "c"]),
        ("a|b\n1|x\n", "|", ["a", "b"]),
        ("a\tb\n1\tx\n", "\t", ["a", "b"]),
        ("text,text,\nx,y,z\n", ",", ["text", "text (2)", "column 3"]),
        ("عنوان,نص\n1,سلام\n", ",", ["عنوان", "نص"]),
    ],
)
def test_delimiters_and_headers(tmp_path: Path, content: str, delimiter: str, header: list[str]) -> None:
    file = tmp_path / "a.csv"
    file.write_text(content, encoding="utf-8")
    table = tables._look(SourceFile(path=file), Reading())
    assert (table.delimiter, table.header) == (delimiter, header)
