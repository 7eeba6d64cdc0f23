"""Figures, preview, problems and fingerprint of a corpus."""

from pathlib import Path

import pytest

from lapestudio.core.errors import UserError
from lapestudio.core.specs import CorpusSource
from lapestudio.core.text_settings import CleaningSettings
from lapestudio.corpora.describing import MAX_PROBLEMS, corpus_fingerprint, describe
from lapestudio.corpora.segment import Segment


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def source(*paths: Path, language: str = "mt", **cleaning: object) -> CorpusSource:
    return CorpusSource(language=language, paths=paths, cleaning=CleaningSettings(**cleaning))


def test_counts(tmp_path: Path) -> None:
    text = write(tmp_path / "a.txt", "Il-qattus — rieqed.\n\nTlett ikliet, 3 jiem!\n")
    records = write(tmp_path / "b.jsonl", '{"text": "नेपाली भाषा"}\n{"text": "ok"}\n')
    summary = describe(source(text, records), preview=3)
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
    assert not describe(source(write(tmp_path / "a.txt", text), language="th")).words_are_spaced


def test_problems_are_collected_while_the_other_files_are_read(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "Kelma\n")
    write(tmp_path / "empty.txt", b"")
    write(tmp_path / "latin.txt", "tajjeb\nħażin".encode("iso-8859-3"))
    write(tmp_path / "lines.jsonl", '{"text": "tajba"}\n{broken\n{"text": "ukoll"}\n')
    write(tmp_path / "picture.png", b"\x89PNG")
    summary = describe(source(tmp_path, tmp_path / "gone.txt"), on_error="collect")
    assert summary.num_files == 3
    assert [segment.text for segment in summary.preview] == [
        "Kelma",
        "tajjeb",
        "ħażin",
        "tajba",
        "ukoll",
    ]
    assert [note.encoding for note in summary.files] == ["utf-8", "iso8859-3", "utf-8"]
    assert len(summary.problems) == 4
    for name in (
        "empty.txt is empty",
        "lines.jsonl, line 2",
        "picture.png was passed",
        "gone.txt",
    ):
        assert any(name in problem for problem in summary.problems)
    with pytest.raises(UserError, match=r"empty\.txt is empty"):
        describe(source(tmp_path))


def test_endless_problems_are_counted_not_kept(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", '{"text": "x"}\n' + "{broken\n" * 1000)
    problems = describe(source(file), on_error="collect").problems
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1] == "There are 900 more problems."


def test_an_unknown_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Maltese"):
        describe(source(write(tmp_path / "a.txt", "x"), language="Malteze"))


def test_the_fingerprint_stands_for_the_text_alone(tmp_path: Path) -> None:
    first = [write(tmp_path / "one" / "a.txt", "a\nb\n"), write(tmp_path / "one" / "b.txt", "ċ\n")]
    second = [write(tmp_path / "two" / "z.txt", "\ufeffċ"), write(tmp_path / "two" / "y.txt", "a\r\n\r\nb")]
    fingerprint = corpus_fingerprint(source(*first))
    assert len(fingerprint) == 64
    assert fingerprint == corpus_fingerprint(source(*second)) == corpus_fingerprint(source(tmp_path / "one"))
    assert fingerprint == describe(source(*first)).fingerprint
    for changed in ("a\nc\n", "b\na\n", "ab\n", "a\nb\nd\n"):
        write(tmp_path / "one" / "a.txt", changed)
        assert corpus_fingerprint(source(*first)) != fingerprint


def test_what_cleaning_did_is_told_with_examples(tmp_path: Path) -> None:
    lines = [
        "Il-qattus rieqed.",
        "IL-QATTUS  rieqed.",
        "ok",
        "Кот спит на печи.",
        "Għan\u00adda\u200b dar.",
        "Il-kelb.",
    ]
    file = write(tmp_path / "a.txt", "\n".join(lines))
    summary = describe(source(file, min_characters=4, check_script=True))
    assert summary.num_segments == 3
    assert summary.num_read == 6
    steps = {step.setting: (step.num_removed, step.num_changed) for step in summary.cleaning}
    assert steps == {
        "remove_invisible": (0, 1),
        "min_characters": (1, 0),
        "check_script": (1, 0),
        "remove_duplicates": (1, 0),
    }
    examples = {step.setting: step.examples[0] for step in summary.cleaning}
    assert examples["remove_invisible"].after == "Għanda dar."
    assert examples["check_script"].before == lines[3]
    assert examples["remove_duplicates"].location == "line 2"


def test_language_and_scripts_are_judged_by_a_sample(tmp_path: Path, shared_dir: Path) -> None:
    texts = shared_dir / "data" / "udhr"
    summary = describe(source(texts / "kat.txt", language="ka"))
    assert summary.verdict is not None
    assert summary.verdict.outcome == "agrees"
    assert next(iter(summary.scripts)) == "Geor"
    wrong = describe(source(texts / "ita.txt", language="mt"))
    assert wrong.verdict is not None
    assert (wrong.verdict.outcome, wrong.verdict.looks_like) == ("differs", "it")
    unknown = describe(source(texts / "tir.txt", language="ti"))
    assert unknown.verdict is not None
    assert (unknown.verdict.outcome, unknown.verdict.looks_like) == ("unknown", None)


def test_all_segments_are_handed_on_in_order(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", "\n".join(f"linja {number}" for number in range(5000)))
    batches: list[list[Segment]] = []
    progress: list[int] = []
    summary = describe(source(file), on_segments=batches.append, on_progress=progress.append)
    texts = [segment.text for batch in batches for segment in batch]
    assert texts == [f"linja {number}" for number in range(5000)]
    assert progress == sorted(progress)
    assert progress[-1] == summary.num_characters == sum(map(len, texts))
    assert describe(source(file), is_cancelled=lambda: True).num_segments < 5000


def test_what_is_kept_for_testing_is_left_out_and_counted(tmp_path: Path) -> None:
    text = write(tmp_path / "a.txt", "Il-kelb.\nIl-qattus.\nIż-żiemel.\n")
    test = write(tmp_path / "test.jsonl", '{"text": "IL-QATTUS."}\n{"text": "Ħaġa oħra."}\n')
    held_out = CorpusSource(language="mt", paths=(text,), held_out=(test,))
    summary = describe(held_out)
    assert [segment.text for segment in summary.preview] == ["Il-kelb.", "Iż-żiemel."]
    [step] = summary.cleaning
    assert (step.setting, step.num_removed, step.examples[0].before) == ("remove_held_out", 1, "Il-qattus.")
    kept = held_out.model_copy(update={"cleaning": CleaningSettings(remove_held_out=False)})
    assert describe(kept).num_segments == 3
