"""How the text of a language is read and cleaned: kept in projects and job specs, so that a run can be repeated."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from lapestudio.core.settings import Settings


class ReadingOptions(Settings):
    """What a user has decided about a file, where its reader would choose otherwise."""

    encoding: str | None = None
    """How the bytes are to be understood (cp1257, utf-16 ...); empty: found out."""
    parts: tuple[str, ...] | None = None
    """Tiers, columns, fields or languages to take; empty: those that hold the running text."""


OptionsByFile = Mapping[str, ReadingOptions]
"""By path of a file or a member of an archive; FOLDER/*.eaf stands for all such files below a folder, FOLDER/* for any.
"""


class CleaningSettings(Settings):
    """What is left out of the text, or made plain in it. The files themselves are never changed."""

    compose: bool = True
    """Write each letter with its accents as one character (Unicode NFC)."""
    remove_invisible: bool = True
    """Remove control characters and zero-width ones; the joiners that scripts need stay."""
    repair_double_encoding: bool = False
    """Repair text that is UTF-8 which was once read in a code page and stored again, where the repair is certain."""
    remove_markup: bool = False
    """Remove what is left of HTML or wiki markup, such as tags and entities."""
    remove_duplicates: bool = True
    """Keep only the first of segments that are the same but for case and spacing."""
    remove_near_duplicates: bool = False
    """Keep only the first of segments that are nearly the same."""
    min_characters: int = Field(default=0, ge=0, le=10_000)
    """Leave out segments with fewer characters; 0: none."""
    check_script: bool = False
    """Leave out segments most of whose letters are not of the language's script."""
    check_language: bool = False
    """Leave out segments that are clearly in another language, where the checker knows both."""
    remove_held_out: bool = True
    """Leave out segments that occur in the text that is kept for testing, too."""


def options_for(path: Path, options: OptionsByFile) -> ReadingOptions:
    """Return the options of a file: its own, else those of all such files of the nearest folder, else none."""
    if not options:
        return ReadingOptions()
    own = options.get(str(path))
    if own is not None:
        return own
    for folder in path.parents:
        for pattern in (f"*{path.suffix.lower()}", "*"):
            shared = options.get(str(folder / pattern))
            if shared is not None:
                return shared
    return ReadingOptions()
