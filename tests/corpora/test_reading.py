"""Text files, JSON Lines and folders to segments, and one clear sentence for each kind of bad input."""

import json
import os
import tracemalloc
from pathlib import Path

import pytest

from lapestudio.core.errors import UserError
from lapestudio.core.text_settings import ReadingOptions
from lapestudio.corpora import columns, jsonl, plain_text, text_lines
from lapestudio.corpora.formats import reader_for
from lapestudio.corpora.reader import Reading
from lapestudio.corpora.reading import ReadingLog, find_all_files, find_files, find_unreadable_files, read, read_all
from lapestudio.corpora.source_file import SourceFile


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def texts(path: Path) -> list[str]:
    return [segment.text for segment in read(path)]


def fault(path: Path) -> str:
    """Return the one sentence with which reading `path` is refused."""
    with pytest.raises(UserError) as caught:
        list(read(path))
    message = str(caught.value)
    assert "\n" not in message
    return message


# Plain text


def test_lines_of_a_text_file_become_segments_with_their_places(tmp_path: Path) -> None:
    file = write(tmp_path / "malti bil-għarbi.txt", "L-ewwel.\n\n  It-tieni.\t\n")
    segments = list(read(file))
    assert [(segment.text, segment.location) for segment in segments] == [
        ("L-ewwel.", "line 1"),
        ("It-tieni.", "line 3"),
    ]
    assert {segment.document for segment in segments} == {str(file)}
    assert segments[0].field is None


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", ["", "end"])
def test_line_ends_and_byte_order_mark_make_no_difference(tmp_path: Path, end: str, mark: str, last: str) -> None:
    wanted = ["één", "twee", "drie"]
    content = mark + end.join(wanted) + (end if last else "")
    assert texts(write(tmp_path / "a.txt", content)) == wanted


def test_mixed_line_ends(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", "a\r\nb\rc\n\r\nd\n\re")
    assert [(s.text, s.location) for s in read(file)] == [
        ("a", "line 1"),
        ("b", "line 2"),
        ("c", "line 3"),
        ("d", "line 5"),
        ("e", "line 7"),
    ]


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c", "\x1d", "\x1e"])
def test_other_separators_stay_inside_a_segment(tmp_path: Path, character: str) -> None:
    line = f"one{character}two and much more text, so that the share of control characters is small"
    plain = line.replace(character, " ")
    assert texts(write(tmp_path / "a.txt", line + "\nthree\n")) == [plain, "three"]
    record = json.dumps({"text": line}, ensure_ascii=False)
    assert texts(write(tmp_path / "a.jsonl", record + "\n")) == [plain]


def test_joiners_and_direction_marks_inside_words_are_kept(tmp_path: Path) -> None:
    lines = ["می\u200cخواهم کتاب\u200cها را بخوانم.", "ශ්\u200dරී ලංකාව", "Mae’r gath"]
    assert texts(write(tmp_path / "a.txt", "\n".join(lines))) == lines


def test_a_file_with_an_unknown_ending_is_read_as_what_it_holds(tmp_path: Path) -> None:
    assert texts(write(tmp_path / "story.mlt", "Kelma\n")) == ["Kelma"]
    assert texts(write(tmp_path / "story", "Kelma\n")) == ["Kelma"]
    assert texts(write(tmp_path / "records.txt", '{"text": "Kelma"}\n')) == ["Kelma"]
    assert texts(write(tmp_path / "records.json", '{"text": "Kelma"}\n{"text": "oħra"}\n')) == ["Kelma", "oħra"]


def test_the_reference_text_is_read_line_by_line(shared_dir: Path) -> None:
    file = shared_dir / "data" / "udhr" / "mlt.txt"
    wanted = [line.strip() for line in file.read_bytes().decode("utf-8").replace("\r\n", "\n").split("\n")]
    assert texts(file) == [line for line in wanted if line]


# JSON Lines


@pytest.mark.parametrize("key", columns.TEXT_NAMES)
def test_the_text_is_found_under_usual_keys(tmp_path: Path, key: str) -> None:
    file = write(tmp_path / "a.jsonl", json.dumps({"id": "x", key: "Kelma"}) + "\n")
    [segment] = read(file)
    assert (segment.text, segment.field, segment.location) == ("Kelma", key, "line 1")
    assert segment.document.startswith(str(file))


def test_the_likeliest_key_is_taken_and_kept(tmp_path: Path) -> None:
    lines = [{"sentence": "no", "text": "yes"}, {"text": "too", "content": "no"}]
    assert texts(write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)))) == ["yes", "too"]


def test_each_record_is_a_document_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    file = write(tmp_path / "a.ndjson", '\ufeff{"text": "a\\nb"}\r\n\r\n{"text": " "}\r\n{"text": "c"}')
    segments = list(read(file))
    assert [(segment.text, segment.location) for segment in segments] == [("a\nb", "line 1"), ("c", "line 4")]
    assert len({segment.document for segment in segments}) == 2


def test_the_broken_reference_file_gives_its_good_lines_and_names_the_others(shared_dir: Path) -> None:
    expected = json.loads((shared_dir / "cases" / "expected.json").read_text(encoding="utf-8"))["08_bad_lines.jsonl"]
    faults: list[str] = []
    segments = list(read(shared_dir / "cases" / "08_bad_lines.jsonl", report=faults.append))
    assert [" ".join(segment.text.split()) for segment in segments] == expected["segments"]
    assert [int(sentence.split(", line ")[1].split(":")[0]) for sentence in faults] == expected["bad_lines"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "afgekap', "line 2: not valid JSON (Unterminated string starting at"),
        ('["a list"]', "line 2: not a JSON object"),
        ('{"text": null}', 'line 2: no text under "text"'),
        ('{"other": "x"}', 'line 2: no text under "text"'),
        ("[" * 100_000, "line 2: not valid JSON"),
    ],
)
def test_a_broken_record_is_named_by_its_line(tmp_path: Path, line: str, reason: str) -> None:
    file = write(tmp_path / "a.jsonl", f'{{"text": "good"}}\n{line}\n{{"text": "too"}}\n')
    message = fault(file)
    assert message.startswith(f"{file}, {reason}")
    faults: list[str] = []
    assert [segment.text for segment in read(file, report=faults.append)] == ["good", "too"]
    assert faults == [message]


def test_records_without_any_text_name_the_fields_that_they_have(tmp_path: Path) -> None:
    message = fault(write(tmp_path / "a.jsonl", '{"id": 1, "label": 2}\n'))
    assert 'line 1: no field with text (fields here: "id", "label")' in message


def test_half_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", r'{"text": "\ud83d lone, \ud83d\ude00 whole"}')
    assert texts(file) == ["\ufffd lone, \U0001f600 whole"]


# Bad input


def test_missing_file(tmp_path: Path) -> None:
    assert "gone.txt does not exist" in fault(tmp_path / "gone.txt")


def test_empty_and_blank_files(tmp_path: Path) -> None:
    assert "e.txt is empty" in fault(write(tmp_path / "e.txt", b""))
    assert "b.txt holds no text" in fault(write(tmp_path / "b.txt", " \n\t\r\n\u3000\n"))
    assert "m.txt holds no text" in fault(write(tmp_path / "m.txt", "\ufeff"))
    assert "j.jsonl holds no text" in fault(write(tmp_path / "j.jsonl", '{"text": ""}\n\n'))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"some text\x00\x01\x02", "is a binary file"),
        ("a.dat", bytes(range(256)) * 4, "is a binary file"),
        ("a.txt", bytes(range(1, 9)) * 100, "is a binary file"),
        ("a.jsonl", b"\x00" * 100, "is a binary file"),
        ("a.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is a binary file"),
        ("a.txt", b"\xff\xfe\x00\x01binary\x00\x00", "is a binary file"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "save it as .docx without a password"),
        ("a.dat", b"7z\xbc\xaf\x27\x1c" + bytes(100), "is a 7z archive"),
    ],
)
def test_what_is_not_text_is_refused(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    file = write(tmp_path / name, content)
    message = fault(file)
    assert message.startswith(str(file))
    assert reason in message


def test_a_stray_nul_is_left_out(tmp_path: Path) -> None:
    lines = ["a line of text"] * 10_000
    lines[8_000] = "dam\0aged"
    assert texts(write(tmp_path / "a.txt", "\n".join(lines)))[8_000] == "damaged"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("num_lines", [12, 10_000, 200_000])
def test_a_line_in_another_encoding_is_named_and_the_others_are_read(tmp_path: Path, end: str, num_lines: int) -> None:
    before = "".join(f"għażel {i}{end}" for i in range(num_lines)).encode()
    bad = "tą Š".encode("cp1257")
    file = write(tmp_path / "a.txt", before + bad + f"{end}tajjeb".encode())
    message = fault(file)
    assert message.startswith(f"{file}, line {num_lines + 1}: not in UTF-8 (byte 2 of the line)")
    assert "choose another encoding" in message
    faults: list[str] = []
    segments = [segment.text for segment in read(file, report=faults.append)]
    assert faults == [message]
    assert len(segments) == num_lines + 1
    assert segments[-1] == "tajjeb"


@pytest.mark.parametrize("num_lines", [0, 10, 20_000, 300_000])
def test_a_file_that_is_ascii_at_first_may_go_on_in_a_code_page(tmp_path: Path, num_lines: int) -> None:
    text = "plain ascii\n" * num_lines + "Šiąnakt žąsys grįžo į ežerą.\nKatė miega po medžiu.\n"
    file = write(tmp_path / "a.txt", text.encode("cp1257"))
    log = ReadingLog()
    segments = [segment.text for segment in read_all([file], language="lt", log=log)]
    assert segments == text.splitlines()
    assert [(note.encoding, note.num_segments) for note in log.files] == [("cp1257", num_lines + 2)]


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "cp1252", "mac-roman", "cp850"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_encoding_is_found(tmp_path: Path, encoding: str, end: str) -> None:
    lines = ["L\u2019été s\u2019achève à la mer.", "", "Où êtes-vous allés, mes élèves ?", "Ça coûte très cher."]
    text = end.join(line if encoding not in {"mac-roman", "cp850"} else line.replace("\u2019", "'") for line in lines)
    file = write(tmp_path / "a.txt", text.encode(encoding))
    assert [segment.text for segment in read(file, language="fr")] == [line for line in text.split(end) if line]


def test_an_encoding_that_is_chosen_holds(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", "ąžuolas\n".encode("cp1257"))
    options = {str(file): ReadingOptions(encoding="iso8859-1")}
    assert [segment.text for segment in read(file, options=options)] == ["ąžuolas".encode("cp1257").decode("latin-1")]
    options = {str(tmp_path / "*.txt"): ReadingOptions(encoding="cp1257")}
    assert [segment.text for segment in read(tmp_path, options=options)] == ["ąžuolas"]
    options = {str(file): ReadingOptions(encoding="cp99999")}
    with pytest.raises(UserError, match='there is no encoding "cp99999"'):
        list(read(file, options=options))


@pytest.mark.parametrize("case", ["01_cp1257_mixed_newlines.txt", "03_invisibles.txt", "04_mojibake.txt"])
def test_the_reference_files_in_odd_encodings(shared_dir: Path, case: str) -> None:
    expected = json.loads((shared_dir / "cases" / "expected.json").read_text(encoding="utf-8"))[case]
    log = ReadingLog()
    language = {"0": None, "1": "lt"}[str(int(case.startswith("01")))]
    segments = list(read_all([shared_dir / "cases" / case], language=language, log=log))
    assert [segment.text for segment in segments] == expected["segments"]
    assert log.files[0].encoding == expected["encoding"]


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "a.txt", "text")
    original = Path.open

    def refuse(self: Path, *args: object, **kwargs: object) -> object:
        if self == file:
            raise PermissionError(13, "Permission denied", str(self))
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refuse)
    assert f"{file} may not be read" in fault(file)


def test_a_device_is_no_corpus() -> None:
    assert "/dev/null is not a file" in fault(Path("/dev/null"))


# Folders


def test_a_folder_gives_its_readable_files_in_order(tmp_path: Path) -> None:
    write(tmp_path / "b.txt", "b")
    write(tmp_path / "a" / "z.JSONL", '{"text": "z"}')
    write(tmp_path / "a" / "picture.png", b"\x89PNG")
    write(tmp_path / ".hidden.txt", "no")
    write(tmp_path / ".git" / "x.txt", "no")
    assert find_files(tmp_path) == [tmp_path / "a" / "z.JSONL", tmp_path / "b.txt"]
    assert find_unreadable_files(tmp_path) == [tmp_path / "a" / "picture.png"]
    assert texts(tmp_path) == ["z", "b"]


def test_a_folder_without_readable_files(tmp_path: Path) -> None:
    write(tmp_path / "picture.png", b"\x89PNG")
    assert "holds no files that can be read; choose one with text, documents or annotations" in fault(tmp_path)


def test_an_empty_file_in_a_folder_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "a")
    empty = write(tmp_path / "b.txt", b"")
    assert fault(tmp_path).startswith(f"{empty} is empty")


@pytest.mark.skipif(os.name == "nt", reason="links need special rights on Windows")
def test_links_to_folders_are_not_followed_in_circles(tmp_path: Path) -> None:
    write(tmp_path / "a" / "a.txt", "a")
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "a" / "broken.txt").symlink_to(tmp_path / "nothing.txt")
    assert find_files(tmp_path) == [tmp_path / "a" / "a.txt"]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", "a")
    assert [segment.text for segment in read_all([tmp_path, file, tmp_path / ".." / tmp_path.name])] == ["a"]
    with pytest.raises(UserError, match="No files are given"):
        find_all_files([])


# The stream


def test_memory_stays_flat(tmp_path: Path) -> None:
    line = "Il-bnedmin kollha jitwieldu ħielsa u ugwali fid-dinjità u d-drittijiet.\n"
    big = write(tmp_path / "big.txt", line * 200_000)  # 15 MB
    one_line = write(tmp_path / "one line.txt", line.replace("\n", " ") * 200_000)
    for file, limit in ((big, 12 << 20), (one_line, 8 * text_lines.MAX_LINE_BYTES)):
        tracemalloc.start()
        num_characters = sum(len(segment.text) for segment in read(file))
        _now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert num_characters >= 200_000 * (len(line) - 1) - 10
        assert peak < limit


def test_readers_are_chosen_by_ending_and_content(tmp_path: Path) -> None:
    def name(path: Path) -> str:
        return reader_for(SourceFile(path=path), Reading()).name

    assert name(write(tmp_path / "a.txt", "text")) == plain_text.READER.name
    assert name(write(tmp_path / "b.txt", '{"text": "t"}')) == jsonl.READER.name
    assert name(write(tmp_path / "c.txt", '{"text": "' + "t" * 100_000 + '"}')) == jsonl.READER.name
    assert name(write(tmp_path / "d.txt", "{curly} text")) == plain_text.READER.name
    assert name(write(tmp_path / "e.jsonl", "broken")) == jsonl.READER.name
