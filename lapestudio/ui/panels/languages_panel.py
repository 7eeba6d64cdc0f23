"""Languages: which ones are compared, and the text of each."""

from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget

from lapestudio.core.languages import Language
from lapestudio.core.project import ProjectLanguage
from lapestudio.ui.panels.language_details import LanguageDetails
from lapestudio.ui.panels.language_table import LanguageTableModel, LanguageTableView
from lapestudio.ui.panels.panel import Panel
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.steps import Step, step_name
from lapestudio.ui.widgets.card import Card
from lapestudio.ui.widgets.file_drop_list import dropped_paths
from lapestudio.ui.widgets.labels import label
from lapestudio.ui.widgets.language_search import LanguageSearch


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
        self.search = LanguageSearch(self)
        self._lay_out()
        self.search.language_chosen.connect(self._on_language_chosen)
        self.table.paths_dropped.connect(self._on_paths_dropped)
        self.table.selectionModel().currentRowChanged.connect(self._on_row_changed)
        self.details.remove_requested.connect(self._on_remove_requested)
        self._model.modelReset.connect(self._on_model_reset)
        session.survey.tokens_changed.connect(self._on_tokens_changed)
        self.setAcceptDrops(True)
        self._on_model_reset()
        self.select(self._model.code_at(0))

    def select(self, code: str | None) -> None:
        """Show a language of the project."""
        row = -1 if code is None else self._model.row_of(code)
        if row >= 0:
            self.table.selectRow(row)
        self.details.show_language(code if row >= 0 else None)

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
        side, main = self.side_and_main()
        card = Card(self.tr("Languages"), parent=self)
        self._none = label(self.tr("No languages yet."), "muted", parent=card)
        card.body.addWidget(self.search)
        card.body.addWidget(self._none)
        card.body.addWidget(self.table, 1)
        side.addWidget(card, 1)
        main.addWidget(self.details, 1)

    @Slot(object)
    def _on_language_chosen(self, language: Language) -> None:
        self.message.clear()
        known = self.session.document.languages
        if language.code not in {one.code for one in known}:
            self.session.set_languages((*known, ProjectLanguage(code=language.code)))
        self.select(language.code)

    @Slot(int, list)
    def _on_paths_dropped(self, row: int, paths: list[Path]) -> None:
        self.select(self._model.code_at(row))
        self.details.add_paths(paths)

    @Slot()
    def _on_row_changed(self) -> None:
        self.details.show_language(self.current_code())

    @Slot(str)
    def _on_remove_requested(self, code: str) -> None:
        row = self._model.row_of(code)
        self.session.set_languages(tuple(one for one in self.session.document.languages if one.code != code))
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
