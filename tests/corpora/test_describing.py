"""Figures, preview, problems and fingerprint of a corpus."""

from pathlib import Path

import pytest

from lapestudio.core.errors import UserError
from lapestudio.corpora.describing import MAX_PROBLEMS, corpus_fingerprint, describe


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def test_counts(tmp_path: Path) -> None:
    text = write(tmp_path / "a.txt", "Il-qattus — rieqed.\n\nTlett ikliet, 3 jiem!\n")
    records = write(tmp_path / "b.jsonl", '{"text": "नेपाली भाषा"}\n{"text": "ok"}\n')
    summary = describe([text, records], language="mlt", preview=3)
    assert (summary.num_files, summary.num_documents, summary.num_segments) == (2, 3, 4)
    assert summary.num_characters == 19 + 21 + 11 + 2
    assert summary.num_words == 2 + 4 + 2 + 1  # the dash is no word, the number is
    assert summary.words_are_spaced
    assert [segment.text for segment in summary.preview] == [
        "Il-qattus — rieqed.",
        "Tlett ikliet, 3 jiem!",
        "नेपाली भाषा",
    ]
    assert summary.language == "mt"
    assert summary.problems == []


@pytest.mark.parametrize("text", ["ภาษาไทยไม่มีช่องว่าง", "汉语没有空格。", "にほんごもない", "ខ្មែរ", "ပြည်ထောင်စု", "བོད་སྐད"])
def test_writing_without_spaces_is_noticed(tmp_path: Path, text: str) -> None:
    assert not describe([write(tmp_path / "a.txt", text)], language="th").words_are_spaced


def test_problems_are_collected_while_the_other_files_are_read(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "Kelma\n")
    write(tmp_path / "empty.txt", b"")
    write(tmp_path / "latin.txt", "tajjeb\nħażin".encode("iso-8859-3"))
    write(tmp_path / "lines.jsonl", '{"text": "tajba"}\n{broken\n{"text": "ukoll"}\n')
    write(tmp_path / "picture.png", b"\x89PNG")
    summary = describe([tmp_path, tmp_path / "gone.txt"], language="mt", on_error="collect")
    assert summary.num_files == 2
    assert [segment.text for segment in summary.preview if "latin" not in segment.document] == [
        "Kelma",
        "tajba",
        "ukoll",
    ]
    assert len(summary.problems) == 5
    for name in (
        "empty.txt is empty",
        "latin.txt, line 2",
        "lines.jsonl, line 2",
        "picture.png was passed",
        "gone.txt",
    ):
        assert any(name in problem for problem in summary.problems)
    with pytest.raises(UserError, match=r"empty\.txt is empty"):
        describe([tmp_path], language="mt")


def test_endless_problems_are_counted_not_kept(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", '{"text": "x"}\n' + "{broken\n" * 1000)
    problems = describe([file], language="mt", on_error="collect").problems
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1] == "There are 900 more problems."


def test_an_unknown_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Maltese"):
        describe([write(tmp_path / "a.txt", "x")], language="Malteze")


def test_the_fingerprint_stands_for_the_text_alone(tmp_path: Path) -> None:
    first = [write(tmp_path / "one" / "a.txt", "a\nb\n"), write(tmp_path / "one" / "b.txt", "ċ\n")]
    second = [write(tmp_path / "two" / "z.txt", "\ufeffċ"), write(tmp_path / "two" / "y.txt", "a\r\n\r\nb")]
    fingerprint = corpus_fingerprint(first)
    assert len(fingerprint) == 64
    assert fingerprint == corpus_fingerprint(second) == corpus_fingerprint([tmp_path / "one"])
    assert fingerprint == describe(first, language="mt").fingerprint
    for changed in ("a\nc\n", "b\na\n", "ab\n", "a\nb\nb\n"):
        write(tmp_path / "one" / "a.txt", changed)
        assert corpus_fingerprint(first) != fingerprint
