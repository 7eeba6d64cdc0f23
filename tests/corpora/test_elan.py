"""ELAN files as people have them: any order, several speakers, languages, depths, and damage."""

import time
from pathlib import Path

import pytest

from tests.corpora.one_file import OneFile


def timed(name: str, start: str, end: str, text: str) -> str:
    return (
        f'<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="{name}" TIME_SLOT_REF1="{start}" TIME_SLOT_REF2="{end}">'
        f"<ANNOTATION_VALUE>{text}</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>"
    )


def hung(name: str, parent: str, text: str, previous: str = "") -> str:
    chain = f' PREVIOUS_ANNOTATION="{previous}"' if previous else ""
    return (
        f'<ANNOTATION><REF_ANNOTATION ANNOTATION_ID="{name}" ANNOTATION_REF="{parent}"{chain}>'
        f"<ANNOTATION_VALUE>{text}</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>"
    )


def tier(
    name: str, *annotations: str, kind: str = "default-lt", parent: str = "", language: str = "", who: str = ""
) -> str:
    attributes = {"PARENT_REF": parent, "LANG_REF": language, "PARTICIPANT": who}
    listed = "".join(f' {key}="{value}"' for key, value in attributes.items() if value)
    return f'<TIER TIER_ID="{name}" LINGUISTIC_TYPE_REF="{kind}"{listed}>{"".join(annotations)}</TIER>'


def eaf(*tiers: str, slots: dict[str, int | None] | None = None) -> str:
    slots = slots or {f"t{second}": second * 1000 for second in range(10)}
    listed = "".join(
        f'<TIME_SLOT TIME_SLOT_ID="{name}"/>'
        if value is None
        else f'<TIME_SLOT TIME_SLOT_ID="{name}" TIME_VALUE="{value}"/>'
        for name, value in slots.items()
    )
    return f"<ANNOTATION_DOCUMENT><TIME_ORDER>{listed}</TIME_ORDER>{''.join(tiers)}</ANNOTATION_DOCUMENT>"


SPEECH = (timed("a1", "t0", "t1", "Mačka spi pod drevom."), timed("a2", "t1", "t2", "Máme dve nové knihy."))
ENGLISH = (hung("f1", "a1", "The cat is asleep under the tree."), hung("f2", "a2", "We have got two new books."))


def test_order_is_by_time_then_by_parents_then_by_chain(tmp_path: Path) -> None:
    """Two words of one utterance, each cut into parts that are stored in the wrong order."""
    words = (hung("w2", "a1", "krasna", "w1"), hung("w1", "a1", "hiša"), hung("w3", "a2", "drugo"))
    parts = (
        hung("m4", "w2", "-a", "m3"),
        hung("m3", "w2", "krasn-"),
        hung("m5", "w3", "drug-o"),
        hung("m2", "w1", "-a", "m1"),
        hung("m1", "w1", "hiš-"),
    )
    file = OneFile(
        tmp_path / "a.eaf",
        eaf(tier("mb", *parts, parent="wd"), tier("wd", *words, parent="tx"), tier("tx", *reversed(SPEECH))),
    )
    assert file.texts("mb") == ["hiš-", "-a", "krasn-", "-a", "drug-o"]
    assert file.texts("wd") == ["hiša", "krasna", "drugo"]
    assert [segment.unit for segment in file.segments("mb")] == ["a1"] * 4 + ["a2"]
    assert [segment.span_s for segment in file.segments("mb")] == [(0.0, 1.0)] * 4 + [(1.0, 2.0)]
    assert file.parts()["mb"].parent == "wd"


def test_siblings_without_a_chain_stay_with_their_parents(tmp_path: Path) -> None:
    """Nothing has a time, and nothing says what comes before: the order of the file holds, parent by parent."""
    file = OneFile(
        tmp_path / "a.eaf",
        eaf(
            tier("mb", hung("m1", "a1", "jeden"), hung("m3", "a2", "tri"), hung("m2", "a1", "dva"), parent="tx"),
            tier("tx", timed("a1", "x1", "x2", "jeden dva"), timed("a2", "x2", "x3", "tri")),
            slots={"x1": None, "x2": None, "x3": None},
        ),
    )
    assert file.texts("mb") == ["jeden", "dva", "tri"]
    assert [(segment.location, segment.span_s) for segment in file.segments("tx")] == [("a1", None), ("a2", None)]


def test_timed_parts_hang_on_what_they_lie_in(tmp_path: Path) -> None:
    """Time_Subdivision and Included_In tiers: annotations with times of their own under annotations with times."""
    slots = {"t0": 0, "x": None, "y": None, "t3": 3000, "t5": 5000, "t6": 6000}
    file = OneFile(
        tmp_path / "a.eaf",
        eaf(
            tier(
                "seg",
                timed("s4", "t5", "t6", "drugo"),
                timed("s3", "y", "t3", "drevesom"),
                timed("s2", "x", "y", "pod"),
                timed("s1", "t0", "x", "spi"),
                parent="tx",
            ),
            tier("tx", timed("a1", "t0", "t3", "Spi pod drevesom."), timed("a2", "t3", "t6", "Drugo.")),
            tier("gl", hung("g2", "s2", "under"), parent="seg"),
            slots=slots,
        ),
    )
    segments = file.segments("seg")
    assert [(segment.text, segment.unit, segment.span_s) for segment in segments] == [
        ("spi", "a1", (0.0, 1.0)),
        ("pod", "a1", (1.0, 2.0)),
        ("drevesom", "a1", (2.0, 3.0)),
        ("drugo", "a2", (5.0, 6.0)),
    ]
    assert [(segment.unit, segment.span_s) for segment in file.segments("gl")] == [("a1", (1.0, 2.0))]


@pytest.mark.parametrize(
    ("tiers", "language", "expected"),
    [
        # Toolbox habits: the names of records are a tier, and the text hangs on it.
        (
            [
                tier("ref@A", timed("r1", "t0", "t1", "zgodba.001"), timed("r2", "t1", "t2", "zgodba.002"), kind="ref"),
                tier("tx@A", hung("a1", "r1", "Da."), hung("a2", "r2", "Ne."), kind="tx", parent="ref@A"),
                tier("ft@A", hung("f1", "r1", "Yes, certainly."), kind="ft", parent="ref@A"),
            ],
            None,
            ["tx@A"],
        ),
        # Only the reference tier has text in it.
        (
            [tier("ref", *SPEECH), tier("note", hung("n1", "a1", "a remark, longer than any text"), parent="ref")],
            None,
            ["ref"],
        ),
        # FLEx habits.
        (
            [
                tier("A_phrase-segnum-en", timed("p1", "t0", "t1", "1"), timed("p2", "t1", "t2", "2")),
                tier("A_phrase-txt-sk", hung("a1", "p1", "Mačka spí."), parent="A_phrase-segnum-en"),
                tier("A_word-txt-sk", hung("w1", "p1", "mačka"), hung("w2", "p1", "spí"), parent="A_phrase-segnum-en"),
                tier("A_phrase-gls-en", hung("f1", "p1", "The cat is certainly asleep."), parent="A_phrase-segnum-en"),
            ],
            None,
            ["A_phrase-txt-sk"],
        ),
        # Every speaker has the same types.
        (
            [
                tier("K-Spch", timed("a1", "t0", "t1", "Kje si?"), kind="utterance"),
                tier("W-Spch", timed("a2", "t1", "t2", "Tukaj sem, pri mizi."), kind="utterance"),
                tier("W-Words", hung("w1", "a2", "tukaj"), kind="words", parent="W-Spch"),
            ],
            None,
            ["K-Spch", "W-Spch"],
        ),
        # Speakers by name, without types: they take turns; a translation does not.
        (
            [
                tier("Ana", timed("a1", "t0", "t1", "Kje si bila danes?"), timed("a3", "t2", "t3", "Aha, dobro.")),
                tier("Bor", timed("a2", "t1", "t2", "Doma sem bila, mama."), timed("a4", "t3", "t4", "Prav.")),
                tier(
                    "angleško", timed("e1", "t0", "t2", "Where have you been?"), timed("e2", "t2", "t4", "I see. Fine.")
                ),
            ],
            None,
            ["Ana", "Bor"],
        ),
        # Names in other languages.
        ([tier("Übersetzung", *SPEECH), tier("Äußerung", timed("b", "t0", "t1", "Spi."))], None, ["Äußerung"]),
        ([tier("FreeTranslation", *SPEECH), tier("énoncé", timed("b", "t0", "t1", "Spi."))], None, ["énoncé"]),
        # Named after languages: the wanted one is taken.
        ([tier("English", *SPEECH), tier("Slovak", timed("b", "t0", "t1", "Spí."))], "sk", ["Slovak"]),
        ([tier("English", *SPEECH), tier("Slovak", timed("b", "t0", "t1", "Spí."))], "en", ["English"]),
        # A part of speech is not Pashto.
        ([tier("ps", timed("b", "t0", "t1", "noun verb noun")), tier("tx", *SPEECH)], "ps", ["tx"]),
        # Nothing but glosses: better than nothing.
        ([tier("gloss", *SPEECH)], None, ["gloss"]),
    ],
)
def test_the_default_tier(tmp_path: Path, tiers: list[str], language: str | None, expected: list[str]) -> None:
    file = OneFile(tmp_path / "a.eaf", eaf(*tiers))
    assert file.default_parts(language) == expected
    assert [segment.field for segment in file.segments(language=language)] == [
        segment.field for segment in file.segments(*expected)
    ]


def test_stated_languages_decide(tmp_path: Path) -> None:
    file = OneFile(
        tmp_path / "a.eaf", eaf(tier("tx", *SPEECH, language="slk"), tier("ft", *ENGLISH, parent="tx", language="eng"))
    )
    assert file.default_parts("sk") == ["tx"]
    assert file.default_parts("en") == ["ft"]
    assert [segment.language for segment in file.segments(language="en")] == ["eng", "eng"]
    assert file.default_parts() == ["tx"]
    assert file.texts(language="ka") == []
    assert file.faults == [f"{file.path} has text in eng, slk, but none in ka; choose one of them, or another file."]
    assert file.texts("tx", language="ka") == ["Mačka spi pod drevom.", "Máme dve nové knihy."]


@pytest.mark.parametrize(("stated", "wanted"), [("qaa-x-siltigo", "ka"), ("moja reč", "ka"), ("slk", "qaa-x-siltigo")])
def test_private_and_unknown_languages_rule_nothing_out(tmp_path: Path, stated: str, wanted: str) -> None:
    file = OneFile(tmp_path / "a.eaf", eaf(tier("tx", *SPEECH, language=stated)))
    assert len(file.texts(language=wanted)) == 2


def test_white_space_and_entities_of_a_value(tmp_path: Path) -> None:
    file = OneFile(
        tmp_path / "a.eaf",
        eaf(tier("tx", timed("a", "t0", "t1", "  Ja\n\t a &lt;ty&gt; "), timed("b", "t1", "t2", " "))),
    )
    assert file.texts() == ["Ja a <ty>"]
    assert file.skipped == {"empty annotation": 1}


def test_damaged_references_do_no_harm(tmp_path: Path) -> None:
    """Circles, parents and slots that do not exist, times that are no numbers, names that come twice."""
    file = OneFile(
        tmp_path / "a.eaf",
        eaf(
            tier(
                "tx", timed("a", "t9", "nowhere", "jeden"), timed("b", "t0", "t1", "dva"), timed("b", "t0", "t1", "tri")
            ),
            tier("x", hung("c", "d", "štyri", "d"), hung("d", "c", "päť", "c"), hung("e", "gone", "šesť", "gone")),
            tier("self", hung("f", "f", "sedem", "f"), parent="self"),
            tier("y", "<ANNOTATION/>", parent="gone"),
        ).replace('TIME_VALUE="3000"', 'TIME_VALUE="²"'),
    )
    assert sorted(file.texts("*")) == sorted(["jeden", "dva", "tri", "štyri", "päť", "šesť", "sedem"])
    assert file.faults == []


def test_a_long_file_is_ordered_in_linear_time(tmp_path: Path) -> None:
    """Twenty thousand slots without times, and a chain of as many parts, stored backwards."""
    number = 20_000
    slots: dict[str, int | None] = {f"t{place}": None if place % 100 else place for place in range(number + 1)}
    tops = [timed(f"a{place}", f"t{place}", f"t{place + 1}", f"veta {place}") for place in range(number)]
    parts = [hung(f"m{place}", "a0", str(place), f"m{place - 1}" if place else "") for place in reversed(range(number))]
    file = OneFile(tmp_path / "a.eaf", eaf(tier("tx", *tops), tier("mb", *parts, parent="tx"), slots=slots))
    begin = time.monotonic()
    assert file.texts("mb") == [str(place) for place in range(number)]
    assert file.texts("tx") == [f"veta {place}" for place in range(number)]
    assert time.monotonic() - begin < 10


def test_utf_16_without_version_or_schema(tmp_path: Path) -> None:
    content = '<?xml version="1.0" encoding="UTF-16"?>' + eaf(tier("tx", timed("a", "t0", "t1", "კატა &amp; თაგვი")))
    assert OneFile(tmp_path / "a.eaf", content, encoding="utf-16").texts() == ["კატა & თაგვი"]


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    file = OneFile(tmp_path / "a.eaf", eaf(tier("tx", *SPEECH))[:-40])
    assert file.texts() == []
    [fault] = file.faults
    assert fault.startswith(f"{file.path}, line 1: not well-formed XML")
