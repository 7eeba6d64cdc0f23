"""One language of the project: how much text it has, what that means, its files, and what is left out."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from lapestudio.core.project import ProjectLanguage
from lapestudio.core.text_settings import CleaningSettings, ReadingOptions
from lapestudio.ui.panels import corpus_verdicts
from lapestudio.ui.panels.cleaning_box import CleaningBox
from lapestudio.ui.panels.corpus_files import CorpusFiles
from lapestudio.ui.panels.panel import ScrollingColumn
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.text import count_text, language_text, short_count_text
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.card import Card
from lapestudio.ui.widgets.figure_row import FigureRow
from lapestudio.ui.widgets.fold import Fold
from lapestudio.ui.widgets.labels import Role, button, label, set_role
from lapestudio.ui.widgets.message_bar import MessageBar

_ROLES: dict[str, Role] = {"good": "muted", "note": "muted", "warning": "warning"}


class LanguageDetails(Card):
    """Shows one language, or how to begin where there is none.

    Args:
        session: the open project.
        parent: the Qt parent.

    Signals:
        remove_requested: code of the language that shall go.
        file_chosen: the path of the one file that is selected, or None.
        examples_requested: a cleaning setting, and what it is called.
    """

    remove_requested = Signal(str)
    file_chosen = Signal(object)
    examples_requested = Signal(str, str)

    def __init__(self, session: ProjectSession, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._session = session
        self._code: str | None = None
        self._name = label("", "heading", parent=self, wraps=False)
        self._empty = label(
            self.tr("Add a language at the side: type its name or code. Then drop its files here."),
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
        self._area = ScrollingColumn(self)
        self._area.column.setSpacing(Space.M)
        self.body.addWidget(self._area, 1)
        self._problems = MessageBar(self)
        self._area.column.addWidget(self._problems)
        self._figures = self._make_figures()
        self._area.column.addWidget(self._figures)
        self._verdicts = [label("", "muted", parent=self) for _ in range(4)]
        for verdict in self._verdicts:
            self._area.column.addWidget(verdict)
        self.corpus_files = CorpusFiles(session, self)
        self.corpus_files.file_chosen.connect(self.file_chosen)
        self._area.column.addWidget(self.corpus_files)
        self.cleaning = CleaningBox(self)
        self.cleaning.settings_changed.connect(self._on_cleaning_changed)
        self.cleaning.examples_requested.connect(self._on_examples_requested)
        self.cleaning_fold = Fold(self.tr("What is left out"), self.cleaning, name="cleaningFold", parent=self)
        self._area.column.addWidget(self.cleaning_fold)
        self._area.column.addStretch(1)
        session.survey.language_changed.connect(self._on_language_changed)
        session.survey.progress_changed.connect(self._on_language_progressed)
        session.survey.tokens_changed.connect(self._show_figures)
        self.show_language(None)

    @property
    def files(self) -> QWidget:
        """The list of files."""
        return self.corpus_files.files

    def show_language(self, code: str | None) -> None:
        """Show another language."""
        self._code = code
        has_language = code is not None
        self._remove.setVisible(has_language)
        self._area.setVisible(has_language)
        self._empty.setVisible(not has_language)
        self._name.setText(self.tr("Text by language") if code is None else language_text(code))
        self._problems.clear()
        self.corpus_files.show_language(code)
        if code is not None:
            self._show_figures()
            self._show_findings()

    def add_paths(self, paths: Sequence[Path]) -> None:
        """Add files and folders to the language."""
        self.corpus_files.add_paths(paths)

    def set_options(self, path: Path, options: ReadingOptions, *, for_all: bool) -> None:
        """Keep how a file is read, or all such files of its folder."""
        if self._code is None:
            return
        project = self._session.project
        key = str(project.relative(path.parent / f"*{path.suffix.lower()}" if for_all else path))

        def with_options(language: ProjectLanguage) -> ProjectLanguage:
            reading = {name: kept for name, kept in language.reading.items() if name != key}
            if for_all:
                # What is meant for all must not be hidden by what was meant for this one.
                reading.pop(str(project.relative(path)), None)
            if options != ReadingOptions():
                reading[key] = options
            return language.model_copy(update={"reading": reading})

        self._session.change_language(
            self._code, self.tr("read {file} differently").format(file=path.name), with_options
        )

    def _make_figures(self) -> FigureRow:
        return FigureRow(
            (
                (
                    "segments",
                    self.tr("segments"),
                    self.tr("Lines, sentences, annotations or paragraphs of your files."),
                ),
                ("words", self.tr("words"), self.tr("Runs of letters between spaces; some writings have no spaces.")),
                ("characters", self.tr("characters"), ""),
                (
                    "tokens",
                    self.tr("tokens"),
                    self.tr(
                        "Pieces of words as the chosen model reads them: a language the model knows poorly needs more."
                    ),
                ),
            ),
            self,
            spacing=Space.M,
        )

    @Slot()
    def _show_figures(self) -> None:
        if self._code is None:
            return
        survey = self._session.survey
        summary, tokens = survey.summaries.get(self._code), survey.tokens.get(self._code)
        waiting = "…" if survey.is_reading(self._code) else ""
        for key in ("segments", "words", "characters"):
            known = waiting if summary is None else short_count_text(getattr(summary, f"num_{key}"))
            self._figures.set_value(key, known)
        if summary is None and self._code in survey.characters_read:
            self._figures.set_value("characters", f"{short_count_text(survey.characters_read[self._code])}…")
        if tokens is not None:
            self._figures.set_value("tokens", short_count_text(tokens))
        else:
            self._figures.set_value("tokens", "…" if survey.is_counting else "")
        self._show_verdicts()

    def _show_verdicts(self) -> None:
        survey = self._session.survey
        summary = survey.summaries.get(self._code or "")
        found: list[corpus_verdicts.Verdict | None] = []
        if summary is not None and summary.num_segments:
            found = [
                corpus_verdicts.fertility(summary, survey.tokens.get(summary.language)),
                corpus_verdicts.language(summary),
                corpus_verdicts.scripts(summary),
                corpus_verdicts.repetitions(summary),
            ]
        verdicts = [verdict for verdict in found if verdict is not None]
        for place, shown in enumerate(self._verdicts):
            shown.setVisible(place < len(verdicts))
            if place < len(verdicts):
                level, text = verdicts[place]
                shown.setText(text)
                set_role(shown, _ROLES[level])

    def _show_findings(self) -> None:
        if self._code is None:
            return
        summary = self._session.survey.summaries.get(self._code)
        self.cleaning.show_language(self._session.project.language(self._code).cleaning, summary)
        self._problems.clear()
        if summary is not None and summary.problems:
            first, *others = summary.problems
            more = self.tr("Further problems: {number}.").format(number=count_text(len(others))) if others else ""
            self._problems.show_message("warning", f"{first} {more}".strip(), "\n".join(others))

    @Slot(str)
    def _on_language_changed(self, code: str) -> None:
        known = {language.code for language in self._session.document.languages}
        if code == self._code and code in known:
            self._show_figures()
            self._show_findings()
            self.corpus_files.show_language(code)

    @Slot(str)
    def _on_language_progressed(self, code: str) -> None:
        if code == self._code:
            self._show_figures()

    @Slot(object)
    def _on_cleaning_changed(self, settings: CleaningSettings) -> None:
        if self._code is not None:
            self._session.change_language(
                self._code,
                self.tr("change what is left out"),
                lambda language: language.model_copy(update={"cleaning": settings}),
            )

    @Slot(str)
    def _on_examples_requested(self, setting: str) -> None:
        box = self.cleaning.boxes.get(setting)
        self.examples_requested.emit(setting, box.text() if box is not None else self.tr("Too short"))

    @Slot()
    def _on_remove_clicked(self) -> None:
        if self._code is not None:
            self.remove_requested.emit(self._code)
