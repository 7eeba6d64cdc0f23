"""A small file of every format, written for these tests, with the segments that a reader must give.

All are in Welsh, Icelandic or Maltese, as a linguist's folder would be; what is no text of the language is in them too.
"""

import bz2
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polib
import pyarrow as pa
import pyarrow.parquet


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A file's content, and what is in it."""

    make: Callable[[], bytes]
    segments: list[str]
    format_name: str
    language: str = "cy"
    parts: tuple[str, ...] | None = None


def text(content: str, encoding: str = "utf-8") -> Callable[[], bytes]:
    return lambda: content.encode(encoding)


def package(members: dict[str, str | bytes], *, first_stored: bool = False) -> Callable[[], bytes]:
    def make() -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for number, (name, data) in enumerate(members.items()):
                stored = first_stored and number == 0
                archive.writestr(name, data, zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED)
        return buffer.getvalue()

    return make


def parquet(rows: list[dict[str, object]]) -> Callable[[], bytes]:
    def make() -> bytes:
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), buffer)
        return buffer.getvalue()

    return make


def mo() -> bytes:
    catalogue = polib.POFile()
    catalogue.metadata = {"Content-Type": "text/plain; charset=utf-8", "Language": "cy"}
    catalogue.append(polib.POEntry(msgid="Save", msgstr="_Cadw"))
    return catalogue.to_binary()


_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_EAF = """<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT><HEADER/><TIME_ORDER><TIME_SLOT TIME_SLOT_ID="t1" TIME_VALUE="0"/>
<TIME_SLOT TIME_SLOT_ID="t2" TIME_VALUE="900"/><TIME_SLOT TIME_SLOT_ID="t3" TIME_VALUE="2000"/></TIME_ORDER>
<TIER TIER_ID="ft@Siân" LINGUISTIC_TYPE_REF="ft" PARENT_REF="tx@Siân"><ANNOTATION><REF_ANNOTATION ANNOTATION_ID="b1"
 ANNOTATION_REF="a1"><ANNOTATION_VALUE>The dog is sleeping.</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION></TIER>
<TIER TIER_ID="tx@Siân" LINGUISTIC_TYPE_REF="tx" PARTICIPANT="Siân">
<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" TIME_SLOT_REF1="t2" TIME_SLOT_REF2="t3"><ANNOTATION_VALUE>Mae hi'n
 bwrw glaw.</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="t1" TIME_SLOT_REF2="t2"><ANNOTATION_VALUE>Mae'r ci
 yn cysgu.</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION></TIER>
<TIER TIER_ID="tx@Huw" LINGUISTIC_TYPE_REF="tx" PARTICIPANT="Huw"><ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a3"
 TIME_SLOT_REF1="t1" TIME_SLOT_REF2="t3"><ANNOTATION_VALUE>Ydy wir?</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION>
</ANNOTATION></TIER></ANNOTATION_DOCUMENT>"""
_SHORT_TEXTGRID = (
    '"ooTextFile"\n"TextGrid"\n0\n3\n<exists>\n2\n"IntervalTier"\n"words"\n0\n3\n2\n0\n1\n"Mae"\n1\n3\n"glaw"\n'
    '"IntervalTier"\n"brawddeg"\n0\n3\n2\n0\n2\n"Mae hi\'n bwrw ""glaw""."\n2\n3\n""\n'
)
_SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    '<row><c t="inlineStr"><is><t>rhif</t></is></c><c t="inlineStr"><is><t>brawddeg</t></is></c></row>'
    '<row><c><v>1</v></c><c t="inlineStr"><is><t>Mae gen i gath ddu.</t></is></c></row>'
    '<row><c><v>2</v></c><c t="inlineStr"><is><t>Ble mae fy llyfr?</t></is></c></row></sheetData></worksheet>'
)
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_XLSX: dict[str, str | bytes] = {
    "[Content_Types].xml": "<Types/>",
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship '
    f'Id="r1" Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    f'xmlns:r="{_RELATIONS}"><sheets><sheet name="Taflen" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="r1" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    "xl/worksheets/sheet1.xml": _SHEET,
}
_WIKI = (
    '<mediawiki xml:lang="cy"><page><title>Cathod</title><ns>0</ns><revision><text>Anifail yw [[cath]].'
    "&lt;ref&gt;x&lt;/ref&gt; {{nodyn}}</text></revision></page><page><title>Sgwrs:Cathod</title><ns>1</ns><revision>"
    "<text>Na.</text></revision></page></mediawiki>"
)
SAMPLES: dict[str, Sample] = {
    "llyfr.txt": Sample(
        make=text("Un.\r\n\r\nDŵr ŵy tŷ.\r\n", "iso8859-14"), segments=["Un.", "Dŵr ŵy tŷ."], format_name="plain text"
    ),
    "hen.text": Sample(make=text("Tŷ bach.\rTŷ mawr.", "utf-16"), segments=["Tŷ bach.", "Tŷ mawr."], format_name="plain text"),
    "cofnodion.jsonl": Sample(
        make=text(
            '{"id": 1, "lang": "cy", "text": "Bore da."}\n{"id": 2, "lang": "en", "text": "Good morning."}\n'
            '{"id": 3, "lang": "cym", "text": "Nos da."}\n'
        ),
        segments=["Bore da.", "Nos da."],
        format_name="JSON Lines",
    ),
    "pâr.jsonl": Sample(
        make=text(json.dumps({"translation": {"en": "Thanks", "cy": "Diolch"}}) + "\n"),
        segments=["Diolch"],
        format_name="JSON Lines",
    ),
    "tabl.csv": Sample(
        make=text('Casgliad 2024\nrhif;cymraeg;english\n1;"Mae ""hwn"" yn\nddwy linell; gwir.";x\n2;Dyna ni, bawb.;y\n'),
        segments=['Mae "hwn" yn\nddwy linell; gwir.', "Dyna ni, bawb."],
        format_name="table",
    ),
    "dewis.csv": Sample(
        make=text("source,target\nA dog barks loudly,Mae ci yn cyfarth\nA cat,Cath\n"),
        segments=["A dog barks loudly", "A cat"],
        format_name="table",
        parts=("source",),
    ),
    "modfeddi.csv": Sample(
        make=text('rhif,text\n1,sgrin 15" fawr iawn\n2,sgrin 17" fwy fyth\n'),
        segments=['sgrin 15" fawr iawn', 'sgrin 17" fwy fyth'],
        format_name="table",
    ),
    "cym-sentences.txt": Sample(
        make=text('1\t"Agor y drws\n2\tCau\'r drws\n'), segments=['"Agor y drws', "Cau'r drws"], format_name="table"
    ),
    "data.parquet": Sample(
        make=parquet([{"content": "Helo byd", "score": 0.5}, {"content": None, "score": 0.1}]),
        segments=["Helo byd"],
        format_name="Parquet",
    ),
    "opus.parquet": Sample(
        make=parquet([{"translation": {"cy": "Croeso", "en": "Welcome"}}]), segments=["Croeso"], format_name="Parquet"
    ),
    "taenlen.xlsx": Sample(
        make=package(_XLSX), segments=["Mae gen i gath ddu.", "Ble mae fy llyfr?"], format_name="spreadsheet"
    ),
    "dogfen.docx": Sample(
        make=package({
            "[Content_Types].xml": "<Types/>",
            "word/document.xml": f"<w:document {_W}><w:body><w:p><w:r><w:t>Annwyl </w:t></w:r><w:ins><w:r><w:t>ffrind,"
            "</w:t></w:r></w:ins><w:del><w:r><w:delText>hen</w:delText></w:r></w:del></w:p><w:tbl><w:tr><w:tc><w:p><w:r>"
            "<w:t>Mewn tabl</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>",
        }),
        segments=["Annwyl ffrind,", "Mewn tabl"],
        format_name="Word",
    ),
    "dogfen.odt": Sample(
        make=package(
            {
                "mimetype": "application/vnd.oasis.opendocument.text",
                "content.xml": '<o:c xmlns:o="o" xmlns:text="t"><text:tracked-changes><text:p>dilewyd</text:p>'
                '</text:tracked-changes><text:h>Pennod</text:h><text:p>Un<text:s text:c="3"/>dau<text:note><text:note-body>'
                "<text:p>Nodyn.</text:p></text:note-body></text:note>\n  tri.</text:p></o:c>",
            },
            first_stored=True,
        ),
        segments=["Pennod", "Un dau tri."],
        format_name="OpenDocument",
    ),
    "llythyr.rtf": Sample(
        make=text(r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}T\u375?  bach.\par Ail\line baragraff.\par}", "ascii"),
        segments=["Tŷ bach.", "Ail\nbaragraff."],
        format_name="rich text",
    ),
    "tudalen.html": Sample(
        make=text(
            '<!DOCTYPE html><html lang="cy"><head><meta charset="windows-1252"><title>x</title><style>p{}</style></head>'
            "<body><nav><a>Hafan</a></nav><h1>Y tŷb</h1><p>Un <b>d</b>au<br>tri &amp; pedwar</p><div hidden>na</div>"
            "<script>var x = 'na';</script></body></html>".replace("ŷ", "y"),
            "cp1252",
        ),
        segments=["Y tyb", "Un dau\ntri & pedwar"],
        format_name="web page",
    ),
    "nofel.epub": Sample(
        make=package(
            {
                "mimetype": "application/epub+zip",
                "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OPS/a.opf"/></rootfiles></container>',
                "OPS/a.opf": '<package xmlns:dc="d"><metadata><dc:language>cy</dc:language></metadata><manifest><item id="b" '
                'href="b.xhtml"/><item id="a" href="a%20a.xhtml"/><item id="n" href="n.xhtml" properties="nav"/></manifest>'
                '<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="n"/></spine></package>',
                "OPS/a a.xhtml": "<html><body><p>Yn gyntaf.</p></body></html>",
                "OPS/b.xhtml": '<html><body><p>Wedyn<sup epub:type="noteref">1</sup>.</p><aside epub:type="footnote">na'
                "</aside></body></html>",
                "OPS/n.xhtml": "<html><body><p>Cynnwys</p></body></html>",
            },
            first_stored=True,
        ),
        segments=["Yn gyntaf.", "Wedyn."],
        format_name="e-book",
    ),
    "sgwrs.eaf": Sample(
        make=text(_EAF), segments=["Mae'r ci yn cysgu.", "Mae hi'n bwrw glaw.", "Ydy wir?"], format_name="ELAN"
    ),
    "cyfieithiad.eaf": Sample(
        make=text(_EAF), segments=["The dog is sleeping."], format_name="ELAN", parts=("ft@*",)
    ),
    "ynganu.TextGrid": Sample(
        make=text(_SHORT_TEXTGRID), segments=["Mae hi'n bwrw \"glaw\"."], format_name="Praat TextGrid"
    ),
    "stori.flextext": Sample(
        make=text(
            '<document><interlinear-text guid="g"><item type="title" lang="en">T</item><paragraphs><paragraph><phrases>'
            '<phrase><item type="segnum" lang="en">1</item><words><word><item type="txt" lang="cy">Ie</item></word><word>'
            '<item type="punct" lang="cy">,</item></word><word><item type="txt" lang="cy">siŵr</item></word><word>'
            '<item type="punct" lang="cy">!</item></word></words><item type="gls" lang="en">Yes, sure!</item></phrase>'
            '</phrases></paragraph></paragraphs><languages><language lang="cy" vernacular="true"/><language lang="en"/>'
            "</languages></interlinear-text></document>"
        ),
        segments=["Ie, siŵr!"],
        format_name="FLEx interlinear text",
    ),
    "testun.sfm": Sample(
        make=text("\\_sh v3.0  400  Text\n\\id t1\n\\ref 1\n\\tx Mae   ci\n\\mb mae ci\n\\tx   mawr yma.\n\\ft big dog\n\\ref 2\n"
                  "\\tx Ie.\n"),
        segments=["Mae ci mawr yma.", "Ie."],
        format_name="Toolbox",
    ),
    "geiriadur.db": Sample(
        make=text("\\lx ci\n\\ps n\n\\ge dog\n\\xv Mae'r ci yn rhedeg.\n\\xe The dog runs.\n\n\\lx cath\n\\ge cat\n"),
        segments=["Mae'r ci yn rhedeg."],
        format_name="Toolbox",
    ),
    "41MRK.usfm": Sample(
        make=text("\\id MRK cy\n\\h Marc\n\\c 1\n\\s Pennawd\n\\p\n\\v 1 Dechrau\\f + \\ft nodyn heb ei gau\n\\v 2 yr\n\\q1 efengyl\n"
                  "\\v 3-4 gan \\nd Arglwydd\\nd*.\n"),
        segments=["Dechrau", "yr efengyl", "gan Arglwydd."],
        format_name="USFM",
    ),
    "beibl.usx": Sample(
        make=text(
            '<usx version="3.0"><book code="MRK" style="id">x</book><chapter number="1" style="c"/><para style="s">P</para>'
            '<para style="p"><verse number="1" sid="MRK 1:1"/>Dechrau<note caller="+"><char>na</char></note> yr<verse '
            'eid="MRK 1:1"/><verse number="2"/>efengyl</para><para style="q">dda.</para></usx>'
        ),
        segments=["Dechrau yr", "efengyl dda."],
        format_name="USX",
    ),
    "coed.conllu": Sample(
        make=text("# sent_id = a\n1-2\tMae'n\t_\t_\t_\t_\t_\t_\t_\t_\n1\tMae\t_\t_\t_\t_\t_\t_\t_\t_\n2\t'n\t_\t_\t_\t_\t_\t_\t_\t_\n"
                  "2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n3\toer\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n4\t.\t_\t_\t_\t_\t_\t_\t_\t_\n\n"),
        segments=["Mae'n oer."],
        format_name="CoNLL-U",
    ),
    "tei.xml": Sample(
        make=text(
            '<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><p>pen</p></teiHeader><text xml:lang="cy"><body><p>Hen<note>n'
            '</note> <choice><orig>iaith</orig><reg>iaeth</reg></choice>.</p><u who="#a">Helo</u></body></text></TEI>'
        ),
        segments=["Hen iaeth.", "Helo"],
        format_name="TEI",
    ),
    "cof.tmx": Sample(
        make=text(
            '<?xml version="1.0"?><tmx version="1.4"><header/><body><tu><tuv xml:lang="EN-GB"><seg>Open <bpt i="1">&lt;b&gt;'
            '</bpt>file<ept i="1"/></seg></tuv><tuv xml:lang="cy-GB"><seg>Agor <hi>ffeil</hi></seg></tuv></tu></body></tmx>'
        ),
        segments=["Agor ffeil"],
        format_name="TMX",
    ),
    "cyfieithu.xlf": Sample(
        make=text(
            '<xliff version="2.0" srcLang="en" trgLang="cy"><file id="f"><unit id="1"><segment><source>Close</source>'
            '<target>Cau</target></segment></unit><unit id="2"><segment state="initial"><source>Quit</source><target>Quit'
            "</target></segment></unit></file></xliff>"
        ),
        segments=["Cau"],
        format_name="XLIFF",
    ),
    "rhaglen.po": Sample(
        make=text(
            '\ufeffmsgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\nLanguage: cy\\n"\n\nmsgid "Two &words"\n'
            'msgstr "Dau "\n"&air"\n\n#, fuzzy\nmsgid "x"\nmsgstr "na"\n'
        ),
        segments=["Dau air"],
        format_name="gettext",
    ),
    "rhaglen.mo": Sample(make=mo, segments=["Cadw"], format_name="gettext"),
    "ffilm.srt": Sample(
        make=text("1\n00:00:01,000 --> 00:00:02,500\n<i>Helo</i>\n\n- bawb\n\n2\n00:00:03,000 --> 00:00:04,000\n1984\n\n3\n"
                  "00:00:05 --> 00:00:06\nDiwedd\n", "cp1252"),
        segments=["Helo - bawb", "1984", "Diwedd"],
        format_name="subtitles",
    ),
    "cywiki.xml.bz2": Sample(
        make=lambda: bz2.compress(_WIKI[:100].encode()) + bz2.compress(_WIKI[100:].encode()),
        segments=["Anifail yw cath."],
        format_name="Wikipedia dump",
    ),
    "opus.zip": Sample(
        make=package({
            "README": "na", "LICENSE": "na", "GNOME.cy-en.cy": "Ffeil\nCau\n", "GNOME.cy-en.en": "File\nClose\n",
        }),
        segments=["Ffeil", "Cau"],
        format_name="line-aligned text",
    ),
}  # fmt: skip


def write_samples(folder: Path, *names: str) -> None:
    """Write the named samples, or all."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or SAMPLES:
        (folder / name).write_bytes(SAMPLES[name].make())
