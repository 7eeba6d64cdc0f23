"""What can be chosen in a file, and how its text begins: looked up by a process of its own.

In: a file, a language and what was decided about the file. Out: a `FileLook`.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter
from PySide6.QtCore import QObject, Signal, Slot

from lapestudio.core.text_settings import ReadingOptions
from lapestudio.corpora.reader import FileNotes, Part
from lapestudio.corpora.segment import Segment
from lapestudio.jobs.queries import run_query
from lapestudio.ui.query_thread import IsCancelled, LatestAnswer

_MOST_SEGMENTS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLook:
    """What is known of the beginning of a file."""

    parts: list[Part]
    segments: list[Segment]
    notes: FileNotes
    problems: list[str]


@cache
def _looks() -> TypeAdapter[FileLook]:
    return TypeAdapter(FileLook)


class FilePreview(QObject):
    """Looks into one file at a time.

    Args:
        parent: the Qt parent.

    Signals:
        looked: the path, and its `FileLook`.
        failed: the path, and one sentence.
        busy_changed: whether a file is being looked into.
    """

    looked = Signal(object, object)
    failed = Signal(object, str)
    busy_changed = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._path = Path()
        self._asker = LatestAnswer(self)
        self._asker.answered.connect(self._on_answered)
        self._asker.failed.connect(self._on_failed)
        self._asker.busy_changed.connect(self.busy_changed)

    @property
    def is_busy(self) -> bool:
        """Whether a file is being looked into."""
        return self._asker.is_busy

    def look(self, path: Path, language: str, options: ReadingOptions) -> None:
        """Look into a file; the look at another one is given up."""
        self._path = path

        def ask(is_cancelled: IsCancelled) -> object:
            answer = run_query(
                "preview",
                {
                    "path": str(path),
                    "language": language,
                    "options": options.model_dump(mode="json"),
                    "limit": _MOST_SEGMENTS,
                },
                is_cancelled=is_cancelled,
            )
            return path, _looks().validate_python(answer, strict=False)

        self._asker.ask(ask)

    @Slot(object)
    def _on_answered(self, answer: tuple[Path, FileLook]) -> None:
        self.looked.emit(*answer)

    @Slot(str, str)
    def _on_failed(self, message: str, _details: str) -> None:
        self.failed.emit(self._path, message)
