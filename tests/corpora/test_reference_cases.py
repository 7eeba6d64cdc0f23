"""Odd files with their right answers: each reader gives exactly the segments that the reference expects."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lapestudio.core.languages import same_language
from lapestudio.core.specs import CorpusSource
from lapestudio.core.text_settings import ReadingOptions
from lapestudio.corpora.corpus import Corpus
from lapestudio.corpora.mojibake import repaired
from lapestudio.corpora.pairs import join_pairs
from lapestudio.corpora.parallel_lines import line_pairs
from lapestudio.corpora.reader import Reading
from lapestudio.corpora.reading import ReadingLog, look_into, read_all
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile


class Case:
    """A file, and what is expected of it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / name
        self.expected: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))[name]
        self.log = ReadingLog()
        self.faults: list[str] = []

    def segments(self, *parts: str, language: str | None = None) -> list[Segment]:
        """Read the file: the text, or the named parts."""
        options = {str(self.path): ReadingOptions(parts=parts or None)}
        self.log, self.faults = ReadingLog(), []
        return list(read_all([self.path], language=language, options=options, report=self.faults.append, log=self.log))

    def texts(self, *parts: str, language: str | None = None) -> list[str]:
        return [segment.text for segment in self.segments(*parts, language=language)]

    def default_parts(self, language: str | None = None) -> list[str]:
        look = look_into(self.path, language=language, options=ReadingOptions(), report=self.faults.append)
        return [part.name for part in look.parts if part.is_default]

    @property
    def skipped(self) -> Counter[str]:
        return self.log.skipped


def pairs_of(segments: list[Segment], first: str, second: str) -> list[list[str]]:
    return [[one.text, other.text] for one, other in join_pairs(segments, first, second)]


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("01_cp1257_mixed_newlines.txt", "lt"),
        ("03_invisibles.txt", None),
        ("04_mojibake.txt", "mt"),
        ("08_bad_lines.jsonl", "af"),
        ("13_no_words.flextext", "mt"),
        ("14_toolbox_wrapped.txt", "lv"),
        ("18_mwt_empty.conllu", "mt"),
        ("22_rolling.vtt", "mk"),
        ("23_tracked.docx", "is"),
        ("24_cp1257.rtf", "lt"),
        ("27_tei.xml", "sl"),
        ("28_bomb_and_slip.zip", "af"),
        ("29_leipzig-sentences.txt", "et"),
        ("32_spine.epub", "et"),
    ],
)
def test_the_segments_are_exactly_those_expected(shared_dir: Path, name: str, language: str | None) -> None:
    case = Case(shared_dir / "cases", name)
    assert case.texts(language=language) == case.expected["segments"]
    if "encoding" in case.expected:
        assert case.log.files[0].encoding == case.expected["encoding"]


def test_text_that_was_stored_twice_is_kept_and_its_repair_offered(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "04_mojibake.txt")
    segments = case.segments(language="mt")
    [warning] = case.log.files[0].warnings
    assert [f"line {number}:" in warning for number in case.expected["warn"]] == [True]
    assert repaired(segments[1].text) == case.expected["repaired_line_2"]
    assert repaired(segments[0].text) is None


def test_tatoeba_sentences_by_language(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "05_tatoeba_quotes.tsv")
    segments = case.segments()
    found: dict[str, list[str]] = {}
    for segment in segments:
        found.setdefault(segment.language or "und", []).append(segment.text)
    assert found == case.expected["segments"]
    assert len(segments) == case.expected["rows"]
    wanted = case.expected["segments"]
    assert case.texts(language="cy") == wanted["cym"] + wanted["und"]
    look = look_into(case.path, language=None, options=ReadingOptions(), report=case.faults.append)
    assert [part.name for part in look.parts] == case.expected["columns"]


def test_common_voice_sentences_are_read_once(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "06_commonvoice.tsv")
    corpus = Corpus(CorpusSource(language="ka", paths=(case.path,)))
    assert [segment.text for segment in corpus] == case.expected["segments"]
    [step] = corpus.cleaning_log.results()
    assert (step.setting, step.num_removed) == ("remove_duplicates", case.expected["duplicates"])
    assert corpus.reading_log.skipped == {"empty cell": case.expected["empty"]}
    assert case.default_parts("ka") == [case.expected["text_column"]]
    assert all(same_language(segment.language or "", case.expected["lang"]) for segment in case.segments())


def test_broken_records_are_named(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "08_bad_lines.jsonl")
    case.segments(language="af")
    assert [int(fault.split(", line ")[1].split(":")[0]) for fault in case.faults] == case.expected["bad_lines"]


def test_line_aligned_halves_are_paired(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "09_moses.sl")
    reading = Reading()
    other = case.path.with_name(case.expected["pair"])
    pairs = line_pairs(SourceFile(path=other), SourceFile(path=case.path), reading)
    assert [[first.text, second.text] for first, second in pairs] == case.expected["pairs"]
    assert reading.skipped == {"pair with an empty side": case.expected["skipped_empty"]}
    assert case.texts(language="sl") == [pair[1] for pair in case.expected["pairs"]]


@pytest.mark.parametrize(("name", "unit"), [("10_long_utf16le_bom.TextGrid", 1.0), ("12_nested.eaf", 1000.0)])
def test_tiers_and_times(shared_dir: Path, name: str, unit: float) -> None:
    case = Case(shared_dir / "cases", name)
    for tier, texts in case.expected["tiers"].items():
        assert case.texts(tier) == texts, tier
    assert case.default_parts() == [case.expected["default_tier"]]
    assert case.texts() == case.expected["tiers"][case.expected["default_tier"]]
    for tier, times in case.expected["times"].items():
        spans = [segment.span_s for segment in case.segments(tier)]
        assert [[edge * unit for edge in span] for span in spans if span is not None] == times


def test_elan_text_and_translation_are_paired(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "12_nested.eaf")
    [(names, expected)] = case.expected["pairs"].items()
    assert pairs_of(case.segments("*"), *names.split("|")) == expected


def test_flex_phrases_with_translations_and_titles(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "13_no_words.flextext")
    everything = case.segments("*", language="mt")
    assert pairs_of(everything, f"text:{case.expected['vernacular']}", "translation:en") == case.expected["pairs"]
    titles = {segment.language: segment.text for segment in case.segments("title*")}
    assert titles == case.expected["titles"]
    assert case.default_parts("mt") == ["text:mt"]


def test_toolbox_records_with_translations(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "14_toolbox_wrapped.txt")
    assert pairs_of(case.segments("*"), "tx", "ft") == case.expected["pairs"]


def test_verses(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "16_real_life.SFM")
    segments = case.segments(language="cy")
    assert [[segment.location, segment.text] for segment in segments] == case.expected["segments"]
    assert {segment.document.split("#")[1] for segment in segments} == {case.expected["book"]}
    assert case.skipped == {"empty verse": len(case.expected["empty"])}


def test_translation_memory(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "19_old_lang_utf16.tmx")
    everything = case.segments("*")
    for languages, expected in case.expected["pairs"].items():
        assert pairs_of(everything, *languages.split("|")) == expected
    paired = {text for expected in case.expected["pairs"].values() for pair in expected for text in pair}
    for language, texts in case.expected["single"].items():
        assert [text for text in case.texts(language) if text not in paired] == texts
        assert case.texts(language=language) == case.texts(language)


def test_gettext_catalogue(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "20_fuzzy_iso885913.po")
    assert pairs_of(case.segments("*"), "msgid", "msgstr") == case.expected["pairs"]
    assert case.texts(language="lt") == [pair[1] for pair in case.expected["pairs"]]
    assert case.skipped == case.expected["skipped"]
    assert case.log.files[0].encoding == case.expected["encoding"]


def test_speakers_of_subtitles(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "22_rolling.vtt")
    assert [one.speaker for one in case.segments() if one.speaker] == case.expected["speakers"]


@pytest.mark.parametrize("name", ["23_tracked.docx", "27_tei.xml"])
def test_notes_are_a_part_of_their_own(shared_dir: Path, name: str) -> None:
    case = Case(shared_dir / "cases", name)
    assert case.texts("notes") == case.expected["notes"]


def test_pages_of_a_wiki(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "26_cywiki-multistream.xml.bz2")
    pages: dict[str, list[str]] = {}
    for segment in case.segments(language=case.expected["lang"]):
        pages.setdefault(segment.document.split("#")[1], []).append(segment.text)
        assert same_language(segment.language or "", case.expected["lang"])
    assert pages == case.expected["pages"]
    names = {"redirect": "redirect", "not_article": "not an article", "empty": "empty page"}
    assert case.skipped == {names[reason]: number for reason, number in case.expected["skipped"].items()}


def test_members_of_an_archive_that_are_refused(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "28_bomb_and_slip.zip")
    case.segments()
    assert [fault.split(".zip, ")[1].split(": left out")[0] for fault in case.faults] == case.expected["refused"]
    assert not any(name in fault for name in case.expected["ignored"] for fault in case.faults)


def test_xliff_units(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "30_inline.xlf")
    assert pairs_of(case.segments("*"), "en", "ne") == case.expected["pairs"]
    names = {"not_translatable": "not translatable", "no_target": "no target", "needs_translation": "needs translation"}
    assert case.skipped == {names[reason]: number for reason, number in case.expected["skipped"].items()}


def test_what_a_book_says_of_itself(shared_dir: Path) -> None:
    case = Case(shared_dir / "cases", "32_spine.epub")
    assert {segment.language for segment in case.segments()} == {case.expected["lang"]}


def test_every_case_is_tested(shared_dir: Path) -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    names = json.loads((shared_dir / "cases" / "expected.json").read_text(encoding="utf-8"))
    assert [name for name in names if name not in source and name != "09_moses.en"] == []
