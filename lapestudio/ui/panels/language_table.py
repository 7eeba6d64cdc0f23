"""The project's languages as a table: how much text each has."""

from pathlib import Path

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from lapestudio.ui.icons import icon
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.style import theme_colors
from lapestudio.ui.text import isolate, language_name, short_count_text
from lapestudio.ui.widgets.figure_row import UNKNOWN
from lapestudio.ui.widgets.file_drop_list import dropped_paths

Index = QModelIndex | QPersistentModelIndex
_NO_PARENT = QModelIndex()
_NAME, _TEXT = range(2)


class LanguageTableModel(QAbstractTableModel):
    """One row a language.

    Args:
        session: the open project.
        parent: the Qt parent.
    """

    def __init__(self, session: ProjectSession, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._codes = [language.code for language in session.document.languages]
        session.document_changed.connect(self._on_document_changed)
        session.survey.language_changed.connect(self._on_language_changed)

    def code_at(self, row: int) -> str | None:
        """Return the code of a row's language."""
        return self._codes[row] if 0 <= row < len(self._codes) else None

    def row_of(self, code: str) -> int:
        """Return the row of a language, or -1."""
        return self._codes.index(code) if code in self._codes else -1

    def rowCount(self, parent: Index = _NO_PARENT) -> int:  # noqa: N802 - Qt's name
        """Return the number of languages."""
        return 0 if parent.isValid() else len(self._codes)

    def columnCount(self, parent: Index = _NO_PARENT) -> int:  # noqa: N802 - Qt's name
        """Return the number of columns."""
        return 0 if parent.isValid() else 2

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """Return a heading."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        headings = (self.tr("Language"), self.tr("Characters"))
        return headings[section] if 0 <= section < len(headings) else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return what stands in a cell."""
        code = self.code_at(index.row()) if index.isValid() else None
        if code is None:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._text(code, index.column())
            case Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(index.column())
            case Qt.ItemDataRole.ToolTipRole:
                summary = self._session.survey.summaries.get(code)
                return "\n".join(summary.problems[:5]) if summary is not None and summary.problems else None
            case Qt.ItemDataRole.DecorationRole if index.column() == _NAME:
                return self._mark(code)
            case _:
                return None

    def _mark(self, code: str) -> object:
        summary = self._session.survey.summaries.get(code)
        parent = self.parent()
        if summary is None or not summary.problems or not isinstance(parent, QWidget):
            return None
        return icon("warning", theme_colors().danger)

    def _text(self, code: str, column: int) -> str:
        if column == _NAME:
            return isolate(language_name(code))
        survey = self._session.survey
        if survey.is_reading(code):
            return "…"
        summary = survey.summaries.get(code)
        return UNKNOWN if summary is None else short_count_text(summary.num_characters)

    def _on_document_changed(self) -> None:
        codes = [language.code for language in self._session.document.languages]
        if codes != self._codes:
            self.beginResetModel()
            self._codes = codes
            self.endResetModel()

    def _on_language_changed(self, code: str) -> None:
        row = self.row_of(code)
        if row >= 0:
            self.dataChanged.emit(self.index(row, 0), self.index(row, self.columnCount() - 1))


class LanguageTableView(QTableView):
    """Shows the languages; files dropped on a row belong to its language.

    Args:
        parent: the Qt parent.

    Signals:
        paths_dropped: row, and a list of paths.
    """

    paths_dropped = Signal(int, list)

    def __init__(self, model: LanguageTableModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("languages")
        self.setAccessibleName(self.tr("Languages of this project"))
        self.setModel(model)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.setAcceptDrops(True)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(32)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Stretch)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Welcome files."""
        if dropped_paths(event.mimeData()):
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:  # noqa: N802 - Qt's name
        """Show which language would get the files."""
        row = self.rowAt(event.position().toPoint().y())
        if row >= 0 and dropped_paths(event.mimeData()):
            self.selectRow(row)
            event.acceptProposedAction()
        else:
            event.ignore()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802 - Qt's name
        """Give the files to the language under the mouse."""
        paths: list[Path] = dropped_paths(event.mimeData())
        row = self.rowAt(event.position().toPoint().y())
        if paths and row >= 0:
            event.acceptProposedAction()
            self.paths_dropped.emit(row, paths)


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignLeading if column == _NAME else Qt.AlignmentFlag.AlignTrailing
    return side | Qt.AlignmentFlag.AlignVCenter
