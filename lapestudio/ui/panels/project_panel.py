"""Project: its name and folder, what to do next, and everything that has been run."""

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QHeaderView, QLineEdit, QTableView, QWidget

from lapestudio.core.run_folder import RunFolder
from lapestudio.jobs.listing import RunSummary
from lapestudio.ui.job_words import kind_name, state_name
from lapestudio.ui.panels.panel import Panel
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.steps import Step, step_name, step_state
from lapestudio.ui.text import isolate, language_name, moment_text, path_text
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.card import Card
from lapestudio.ui.widgets.labels import button, label

Index = QModelIndex | QPersistentModelIndex
_TABLE_HEIGHT = 240
_NO_PARENT = QModelIndex()


class RunTable(QAbstractTableModel):
    """One row a run.

    Args:
        parent: the Qt parent.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runs: list[RunSummary] = []

    def show_runs(self, runs: list[RunSummary]) -> None:
        """Show other runs."""
        if runs == self._runs:
            return
        self.beginResetModel()
        self._runs = runs
        self.endResetModel()

    def run_at(self, row: int) -> RunSummary:
        """Return the run of a row."""
        return self._runs[row]

    def rowCount(self, parent: Index = _NO_PARENT) -> int:  # noqa: N802 - Qt's name
        """Return the number of runs."""
        return 0 if parent.isValid() else len(self._runs)

    def columnCount(self, parent: Index = _NO_PARENT) -> int:  # noqa: N802 - Qt's name
        """Return the number of columns."""
        return 0 if parent.isValid() else 4

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """Return a heading."""
        if role != Qt.ItemDataRole.DisplayRole or orientation != Qt.Orientation.Horizontal:
            return None
        headings = (self.tr("Run"), self.tr("Started"), self.tr("State"), self.tr("What it said last"))
        return headings[section] if 0 <= section < len(headings) else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Return what stands in a cell."""
        if not index.isValid():
            return None
        run = self._runs[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(run, index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            return run.message or path_text(run.path)
        return None

    def _text(self, run: RunSummary, column: int) -> str:
        if column == 0:
            name = language_name(run.label) if run.kind == "train" else run.label
            return f"{kind_name(run.kind)} · {isolate(name)}"
        if column == 1:
            return moment_text(run.started)
        return state_name(run.state) if column == 2 else run.message  # noqa: PLR2004 - a column


class ProjectPanel(Panel):
    """The project as a whole."""

    def __init__(self, session: ProjectSession, parent: QWidget | None = None) -> None:
        super().__init__(
            session,
            step_name(Step.PROJECT),
            self.tr("Everything is saved as you work. Jobs go on when the window is closed, and are here again after."),
            parent,
        )
        column = self.single_column()
        column.addWidget(self._next_card())
        column.addWidget(self._project_card())
        column.addWidget(self._runs_card())
        column.addStretch(1)
        for signal in (
            session.document_changed,
            session.report_changed,
            session.run_shown,
            session.survey.language_changed,
        ):
            signal.connect(self._on_state_changed)
        session.runs_changed.connect(self._on_runs_changed)
        self._on_state_changed()
        self._on_runs_changed()

    def _next_card(self) -> Card:
        card = Card(self.tr("Next step"), parent=self)
        self._next_text = label("", parent=card)
        self._next_button = button("", "primary", name="nextStep", parent=card)
        self._next_button.clicked.connect(self._on_next_clicked)
        line = QHBoxLayout()
        line.setSpacing(Space.L)
        line.addWidget(self._next_text, 1)
        line.addWidget(self._next_button)
        card.body.addLayout(line)
        return card

    def _project_card(self) -> Card:
        card = Card(self.tr("This project"), parent=self)
        self.name = QLineEdit(self.session.document.name, card)
        self.name.setObjectName("projectTitle")
        self.name.setAccessibleName(self.tr("Project name"))
        self.name.editingFinished.connect(self._on_name_edited)
        folder = button(self.tr("Open folder"), name="openProjectFolder", parent=card)
        folder.clicked.connect(self._on_folder_clicked)
        other = button(self.tr("Other project…"), name="otherProject", parent=card)
        other.clicked.connect(self.start_requested)
        line = QHBoxLayout()
        line.setSpacing(Space.S)
        line.addWidget(self.name, 1)
        line.addWidget(folder)
        line.addWidget(other)
        card.body.addLayout(line)
        card.body.addWidget(label(path_text(self.session.project.folder), "muted", parent=card))
        return card

    def _runs_card(self) -> Card:
        card = Card(
            self.tr("Runs"),
            self.tr("Each run is a folder of its own with what was asked, what happened and what came out."),
            self,
        )
        self._table_model = RunTable(self)
        self._table = QTableView(card)
        self._table.setObjectName("runs")
        self._table.setModel(self._table_model)
        self._table.setAccessibleName(self.tr("Runs"))
        self._table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self._table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self._table.setShowGrid(False)
        self._table.setTabKeyNavigation(False)
        self._table.setWordWrap(False)
        self._table.verticalHeader().hide()
        header = self._table.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeading | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(3, QHeaderView.ResizeMode.Stretch)
        self._table.setMinimumHeight(_TABLE_HEIGHT)
        self._table.activated.connect(self._on_show_clicked)
        self._no_runs = label(self.tr("Nothing has been run yet."), "muted", parent=card)
        self._show_run = button(self.tr("Show this run"), name="showRun", parent=card)
        self._show_run.clicked.connect(self._on_show_clicked)
        self._table.selectionModel().selectionChanged.connect(self._on_selection_changed)
        line = QHBoxLayout()
        line.addWidget(self._show_run)
        line.addStretch(1)
        card.body.addWidget(self._no_runs)
        card.body.addWidget(self._table)
        card.body.addLayout(line)
        return card

    @Slot()
    def _on_state_changed(self) -> None:
        step, sentence = self._next()
        self._next_step = step
        self._next_text.setText(sentence)
        text = self.tr("Go to {step}").format(step=step_name(step))
        self._next_button.setText(text)
        self._next_button.setAccessibleName(text)

    def _next(self) -> tuple[Step, str]:
        sentences = {
            Step.MODEL: self.tr("Choose the model to teach."),
            Step.LANGUAGES: self.tr("Add the languages to compare, and text for each of them."),
            Step.IDENTIFY: self.tr("Find the neurons that work for each language."),
            Step.TRAIN: self.tr("Train the neurons of the language to teach."),
            Step.EXPORT: self.tr("Write the adapted model, so that every other tool can load it."),
        }
        for step, sentence in sentences.items():
            if step_state(self.session, step).kind != "done":
                return step, sentence
        return Step.EXPORT, self.tr("All is done: the adapted model has been written and verified.")

    @Slot()
    def _on_runs_changed(self) -> None:
        self._table_model.show_runs(self.session.run_list)
        has_runs = bool(self.session.run_list)
        self._table.setVisible(has_runs)
        self._show_run.setVisible(has_runs)
        self._no_runs.setVisible(not has_runs)
        self._on_selection_changed()

    @Slot()
    def _on_selection_changed(self) -> None:
        self._show_run.setEnabled(self._chosen() is not None)

    def _chosen(self) -> RunSummary | None:
        rows = self._table.selectionModel().selectedRows()
        run = self._table_model.run_at(rows[0].row()) if rows else None
        return run if run is not None and run.kind in ("identify", "train", "export") else None

    @Slot()
    def _on_show_clicked(self) -> None:
        run = self._chosen()
        if run is not None:
            self.session.show(RunFolder(run.path))
            self.step_requested.emit(Step(run.kind))

    @Slot()
    def _on_next_clicked(self) -> None:
        self.step_requested.emit(self._next_step)

    @Slot()
    def _on_name_edited(self) -> None:
        name = self.name.text().strip()
        if name:
            self.session.update(name=name)
        else:
            self.name.setText(self.session.document.name)

    @Slot()
    def _on_folder_clicked(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.session.project.folder)))
