"""A dialog with all that is known of a job: its folder, its notices, its error, and the end of its log."""

from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from lapestudio.core.events import ErrorEvent
from lapestudio.jobs.watching import last_log_lines
from lapestudio.ui.job_words import end_text
from lapestudio.ui.running_jobs import FollowedRun
from lapestudio.ui.text import path_text
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.fact_grid import Fact, FactGrid
from lapestudio.ui.widgets.labels import button, label

_SIZE = (720, 480)


class JobDetails(QDialog):
    """Shows one run as it is now.

    Args:
        followed: the run.
        parent: the Qt parent.
    """

    def __init__(self, followed: FollowedRun, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Job details"))
        self.resize(*_SIZE)
        self._folder = followed.run.path
        self._text = QPlainTextEdit(self)
        self._text.setReadOnly(True)
        self._text.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self._text.setAccessibleName(self.tr("Notices and log"))
        self._text.setPlainText(self._log_of(followed))
        facts = FactGrid(self)
        facts.set_facts(self._facts_of(followed))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(Space.XL, Space.XL, Space.XL, Space.L)
        layout.setSpacing(Space.M)
        layout.addWidget(facts)
        layout.addWidget(label(self.tr("Notices and log"), "heading", parent=self, wraps=False))
        layout.addWidget(self._text, 1)
        layout.addLayout(self._buttons())

    def _buttons(self) -> QHBoxLayout:
        copy = button(self.tr("Copy everything"), name="copyLog", parent=self)
        copy.clicked.connect(self._on_copy_clicked)
        folder = button(self.tr("Open folder"), name="openRunFolder", parent=self)
        folder.clicked.connect(self._on_folder_clicked)
        close = button(self.tr("Close"), "primary", name="closeDetails", parent=self)
        close.setDefault(True)
        close.clicked.connect(self.accept)
        line = QHBoxLayout()
        line.setSpacing(Space.S)
        line.addWidget(copy)
        line.addWidget(folder)
        line.addStretch(1)
        line.addWidget(close)
        return line

    def _facts_of(self, followed: FollowedRun) -> list[Fact]:
        history = followed.history
        facts = [Fact(name=self.tr("Folder"), value=path_text(self._folder))]
        if history.started is not None and history.started.device:
            facts.append(Fact(name=self.tr("Device"), value=history.started.device))
        state = self.tr("Running") if history.terminal is None else end_text(history.terminal)
        facts.append(Fact(name=self.tr("State"), value=state))
        return facts

    def _log_of(self, followed: FollowedRun) -> str:
        parts = [notice.text for notice in followed.history.notices]
        if isinstance(followed.history.terminal, ErrorEvent):
            parts.append(followed.history.terminal.details)
        parts.append(last_log_lines(followed.run))
        return "\n\n".join(part for part in parts if part)

    @Slot()
    def _on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText(f"{self._folder}\n\n{self._text.toPlainText()}")

    @Slot()
    def _on_folder_clicked(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._folder)))
