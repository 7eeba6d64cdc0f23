"""Dumps of wikis: what a reader of the page sees, in bounded time whatever the markup."""

import bz2
import html
import time
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from lapestudio.corpora import wikitext
from lapestudio.corpora.reader import Reading
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.wikipedia import READER
from tests.corpora.one_file import OneFile

SITEINFO = (
    '<siteinfo><namespaces><namespace key="-2">Meedia</namespace><namespace key="0"/>'
    '<namespace key="6">Pilt</namespace><namespace key="14">Kategooria</namespace></namespaces></siteinfo>'
)


def page(text: str, *, title: str = "Kass", ns: str = "0", extra: str = "") -> str:
    return (
        f"<page><title>{title}</title><ns>{ns}</ns>{extra}<revision><id>1</id><model>wikitext</model>"
        f"<text>{html.escape(text)}</text></revision></page>"
    )


def dump(*pages: str, siteinfo: str = SITEINFO, language: str = "et") -> str:
    return (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" '
        f'xml:lang="{language}">{siteinfo}{"".join(pages)}</mediawiki>'
    )


def paragraphs(tmp_path: Path, text: str) -> list[str]:
    return OneFile(tmp_path / "wiki.xml", dump(page(text))).texts()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'''Kass''' on [[loom|väike loom]]<ref>[[Raamat]]</ref>.", ["Kass on väike loom."]),
        ("Kass<ref name=a /> magab.<ref\nname=b>x</ref>", ["Kass magab."]),
        ("Üks rida\nja teine.\n\nUus lõik.", ["Üks rida ja teine.", "Uus lõik."]),
        ("== Ajalugu ==\n=== Vana aeg===\nTekst", ["Ajalugu", "Vana aeg", "Tekst"]),
        ("Nimekiri:\n* esimene\n** teine\n#: kolmas\n;nimi", ["Nimekiri:", "esimene", "teine", "kolmas", "nimi"]),
        ("[[Pilt:a.png|pisi|Pilt [[kass]]ist ja\nteine rida]]Tekst", ["Tekst"]),
        ("[[Bild:x.JPG|bawd]] [[Meedia:b.ogg]]Tekst", ["Tekst"]),
        ("Tekst\n[[Kategooria:Loomad|K]]\n[[en:Cat]]\n[[zh-min-nan:Niau]]", ["Tekst"]),
        ("[[Star Wars: Osa IV]]\n[[:Kategooria:Loomad]]", ["Star Wars: Osa IV Kategooria:Loomad"]),
        ("{|\n! A\n|-\n| {|\n| sees\n|}\n| 2\n|}\nJärel", ["Järel"]),
        ("{{Info\n|a={{b|{{c}}}}\n|}}\nTekst {{viide}}lõpp.", ["Tekst lõpp."]),
        ("{| class=x\n| lahti\n|-\n! pea\nTekst", ["Tekst"]),
        ("Tekst <!-- peidus\n\n{{ --> edasi.\n<!-- lahti", ["Tekst edasi."]),
        ("a<br/>b <small>c</small> <span lang=en>d</span>", ["a\nb c d"]),
        ("[http://x.ee Leht] [http://y.ee] 3 &lt; 5 &amp;nbsp; 5 < 7", ["Leht 3 < 5 &nbsp; 5 < 7"]),
        ("<nowiki>[[see]] ''on'' {{tekst}}</nowiki> siin", ["[[see]] ''on'' {{tekst}} siin"]),
        ("<math>a}}{{b</math> valem {{x}}", ["valem"]),
        ("l'''Odyssée'' ja d''''amour'''", ["l'Odyssée ja d'amour"]),
        ("__NOTOC__\n__ILMASISUKORRATA__\nTekst", ["Tekst"]),
        ("Lahti <ref>viide\n\nTeine [[link\n\n{{mall", ["Lahti viide", "Teine [[link", "{{mall"]),
        ("<ruby>漢<rt>kan</rt></ruby>字", ["漢字"]),
        ("----\nTekst", ["Tekst"]),
    ],
)
def test_what_is_seen_of_a_page(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert paragraphs(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "expected", "num_holes"),
    [
        ("At {{convert|5|km}}, Alabama has hills.", "At, Alabama has hills.", 1),
        ("Cymru ({{lang|en|Wales}}; {{IPA|x}}) yw hi.", "Cymru yw hi.", 0),
        ("Ganwyd ({{age}}, 1900) yno.", "Ganwyd (1900) yno.", 0),
        ("Gwlad{{sfn|Jones}} yw hi.{{r|a}} Mae 5{{nbsp}}km.", "Gwlad yw hi. Mae 5 km.", 0),
        ("Swm <math>x^2</math> yw.", "Swm yw.", 1),
    ],
)
def test_templates_leave_no_rubbish_and_are_counted_where_a_word_is_lost(
    tmp_path: Path, text: str, expected: str, num_holes: int
) -> None:
    file = OneFile(tmp_path / "wiki.xml", dump(page(text)))
    assert file.texts() == [expected]
    assert file.skipped["template inside a sentence"] == num_holes


def test_only_articles_are_read_and_the_rest_is_counted(tmp_path: Path) -> None:
    file = OneFile(
        tmp_path / "wiki.xml",
        dump(
            page("Tekst."),
            page("Arutelu", ns="1"),
            page("x", extra='<redirect title="Kass"/>'),
            page("#SUUNA [[Kass]]"),
            page(" \n"),
            "<page><title>Tühi</title><ns>0</ns></page>",
            page("{}").replace("wikitext", "json"),
        ),
    )
    [segment] = file.segments()
    assert (segment.text, segment.document, segment.language) == ("Tekst.", f"{file.path}#Kass", "et")
    assert file.skipped == {"not an article": 1, "redirect": 2, "empty page": 2, "page that is no wikitext": 1}
    assert file.format_name == "Wikipedia dump"


def test_the_last_revision_counts(tmp_path: Path) -> None:
    history = "<page><title>A</title><ns>0</ns>" + "".join(
        f"<revision><text>{word}</text></revision>" for word in ("vana", "uus")
    )
    assert OneFile(tmp_path / "wiki.xml", dump(f"{history}</page>")).texts() == ["uus"]


def test_all_streams_of_a_compressed_dump_are_read(tmp_path: Path) -> None:
    content = dump(page("Esimene.", title="A"), page("Teine.", title="B")).encode()
    path = tmp_path / "wiki.xml.bz2"
    data = b"".join(bz2.compress(part) for part in (content[:300], content[300:500], content[500:]))
    path.write_bytes(data)
    file = SourceFile(path=path, opener=lambda: cast("BinaryIO", bz2.open(path)))  # noqa: SIM115 - it is closed there
    assert [segment.text for segment in READER.read(file, Reading())] == ["Esimene.", "Teine."]


def test_a_dump_without_pages_is_refused(tmp_path: Path) -> None:
    file = OneFile(tmp_path / "wiki.xml", dump())
    assert file.texts() == []
    [fault] = file.faults
    assert "holds no page of a wiki" in fault


def test_a_page_that_is_too_long_or_fails_is_reported_and_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = wikitext._plain

    def failing(block: str) -> str:
        if block == "Viga":
            raise RuntimeError
        return plain(block)

    monkeypatch.setattr(wikitext, "_plain", failing)
    pages = [page("a " * 1_000_001, title="Pikk"), page("Esiteks\n\nViga", title="Katki"), page("Tekst.")]
    file = OneFile(tmp_path / "wiki.xml", dump(*pages))
    assert file.texts() == ["Tekst."]
    assert ['"Pikk" has 2,000,002 characters' in file.faults[0], '"Katki" cannot be read' in file.faults[1]] == [
        True
    ] * 2


@pytest.mark.parametrize(
    "piece",
    ["{{", "[[", "{|\n", "<!--", "<ref>", "<ref ", "<b ", "<b>", "[[a|", "{{a|b=", "{|\n|-\n|a\n", "[http://x ", "'''",
     "|}\n", "}}", "]]", "=\n", "= ", ":", "<nowiki>", "<br a=\"", "[[a|{{b|<i>", "(\n", "&", "[[ ", "__A", "<math>a"],
)  # fmt: skip
def test_no_markup_makes_a_page_take_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: str) -> None:
    monkeypatch.setattr(wikitext, "MAX_PAGE_S", 0.3)
    paragraph = piece * (8_000 // len(piece))
    pages = [page(paragraph * 100), page(f"{paragraph}\n\n" * 100), page("Lõpp.")]
    file = OneFile(tmp_path / "wiki.xml", dump(*pages))
    start = time.monotonic()
    assert file.texts()[-1] == "Lõpp."
    # What grows with the square of the length would take minutes.
    assert time.monotonic() - start < 8


def test_prose_about_dumps_is_no_dump(tmp_path: Path) -> None:
    file = OneFile(tmp_path / "a.txt", "The root is <mediawiki xml:lang='en'>.")
    assert file.texts() == ["The root is <mediawiki xml:lang='en'>."]
