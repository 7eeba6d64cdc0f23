"""The language check: right on 64 languages, silent about those it does not know, never against the script."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lapestudio.core.languages import find_language
from lapestudio.corpora import language_check
from lapestudio.corpora.language_check import UNDETERMINED, check, identify, is_surely_other, knows
from lapestudio.corpora.reading import read

MALTESE = "Il-bnedmin kollha jitwieldu ħielsa u ugwali fid-dinjità u d-drittijiet tagħhom."
ENGLISH = "The children walked along the river until it was dark, and nobody wanted to go home."
UZBEK = "Барча одамлар эркин, қадр-қиммат ва ҳуқуқларда тенг бўлиб туғиладилар."
AZERBAIJANI = "Бүтүн инсанлар ләјагәт вә һүгугларына ҝөрә азад вә бәрабәр доғулурлар."
CROATIAN = "Djeca su otišla na more, a mi smo ostali kod kuće jer je padala kiša cijeli dan."


def samples(shared_dir: Path) -> dict[str, list[str]]:
    """Return the lines of each language's declaration, by the key of its file."""
    files = sorted((shared_dir / "data" / "udhr").glob("*.txt"))
    return {file.stem: [segment.text for segment in read(file)] for file in files}


def code_of(key: str) -> str:
    return find_language(key.split("_")[0]).code


def test_sixty_four_languages_are_named_or_not_known(shared_dir: Path) -> None:
    verdicts = {key: check(texts, code_of(key)) for key, texts in samples(shared_dir).items()}
    assert len(verdicts) == 64
    assert {key: verdict.outcome for key, verdict in verdicts.items() if verdict.outcome != "agrees"} == {
        "tir": "unknown"
    }
    assert verdicts["tir"].looks_like is None
    assert min(next(iter(verdict.shares.values())) for verdict in verdicts.values()) >= 0.6


def test_ten_lines_are_enough_to_tell(shared_dir: Path) -> None:
    outcomes = []
    for key, texts in samples(shared_dir).items():
        if knows(code_of(key)):
            outcomes += [check(texts[place : place + 10], code_of(key)).outcome for place in range(0, len(texts), 10)]
    assert len(outcomes) > 600
    assert outcomes.count("agrees") >= 0.99 * len(outcomes)
    assert "differs" not in outcomes


def test_each_language_is_told_from_all_others(shared_dir: Path) -> None:
    texts = samples(shared_dir)
    outcomes = {
        (key, other): check(lines[:20], code_of(other)).outcome
        for key, lines in texts.items()
        for other in texts
        if other != key and knows(code_of(other))
    }
    assert len(outcomes) == 63 * 63
    by_outcome = {outcome: {pair for pair, one in outcomes.items() if one == outcome} for outcome in outcomes.values()}
    # Tigrinya is not known; taken for Amharic, its relative, it cannot be told from it.
    assert by_outcome["agrees"] == {("tir", "amh")}
    assert by_outcome["close"] == {("nob", "dan"), ("dan", "nob"), ("zul", "xho"), ("xho", "zul")}
    # Any text in Latin letters could be Hindi or Kazakh in a script in which the checker does not know them.
    assert len(by_outcome["unknown"]) <= 0.03 * len(outcomes)
    assert {other for _key, other in by_outcome["unknown"]} >= {"hin", "kaz"}
    assert by_outcome.keys() == {"agrees", "close", "unknown", "differs"}


def test_no_sentence_is_surely_in_another_language_than_its_own(shared_dir: Path) -> None:
    wrong = [
        (key, text)
        for key, lines in samples(shared_dir).items()
        for text in lines
        if is_surely_other(text, code_of(key))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "language", "is_other"),
    [
        (ENGLISH, "mt", True),
        (MALTESE, "en", True),
        (MALTESE, "mt", False),
        ("Yes, of course.", "mt", False),
        (ENGLISH, "ti", False),  # Tigrinya is not known
        (CROATIAN, "sr-Latn", False),
        (UZBEK, "uz", False),
        (AZERBAIJANI, "az", False),
        ("ᏂᎦᏓ ᎠᏂᏴᏫ ᏂᎨᎫᏓᎸᎾ ᎠᎴ ᎤᏂᏠᏱ ᎤᎾᏕᎿ ᏚᏳᎧᏛ ᎨᏒᎢ", "mt", False),  # Cherokee is not known
    ],
)
def test_a_single_segment_is_left_out_only_when_sure(text: str, language: str, is_other: bool) -> None:
    assert is_surely_other(text, language) is is_other


def test_a_language_in_a_script_that_is_rare_for_it_is_not_called_wrong() -> None:
    for text, language in ((AZERBAIJANI, "az"), (AZERBAIJANI, "az-Cyrl"), (UZBEK, "uz")):
        verdict = check([text] * 20, language)
        assert verdict.outcome in {"agrees", "unknown"}
        assert verdict.outcome == "agrees" or verdict.looks_like is None
    assert check([ENGLISH] * 20, "az").looks_like == "en"


def test_a_language_is_never_seen_in_a_script_that_it_is_not_written_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_check, "_classify", lambda _text: ("ka", 1.0))
    assert identify([ENGLISH] * 10) == {UNDETERMINED: 1.0}
    verdict = check([ENGLISH] * 20, "mt")
    assert (verdict.outcome, verdict.looks_like) == ("unsure", None)
    assert not is_surely_other(ENGLISH, "mt")


def test_a_vote_never_rests_on_one_sentence_where_there_are_more(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[str] = []
    monkeypatch.setattr(language_check, "_classify", lambda text: (pieces.append(text), ("en", 1.0))[1])
    for number in (1, 2, 9, 10, 11, 14, 15, 21, 101):
        pieces.clear()
        texts = [f"{ENGLISH} {place}" for place in range(number)]
        identify(texts)
        assert "\n".join(pieces).split("\n") == texts
        assert all(len(piece.split("\n")) >= min(number, 7) for piece in pieces)


def test_little_text_can_agree_and_not_differ() -> None:
    assert check([MALTESE], "mt").outcome == "agrees"
    assert check(["The house is old."], "mt").outcome == "unsure"
    assert check([], "mt").outcome == "unknown"
    assert check(["12", "34"], "mt").outcome == "unsure"


def test_languages_outside_the_list_are_not_known() -> None:
    for language in ("ti", "gsw", "scn", "chr", "x-mine", "qaa"):
        assert not knows(language)
        verdict = check([ENGLISH] * 20, language)
        assert (verdict.outcome, verdict.looks_like) == ("unknown", None)


def test_threads_get_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    language_check._identifier_unlocked.cache_clear()
    texts = [MALTESE, ENGLISH, CROATIAN, UZBEK] * 10
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(language_check._classify, texts))
    assert together == [language_check._classify(text) for text in texts]
