"""Line-aligned files as Moses and OPUS use them: NAME.en and NAME.sl, where equal line numbers say the same."""

from collections.abc import Iterator
from pathlib import Path

from lapestudio.core.errors import UserError
from lapestudio.core.language_tables import registry
from lapestudio.corpora.reader import Head, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_lines

# Codes of languages that are endings of other files much more often.
_OTHER_ENDINGS = frozenset({
    "md", "so", "py", "js", "ts", "rs", "sh", "cs", "ps", "ai", "db", "bz", "gz", "in", "tex", "bak", "doc",
    "pdf", "odt", "ods", "csv", "tsv", "log", "bin", "exe", "dll", "wav", "mp3", "ogg", "jpg", "png", "gif",
    "svg", "xml", "eaf", "ini", "cfg", "tar", "zip", "pkl", "npy", "txt", "ipa", "tmx", "xlf", "srt", "vtt",
    "rtf", "htm", "ppt", "xls", "dat", "tmp", "old", "new", "app", "lib", "obj", "out", "map", "rar", "iso",
    "img", "jar", "war", "msi", "deb", "rpm", "apk", "mo", "po", "pot", "sfm", "usx", "mp4", "avi", "mov",
    "mkv", "css", "php", "sql", "bat", "cmd", "com", "sys", "key", "pem",
})  # fmt: skip


def is_line_aligned(path: Path) -> bool:
    """Say whether a file's name ends in the code of a language and a file of the same name in another lies beside it.

    Of members of archives only the name is known, which says both languages then.
    """
    code = path.suffix[1:].lower()
    if code in _OTHER_ENDINGS or not _is_code(code):
        return False
    # OPUS says both languages: NAME.en-sl.en.
    if code in Path(path.stem).suffix[1:].lower().split("-", 1)[-2:] and "-" in Path(path.stem).suffix:
        return True
    others = path.parent.glob(f"{_escaped(path.stem)}.*")
    return any(other != path and _is_code(other.suffix[1:].lower()) for other in others)


def read_line_aligned(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the lines of one half of a pair.

    Nothing where it is in another language than the wanted one.

    Raises:
        UserError: not readable.
    """
    language = file.suffix[1:]
    if not reading.wants_language(language):
        reading.is_other_language = True
        reading.warn(f"{file} is in {language} by its name, not in {reading.language}: it is passed over.")
        return
    for number, line in read_lines(file, reading, line_ends="lf"):
        if text := line.strip():
            yield Segment(text, str(file), f"line {number}", language=language, unit=f"line {number}")
        else:
            reading.skip("empty line")


def line_pairs(first: SourceFile, second: SourceFile, reading: Reading) -> Iterator[tuple[Segment, Segment]]:
    """Stream the pairs of lines of two halves; a pair with an empty side is left out.

    Raises:
        UserError: not readable, or one half has more lines than the other.
    """
    halves = [read_lines(file, reading, line_ends="lf") for file in (first, second)]
    number = 0
    while True:
        lines = [next(half, None) for half in halves]
        if lines[0] is None or lines[1] is None:
            break
        number += 1
        texts = [" ".join(line[1].split()) for line in lines if line is not None]
        if not all(texts):
            reading.skip("pair with an empty side")
            continue
        unit = f"line {number}"
        left, right = (
            Segment(text, str(file), unit, language=file.suffix[1:], unit=unit)
            for text, file in zip(texts, (first, second), strict=True)
        )
        yield left, right
    if lines != [None, None]:
        shorter = first if lines[0] is None else second
        raise UserError(
            f"{first} and {second} do not belong together: {shorter.path.name} ends after line {number}, the other "
            "goes on."
        )


def _is_code(code: str) -> bool:
    return 2 <= len(code) <= 3 and code.isalpha() and code in registry().by_code  # noqa: PLR2004


def _escaped(name: str) -> str:
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


def _recognises(head: Head) -> bool:
    return head.text is not None and is_line_aligned(head.path)


READER = Reader(name="line-aligned text", suffixes=frozenset(), recognises=_recognises, read=read_line_aligned)
