"""Fonts that draw other letters than the characters say: text in them is no Unicode, and no program can tell."""

from collections.abc import Iterable

from lapestudio.corpora.reader import Reading
from lapestudio.corpora.source_file import SourceFile

_FONTS = (
    "preeti", "kantipur", "himalb", "fontasy", "shreenath", "krutidev", "kruti dev", "devlys", "shusha", "acadnusx",
    "acadmtavr", "literaturuly", "sil ipa93", "ipa93", "sildoulos", "silsophia", "silmanuscript", "zawgyi", "limon",
    "win burmese", "geezunicode-old", "vntime", ".vntime", "tamilbible", "bamini",
)  # fmt: skip


def warn_of_fonts(file: SourceFile, fonts: Iterable[str], reading: Reading) -> None:
    """Warn where a document uses such a font."""
    found = sorted({font for font in fonts if font and any(name in font.casefold() for name in _FONTS)})
    if found:
        reading.warn(
            f"{file} uses the font {found[0]}, which shows other letters than are stored; convert the text to Unicode "
            "first."
        )
