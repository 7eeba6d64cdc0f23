"""One language of the project: its files, how much is in them, how they begin, and what is wrong with them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QListWidget, QListWidgetItem, QWidget

from lapestudio.core.project import ProjectLanguage
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.text import count_text, is_right_to_left, language_text, path_text
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.card import Card
from lapestudio.ui.widgets.figure_row import FigureRow
from lapestudio.ui.widgets.file_drop_list import FileDropList
from lapestudio.ui.widgets.labels import button, label
from lapestudio.ui.widgets.message_bar import MessageBar

_FILES_HEIGHT = 112
_PREVIEW_HEIGHT = 150


class LanguageDetails(Card):
    """Shows one language, or how to begin where there is none.

    Args:
        session: the open project.
        parent: the Qt parent.

    Signals:
        remove_requested: code of the language that shall go.
    """

    remove_requested = Signal(str)

    def __init__(self, session: ProjectSession, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._session = session
        self._code: str | None = None
        self._name = label("", "heading", parent=self, wraps=False)
        self._empty = label(
            self.tr("Add a language at the side: type its name or code. Then drop its text files here."),
            "muted",
            parent=self,
        )
        self._remove = button(self.tr("Remove language"), "link", name="removeLanguage", parent=self)
        self._remove.clicked.connect(self._on_remove_clicked)
        self.header.addWidget(self._name)
        self.header.addStretch(1)
        self.header.addWidget(self._remove)
        self.body.addLayout(self.header)
        self.body.addWidget(self._empty)
        self._problems = MessageBar(self)
        self.body.addWidget(self._problems)
        self._figures = self._make_figures()
        self.body.addWidget(self._figures)
        self._add_files()
        self._add_preview()
        self.setAcceptDrops(True)
        session.survey.language_changed.connect(self._on_language_changed)
        session.survey.tokens_changed.connect(self._show_figures)
        self.show_language(None)

    def show_language(self, code: str | None) -> None:
        """Show another language."""
        self._code = code
        has_language = code is not None
        for part in (self._remove, self._figures, self._files_box, self._preview_box):
            part.setVisible(has_language)
        self._empty.setVisible(not has_language)
        self._name.setText(self.tr("Text by language") if code is None else language_text(code))
        self._problems.clear()
        if code is not None:
            self._show_files()
            self._show_figures()
            self._show_preview()

    def add_paths(self, paths: Sequence[Path]) -> None:
        """Add files and folders to the language."""
        if self._code is None:
            return
        project = self._session.project

        def with_paths(language: ProjectLanguage) -> ProjectLanguage:
            new = [project.relative(path) for path in paths]
            known = {*language.paths, *language.held_out}
            added = tuple(path for path in dict.fromkeys(new) if path not in known)
            return language.model_copy(update={"paths": language.paths + added})

        self._session.change_language(self._code, with_paths)
        self._show_files()

    def _make_figures(self) -> FigureRow:
        return FigureRow(
            (
                ("files", self.tr("files"), ""),
                ("characters", self.tr("characters"), ""),
                ("words", self.tr("words"), self.tr("Runs of letters between spaces; some writings have no spaces.")),
                (
                    "tokens",
                    self.tr("tokens"),
                    self.tr(
                        "Pieces of words as the chosen model reads them: a language the model knows poorly needs more."
                    ),
                ),
            ),
            self,
        )

    def _add_files(self) -> None:
        self._files_box = QWidget(self)
        box = Card.column(self._files_box)
        self.files = FileDropList(self._files_box)
        self.files.setObjectName("languageFiles")
        self.files.setAccessibleName(self.tr("Files of this language; drop files and folders here"))
        self.files.setFixedHeight(_FILES_HEIGHT)
        self.files.paths_dropped.connect(self.add_paths)
        self.files.itemSelectionChanged.connect(self._on_selection_changed)
        QShortcut(
            QKeySequence.StandardKey.Delete,
            self.files,
            context=Qt.ShortcutContext.WidgetShortcut,
        ).activated.connect(self._on_remove_files_clicked)
        add = button(self.tr("Add files…"), name="addFiles", parent=self._files_box)
        add.clicked.connect(self._on_add_files_clicked)
        folder = button(self.tr("Add folder…"), name="addFolder", parent=self._files_box)
        folder.clicked.connect(self._on_add_folder_clicked)
        self._remove_files = button(self.tr("Remove"), name="removeFiles", parent=self._files_box)
        self._remove_files.clicked.connect(self._on_remove_files_clicked)
        self._hold_out = button(self.tr("Keep for testing"), name="holdOut", parent=self._files_box)
        self._hold_out.setToolTip(
            self.tr("Text kept for testing is never trained on; it shows whether the model has really learnt.")
        )
        self._hold_out.clicked.connect(self._on_hold_out_clicked)
        hint = label(self.tr("Drop files or folders here: plain text or JSON Lines, in UTF-8."), "muted", parent=self)
        line = QHBoxLayout()
        line.setSpacing(Space.S)
        for made in (add, folder, self._remove_files, self._hold_out):
            line.addWidget(made)
        line.addStretch(1)
        box.addWidget(hint)
        box.addWidget(self.files)
        box.addLayout(line)
        self.body.addWidget(self._files_box)

    def _add_preview(self) -> None:
        self._preview_box = QWidget(self)
        box = Card.column(self._preview_box)
        self.preview = QListWidget(self._preview_box)
        self.preview.setObjectName("preview")
        self.preview.setAccessibleName(self.tr("How the text begins"))
        self.preview.setWordWrap(True)
        self.preview.setSelectionMode(QListWidget.SelectionMode.NoSelection)
        self.preview.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.preview.setMinimumHeight(_PREVIEW_HEIGHT)
        self.preview.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.preview.setResizeMode(QListWidget.ResizeMode.Adjust)
        self.preview.setTextElideMode(Qt.TextElideMode.ElideNone)
        box.addWidget(label(self.tr("How the text begins"), "strong", parent=self._preview_box, wraps=False))
        box.addWidget(self.preview, 1)
        self.body.addWidget(self._preview_box, 1)

    def _show_files(self) -> None:
        self.files.clear()
        if self._code is None:
            return
        language = self._session.project.language(self._code)
        for path in language.paths:
            self._add_item(path, path_text(path))
        for path in language.held_out:
            self._add_item(path, self.tr("{file} (kept for testing)").format(file=path_text(path)))
        self._on_selection_changed()

    def _add_item(self, path: Path, text: str) -> None:
        item = QListWidgetItem(text)
        item.setData(Qt.ItemDataRole.UserRole, path)
        item.setToolTip(path_text(self._session.project.resolve(path)))
        self.files.addItem(item)

    @Slot()
    def _show_figures(self) -> None:
        if self._code is None:
            return
        survey = self._session.survey
        summary, tokens = survey.summaries.get(self._code), survey.tokens.get(self._code)
        waiting = "…" if survey.is_reading(self._code) else ""
        for key in ("files", "characters", "words"):
            known = waiting if summary is None else count_text(getattr(summary, f"num_{key}"))
            self._figures.set_value(key, known)
        if tokens is not None:
            self._figures.set_value("tokens", count_text(tokens))
        else:
            self._figures.set_value("tokens", "…" if survey.is_counting else "")

    def _show_preview(self) -> None:
        self.preview.clear()
        self._problems.clear()
        summary = self._session.survey.summaries.get(self._code or "")
        if summary is None:
            return
        direction = (
            Qt.LayoutDirection.RightToLeft if is_right_to_left(summary.language) else Qt.LayoutDirection.LeftToRight
        )
        self.preview.setLayoutDirection(direction)
        for segment in summary.preview:
            item = QListWidgetItem(segment.text)
            item.setToolTip(segment.location)
            self.preview.addItem(item)
        if summary.problems:
            first, *others = summary.problems
            more = self.tr("Further problems: {number}.").format(number=count_text(len(others))) if others else ""
            self._problems.show_message("warning", f"{first} {more}".strip(), "\n".join(others))

    @Slot(str)
    def _on_language_changed(self, code: str) -> None:
        if code == self._code:
            self._show_figures()
            self._show_preview()

    @Slot()
    def _on_selection_changed(self) -> None:
        has_selection = bool(self.files.selectedItems())
        self._remove_files.setEnabled(has_selection)
        self._hold_out.setEnabled(has_selection)

    @Slot()
    def _on_add_files_clicked(self) -> None:
        names, _filter = QFileDialog.getOpenFileNames(
            self,
            self.tr("Add files"),
            str(self._session.project.folder),
            self.tr("Text (*.txt *.text *.jsonl *.ndjson *.jsonlines);;All files (*)"),
        )
        self.add_paths([Path(name) for name in names])

    @Slot()
    def _on_add_folder_clicked(self) -> None:
        name = QFileDialog.getExistingDirectory(self, self.tr("Add a folder"), str(self._session.project.folder))
        if name:
            self.add_paths([Path(name)])

    @Slot()
    def _on_remove_files_clicked(self) -> None:
        chosen = self._chosen_paths()

        def without(language: ProjectLanguage) -> ProjectLanguage:
            return language.model_copy(
                update={
                    "paths": tuple(path for path in language.paths if path not in chosen),
                    "held_out": tuple(path for path in language.held_out if path not in chosen),
                }
            )

        self._change(without)

    @Slot()
    def _on_hold_out_clicked(self) -> None:
        chosen = self._chosen_paths()

        def moved(language: ProjectLanguage) -> ProjectLanguage:
            paths = tuple(path for path in language.paths if path not in chosen)
            held_out = tuple(path for path in language.held_out if path not in chosen)
            return language.model_copy(
                update={
                    "paths": paths + tuple(path for path in language.held_out if path in chosen),
                    "held_out": held_out + tuple(path for path in language.paths if path in chosen),
                }
            )

        self._change(moved)

    def _change(self, change: Callable[[ProjectLanguage], ProjectLanguage]) -> None:
        if self._code is not None and self.files.selectedItems():
            self._session.change_language(self._code, change)
            self._show_files()

    def _chosen_paths(self) -> set[Path]:
        return {item.data(Qt.ItemDataRole.UserRole) for item in self.files.selectedItems()}

    @Slot()
    def _on_remove_clicked(self) -> None:
        if self._code is not None:
            self.remove_requested.emit(self._code)
