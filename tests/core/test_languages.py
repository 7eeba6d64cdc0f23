"""Languages by code, tag and name; checked against the ISO tables as the `iso639` package reads them."""

import subprocess
import sys
import time

import iso639
import pytest

from lapestudio.core.errors import UserError
from lapestudio.core.languages import (
    Language,
    find_language,
    private_language,
    same_language,
    search_languages,
)


@pytest.mark.parametrize("text", ["mt", "mlt", "MLT", "mlt_Latn", "mlt-Latn", " mt ", "Maltese", "malti", "MALTI"])
def test_all_ways_to_say_maltese(text: str) -> None:
    expected = Language(
        code="mt",
        name="Maltese",
        endonym="Malti",
        script="Latn",
        right_to_left=False,
        iso639_3="mlt",
        scripts=("Latn",),
    )
    assert find_language(text) == expected


def test_every_active_code_finds_its_language() -> None:
    active = [row for row in iso639.ALL_LANGUAGES if row.status == "A" and row.scope != "S"]
    assert len(active) > 7900
    for row in active:
        found = find_language(row.part3)
        if row.scope == "I":
            assert found.iso639_3 == row.part3
        for code in (row.part1, row.part2b, row.part2t):
            assert code is None or find_language(code) == found


def test_every_reference_name_finds_a_language_of_that_name() -> None:
    for row in iso639.ALL_LANGUAGES:
        if row.status == "A" and row.scope == "I":
            assert find_language(row.name).name, row.name


def test_withdrawn_codes() -> None:
    for row in iso639.ALL_LANGUAGES:
        if row.status != "R":
            continue
        if row.retire_change_to:
            assert find_language(row.part3)
        else:
            with pytest.raises(UserError, match="no longer valid"):
                find_language(row.part3)
    assert find_language("ajp").iso639_3 == "apc"
    with pytest.raises(UserError, match=r"mly .*2008: split into four languages: Standard Malay \[zsm\]"):
        find_language("mly")


@pytest.mark.parametrize(
    ("macro", "individual", "code"),
    [
        ("est", "ekk", "et"), ("lav", "lvs", "lv"), ("nep", "npi", "ne"), ("ara", "arb", "ar"), ("zho", "cmn", "zh"),
        ("swa", "swh", "sw"), ("msa", "zsm", "ms"), ("fas", "pes", "fa"), ("aze", "azj", "az"), ("uzb", "uzn", "uz"),
        ("mon", "khk", "mn"), ("mlg", "plt", "mg"), ("orm", "gaz", "om"), ("sqi", "als", "sq"), ("yid", "ydd", "yi"),
        ("que", "quy", "qu"), ("aym", "ayr", "ay"), ("grn", "gug", "gn"), ("nor", "nob", "nb"),
    ],
)  # fmt: skip
def test_a_macrolanguage_means_its_usual_individual(macro: str, individual: str, code: str) -> None:
    assert find_language(macro) == find_language(individual) == find_language(code)
    assert find_language(macro).iso639_3 == individual
    assert find_language(macro).code == code


@pytest.mark.parametrize("code", ["kur", "hbs", "pus", "ful", "kon", "lah"])
def test_macrolanguages_without_a_usual_individual_stay_themselves(code: str) -> None:
    assert find_language(code).iso639_3 == code


@pytest.mark.parametrize(
    ("tag", "code", "script", "right_to_left"),
    [
        ("wel", "cy", "Latn", False),
        ("mac", "mk", "Cyrl", False),
        ("ice", "is", "Latn", False),
        ("geo", "ka", "Geor", False),
        ("slo", "sk", "Latn", False),
        ("iw", "he", "Hebr", True),
        ("arb_Arab", "ar", "Arab", True),
        ("pnb", "pnb", "Arab", True),
        ("dv", "dv", "Thaa", True),
        ("nqo", "nqo", "Nkoo", True),
        ("ff_Adlm", "ff-Adlm", "Adlm", True),
        ("sr", "sr", "Cyrl", False),
        ("srp_Latn", "sr-Latn", "Latn", False),
        ("zh-Hant", "zh-Hant", "Hant", False),
        ("cmn_Hans", "zh", "Hans", False),
        ("zh-yue", "yue", "Hant", False),
        ("pt-BR", "pt-BR", "Latn", False),
        ("es-419", "es-419", "Latn", False),
        ("mt_MT.UTF-8", "mt-MT", "Latn", False),
        ("ca-valencia", "ca-valencia", "Latn", False),
        ("apc_Arab_nort3139", "apc-nort3139", "Arab", True),
        ("ms-Arab", "ms-Arab", "Arab", True),
    ],
)
def test_tags(tag: str, code: str, script: str, *, right_to_left: bool) -> None:
    language = find_language(tag)
    assert (language.code, language.script, language.right_to_left) == (code, script, right_to_left)
    assert find_language(language.code) == language


def test_private_codes() -> None:
    assert find_language("qaa", name="Our village").name == "Our village"
    assert find_language("x-our-village", name="Our village").code == "x-our-village"
    assert find_language("qtz_Arab").right_to_left
    assert find_language("qaa").iso639_3 == "qaa"
    assert find_language("quy").name == "Quechua"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Greek", "el"), ("farsi", "fa"), ("Luganda", "lg"), ("Nepali", "ne"), ("Saami, North", "se"), ("Bokmal", "nb"),
        ("ქართული", "ka"), ("Èdè Yorùbá", "yo"), ("ede yoruba", "yo"), ("中文", "zh"), ("Odia", "or"),
        ("Kiswahili", "sw"), ("islenska", "is"), ("नेपाली", "ne"), ("Norwegian", "nb"), ("Kurmanji", "kmr"),
        ("Slovene", "sl"),
    ],
)  # fmt: skip
def test_names(name: str, code: str) -> None:
    assert find_language(name).code == code


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("Malteze", "Maltese (mt)"),
        ("Estonain", "Estonian (et)"),
        ("Sorbian", "Upper Sorbian (hsb)"),
        ("Icelandick", "Icelandic (is)"),
        ("xx-YY", "give an ISO 639 code such as mt"),
        ("mt-Latin-?", "give an ISO 639 code"),
        ("mlt_Lath", "give an ISO 639 code"),
        ("", "The language is missing"),
    ],
)
def test_an_unknown_language_is_refused_with_the_nearest(text: str, suggestion: str) -> None:
    with pytest.raises(UserError) as caught:
        find_language(text)
    assert suggestion in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("ka", "ka"), ("mal", "ml"), ("malt", "mt"), ("estonian", "et"), ("geor", "ka"), ("nynorsk", "nn"),
        ("maltse", "mt"), ("welhs", "cy"), ("ქართ", "ka"), ("yorùba", "yo"), ("zh-Hant", "zh-Hant"), ("eng", "en"),
    ],
)  # fmt: skip
def test_search_puts_the_expected_language_first(text: str, first: str) -> None:
    assert search_languages(text, 5)[0].code == first


def test_search_ranks_exact_before_beginning_before_word_before_inside_before_close() -> None:
    codes = [language.code for language in search_languages("malt", 10)]
    order = ["mt", "mdl", "cco", "ml"]  # Maltese, Maltese Sign Language, Comaltepec, Malayalam (code mal: one slip)
    assert [code for code in codes if code in order] == order
    assert search_languages("wel", 3)[0].code == "cy"  # the exact code wel


def test_search_respects_its_limit_and_lists_widely_written_languages_for_nothing() -> None:
    assert len(search_languages("a", 7)) == 7
    listed = search_languages("", 1000)
    assert {"Maltese", "English", "Georgian"} <= {language.name for language in listed}
    assert [language.name for language in listed] == sorted(language.name for language in listed)
    assert search_languages("xyzzyx", 10) == []


def test_a_search_is_quick_enough_for_each_key_press() -> None:
    search_languages("warm", 20)
    for text in ("m", "malt", "maltse", "northern sotho", "xyzzyx", "estonain"):
        times = []
        for _ in range(3):
            start = time.perf_counter()
            search_languages(text, 20)
            times.append(time.perf_counter() - start)
        assert min(times) < 0.02, text


def test_loading_is_lazy_and_quick() -> None:
    program = (
        "import sys, time; import lapestudio.core.languages as languages;"
        "from lapestudio.core.language_tables import registry;"
        "assert registry.cache_info().currsize == 0;"
        "start = time.perf_counter(); languages.find_language('mt'); print(time.perf_counter() - start);"
        "assert 'iso639' not in sys.modules"
    )
    found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    # A guard against a slow way of loading, not a measurement: it takes a twentieth of this on an idle machine.
    assert float(found.stdout) < 2.0


def test_scripts_macrolanguages_and_other_forms_of_a_code() -> None:
    serbian = find_language("sr")
    assert serbian.scripts[0] == "Cyrl"
    assert "Latn" in serbian.scripts
    assert find_language("sr-Latn").scripts == ("Latn",)
    assert find_language("et").macrolanguage == "est"
    assert find_language("mt").macrolanguage is None
    assert find_language("et").flores_code == "ekk_Latn"
    assert find_language("zh-Hant").flores_code == "cmn_Hant"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("mt", "mlt", True), ("et", "ekk", True), ("est", "ekk", True), ("pt-BR", "pt", True), ("zh-Hans", "zho", True),
        ("eng_Latn", "en-GB", True), ("Maltese", "mt", True), ("mt", "it", False), ("ekk", "vro", False),
        ("x-foo", "x-foo", True), ("x-foo", "x-bar", False), ("nonsense9", "NONSENSE9", True),
        ("nonsense9", "mt", False),
    ],
)  # fmt: skip
def test_whether_two_tags_stand_for_one_language(first: str, second: str, same: bool) -> None:
    assert same_language(first, second) is same
    assert same_language(second, first) is same


def test_a_language_without_a_code_gets_a_private_tag() -> None:
    made = private_language("Sìltigo Bàscia", script="Latn")
    assert (made.code, made.name, made.iso639_3) == ("qaa-Latn-x-siltigo-bascia", "Sìltigo Bàscia", "qaa")
    assert find_language(made.code).script == "Latn"
    assert find_language(made.code).name == "Siltigo Bascia"
    second = private_language("Siltigo Bascia", script="Latn", taken=[made.code])
    assert second.code == "qaa-Latn-x-siltigo-bascia-2"
    assert private_language("لهجة", script="Arab").right_to_left
    assert not same_language(made.code, private_language("Other").code)
    with pytest.raises(UserError, match="name of the language is missing"):
        private_language(" - ")
    with pytest.raises(UserError, match='no script "Xxxx"'):
        private_language("Name", script="Xxxx")


def test_each_code_finds_its_own_language_first() -> None:
    """Typing any code of a language offers that language before all others."""
    for row in sorted(iso639.ALL_LANGUAGES, key=lambda row: row.part3 or "")[::97]:
        if row.status != "A" or row.scope != "I":
            continue
        for code in filter(None, (row.part1, row.part2b, row.part2t, row.part3)):
            assert search_languages(code, 1)[0].iso639_3 == row.part3, code
