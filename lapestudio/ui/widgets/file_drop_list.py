"""A list of files and folders onto which further ones can be dropped."""

from pathlib import Path

from PySide6.QtCore import QMimeData, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QWidget

from lapestudio.ui.widgets.labels import restyle


def dropped_paths(mime: QMimeData) -> list[Path]:
    """Return the local files and folders of a drag; none where it carries something else."""
    return [Path(url.toLocalFile()) for url in mime.urls() if url.isLocalFile()] if mime.hasUrls() else []


class FileDropList(QListWidget):
    """Takes files by drag and drop.

    Args:
        parent: the Qt parent.

    Signals:
        paths_dropped: a list of paths.
    """

    paths_dropped = Signal(list)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAcceptDrops(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DropOnly)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Welcome files."""
        if dropped_paths(event.mimeData()):
            event.acceptProposedAction()
            self._mark(is_dropping=True)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:  # noqa: N802 - Qt's name
        """Welcome files anywhere on the list."""
        if dropped_paths(event.mimeData()):
            event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:  # noqa: N802 - Qt's name
        """Look as before."""
        self._mark(is_dropping=False)
        super().dragLeaveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802 - Qt's name
        """Take the files."""
        self._mark(is_dropping=False)
        paths = dropped_paths(event.mimeData())
        if paths:
            event.acceptProposedAction()
            self.paths_dropped.emit(paths)

    def _mark(self, *, is_dropping: bool) -> None:
        self.setProperty("dropping", is_dropping)
        restyle(self)
