"""The dialog that makes a project: a name and a folder."""

import re
from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QFileDialog, QFormLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from lapestudio.core.errors import UserError
from lapestudio.core.project import Project, ProjectDocument
from lapestudio.ui.text import path_text
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.labels import button, centre_labels, label
from lapestudio.ui.widgets.message_bar import MessageBar

_WIDTH = 560
_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f]+')


class NewProjectDialog(QDialog):
    """Asks for a name and a place; `project` is the project that was made.

    Args:
        parent_folder: where projects are usually kept.
        parent: the Qt parent.
    """

    def __init__(self, parent_folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("New project"))
        self.setMinimumWidth(_WIDTH)
        self.project: Project | None = None
        self.name = QLineEdit(self.tr("My project"), self)
        self.name.setObjectName("projectName")
        self.name.selectAll()
        self.parent_folder = QLineEdit(str(parent_folder), self)
        self.parent_folder.setObjectName("projectParentFolder")
        self._message = MessageBar(self)
        self._place = label("", "muted", parent=self)
        self.name.textChanged.connect(self._show_place)
        self.parent_folder.textChanged.connect(self._show_place)
        self._lay_out()
        self._show_place()

    @property
    def folder(self) -> Path:
        """The project folder that would be made."""
        return Path(self.parent_folder.text()).expanduser() / _FORBIDDEN.sub("-", self.name.text()).strip(" .")

    def _lay_out(self) -> None:
        browse = button(self.tr("Choose…"), name="browseProjectFolder", parent=self)
        browse.clicked.connect(self._on_browse_clicked)
        line = QHBoxLayout()
        line.setSpacing(Space.S)
        line.addWidget(self.parent_folder, 1)
        line.addWidget(browse)
        form = QFormLayout()
        form.setHorizontalSpacing(Space.L)
        form.setVerticalSpacing(Space.M)
        form.addRow(self.tr("Name"), self.name)
        form.addRow(self.tr("Kept in"), line)
        centre_labels(form)
        self.name.setAccessibleName(self.tr("Name"))
        self.parent_folder.setAccessibleName(self.tr("Kept in"))
        cancel = button(self.tr("Cancel"), name="cancelProject", parent=self)
        cancel.clicked.connect(self.reject)
        self._create = button(self.tr("Create project"), "primary", name="createProject", parent=self)
        self._create.setDefault(True)
        self._create.clicked.connect(self._on_create_clicked)
        buttons = QHBoxLayout()
        buttons.setSpacing(Space.S)
        buttons.addStretch(1)
        buttons.addWidget(cancel)
        buttons.addWidget(self._create)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(Space.XL, Space.XL, Space.XL, Space.L)
        layout.setSpacing(Space.M)
        layout.addWidget(label(self.tr("New project"), "heading", parent=self, wraps=False))
        layout.addWidget(
            label(self.tr("A project is a folder: settings, runs and results are kept in it."), "muted", parent=self)
        )
        layout.addWidget(self._message)
        layout.addLayout(form)
        layout.addWidget(self._place)
        layout.addLayout(buttons)

    @Slot()
    def _show_place(self) -> None:
        self._place.setText(self.tr("Folder: {folder}").format(folder=path_text(self.folder)))
        self._create.setEnabled(bool(self.name.text().strip(" .")) and bool(self.parent_folder.text().strip()))

    @Slot()
    def _on_browse_clicked(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, self.tr("Where to keep the project"), self.parent_folder.text())
        if chosen:
            self.parent_folder.setText(chosen)

    @Slot()
    def _on_create_clicked(self) -> None:
        try:
            self.project = Project.create(self.folder, ProjectDocument(name=self.name.text().strip()))
        except UserError as error:
            self._message.show_message("error", str(error))
            return
        self.accept()
