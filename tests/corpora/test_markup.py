"""Markup: what goes, what only looks like it and stays, and that no text takes long."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapestudio.corpora.markup import without_markup


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Il-<b>qattus</b> <br/>rieqed<br>illum", "Il-qattus rieqed illum"),
        ('<p class="x">Teksts<p>cits</p>', "Teksts cits"),
        ("<w:t>სიტყვა</w:t> <seg>და</seg>", "სიტყვა და"),
        ('habar<ref name="a">x</ref> <ref name=b/>kale', "habar x kale"),
        ("qabel<!-- nota <b> -->wara", "qabel wara"),
        ("a {{Infobox|name={{lang|mt|Malta}}|x=y}} b", "a b"),
        ("a {| class=x\n|-\n| cell\n|} b", "a b"),
        ("[[Malta|il-gżira]] u [[Għawdex]]", "il-gżira u Għawdex"),
        ("[[File:x.jpg|thumb|Il-[[belt]] qadima]] Belt", "Belt"),
        ("ara [https://example.org/a?b il-paġna] hawn", "ara il-paġna hawn"),
        ("'''bold''' don't ''italic''", "bold don't italic"),
        ("== Storja ==", "Storja"),
        ("K&amp;K &#x127;obz&nbsp;frisk &eacute;", "K&K ħobz\u00a0frisk é"),
    ],
)
def test_markup_goes(text: str, plain: str) -> None:
    assert without_markup(text) == plain


@pytest.mark.parametrize(
    "text",
    [
        "a < b and b > c",
        "if a <b and c> d",
        "x<y, y>z",
        "<<words>> «Hello» <3 ->",
        "The letter <b> is read as <v>, <sh> as one sound.",
        "Kteb <isem> fuq il-folja.",
        "{x} {{x [y] ]] [[z",
        "<!-- never closed",
        "R&D &nosuchentity; AT&T",
        "1 == 2, a == b",
        "it's 5' 7",
        "",
    ],
)
def test_what_only_looks_like_markup_stays(text: str) -> None:
    assert without_markup(text) == text


def test_an_escaped_tag_is_what_its_author_wanted_to_be_seen() -> None:
    assert without_markup("write &lt;b&gt;x&lt;/b&gt;") == "write <b>x</b>"


_HARD = ("<!--", "--><!--", "{|", "{{", "}}{{", "[[", "[[a|", "<a ", "<a b=", "<[http://", "''", "&a", "<", "== ")


@pytest.mark.parametrize("piece", _HARD)
def test_no_text_takes_long(piece: str) -> None:
    begin = time.process_time()
    without_markup("<b></b>" + piece * 100_000)
    assert time.process_time() - begin < 2


@given(st.text(alphabet="<>/b!-{}|[]'=& ax"))
def test_any_text_is_taken(text: str) -> None:
    plain = without_markup(text)
    assert "  " not in plain or plain == text
    assert len(plain) <= len(text)
