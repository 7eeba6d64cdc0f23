"""The files of a language: what was added, and below each folder or archive the files that were read in it."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QListWidgetItem, QPushButton, QVBoxLayout, QWidget

from lapestudio.core.errors import UserError
from lapestudio.core.project import ProjectLanguage
from lapestudio.corpora.reader import FileNotes
from lapestudio.ui.icons import icon
from lapestudio.ui.panels.hub_dialog import HubDialog
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.style import theme_colors
from lapestudio.ui.text import count_text, path_text
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.file_drop_list import FileDropList
from lapestudio.ui.widgets.labels import button, label

_HEIGHT = 190
_MOST_INSIDE = 300
_ICON = 16
_PATH = Qt.ItemDataRole.UserRole
_IS_ADDED = Qt.ItemDataRole.UserRole + 1


class CorpusFiles(QWidget):
    """Adds, removes and holds out files.

    Args:
        session: the open project.
        parent: the Qt parent.

    Signals:
        file_chosen: the absolute path of the one file that is selected, or None.
    """

    file_chosen = Signal(object)

    def __init__(self, session: ProjectSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._code: str | None = None
        self._last_notes: dict[str, dict[Path, FileNotes]] = {}
        self.files = FileDropList(self)
        self.files.setObjectName("languageFiles")
        self.files.setAccessibleName(self.tr("Files of this language; drop files and folders here"))
        self.files.setFixedHeight(_HEIGHT)
        self.files.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.files.setIconSize(QSize(_ICON, _ICON))
        self.files.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.files.paths_dropped.connect(self.add_paths)
        self.files.itemSelectionChanged.connect(self._on_selection_changed)
        shortcut = QShortcut(QKeySequence.StandardKey.Delete, self.files, context=Qt.ShortcutContext.WidgetShortcut)
        shortcut.activated.connect(self._on_remove_clicked)
        self._add_files = button(self.tr("Add files…"), name="addFiles", parent=self)
        self._add_files.clicked.connect(self._on_add_files_clicked)
        self._add_folder = button(self.tr("Add folder…"), name="addFolder", parent=self)
        self._add_folder.clicked.connect(self._on_add_folder_clicked)
        self._add_from_hub = button(self.tr("From the hub…"), name="addFromHub", parent=self)
        self._add_from_hub.setToolTip(self.tr("Fetch text in this language from a data set on the Hugging Face hub."))
        self._add_from_hub.clicked.connect(self._on_add_from_hub_clicked)
        self._remove = button(self.tr("Remove"), "link", name="removeFiles", parent=self)
        self._remove.clicked.connect(self._on_remove_clicked)
        self._hold_out = button(self.tr("Keep for testing"), "link", name="holdOut", parent=self)
        self._hold_out.setToolTip(
            self.tr("Text kept for testing is never trained on; it shows whether the model has really learnt.")
        )
        self._hold_out.clicked.connect(self._on_hold_out_clicked)
        self._lay_out()

    def show_language(self, code: str | None) -> None:
        """Show the files of another language."""
        chosen = self._selected_paths()
        self._code = code
        self.files.blockSignals(True)
        self.files.clear()
        if code is not None:
            self._fill(code, chosen)
        self.files.blockSignals(False)
        self._on_selection_changed()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Lay the rows out again: those made before the list was first shown know nothing of the style sheet."""
        super().showEvent(event)
        self.files.doItemsLayout()

    @Slot(list)
    def add_paths(self, paths: Sequence[Path]) -> None:
        """Add files and folders to the language."""
        if self._code is None or not paths:
            return
        project = self._session.project

        def with_paths(language: ProjectLanguage) -> ProjectLanguage:
            known = {*language.paths, *language.held_out}
            added = [path for path in dict.fromkeys(map(project.relative, paths)) if path not in known]
            return language.model_copy(update={"paths": (*language.paths, *added)})

        what = self.tr("add {file}").format(file=paths[0].name) if len(paths) == 1 else self.tr("add files")
        self._session.change_language(self._code, what, with_paths)
        self.show_language(self._code)

    def _lay_out(self) -> None:
        add = self._line(self._add_files, self._add_folder, self._add_from_hub)
        change = self._line(self._remove, self._hold_out)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(Space.S)
        hint = self.tr(
            "Drop files or folders here: text in any encoding, Word, PDF, tables, ELAN, FLEx, Toolbox, Praat, "
            "Paratext, subtitles, archives and more. Your files are never changed."
        )
        layout.addWidget(label(hint, "muted", parent=self))
        layout.addLayout(add)
        layout.addWidget(self.files)
        layout.addLayout(change)

    @staticmethod
    def _line(*buttons: QPushButton) -> QHBoxLayout:
        line = QHBoxLayout()
        line.setSpacing(Space.S)
        for made in buttons:
            line.addWidget(made)
        line.addStretch(1)
        return line

    def _fill(self, code: str, chosen: Iterable[Path]) -> None:
        language = self._session.project.language(code)
        summary = self._session.survey.summaries.get(code)
        if summary is not None:
            self._last_notes[code] = {note.path: note for note in summary.files}
        # While files are read again, what was found in them before stays in view.
        notes = self._last_notes.get(code, {})
        for path in (*language.paths, *language.held_out):
            absolute = self._session.project.resolve(path)
            inside = [note for note in notes.values() if absolute in note.path.parents]
            item = self._item(absolute, self._name(path, language), notes.get(absolute))
            item.setData(_IS_ADDED, True)
            self.files.addItem(item)
            for note in inside[:_MOST_INSIDE]:
                name = f"    {path_text(note.path.relative_to(absolute))}"
                self.files.addItem(self._item(note.path, name, note))
        for row in range(self.files.count()):
            item = self.files.item(row)
            item.setSelected(item.data(_PATH) in chosen)

    def _name(self, path: Path, language: ProjectLanguage) -> str:
        name = path_text(path)
        return self.tr("{file} (kept for testing)").format(file=name) if path in language.held_out else name

    def _item(self, path: Path, name: str, note: FileNotes | None) -> QListWidgetItem:
        item = QListWidgetItem(name)
        item.setData(_PATH, path)
        if note is None:
            item.setToolTip(path_text(path))
            return item
        one = note.num_segments == 1
        segments = self.tr("1 segment") if one else self.tr("{number} segments")
        facts = [note.format_name, segments.format(number=count_text(note.num_segments))]
        if note.encoding is not None:
            facts.append(note.encoding)
        left_out = [f"{reason}: {count_text(number)}" for reason, number in note.skipped.items()]
        item.setToolTip("\n".join([path_text(path), ", ".join(facts), *left_out, *note.warnings]))
        item.setText(f"{name}   ·   {facts[0]}, {facts[1]}")
        if note.warnings:
            item.setIcon(icon("warning", theme_colors().warning))
        return item

    def _selected_paths(self) -> set[Path]:
        return {item.data(_PATH) for item in self.files.selectedItems()}

    def _selected_added(self) -> set[Path]:
        """Return the selected files as the project keeps them; files inside folders are not kept by themselves."""
        relative = self._session.project.relative
        return {relative(item.data(_PATH)) for item in self.files.selectedItems() if item.data(_IS_ADDED)}

    def _change(self, what: str, change: Callable[[ProjectLanguage], ProjectLanguage]) -> None:
        if self._code is not None and self._selected_added():
            self._session.change_language(self._code, what, change)
            self.show_language(self._code)

    @Slot()
    def _on_selection_changed(self) -> None:
        can_change = bool(self._selected_added()) if self._code is not None else False
        self._remove.setEnabled(can_change)
        self._hold_out.setEnabled(can_change)
        chosen = self.files.selectedItems()
        path = chosen[0].data(_PATH) if len(chosen) == 1 else None
        self.file_chosen.emit(path if path is not None and not path.is_dir() else None)

    @Slot()
    def _on_add_files_clicked(self) -> None:
        names, _filter = QFileDialog.getOpenFileNames(
            self, self.tr("Add files"), str(self._session.project.folder), self.tr("All files (*)")
        )
        self.add_paths([Path(name) for name in names])

    @Slot()
    def _on_add_folder_clicked(self) -> None:
        name = QFileDialog.getExistingDirectory(self, self.tr("Add a folder"), str(self._session.project.folder))
        if name:
            self.add_paths([Path(name)])

    @Slot()
    def _on_add_from_hub_clicked(self) -> None:
        if self._code is None:
            return
        dialog = HubDialog(self._code, self)
        dialog.accepted.connect(self._on_fetch_chosen)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    @Slot()
    def _on_fetch_chosen(self) -> None:
        dialog = self.sender()
        if not isinstance(dialog, HubDialog) or dialog.spec is None:
            return
        try:
            self._session.fetch(dialog.spec)
        except UserError as error:
            self._session.save_failed.emit(str(error))

    @Slot()
    def _on_remove_clicked(self) -> None:
        chosen = self._selected_added()

        def without(language: ProjectLanguage) -> ProjectLanguage:
            return language.model_copy(
                update={
                    "paths": tuple(path for path in language.paths if path not in chosen),
                    "held_out": tuple(path for path in language.held_out if path not in chosen),
                }
            )

        self._change(self.tr("remove files"), without)

    @Slot()
    def _on_hold_out_clicked(self) -> None:
        chosen = self._selected_added()

        def moved(language: ProjectLanguage) -> ProjectLanguage:
            paths = tuple(path for path in language.paths if path not in chosen)
            held_out = tuple(path for path in language.held_out if path not in chosen)
            return language.model_copy(
                update={
                    "paths": paths + tuple(path for path in language.held_out if path in chosen),
                    "held_out": held_out + tuple(path for path in language.paths if path in chosen),
                }
            )

        self._change(self.tr("keep for testing"), moved)
