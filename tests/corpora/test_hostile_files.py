"""Files that mean harm or are broken: one clear sentence, bounded memory and time, and the other files are read."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from lapestudio.core.errors import UserError
from lapestudio.corpora.reading import read, read_all
from lapestudio.corpora.text_lines import MAX_LINE_BYTES

MEGABYTE = 1 << 20
LIMIT_S = 30
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "haha">'
    + "".join(f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefgh", "bcdefghi", strict=True))
    + "]>"
)


def zipped(members: dict[str, bytes], *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def docx(body: str, prologue: str = "") -> bytes:
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    document = f'{prologue}<w:document xmlns:w="{namespace}"><w:body>{body}</w:body></w:document>'
    return zipped({"[Content_Types].xml": b"<Types/>", "word/document.xml": document.encode()})


def protected_zip() -> bytes:
    data = bytearray(zipped({"a.txt": b"secret text"}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    return bytes(data)


def pdf(*, password: bool = False) -> bytes:
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
    ]
    stream = b"BT /F1 12 Tf 20 150 Td (Kaz-) Tj 0 -15 Td (huma tajbin ma xulxin.) Tj 0 -40 Td (Kelma.) Tj ET"
    objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    if password:
        objects.append(
            b"<< /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <" + b"41" * 32 + b"> /U <" + b"42" * 32 + b"> >>"
        )
    out = b"%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    encrypt = b" /Encrypt 5 0 R /ID [<61626364> <61626364>]" if password else b""
    trailer = b"trailer << /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, encrypt, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n%s%s" % (len(objects) + 1, table, trailer)


def tarred(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def bomb(megabytes: int) -> bytes:
    return gzip.compress(b"a" * (megabytes * MEGABYTE), compresslevel=9)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "bomb.zip": (lambda: zipped({"a.txt": b"a" * (40 * MEGABYTE)}), "grows more than 200 times"),
    "bomb.docx": (lambda: docx("<w:p><w:r><w:t>" + "a" * (30 * MEGABYTE) + "</w:t></w:r></w:p>"), "grows out of all"),
    "bomb.txt.gz": (lambda: bomb(100), "grows more than 200 times"),
    "bomb.xlsx": (lambda: zipped({"[Content_Types].xml": b"", "xl/a.xml": b" " * (40 << 20)}), "grows out of all"),
    "escape.zip": (lambda: zipped({"../../evil.txt": b"evil"}), "its name leads out of the archive"),
    "escape.tar.gz": (lambda: tarred("/etc/evil.txt", b"evil"), "its name leads out of the archive"),
    "password.zip": (protected_zip, "needs a password"),
    "laughs.xml": (lambda: f"{LAUGHS}<TEI><text><p>&i;</p></text></TEI>".encode(), "declares the entity"),
    "laughs.docx": (lambda: docx("<w:p><w:r><w:t>&i;</w:t></w:r></w:p>", LAUGHS), "declares the entity"),
    "outside.tmx": (
        lambda: b'<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]><tmx><body><tu><tuv lang="mt"><seg>&x;</seg>'
        b"</tuv></tu></body></tmx>",
        "declares the entity",
    ),
    "deep.tei": (lambda: b"<TEI><text>" + b"<div>" * 100_000 + b"x", "more than 200 deep"),
    "cut.xml": (lambda: b"<TEI><text><p>Kelma", "not well-formed XML"),
    "cut.docx": (lambda: docx("<w:p/>")[:-40], "damaged"),
    "middle.docx": (lambda: docx("<w:p/>").replace(b"word/document.xml", b"word/document.xmx"), "missing in it"),
    "cut.txt.gz": (lambda: gzip.compress(bytes(range(256)) * 4000)[:300], "damaged or cut off"),
    "cut.txt.bz2": (lambda: bz2.compress(b"Kelma wahda\n" * 100_000)[:60], "damaged or cut off"),
    "cut.txt.xz": (lambda: lzma.compress(b"Kelma wahda\n" * 100_000)[:80], "damaged or cut off"),
    "cut.zip": (lambda: zipped({"a.txt": b"Kelma\n"})[:-10], "damaged"),
    "cut.parquet": (lambda: b"PAR1" + bytes(100) + b"PAR1", "damaged or cut off"),
    "cut.pdf": (lambda: b"%PDF-1.7\n" + bytes(50), "damaged PDF"),
    "cut.epub": (lambda: zipped({"mimetype": b"application/epub+zip"}, compression=0), "missing in it"),
    "cut.TextGrid": (lambda: b'File type = "ooTextFile"\nObject class = "TextGrid"\n0\n1\n<exists> 1', "ends in the"),
    "cut.mo": (lambda: b"\xde\x12\x04\x95" + bytes(10), "damaged catalogue"),
    "cut.xlsx": (lambda: zipped({"[Content_Types].xml": b"", "xl/workbook.xml": b"<workbook"}), "damaged spreadsheet"),
    "password.pdf": (lambda: pdf(password=True), "password"),
    "password.docx": (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000), "password"),
    "password.xls": (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000), "password"),
    "nul.txt": (lambda: bytes(5000), "binary"),
    "matryoshka.zip": (
        lambda: zipped({"1.zip": zipped({"2.zip": zipped({"3.zip": zipped({"a.txt": b"Kelma\n"})})})}),
        "unpack the outer one",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_one_sentence_in_bounded_memory_and_the_other_files_are_read(tmp_path: Path, name: str) -> None:
    make, reason = HOSTILE[name]
    (tmp_path / "a good one.txt").write_text("Kelma tajba.\n", encoding="utf-8")
    (tmp_path / "z another.txt").write_text("Oħra.\n", encoding="utf-8")
    file = tmp_path / name
    file.write_bytes(make())
    faults: list[str] = []
    tracemalloc.start()
    begin = time.monotonic()
    texts = [segment.text[:20] for segment in read_all([tmp_path], language="mt", report=faults.append)]
    seconds = time.monotonic() - begin
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [text for text in texts if "aaaa" not in text] == ["Kelma tajba.", "Oħra."]
    assert any(fault.startswith(str(file)) and reason in fault for fault in faults), faults
    assert len(faults) <= 2
    assert all("\n" not in fault for fault in faults)
    assert peak < 64 * MEGABYTE
    assert seconds < LIMIT_S


def test_a_single_line_without_end_is_taken_in_pieces(tmp_path: Path) -> None:
    file = tmp_path / "one line.txt"
    with file.open("wb") as stream:
        for _block in range(60):
            stream.write(b"kelma wara kelma " * (MEGABYTE // 17))
    tracemalloc.start()
    total = longest = 0
    for segment in read(file):
        total += len(segment.text)
        longest = max(longest, len(segment.text))
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total > 55 * MEGABYTE
    assert longest <= MAX_LINE_BYTES + MEGABYTE
    assert peak < 40 * MEGABYTE


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv"])
def test_a_record_without_end_is_left_out(tmp_path: Path, name: str) -> None:
    long = "x" * (6 * MEGABYTE)
    rows = {
        "a.jsonl": [json.dumps({"text": "Kelma"}), json.dumps({"text": long}), json.dumps({"text": "Oħra"})],
        "a.csv": ["id,text", "1,Kelma", f"2,{long}", "3,Oħra"],
        "a.tsv": ["id\ttext", "1\tKelma", f"2\t{long}", "3\tOħra"],
    }[name]
    file = tmp_path / name
    file.write_text("\n".join(rows), encoding="utf-8")
    faults: list[str] = []
    assert [segment.text for segment in read(file, report=faults.append)] == ["Kelma", "Oħra"]
    assert len(faults) == 1
    assert "longer than 4 MB; split the line" in faults[0]


def test_a_sound_pdf_is_read_and_marked_as_doubtful(tmp_path: Path) -> None:
    from lapestudio.corpora.reading import ReadingLog

    file = tmp_path / "a.pdf"
    file.write_bytes(pdf())
    log = ReadingLog()
    segments = list(read_all([file], log=log))
    assert [segment.text for segment in segments] == ["Kazhuma tajbin ma xulxin. Kelma."]
    assert {segment.location.split(",")[0] for segment in segments} == {"page 1"}
    assert "may have wrong letters" in log.files[0].warnings[0]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_sound_compressed_files_are_read(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "whatever.bin"
    file.write_bytes(pack("Kelma waħda.\nU oħra.\n".encode()))
    assert [segment.text for segment in read(file)] == ["Kelma waħda.", "U oħra."]


def test_members_of_archives_are_read_where_they_lie(tmp_path: Path) -> None:
    inner = zipped({"deep/b.jsonl": b'{"text": "B"}\n', "picture.png": b"\x89PNG"})
    (tmp_path / "a.zip").write_bytes(zipped({"x/a.txt": b"A\n", "inner.zip": inner, ".hidden.txt": b"no\n"}))
    (tmp_path / "b.tar.gz").write_bytes(tarred("corpus/c-sentences.txt", b"1\tC one.\n2\tC two.\n"))
    segments = list(read(tmp_path))
    assert [segment.text for segment in segments] == ["A", "B", "C one.", "C two."]
    names = [segment.document.removeprefix(str(tmp_path)) for segment in segments]
    assert names[:2] == ["/a.zip/x/a.txt", "/a.zip/inner.zip/deep/b.jsonl#1"]
    assert names[2].startswith("/b.tar.gz/corpus/c-sentences.txt")


def test_a_good_file_is_not_taken_for_a_bomb(tmp_path: Path) -> None:
    text = "".join(f"Sentenza numru {number} bil-kliem tagħha.\n" for number in range(60_000))
    (tmp_path / "a.zip").write_bytes(zipped({"a.txt": text.encode()}))
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    assert sum(1 for _segment in read(tmp_path / "a.zip")) == 60_000
    assert sum(1 for _segment in read(tmp_path / "a.txt.gz")) == 60_000


def test_nothing_is_read_when_the_only_file_is_hostile(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    file.write_bytes(zipped({"../a.txt": b"x"}))
    with pytest.raises(UserError, match="leads out of the archive"):
        list(read(file))
