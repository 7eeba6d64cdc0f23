"""Text that was stored twice: repaired to the letter where it is, and never touched where it is sound."""

from collections import Counter

import pytest

from lapestudio.corpora.mojibake import repaired
from lapestudio.corpora.normalising import normalise
from lapestudio.corpora.reading import ReadingLog, read, read_all

PAGES = ("cp1252", "latin-1", "cp1250", "cp1257", "cp1251")
TEXTS = {
    "mt": "Il-belt fil-Ġappun, città u perché.",
    "cs": "Děti šly k moři.",
    "lt": "Vaikai nuėjo prie jūros.",
    "ka": "გუშინ ბავშვები ზღვაზე წავიდნენ.",
    "ne": "हिजो बालबालिका नदीमा गए।",
    "am": "ልጆቹ ትናንት ወደ ወንዝ ሄዱ።",
    "fa": "می\u200cخواهم کتاب بخوانم.",
    "zh": "孩子们去海边了。",
    "cy": "Mae\u2019r gath yn cysgu.",
    "uk": "Діти пішли до моря.",
    "en": "We saw it \U0001f600 there.",
}


def stored_twice(text: str, page: str) -> str:
    """Return the bytes of `text` read in a page; bytes that it leaves open are read as themselves."""
    letters = []
    for byte in text.encode():
        try:
            letters.append(bytes([byte]).decode(page))
        except UnicodeDecodeError:
            letters.append(chr(byte))
    return "".join(letters)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("language", TEXTS)
def test_every_script_is_repaired_from_every_page(language: str, page: str) -> None:
    text = TEXTS[language]
    assert repaired(stored_twice(text, page)) == text


@pytest.mark.parametrize("text", [*TEXTS.values(), "naïve café", "ÀÉÎ Ã ©", "Ægir og Þór", "Đà Nẵng", "Ж", "Â£5 ħ", ""])
def test_sound_text_is_left_alone(text: str) -> None:
    assert repaired(text) is None


def test_no_sentence_of_64_languages_looks_damaged_and_nearly_all_are_repaired(shared_dir) -> None:
    num_damaged, wrong = 0, Counter[str]()
    for file in sorted((shared_dir / "data" / "udhr").glob("*.txt")):
        for segment in list(read(file))[:30]:
            text = segment.text
            assert repaired(text) is None
            if not text.isascii():
                for page in PAGES:
                    num_damaged += 1
                    wrong[page] += repaired(stored_twice(text, page)) != text
    assert num_damaged > 5000
    assert wrong["cp1252"] == wrong["latin-1"] == wrong["cp1251"] == 0
    assert max(wrong.values()) < 0.03 * num_damaged / len(PAGES)


def test_a_file_with_damaged_lines_is_warned_of_once_and_kept_as_it_is(tmp_path) -> None:
    lines = ["Il-bnedmin kollha.", stored_twice("Fil-città", "cp1252"), stored_twice("Għandna", "cp1252"), "Żewġ."]
    (tmp_path / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    log = ReadingLog()
    texts = [segment.text for segment in read_all([tmp_path / "a.txt"], language="mt", log=log, normaliser=None)]
    assert texts == lines
    [warning] = log.files[0].warnings
    assert "a.txt, line 2 and 1 more" in warning
    assert repaired(texts[1]) == "Fil-città"
    assert normalise(texts[1]) == "Fil-cittÃ", "after normalising it is too late to repair"
