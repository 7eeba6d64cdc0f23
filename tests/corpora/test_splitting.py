"""Splits: nothing lost, nothing on both sides, the wanted share, the same split every time."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapestudio.core.errors import UserError
from lapestudio.corpora.reading import read
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.splitting import MIN_DOCUMENTS, Split, leave_out, split_segments


def segment(text: str, document: str = "file") -> Segment:
    return Segment(text=text, document=document, location="line 1")


def lines(count: int, *, document: str = "file") -> list[Segment]:
    return [segment(f"Sentence number {i} of {document}.", document) for i in range(count)]


def sides(split: Split) -> tuple[list[str], list[str]]:
    return [s.text for s in split.training], [s.text for s in split.validation]


def test_every_segment_lies_on_one_side_in_its_order() -> None:
    segments = lines(1000)
    split = split_segments(segments, validation_share=0.1, seed=1)
    training, validation = sides(split)
    assert (len(training), len(validation)) == (len(split.training), len(split.validation))
    everything = [s.text for s in segments]
    held_out = set(validation)
    assert training == [text for text in everything if text not in held_out]
    assert validation == [text for text in everything if text in held_out]
    assert 80 <= len(validation) <= 120


def test_a_seed_gives_one_split_wherever_the_files_lie_and_another_seed_another() -> None:
    here = lines(200)
    there = [segment(s.text, "/elsewhere/copy.txt") for s in reversed(here)]
    first = sides(split_segments(here, validation_share=0.2, seed=7))
    again = sides(split_segments(there, validation_share=0.2, seed=7))
    assert set(first[1]) == set(again[1])
    assert set(first[1]) != set(sides(split_segments(here, validation_share=0.2, seed=8))[1])


def test_added_text_moves_little() -> None:
    before = set(sides(split_segments(lines(1000), validation_share=0.1, seed=1))[1])
    after = set(sides(split_segments(lines(1010), validation_share=0.1, seed=1))[1])
    assert len(before & after) >= 95


def test_duplicates_never_cross() -> None:
    segments = [segment(text) for i in range(100) for text in (f"Line {i}", f"LINE  {i}", f"Line {i}")]
    training, validation = sides(split_segments(segments, validation_share=0.3, seed=3))
    assert not {text.lower().replace("  ", " ") for text in training} & {
        text.lower().replace("  ", " ") for text in validation
    }
    assert len(training) + len(validation) == 300


def test_documents_stay_whole_where_there_are_enough() -> None:
    segments = [s for i in range(MIN_DOCUMENTS * 2) for s in lines(10, document=f"doc{i}")]
    split = split_segments(segments, validation_share=0.2, seed=1)
    training = {s.document for s in split.training}
    validation = {s.document for s in split.validation}
    assert not training & validation
    assert len(validation) in {7, 8, 9}


def test_few_documents_are_split_by_sentence() -> None:
    segments = [s for i in range(3) for s in lines(100, document=f"doc{i}")]
    split = split_segments(segments, validation_share=0.1, seed=1)
    assert {s.document for s in split.training} == {"doc0", "doc1", "doc2"}
    assert len({s.document for s in split.validation}) > 1


def test_a_sentence_that_many_documents_share_is_trained_on() -> None:
    segments = [s for i in range(MIN_DOCUMENTS) for s in [segment("Amen.", f"d{i}"), *lines(5, document=f"d{i}")]]
    training, validation = sides(split_segments(segments, validation_share=0.2, seed=1))
    assert training.count("Amen.") == MIN_DOCUMENTS
    assert validation
    assert "Amen." not in validation


def test_equal_documents_stay_together() -> None:
    segments = [segment(f"Text {i % 30}", f"doc{i}") for i in range(90)]
    training, validation = sides(split_segments(segments, validation_share=0.2, seed=2))
    assert not set(training) & set(validation)


def test_one_huge_segment_is_not_held_out() -> None:
    segments = [segment("x" * 100_000), *lines(20)]
    for seed in range(20):
        training, validation = sides(split_segments(segments, validation_share=0.05, seed=seed))
        assert segments[0].text in training
        assert validation


@pytest.mark.parametrize("texts", [[], ["one word"], ["same", "same", "SAME "]])
def test_too_little_text_is_refused(texts: list[str]) -> None:
    with pytest.raises(UserError, match="fewer than two different segments"):
        split_segments([segment(text) for text in texts], validation_share=0.1, seed=1)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1])
def test_a_share_outside_its_range_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        split_segments(lines(10), validation_share=share, seed=1)


@given(
    texts=st.lists(st.text(alphabet="ab ", min_size=1, max_size=4), min_size=2, max_size=60),
    documents=st.integers(1, 40),
    share=st.floats(0.01, 0.99),
    seed=st.integers(0, 2**31 - 1),
)
def test_both_sides_have_text_and_nothing_is_lost(texts: list[str], documents: int, share: float, seed: int) -> None:
    segments = [segment(text, f"doc{i * documents // len(texts)}") for i, text in enumerate(texts)]
    if len({" ".join(text.split()) for text in texts}) < 2:
        with pytest.raises(UserError):
            split_segments(segments, validation_share=share, seed=seed)
        return
    split = split_segments(iter(segments), validation_share=share, seed=seed)
    training, validation = sides(split)
    assert training
    assert validation
    assert sorted(training + validation) == sorted(texts)
    assert not {" ".join(text.split()) for text in training} & {" ".join(text.split()) for text in validation}


def test_a_corpus_on_disk_is_read_anew_for_each_side(tmp_path: Path) -> None:
    class Corpus:
        def __iter__(self):
            return read(tmp_path / "a.txt")

    (tmp_path / "a.txt").write_text("\n".join(f"Line {i}" for i in range(100)), encoding="utf-8")
    split = split_segments(Corpus(), validation_share=0.1, seed=1)
    assert len(sides(split)[0]) + len(sides(split)[1]) == 100
    assert sides(split) == sides(split)


def test_text_that_is_validated_on_is_left_out_whatever_its_case_and_spacing() -> None:
    corpus = [segment("One  sentence."), segment("Another."), segment("one sentence."), segment("A third.")]
    rest, num_left_out = leave_out(iter(corpus), [segment("ONE sentence."), segment("Elsewhere.")])
    assert [s.text for s in rest] == ["Another.", "A third."]
    assert (len(rest), num_left_out) == (2, 2)


@pytest.mark.parametrize("documents", [1, 40])
def test_a_test_side_shares_nothing_with_the_others(documents: int) -> None:
    segments = [s for i in range(documents) for s in lines(400 // documents, document=f"doc{i}")]
    split = split_segments(segments, validation_share=0.1, test_share=0.2, seed=5)
    assert split.test is not None
    training, validation, test = (list(side) for side in (split.training, split.validation, split.test))
    assert len(training) + len(validation) + len(test) == len(segments)
    assert not {s.text for s in training} & {s.text for s in validation + test}
    assert not {s.text for s in validation} & {s.text for s in test}
    assert 0.05 < len(validation) / len(segments) < 0.2
    assert 0.12 < len(test) / len(segments) < 0.35
    record = split.record
    assert (record.training.num_segments, record.validation.num_segments) == (len(training), len(validation))
    assert record.test is not None
    assert record.test.num_characters == sum(len(s.text) for s in test)
    assert record.by == ("document" if documents > 1 else "segment")
    again = split_segments(segments[::-1] if documents == 1 else segments, validation_share=0.1, test_share=0.2, seed=5)
    assert again.record == record
    other = split_segments(segments, validation_share=0.1, test_share=0.2, seed=6)
    assert other.record.test != record.test


def test_shares_that_leave_nothing_to_train_on_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        split_segments(lines(10), validation_share=0.5, test_share=0.5, seed=1)
    with pytest.raises(UserError, match="fewer than three different"):
        split_segments(lines(2), validation_share=0.1, test_share=0.1, seed=1)


@given(
    texts=st.lists(st.text(alphabet="ab ", min_size=1, max_size=6), min_size=3, max_size=60),
    documents=st.integers(1, 60),
    shares=st.tuples(st.floats(0.01, 0.97), st.floats(0.01, 0.97)).filter(lambda shares: sum(shares) < 0.99),
    seed=st.integers(0, 2**31 - 1),
)
def test_three_sides_have_text_and_share_none_of_it(
    texts: list[str], documents: int, shares: tuple[float, float], seed: int
) -> None:
    segments = [segment(text, f"doc{i * documents // len(texts)}") for i, text in enumerate(texts)]
    if len({" ".join(text.split()) for text in texts}) < 3:
        with pytest.raises(UserError):
            split_segments(segments, validation_share=shares[0], test_share=shares[1], seed=seed)
        return
    split = split_segments(segments, validation_share=shares[0], test_share=shares[1], seed=seed)
    assert split.test is not None
    assert split.record.test is not None
    views = split.training, split.validation, split.test
    records = split.record.training, split.record.validation, split.record.test
    parts = [list(view) for view in views]
    keys = [{" ".join(s.text.split()) for s in part} for part in parts]
    assert all(keys)
    assert not keys[0] & keys[1] | keys[0] & keys[2] | keys[1] & keys[2]
    assert sorted(s.text for part in parts for s in part) == sorted(texts)
    for part, view, record in zip(parts, views, records, strict=True):
        assert record.num_segments == len(view) == len(part)
        assert record.num_documents == len({s.document for s in part})
        assert record.num_characters == sum(len(s.text) for s in part)


def test_near_copies_of_a_document_stay_together_and_the_sides_keep_their_size() -> None:
    segments = [
        segment(f"Sentence {i} of {number}{' (edited)' if copy and i == 3 else ''}.", f"doc{number} copy {copy}")
        for number in range(40)
        for copy in range(2)
        for i in range(30)
    ]
    num_crossing = 0
    for seed in range(10):
        split = split_segments(segments, validation_share=0.1, test_share=0.1, seed=seed)
        assert split.test is not None
        sides = [{s.document.split()[0] for s in side} for side in (split.training, split.validation, split.test)]
        num_crossing += len(sides[0] & sides[1]) + len(sides[0] & sides[2]) + len(sides[1] & sides[2])
        assert 0.05 < len(split.validation) / len(segments) < 0.16
        assert 0.05 < len(split.test) / len(segments) < 0.16
    assert num_crossing <= 4


def test_a_record_goes_through_json_and_tells_splits_apart() -> None:
    segments = [s for i in range(30) for s in lines(5, document=f"doc{i}")]
    record = asdict(split_segments(segments, validation_share=0.1, test_share=0.1, seed=3).record)
    assert json.loads(json.dumps(record)) == record
    assert record["training"]["num_documents"] + record["validation"]["num_documents"] <= 30
    assert len({record[side]["fingerprint"] for side in ("training", "validation", "test")}) == 3
