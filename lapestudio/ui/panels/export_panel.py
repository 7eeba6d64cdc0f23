"""Export: write the adapted model so that every other tool loads it, and check what was written."""

from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QFormLayout, QHBoxLayout, QLineEdit, QWidget

from lapestudio.core.errors import UserError
from lapestudio.core.events import ResultEvent, TerminalEvent
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import ExportSpec
from lapestudio.jobs.listing import RunSummary
from lapestudio.ui.job_words import stop_sentence, stop_words
from lapestudio.ui.panels.run_panel import RunPanel
from lapestudio.ui.running_jobs import FollowedRun
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.steps import Step, step_name
from lapestudio.ui.text import isolate, language_name, moment_text, path_text, size_text
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.card import Card
from lapestudio.ui.widgets.fact_grid import Fact, FactGrid
from lapestudio.ui.widgets.labels import button, centre_labels, label
from lapestudio.ui.widgets.message_bar import MessageBar
from lapestudio.ui.widgets.number_fields import ChoiceField
from lapestudio.ui.widgets.progress_view import ProgressView


class ExportPanel(RunPanel):
    """Starts exports, and shows what was written."""

    def __init__(self, session: ProjectSession, parent: QWidget | None = None) -> None:
        super().__init__(
            "export",
            session,
            step_name(Step.EXPORT),
            self.tr(
                "Writes a complete model with the trained neurons in their places. Everything else is copied from the "
                "base model, byte for byte."
            ),
            parent,
        )
        self._is_filling = False
        self._folder_is_own = False
        column = self.single_column()
        column.addWidget(self._what_card())
        column.addWidget(self._result_card())
        column.addStretch(1)
        session.runs_changed.connect(self._show_runs)
        session.run_shown.connect(self._on_any_run_shown)
        self._show_runs()
        self.take_up()

    def show_run(self, followed: FollowedRun | None) -> None:
        """Show another run from its history so far."""
        self._result_box.setVisible(followed is not None)
        self._show_state()
        if followed is not None:
            self._progress.show_history(followed.history, is_stopping=followed.stop_stage > 0)

    def show_events(self, followed: FollowedRun, events: list[object]) -> None:  # noqa: ARG002 - the history has them
        """Show how far the run is."""
        self._progress.show_history(followed.history, is_stopping=followed.stop_stage > 0)

    def show_stop(self, followed: FollowedRun) -> None:
        """Show the next means of stopping."""
        self.stop_button.setText(stop_words("export", followed.stop_stage))
        self.stop_button.setToolTip(f"<qt>{stop_sentence('export', followed.stop_stage)}</qt>")

    def show_end(self, followed: FollowedRun, end: TerminalEvent) -> None:
        """Show what was written, or why nothing was."""
        super().show_end(followed, end)
        self._show_state()
        if isinstance(end, ResultEvent):
            self._show_written(followed, end)

    def _what_card(self) -> Card:
        card = Card(self.tr("What to write"), parent=self)
        self.training = ChoiceField(card)
        self.training.setObjectName("exportTraining")
        self.training.setAccessibleName(self.tr("Training"))
        self.training.currentIndexChanged.connect(self._on_training_chosen)
        self.checkpoint = ChoiceField(card)
        self.checkpoint.setObjectName("exportCheckpoint")
        self.checkpoint.setAccessibleName(self.tr("Checkpoint"))
        self.checkpoint.addItem(self.tr("Best: lowest loss on held-out text"), "best")
        self.checkpoint.addItem(self.tr("Last: as it was when training ended"), "last")
        self.number_format = ChoiceField(card)
        self.number_format.setObjectName("exportDtype")
        self.number_format.setAccessibleName(self.tr("Number format"))
        for value, text in (
            ("keep", self.tr("As in the base model")),
            ("float32", self.tr("32 bits (float32)")),
            ("bfloat16", self.tr("16 bits (bfloat16)")),
            ("float16", self.tr("16 bits (float16)")),
        ):
            self.number_format.addItem(text, value)
        self.number_format.choose(self.session.document.export_dtype)
        self.number_format.currentIndexChanged.connect(self._on_format_chosen)
        form = QFormLayout()
        form.setHorizontalSpacing(Space.XL)
        form.setVerticalSpacing(Space.M)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow(self.tr("Training"), self.training)
        form.addRow(self.tr("Checkpoint"), self.checkpoint)
        form.addRow(self.tr("Number format"), self.number_format)
        form.addRow(self.tr("Folder"), self._folder_line(card))
        centre_labels(form)
        self._missing = label("", "muted", parent=card)
        self.start_button = button(self.tr("Write the model"), "primary", name="startExport", parent=card)
        self.start_button.clicked.connect(self._on_start_clicked)
        line = QHBoxLayout()
        line.addWidget(self.start_button)
        line.addWidget(self._missing, 1)
        card.body.addLayout(form)
        card.body.addLayout(line)
        return card

    def _folder_line(self, parent: QWidget) -> QHBoxLayout:
        self.folder = QLineEdit(parent)
        self.folder.setObjectName("exportFolder")
        self.folder.setAccessibleName(self.tr("Folder"))
        self.folder.setPlaceholderText(self.tr("a new folder"))
        self.folder.textEdited.connect(self._on_folder_edited)
        browse = button(self.tr("Choose…"), name="browseExportFolder", parent=parent)
        browse.clicked.connect(self._on_browse_clicked)
        line = QHBoxLayout()
        line.setSpacing(Space.S)
        line.addWidget(self.folder, 1)
        line.addWidget(browse)
        return line

    def _result_card(self) -> Card:
        self._result_box = card = Card(self.tr("What was written"), parent=self)
        self._progress = ProgressView(card)
        self.stop_button = button(stop_words("export", 0), name="stopExport", parent=card)
        self.stop_button.clicked.connect(self._on_stop_clicked)
        self.verified = MessageBar(card)
        self._facts = FactGrid(card)
        self._open = button(self.tr("Open folder"), name="openExport", parent=card)
        self._open.clicked.connect(self._on_open_clicked)
        stop_line, open_line = QHBoxLayout(), QHBoxLayout()
        stop_line.addWidget(self.stop_button)
        stop_line.addStretch(1)
        open_line.addWidget(self._open)
        open_line.addStretch(1)
        card.body.addWidget(self._progress)
        card.body.addLayout(stop_line)
        card.body.addWidget(self.verified)
        card.body.addWidget(self._facts)
        card.body.addLayout(open_line)
        return card

    def _show_state(self) -> None:
        is_working = self.is_working
        self._progress.setVisible(is_working)
        self.stop_button.setVisible(is_working)
        if is_working:
            self.verified.clear()
        for part in (self._facts, self._open):
            part.hide()
        self._show_missing()

    def _show_missing(self) -> None:
        missing = ""
        if not self.is_working:
            if self.training.count() == 0:
                missing = self.tr("Train first: there is nothing to write yet.")
            elif not self.folder.text().strip():
                missing = self.tr("Choose a folder.")
        self._missing.setText(missing)
        self.start_button.setEnabled(not missing and not self.is_working)

    def _show_written(self, followed: FollowedRun, end: ResultEvent) -> None:
        out = self._out_of(followed)
        is_verified = bool(end.summary.get("verified"))
        text = str(end.summary.get("text") or self.tr("The model has been written."))
        self.verified.show_message("success" if is_verified else "info", text)
        if out is None or not out.is_dir():
            self.verified.show_message("warning", self.tr("The folder of this export is not there any more."))
            return
        files = sorted(path for path in out.rglob("*") if path.is_file())
        total = sum(file.stat().st_size for file in files)
        facts = [Fact(name=self.tr("Folder"), value=path_text(out))]
        facts += [
            Fact(name=isolate(str(file.relative_to(out))), value=size_text(file.stat().st_size)) for file in files
        ]
        facts.append(Fact(name=self.tr("Together"), value=size_text(total)))
        self._facts.set_facts(facts)
        self._facts.show()
        self._open.show()

    def _out_of(self, followed: FollowedRun) -> Path | None:
        try:
            spec = followed.run.read_spec()
        except UserError:
            return None
        return spec.out if isinstance(spec, ExportSpec) else None

    @Slot()
    def _show_runs(self) -> None:
        self._is_filling = True
        chosen = self.training.currentData() or self.session.document.train_run
        runs = [run for run in self.session.run_list if run.kind == "train" and run.has_checkpoint]
        self.training.clear()
        for run in runs:
            self.training.addItem(_run_text(run), run.path.name)
        self.training.choose(chosen)
        self._is_filling = False
        self._suggest_folder()
        self._show_missing()

    def _suggest_folder(self) -> None:
        run = self._chosen_run()
        if self._folder_is_own or run is None:
            return
        base = self.session.project.folder / "exports" / f"{run.label}-{datetime.now().astimezone():%Y-%m-%d}"
        path, number = base, 2
        while path.exists():
            path, number = base.with_name(f"{base.name}-{number}"), number + 1
        self.folder.setText(str(path))

    def _chosen_run(self) -> RunSummary | None:
        name = self.training.currentData()
        return next((run for run in self.session.run_list if run.path.name == name), None)

    @Slot(object)
    def _on_any_run_shown(self, followed: FollowedRun) -> None:
        # A training that has just begun to be shown is the one that will be exported.
        if followed is self.session.shown("train"):
            self.training.choose(followed.run.path.name)

    @Slot()
    def _on_training_chosen(self) -> None:
        if not self._is_filling:
            self._suggest_folder()
            self._show_missing()

    @Slot()
    def _on_format_chosen(self) -> None:
        self.session.update(export_dtype=self.number_format.currentData())

    @Slot(str)
    def _on_folder_edited(self, text: str) -> None:
        self._folder_is_own = bool(text.strip())
        self._show_missing()

    @Slot()
    def _on_browse_clicked(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, self.tr("An empty folder for the model"), self.folder.text())
        if chosen:
            self._folder_is_own = True
            self.folder.setText(chosen)
            self._show_missing()

    @Slot()
    def _on_start_clicked(self) -> None:
        run = self._chosen_run()
        if run is None:
            return
        out = Path(self.folder.text().strip()).expanduser()
        self._folder_is_own = False
        self.start(
            ExportSpec(
                trained=RunFolder(run.path).path,
                out=out.absolute(),
                checkpoint=self.checkpoint.currentData(),
                dtype=self.number_format.currentData(),
            )
        )

    @Slot()
    def _on_stop_clicked(self) -> None:
        if self.followed is not None:
            self.followed.stop()

    @Slot()
    def _on_open_clicked(self) -> None:
        out = None if self.followed is None else self._out_of(self.followed)
        if out is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(out)))


def _run_text(run: RunSummary) -> str:
    return f"{isolate(language_name(run.label))} · {moment_text(run.started)} · {isolate(run.path.name)}"
