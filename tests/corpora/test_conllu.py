"""Treebanks: comments and tokens, translations, damaged rows, and words that are withheld."""

from pathlib import Path

import pytest

from tests.corpora.one_file import OneFile


def row(number: str, form: str, misc: str = "_") -> str:
    return "\t".join([number, form, *["_"] * 7, misc])


def sentence(*rows: str, **comments: str) -> str:
    return "\n".join([*(f"# {name} = {text}" for name, text in comments.items()), *rows, "", ""])


DOG = [row("1", "Koer"), row("2", "haugub", "SpaceAfter=No"), row("3", ".")]


def test_documents_sentences_translations_and_speakers(tmp_path: Path) -> None:
    file = OneFile(
        tmp_path / "a.conllu",
        "# newdoc id = jutt\n"
        + sentence(*DOG, sent_id="s1", text="Koer haugub.", text_en="The dog barks.", speaker_id="Mari")
        + "# newdoc\n# newpar\n"
        + sentence(*DOG, text="Koer  haugub = jah.")
        + sentence(*DOG),
    )
    segments = file.segments(language="et")
    assert [(one.text, one.document.removeprefix(str(file.path)), one.location) for one in segments] == [
        ("Koer haugub.", "#jutt", "line 1, s1"),
        ("Koer haugub = jah.", "#2", "line 10"),
        ("Koer haugub.", "#2", "line 17"),
    ]
    assert [one.speaker for one in segments] == ["Mari", None, None]
    [english] = file.segments("text_en")
    assert (english.text, english.language, english.unit) == ("The dog barks.", "en", segments[0].unit)
    parts = {name: (part.num_segments, part.is_default, part.language) for name, part in file.parts("et").items()}
    assert parts == {"text": (3, True, None), "text_en": (1, False, "en")}


def test_who_wants_the_language_of_the_translation_gets_it(tmp_path: Path) -> None:
    file = OneFile(tmp_path / "a.conllu", sentence(*DOG) + sentence(*DOG, text_en="The dog barks."))
    assert file.texts(language="en") == ["The dog barks."]
    assert file.default_parts("en") == ["text_en"]
    assert file.texts() == file.texts(language="ka") == ["Koer haugub."] * 2


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("1-2", "Tule", "SpaceAfter=No"), row("1", "tul"), row("2", "e"), row("3", "!")], "Tule!"),
        ([row("1", "Ta"), row("1.1", "kes"), row("2", "läks", "Gloss=went|SpaceAfter=No"), row("3", ".")], "Ta läks."),
        ([row("0.1", "kes"), row("1", "Tuli")], "Tuli"),
        ([row("1", "10 000"), row("2", "raamatut", "SpaceAfter=No")], "10 000 raamatut"),
        ([row("1", "_"), row("2", "alla")], "_ alla"),
        (["1\tKoer\t_\t_\t_\t_\t_\t_", "2\thaugub\t_\t_\t_\t_\t_\t_"], "Koer haugub"),
    ],
)
def test_text_from_tokens(tmp_path: Path, rows: list[str], expected: str) -> None:
    file = OneFile(tmp_path / "a.conllu", sentence(*rows))
    assert file.texts() == [expected]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_broken_rows_are_told_with_their_lines_and_the_sentence_is_kept(tmp_path: Path, ends: str) -> None:
    content = sentence(
        row("1", "Koer"), row("2", "hau"), "gub", row("3", "!"), "x" + row("4", "?"), text="Koer haugub!"
    )
    content += sentence(row("9" * 5000, "jah"), *DOG)
    file = OneFile(tmp_path / "a.conllu", content.replace("\n", ends))
    assert file.texts(language="et") == ["Koer haugub!", "Koer haugub."]
    assert file.faults == [
        f"{file.path}, line {line}: no row of CoNLL-U (ten columns that begin with a number); correct it."
        for line in (4, 6, 8)
    ]


def test_words_that_are_withheld_are_no_text(tmp_path: Path) -> None:
    withheld = [row("1", "_"), row("2", "_", "SpaceAfter=No"), row("3", "_")]
    file = OneFile(
        tmp_path / "a.conllu", sentence(*withheld, text="_ _ _") + sentence(*withheld) + sentence(*DOG) + "# end\n"
    )
    assert file.texts() == ["Koer haugub."]
    assert file.skipped == {"sentence without words": 3}
    assert file.parts()["text"].num_segments == 1


def test_content_decides(tmp_path: Path) -> None:
    assert OneFile(tmp_path / "a.txt", sentence(*DOG)).texts() == ["Koer haugub."]
    ten = "\t".join(str(number) for number in range(2000, 2010))
    file = OneFile(tmp_path / "b.txt", f"{ten}\n{ten}\n".replace("2000", "aasta"))
    file.texts()
    assert file.format_name != "CoNLL-U"
