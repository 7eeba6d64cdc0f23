"""Languages: which ones are compared, and the text of each."""

from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from lapestudio.core.languages import Language
from lapestudio.core.project import ProjectLanguage
from lapestudio.core.text_settings import ReadingOptions
from lapestudio.ui.panels.corpus_preview import CorpusPreview
from lapestudio.ui.panels.language_details import LanguageDetails
from lapestudio.ui.panels.language_table import LanguageTableModel, LanguageTableView
from lapestudio.ui.panels.panel import Panel
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.steps import Step, step_name
from lapestudio.ui.text import language_name
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.card import Card
from lapestudio.ui.widgets.file_drop_list import dropped_paths
from lapestudio.ui.widgets.labels import label
from lapestudio.ui.widgets.language_search import LanguageSearch

_LANGUAGES_WIDTH = 232


class LanguagesPanel(Panel):
    """Adds and removes languages and files."""

    def __init__(self, session: ProjectSession, parent: QWidget | None = None) -> None:
        super().__init__(
            session,
            step_name(Step.LANGUAGES),
            self.tr(
                "A neuron is specific to a language only in comparison: give text in several languages, about equally "
                "much in each, and more of the language to teach."
            ),
            parent,
        )
        self._model = LanguageTableModel(session, self)
        self.table = LanguageTableView(self._model, self)
        self.details = LanguageDetails(session, self)
        self.preview = CorpusPreview(session, self)
        self.search = LanguageSearch(self)
        self._lay_out()
        self.search.language_chosen.connect(self._on_language_chosen)
        self.table.paths_dropped.connect(self._on_paths_dropped)
        self.table.selectionModel().currentRowChanged.connect(self._on_row_changed)
        self.details.remove_requested.connect(self._on_remove_requested)
        self.details.file_chosen.connect(self._on_file_chosen)
        self.details.examples_requested.connect(self._on_examples_requested)
        self.preview.options_changed.connect(self._on_options_changed)
        session.document_changed.connect(self._on_document_changed)
        session.survey.language_changed.connect(self._on_language_changed)
        self._model.modelReset.connect(self._on_model_reset)
        session.survey.tokens_changed.connect(self._on_tokens_changed)
        self.setAcceptDrops(True)
        self._on_model_reset()
        self.select(self._model.code_at(0))

    def select(self, code: str | None) -> None:
        """Show a language of the project."""
        row = -1 if code is None else self._model.row_of(code)
        if row >= 0:
            self.table.setCurrentIndex(self._model.index(row, 0))
        self._show(code if row >= 0 else None)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802 - Qt's name
        """Welcome files anywhere on the panel."""
        if dropped_paths(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802 - Qt's name
        """Give the files to the language in view."""
        paths = dropped_paths(event.mimeData())
        if not paths:
            return
        event.acceptProposedAction()
        if self.current_code() is None:
            self.message.show_message("info", self.tr("Add or choose a language first; then drop its files again."))
            return
        self.details.add_paths(paths)

    def current_code(self) -> str | None:
        """Return the code of the language in view."""
        return self._model.code_at(self.table.currentIndex().row())

    def _lay_out(self) -> None:
        card = Card(self.tr("Languages"), parent=self)
        card.setFixedWidth(_LANGUAGES_WIDTH)
        self._none = label(self.tr("No languages yet."), "muted", parent=card)
        card.body.addWidget(self.search)
        card.body.addWidget(self._none)
        card.body.addWidget(self.table, 1)
        line = QHBoxLayout()
        line.setSpacing(Space.M)
        line.setContentsMargins(0, 0, 0, Space.M)
        line.addWidget(card)
        line.addWidget(self.details, 6)
        line.addWidget(self.preview, 5)
        self.outer.addLayout(line, 1)

    @Slot(object)
    def _on_language_chosen(self, language: Language) -> None:
        self.message.clear()
        known = self.session.document.languages
        if language.code not in {one.code for one in known}:
            what = self.tr("add {language}").format(language=language.name)
            self.session.set_languages((*known, ProjectLanguage(code=language.code)), what)
        self.select(language.code)

    @Slot(int, list)
    def _on_paths_dropped(self, row: int, paths: list[Path]) -> None:
        self.select(self._model.code_at(row))
        self.details.add_paths(paths)

    def _show(self, code: str | None) -> None:
        self.details.show_language(code)
        self.preview.setVisible(code is not None)
        if self.preview.path is None or code is None:
            self.preview.show_corpus(code)

    @Slot()
    def _on_row_changed(self) -> None:
        self._show(self.current_code())

    @Slot()
    def _on_document_changed(self) -> None:
        # Undoing may bring back, or take away, the language in view.
        if self.current_code() is None and self._model.rowCount():
            self.select(self._model.code_at(0))

    @Slot(str)
    def _on_language_changed(self, code: str) -> None:
        if code == self.current_code() and self.preview.path is None:
            self.preview.show_corpus(code)

    @Slot(object)
    def _on_file_chosen(self, path: Path | None) -> None:
        code = self.current_code()
        if code is None or path is None:
            self.preview.show_corpus(code)
        elif path != self.preview.path:
            self.preview.show_file(code, path)

    @Slot(str, str)
    def _on_examples_requested(self, setting: str, name: str) -> None:
        code = self.current_code()
        if code is not None:
            self.preview.show_examples(code, setting, name)

    @Slot(object, object, bool)
    def _on_options_changed(self, path: Path, options: ReadingOptions, for_all: bool) -> None:
        code = self.current_code()
        if code is not None:
            self.details.set_options(path, options, for_all=for_all)
            self.preview.show_file(code, path)

    @Slot(str)
    def _on_remove_requested(self, code: str) -> None:
        row = self._model.row_of(code)
        left = tuple(one for one in self.session.document.languages if one.code != code)
        self.session.set_languages(left, self.tr("remove {language}").format(language=language_name(code)))
        self.select(self._model.code_at(min(row, self._model.rowCount() - 1)))

    @Slot()
    def _on_model_reset(self) -> None:
        has_languages = self._model.rowCount() > 0
        self._none.setVisible(not has_languages)
        self.table.setVisible(has_languages)

    @Slot()
    def _on_tokens_changed(self) -> None:
        fault = self.session.survey.token_fault
        if fault:
            self.message.show_message("warning", self.tr("Tokens could not be counted. {reason}").format(reason=fault))
