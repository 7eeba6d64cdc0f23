"""Cleaning: each step alone, what it leaves alone, its speed's invariants, and the sets behind it."""

import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapestudio.core.text_settings import CleaningSettings
from lapestudio.corpora.cleaning import MAX_EXAMPLES, CleaningLog, clean
from lapestudio.corpora.key_set import KeySet
from lapestudio.corpora.language_check import check, identify, is_surely_other, knows
from lapestudio.corpora.markup import without_markup
from lapestudio.corpora.mojibake import repaired
from lapestudio.corpora.near_duplicates import NearDuplicates
from lapestudio.corpora.normalising import normalise
from lapestudio.corpora.script_check import fits, script_of, script_shares
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.text_key import text_key

OFF = {
    "compose": False, "remove_invisible": False, "remove_duplicates": False,
}  # fmt: skip


def segments(texts: list[str]) -> list[Segment]:
    return [Segment(text, "d", f"line {number}") for number, text in enumerate(texts, start=1)]


def cleaned(texts: list[str], language: str | None = "mt", **settings: object) -> tuple[list[str], CleaningLog]:
    log = CleaningLog()
    kept = clean(segments(texts), CleaningSettings(**{**OFF, **settings}), language=language, log=log)
    return [segment.text for segment in kept], log


# Normalising


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("e\u0301", "é"),
        ("a\u00adb\u200bc\u2060d\ufeffe\x00f", "abcdef"),
        ("a\u00a0b\u2028c\u0085d\x0be\t\tf", "a b c d e f"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("ශ්\u200dරී", "ශ්\u200dරී"),
        ("\u200fشلام\u200e ", "شلام"),
        ("a \u200cb", "a b"),
        ("first \n\n  second", "first\nsecond"),
        ("Mae\u2019r gath", "Mae\u2019r gath"),
        ("\ud800x", "\ufffdx"),
        (" \u200b ", ""),
    ],
)
def test_a_text_in_its_plain_form(text: str, plain: str) -> None:
    assert normalise(text) == plain


@given(st.text())
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


def test_normalising_can_be_switched_off_in_parts() -> None:
    assert normalise("e\u0301\u00ad", composes=False) == "e\u0301"
    assert normalise("e\u0301\u00ad x", removes_invisible=False) == "é\u00ad x"


# Steps


def test_letters_stored_twice_are_repaired_before_halves_of_them_pass_for_control_characters() -> None:
    damaged = ["Ċettu u Čapek".encode().decode("latin-1"), "la città è".encode().decode("cp1252"), "Nhar\u00a0il-Ħadd"]
    kept, log = cleaned(damaged, repair_double_encoding=True, compose=True, remove_invisible=True)
    assert kept == ["Ċettu u Čapek", "la città è", "Nhar il-Ħadd"]
    assert [(step.setting, step.num_changed) for step in log.results()] == [("repair_double_encoding", 2)]


def test_reasons_for_a_change_are_counted_apart() -> None:
    _kept, log = cleaned(["e\u0301\u00ad", "e\u0301", "a\u200bb", "a  b"], compose=True, remove_invisible=True)
    assert {step.setting: step.num_changed for step in log.results()} == {"compose": 2, "remove_invisible": 2}


def test_characters_that_entities_stand_for_are_made_plain_too() -> None:
    kept, log = cleaned(["a&nbsp;b&shy;c", "&nbsp;"], remove_markup=True, remove_invisible=True)
    assert kept == ["a bc"]
    assert (log.steps["remove_markup"].num_changed, log.steps["empty"].num_removed) == (2, 1)


def test_what_is_exactly_the_same_is_no_near_duplicate() -> None:
    line = "Il-bnedmin kollha jitwieldu ħielsa u ugwali fid-dinjità u d-drittijiet."
    kept, log = cleaned([line, line.upper(), line + "!"], remove_duplicates=True, remove_near_duplicates=True)
    assert kept == [line]
    assert [(step.setting, step.num_removed) for step in log.results()] == [
        ("remove_duplicates", 1),
        ("remove_near_duplicates", 1),
    ]


def test_what_occurs_in_held_out_text_is_left_out() -> None:
    keys = KeySet()
    keys.add(np.array([text_key("Il-kelb  RIEQED."), text_key("Xi ħaġa")], dtype=np.uint64))
    log = CleaningLog()
    lines = segments(["Il-kelb rieqed.", "Il-kelb qam.", "xi ħaġa"])
    kept = list(clean(lines, CleaningSettings(), language=None, log=log, held_out_keys=keys))
    assert [segment.text for segment in kept] == ["Il-kelb qam."]
    [step] = log.results()
    assert (step.setting, step.num_removed, step.examples[1].location) == ("remove_held_out", 2, "line 3")


def test_the_first_segments_come_before_many_have_been_read() -> None:
    num_read = 0

    def stream():
        nonlocal num_read
        for number in range(10_000):
            num_read += 1
            yield Segment(f"linja {number}", "d", f"line {number}")

    kept = clean(stream(), CleaningSettings(), language="mt", log=CleaningLog())
    assert next(kept).text == "linja 0"
    assert num_read <= 64
    assert [segment.text for segment in kept] == [f"linja {number}" for number in range(1, 10_000)]


def test_nothing_happens_where_all_is_off() -> None:
    texts = ["a", "a", "<b>x</b>", "e\u0301 y"]
    kept, log = cleaned(texts)
    assert kept == texts
    assert log.results() == []


def test_duplicates_are_told_from_one_another_by_more_than_case_and_spacing() -> None:
    kept, log = cleaned(["Kelb", "kelb ", "KELB", "kelb.", "kliem", "kelb"], remove_duplicates=True)
    assert kept == ["Kelb", "kelb.", "kliem"]
    assert log.steps["remove_duplicates"].num_removed == 3


@given(st.lists(st.text(alphabet="abc", max_size=3), max_size=400))
def test_of_duplicates_the_first_stays_in_its_place(texts: list[str]) -> None:
    texts = [text or "x" for text in texts]
    assert cleaned(texts, remove_duplicates=True)[0] == list(dict.fromkeys(texts))


def test_many_removals_are_counted_and_few_are_kept() -> None:
    _kept, log = cleaned(["x"] * 5000, remove_duplicates=True)
    [step] = log.results()
    assert step.num_removed == 4999
    assert len(step.examples) == MAX_EXAMPLES


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Il-<b>qattus</b> <br/>rieqed", "Il-qattus rieqed"),
        ("a < b and b > c", "a < b and b > c"),
        ("«Hello» <<words>> <3", "«Hello» <<words>> <3"),
        ("K&amp;K &#x127;obz &nosuchentity;", "K&K ħobz &nosuchentity;"),
        ("{{Template|x}} [[Malta|il-gżira]] u [[Għawdex]]", "il-gżira u Għawdex"),
        ("'''bold''' don't", "bold don't"),
        ("no markup & no entities", "no markup & no entities"),
    ],
)
def test_remains_of_markup(text: str, plain: str) -> None:
    assert without_markup(text) == plain


def test_other_scripts_are_left_out_and_numbers_stay() -> None:
    texts = ["გამარჯობა მსოფლიო", "Hello world", "12 345", "გვაქვს WiFi სახლში"]
    kept, log = cleaned(texts, language="ka", check_script=True)
    assert kept == [texts[0], texts[2], texts[3]]
    assert log.steps["check_script"].examples[0].before == "Hello world"


def test_other_languages_are_left_out_only_where_the_checker_knows() -> None:
    maltese = "Il-bnedmin kollha jitwieldu ħielsa u ugwali fid-dinjità u d-drittijiet tagħhom."
    english = "All human beings are born free and equal in dignity and rights, and should act so."
    assert cleaned([maltese, english, "Yes."], check_language=True)[0] == [maltese, "Yes."]
    assert cleaned([maltese, english], language="ti", check_language=True)[0] == [maltese, english]


def test_text_stored_twice_is_repaired_when_asked() -> None:
    damaged = ["Għandna żewġ kotba.".encode().decode("latin-1"), "È già così."]
    assert cleaned(damaged)[0] == damaged
    kept, log = cleaned(damaged, repair_double_encoding=True)
    assert kept == ["Għandna żewġ kotba.", "È già così."]
    assert log.steps["repair_double_encoding"].num_changed == 1


@pytest.mark.parametrize("page", ["cp1252", "latin-1", "cp1250", "cp1257"])
@pytest.mark.parametrize("text", ["Għandna żewġ kotba ġodda.", "Děti šly k moři.", "Vaikai nuėjo prie jūros."])
def test_double_encoding_is_undone(page: str, text: str) -> None:
    damaged = "".join(
        bytes([byte]).decode(page, "strict") if not _is_hole(byte, page) else chr(byte) for byte in text.encode()
    )
    assert repaired(damaged) == text


def _is_hole(byte: int, page: str) -> bool:
    try:
        bytes([byte]).decode(page)
    except UnicodeDecodeError:
        return True
    return False


@pytest.mark.parametrize("text", ["Ärger über Öl", "Žmogus ėjo", "naïve café", "Ægir og Þór", "ÀÉÎ", "Đà Nẵng", "Ж"])
def test_sound_text_is_not_repaired(text: str) -> None:
    assert repaired(text) is None


# Sets and near duplicates


@given(st.lists(st.lists(st.integers(0, 40), max_size=30), max_size=30))
def test_a_key_set_answers_as_a_set_does(batches: list[list[int]]) -> None:
    keys, reference = KeySet(), set[int]()
    for batch in batches:
        expected = []
        for key in batch:
            expected.append(key not in reference)
            reference.add(key)
        assert keys.add(np.array(batch, dtype=np.uint64)).tolist() == expected
    assert len(keys) == len(reference)
    everything = np.arange(45, dtype=np.uint64)
    assert keys.contains(everything).tolist() == [int(key) in reference for key in everything]


def test_a_key_set_keeps_few_runs() -> None:
    keys = KeySet()
    for start in range(0, 200_000, 500):
        keys.add(np.arange(start, start + 500, dtype=np.uint64))
    assert len(keys) == 200_000
    assert len(keys._runs) < 20


def test_text_keys_ignore_case_and_spacing_and_nothing_else() -> None:
    assert text_key("Il-Kelb  rieqed") == text_key(" il-kelb\nrieqed ")
    assert text_key("il-kelb") != text_key("il-kelb.")


def jaccard(first: str, second: str) -> float:
    grams = [{text[place : place + 5] for place in range(len(text) - 4)} for text in (first, second)]
    return len(grams[0] & grams[1]) / len(grams[0] | grams[1])


def test_near_duplicates_are_found_as_often_as_their_similarity_says() -> None:
    generator = np.random.default_rng(4)
    letters = np.array(list(string.ascii_lowercase + "   "))
    counts = {"high": [0, 0], "low": [0, 0]}
    for _trial in range(150):
        text = "".join(generator.choice(letters, 300))
        for changes, kind in ((2, "high"), (60, "low")):
            characters = list(text)
            for place in generator.choice(300, changes, replace=False):
                characters[place] = "0"
            other = "".join(characters)
            similarity = jaccard(" ".join(text.split()), " ".join(other.split()))
            if kind == "high":
                assert similarity > 0.85
            else:
                assert similarity < 0.4
            near = NearDuplicates()
            first_is_new, other_is_new = near.are_new([text, other])
            assert first_is_new
            counts[kind][0] += not other_is_new
            counts[kind][1] += 1
    assert counts["high"][0] / counts["high"][1] > 0.9
    assert counts["low"][0] / counts["low"][1] < 0.03


@pytest.mark.parametrize("changes", [1, 4, 8, 14, 24])
def test_near_duplicates_are_noticed_as_often_as_theory_says(changes: int) -> None:
    generator = np.random.default_rng(changes)
    letters = np.array(list(string.ascii_lowercase))
    found, expected = 0, 0.0
    num_pairs = 300
    for _pair in range(num_pairs):
        text = "".join(generator.choice(letters, 300))
        characters = list(text)
        for place in generator.choice(300, changes, replace=False):
            characters[place] = "0"
        other = "".join(characters)
        found += not NearDuplicates().are_new([text, other])[1]
        expected += 1 - (1 - jaccard(text, other) ** 8) ** 8
    # Three standard deviations of so many tosses.
    assert abs(found - expected) / num_pairs < 3 * 0.5 / num_pairs**0.5


def test_near_duplicates_do_not_depend_on_how_they_come_in_batches() -> None:
    generator = np.random.default_rng(2)
    texts = ["".join(generator.choice(list("abc "), 30)) + "x" * int(generator.integers(0, 3)) for _ in range(100)]
    texts += [text + "!" for text in texts[::3]] + ["ab", ""]
    together, apart = NearDuplicates(), NearDuplicates()
    assert together.are_new(texts).tolist() == [bool(apart.are_new([text])[0]) for text in texts]


def test_near_duplicates_are_left_out() -> None:
    first = "Il-bnedmin kollha jitwieldu ħielsa u ugwali fid-dinjità u d-drittijiet tagħhom kollha flimkien."
    texts = [
        first,
        first.replace("kollha flimkien", "kollha flimkien!"),
        "Xi ħaġa oħra għalkollox differenti minn hekk.",
    ]
    assert cleaned(texts, remove_near_duplicates=True)[0] == [texts[0], texts[2]]
    assert cleaned(["iva", "le", "iva"], remove_near_duplicates=True)[0] == ["iva", "le", "iva"]


# Scripts and languages


@pytest.mark.parametrize(
    ("character", "script"),
    [("a", "Latn"), ("ħ", "Latn"), ("ж", "Cyrl"), ("გ", "Geor"), ("漢", "Hani"), ("か", "Hira"), ("한", "Hang"),
     ("ع", "Arab"), ("ն", "Armn"), ("አ", "Ethi"), ("1", ""), ("!", ""), ("ʼ", "")],
)  # fmt: skip
def test_the_script_of_a_letter(character: str, script: str) -> None:
    assert script_of(character) == script


def test_shares_of_scripts() -> None:
    assert script_shares("abc где") == {"Latn": 0.5, "Cyrl": 0.5}
    assert script_shares("123 !?") == {}


@pytest.mark.parametrize(
    ("text", "language", "does_fit"),
    [
        ("日本語の文です", "ja", True),
        ("한국어", "ko", True),
        ("中文", "zh", True),
        ("中文", "en", False),
        ("42", "en", True),
        ("whatever", "x-unknown", True),
    ],
)
def test_whether_a_text_fits_a_language(text: str, language: str, does_fit: bool) -> None:
    assert fits(text, language) is does_fit


def test_languages_of_the_declaration_of_human_rights(shared_dir) -> None:
    """The right language first, or an honest "unknown": never a wrong one."""
    from lapestudio.core.languages import find_language
    from lapestudio.corpora.reading import read

    outcomes = {}
    for file in sorted((shared_dir / "data" / "udhr").glob("*.txt")):
        language = find_language(file.stem.split("_")[0])
        sample = [segment.text for segment in read(file, language=language.code)]
        outcomes[file.stem] = check(sample, language.code).outcome
    assert len(outcomes) == 64
    assert {name: outcome for name, outcome in outcomes.items() if outcome != "agrees"} == {"tir": "unknown"}


def test_languages_that_are_alike_are_not_called_wrong() -> None:
    assert not is_surely_other("Svi se ljudi rađaju slobodni i jednaki u dostojanstvu i pravima.", "sr-Latn")
    assert knows("mt")
    assert not knows("ti")
    assert identify([]) == {}
