"""FLEx texts: several writing systems, words without phrases, marks of many scripts, times and speakers."""

from pathlib import Path

import pytest

from lapestudio.corpora.interlinear_words import Item, join_words
from tests.corpora.one_file import OneFile


def item(kind: str, language: str, content: str) -> str:
    return f'<item type="{kind}" lang="{language}">{content}</item>'


def words(language: str, *contents: str) -> str:
    """Words, and marks where the first character is no letter."""
    made = [
        f"<word>{item('txt' if content[:1].isalpha() else 'punct', language, content)}</word>" for content in contents
    ]
    return f"<words>{''.join(made)}</words>"


def phrase(*items: str, **attributes: str) -> str:
    listed = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f"<phrase{listed}>{''.join(items)}</phrase>"


def text(*phrases: str, titles: str = "", vernaculars: str = "", guid: str = "") -> str:
    listed = "".join(f'<language lang="{code}" vernacular="true"/>' for code in vernaculars.split())
    name = f' guid="{guid}"' if guid else ""
    return (
        f"<interlinear-text{name}>{titles}<paragraphs><paragraph><phrases>{''.join(phrases)}</phrases></paragraph>"
        f'</paragraphs><languages>{listed}<language lang="en"/></languages></interlinear-text>'
    )


def document(*texts: str) -> str:
    return f'<?xml version="1.0" encoding="utf-8"?><document version="2">{"".join(texts)}</document>'


def test_texts_are_documents_with_units_times_and_speakers(tmp_path: Path) -> None:
    file = OneFile(
        tmp_path / "a.flextext",
        document(
            text(
                phrase(
                    item("segnum", "en", "1.1"),
                    item("txt", "lv", "Kaķis guļ."),
                    item("gls", "en", "The cat is asleep."),
                    item("gls", "de", "Die Katze schläft."),
                    item("lit", "en", "cat sleeps"),
                    item("note", "en", "check"),
                    guid="p1",
                    begin_time_offset="0",
                    end_time_offset="1500",
                    speaker="Anna",
                ),
                titles=item("title", "lv", "Kaķis") + item("title", "en", "Cat") + item("title", "de", ""),
                vernaculars="lv",
                guid="g1",
            ),
            text(phrase(words("lv", "Jā", "!")), phrase(item("segnum", "en", "2")), vernaculars="lv"),
        ),
    )
    first, second = file.segments(language="lv")
    assert (first.text, first.document, first.location) == ("Kaķis guļ.", f"{file.path}#g1", "phrase 1.1")
    assert (first.unit, first.span_s, first.speaker, first.language) == ("p1", (0.0, 1.5), "Anna", "lv")
    assert (second.text, second.document, second.location) == ("Jā!", f"{file.path}#2", "phrase 1")
    assert (second.unit, second.span_s, second.speaker) == ("phrase 1", None, None)
    assert file.skipped == {"empty phrase": 1}
    parts = {name: (part.num_segments, part.language, part.is_default) for name, part in file.parts("lv").items()}
    assert parts == {
        "text:lv": (2, "lv", True),
        "translation:en": (1, "en", False),
        "translation:de": (1, "de", False),
        "literal translation:en": (1, "en", False),
        "note:en": (1, "en", False),
        "title:lv": (1, "lv", False),
        "title:en": (1, "en", False),
    }
    assert {segment.unit for segment in file.segments("translation:*")} == {"p1"}
    assert file.texts("title:lv", "text:lv") == ["Kaķis", "Kaķis guļ.", "Jā!"]


TWO = document(
    text(
        phrase(item("txt", "sr", "Мачка спава."), item("txt", "sr-Latn", "Mačka spava."), item("gls", "en", "Asleep.")),
        phrase(item("txt", "sr-fonipa", "mâtʃka")),
        vernaculars="sr sr-Latn sr-fonipa",
    )
)
PRIVATE = document(
    text(phrase(item("txt", "qaa-x-kal", "Tua moe."), item("gls", "en", "Asleep.")), vernaculars="qaa-x-kal")
)
UNSTATED = document(text(phrase(words("mt", "Il-qattus", "raqad"), item("gls", "en", "Asleep."))))


@pytest.mark.parametrize(
    ("content", "language", "expected"),
    [
        (TWO, "sr", ["text:sr"]),
        (TWO, "sr-Latn", ["text:sr-Latn"]),
        (TWO, None, ["text:sr", "text:sr-Latn"]),
        # Someone who wants English gets the English of it.
        (TWO, "en", ["translation:en"]),
        # A code for private use may stand for any language.
        (PRIVATE, "ka", ["text:qaa-x-kal"]),
        (PRIVATE, "qaa-x-kal", ["text:qaa-x-kal"]),
        (PRIVATE, "en", ["translation:en"]),
        (UNSTATED, None, ["text:mt"]),
        (UNSTATED, "mlt", ["text:mt"]),
    ],
)
def test_the_default_writing_system(tmp_path: Path, content: str, language: str | None, expected: list[str]) -> None:
    file = OneFile(tmp_path / "a.flextext", content)
    assert file.default_parts(language) == expected
    assert file.texts(language=language) == file.texts(*expected) != []


def test_a_language_that_is_not_there_is_told(tmp_path: Path) -> None:
    file = OneFile(tmp_path / "a.flextext", UNSTATED)
    assert file.texts(language="ka") == []
    assert file.faults == [f"{file.path} has text in en, mt, but none in ka; choose one of them, or another file."]
    assert file.texts("text:mt", language="ka") == ["Il-qattus raqad"]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("Mort , imma ( le ) .", "Mort, imma (le)."),
        ("« Mort », qal .", "«Mort», qal."),
        ("» Grem «, je rekel .", "»Grem«, je rekel."),
        ("„ Ich gehe “ , sagte er .", "„Ich gehe“, sagte er."),
        ("„ Idem ” , rzekł .", "„Idem”, rzekł."),
        ("” Jag går ” , sa hon .", "”Jag går”, sa hon."),
        ("“ I go ” , he said : “ now ” .", "“I go”, he said: “now”."),
        ('" Ek gaan " , sê sy : " nou " .', '"Ek gaan", sê sy: "nou".'),
        ("‘ n ’ boek ’ s", "‘n’ boek’s"),
        ("l ’ enfant dort", "l’enfant dort"),
        ("l ' enfant dort", "l'enfant dort"),
        ("the dogs ’ .", "the dogs’."),
        ("' Yes ' , he said", "'Yes', he said"),
        ("¿ Qué ? ¡ Ya !", "¿Qué? ¡Ya!"),
        ("… qal … u mar", "… qal… u mar"),
        ("kelb - qattus", "kelb-qattus"),
        ("mar – u ġie – dar", "mar – u ġie – dar"),
        ("?! . !", "?!.!"),
        ("猫 在 睡觉 。 「 是 」 。", "猫在睡觉。「是」。"),
        ("แมว นอน cat แมว", "แมวนอน cat แมว"),
        ("ድመቷ ተኝታለች ። እሺ", "ድመቷ ተኝታለች። እሺ"),
        ("القطة نائمة ، أليس كذلك ؟", "القطة نائمة، أليس كذلك؟"),
        ("«  \u00a0 Da !»", "«Da!»"),
        ("", ""),
    ],
)
def test_words_and_marks_to_running_text(items: str, expected: str) -> None:
    listed = [Item(content, not any(letter.isalnum() for letter in content)) for content in items.split()]
    assert join_words(listed) == expected


def test_empty_words_and_marks_alone(tmp_path: Path) -> None:
    """An empty word stands for nothing; a phrase of marks alone is a phrase."""
    file = OneFile(
        tmp_path / "a.flextext",
        document(
            text(
                phrase(words("mt", "Iva", "", "…", "!")),
                phrase(words("mt", "?", "!")),
                phrase(words("mt", "")),
                phrase(item("txt", "mt", "  "), words("mt", "Le", ".")),
                vernaculars="mt",
            )
        ),
    )
    assert file.texts(language="mt") == ["Iva…!", "?!", "Le."]
    assert file.skipped == {"empty phrase": 1}
