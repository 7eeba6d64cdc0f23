"""A file of a test, read in every way that a user can ask for."""

from collections import Counter
from pathlib import Path

from lapestudio.core.text_settings import ReadingOptions
from lapestudio.corpora.reader import Part
from lapestudio.corpora.reading import ReadingLog, look_into, read_all
from lapestudio.corpora.segment import Segment


class OneFile:
    """A file with this content."""

    def __init__(self, path: Path, content: str | bytes, *, encoding: str = "utf-8") -> None:
        self.path = path
        self.faults: list[str] = []
        self.log = ReadingLog()
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))

    def segments(self, *parts: str, language: str | None = None) -> list[Segment]:
        """Return the text, or the named parts."""
        self.faults, self.log = [], ReadingLog()
        options = {str(self.path): ReadingOptions(parts=parts or None)}
        return list(read_all([self.path], language=language, options=options, report=self.faults.append, log=self.log))

    def texts(self, *parts: str, language: str | None = None) -> list[str]:
        return [segment.text for segment in self.segments(*parts, language=language)]

    def parts(self, language: str | None = None) -> dict[str, Part]:
        look = look_into(self.path, language=language, options=ReadingOptions(), report=self.faults.append)
        return {part.name: part for part in look.parts}

    def default_parts(self, language: str | None = None) -> list[str]:
        return [name for name, part in self.parts(language).items() if part.is_default]

    @property
    def format_name(self) -> str:
        return self.log.files[0].format_name

    @property
    def skipped(self) -> Counter[str]:
        return self.log.skipped
