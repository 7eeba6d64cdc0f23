"""An open project as the window sees it: the document, what is known of model and text, and the runs that are shown.

Panels read from here, write through `update`, and listen to the signals.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError
from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QUndoStack

from lapestudio.core.atomic import write_text_atomically
from lapestudio.core.errors import UserError
from lapestudio.core.model_report import ModelReport
from lapestudio.core.neuron_set import save_neuron_set
from lapestudio.core.project import Project, ProjectDocument, ProjectLanguage
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import FetchSpec, JobSpec, job_label
from lapestudio.jobs.listing import RunSummary, list_runs
from lapestudio.jobs.queries import inspect_model
from lapestudio.ui.corpus_survey import CorpusSurvey
from lapestudio.ui.query_thread import IsCancelled, LatestAnswer
from lapestudio.ui.running_jobs import FollowedRun, RunningJobs
from lapestudio.ui.selection import SelectionState
from lapestudio.ui.undo import DocumentChange

_RUN_FIELDS = {"identify": "identify_run", "train": "train_run"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that went wrong, in words."""

    message: str
    details: str = ""


class ProjectSession(QObject):
    """Holds a project while its window is open.

    Args:
        project: the project.
        parent: the Qt parent.

    Signals:
        document_changed: the project's document has been changed and saved.
        report_changed: what is known of the model, or that it is being looked at, has changed.
        runs_changed: the list of runs has been read again.
        run_shown: a `FollowedRun` has become the one that its panel shows.
        save_failed: one sentence.
    """

    document_changed = Signal()
    report_changed = Signal()
    runs_changed = Signal()
    run_shown = Signal(object)
    save_failed = Signal(str)

    def __init__(self, project: Project, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.project = project
        self.jobs = RunningJobs(self)
        self.jobs.run_over.connect(self._on_run_over)
        self.report: ModelReport | None = None
        self.report_fault: Fault | None = None
        self.run_list: list[RunSummary] = []
        self.survey = CorpusSurvey(project, self)
        self.undo_stack = QUndoStack(self)
        self.selection = SelectionState(self)
        self._shown: dict[str, FollowedRun] = {}
        self._inspector = LatestAnswer(self)
        self._inspector.answered.connect(self._on_inspected)
        self._inspector.failed.connect(self._on_inspection_failed)
        self._inspector.busy_changed.connect(self._on_inspector_busy_changed)
        self._lister = LatestAnswer(self, interrupts=False)
        self._lister.answered.connect(self._on_runs_listed)

    @property
    def document(self) -> ProjectDocument:
        """The project's document."""
        return self.project.document

    @property
    def is_inspecting(self) -> bool:
        """Whether the model is being looked at."""
        return self._inspector.is_busy

    def begin(self) -> None:
        """Show what the project holds, and take up its running jobs."""
        self._read_report()
        for name in (self.document.identify_run, self.document.train_run):
            if name is not None and (self.project.runs_folder / name).is_dir():
                self._show(self.jobs.follow(RunFolder(self.project.runs_folder / name)))
        self.refresh_runs()
        if self.document.model is not None:
            self.inspect_model()
        self.survey.look_at_everything()

    def shut_down(self) -> None:
        """Stop all threads; jobs go on."""
        self.survey.shut_down()
        self._inspector.shut_down()
        self._lister.shut_down()
        self.jobs.shut_down()

    def update(self, **changes: object) -> bool:
        """Change the document and save it; say whether that worked."""
        try:
            self.project.update(**changes)
        except ValidationError as error:
            self.save_failed.emit(str(error))
            return False
        except OSError as error:
            message = self.tr("The project could not be saved to {file}: {reason}.")
            self.save_failed.emit(message.format(file=self.project.file, reason=error.strerror))
            return False
        self.document_changed.emit()
        return True

    # Model

    def choose_model(self, source: str) -> None:
        """Take another model: a folder, a GGUF file or a hub id."""
        path = Path(source)
        kept = str(self.project.relative(path)) if path.is_absolute() else source
        if kept != self.document.model:
            self.report, self.report_fault = None, None
        if self.update(model=kept):
            self.inspect_model()

    def inspect_model(self) -> None:
        """Look at the model."""
        source = self.project.model_source
        if source is None:
            return
        self.report_fault = None

        file = self.project.model_report_file

        def look(is_cancelled: IsCancelled) -> object:
            report = inspect_model(source, is_cancelled=is_cancelled)
            # Here, since a disk may take longer than the window can wait. Without the file a reopened project
            # shows its model a little later.
            with contextlib.suppress(OSError):
                write_text_atomically(file, report.model_dump_json(indent=2) + "\n")
            return report

        self._inspector.ask(look)

    def _read_report(self) -> None:
        try:
            report = ModelReport.model_validate_json(self.project.model_report_file.read_bytes())
        except (FileNotFoundError, ValidationError):
            return  # Nothing kept, or kept by another version: the model is looked at anyway.
        if report.source == self.project.model_source:
            self.report = report
            self.survey.set_model(report.source if report.supported else None)
            self.report_changed.emit()

    @Slot(object)
    def _on_inspected(self, report: ModelReport) -> None:
        self.report, self.report_fault = report, None
        self.survey.set_model(report.source if report.supported else None)
        self.report_changed.emit()

    @Slot(str, str)
    def _on_inspection_failed(self, message: str, details: str) -> None:
        self.report, self.report_fault = None, Fault(message=message, details=details)
        self.report_changed.emit()

    @Slot(bool)
    def _on_inspector_busy_changed(self, _is_busy: bool) -> None:
        self.report_changed.emit()

    # Languages

    def set_languages(self, languages: tuple[ProjectLanguage, ...], what: str) -> None:
        """Replace the list of languages; what no longer exists is forgotten elsewhere in the document too.

        Args:
            languages: the new list.
            what: what is done thereby, in the words of the menu that undoes it.
        """
        codes = {language.code for language in languages}
        document = self.document
        before: dict[str, object] = {
            "languages": document.languages,
            "controls": document.controls,
            "target": document.target,
        }
        after: dict[str, object] = {
            "languages": languages,
            "controls": tuple(code for code in document.controls if code in codes),
            "target": document.target if document.target in codes else None,
        }
        if before != after:
            self.undo_stack.push(DocumentChange(what, before, after, self._apply_languages))

    def change_language(self, code: str, what: str, change: Callable[[ProjectLanguage], ProjectLanguage]) -> None:
        """Replace one language of the list by what `change` makes of it; `what` as in `set_languages`."""
        languages = tuple(change(known) if known.code == code else known for known in self.document.languages)
        self.set_languages(languages, what)

    def _apply_languages(self, fields: dict[str, object]) -> None:
        before = {language.code: language for language in self.document.languages}
        if self.update(**fields):
            for language in self.document.languages:
                if before.get(language.code) != language:
                    self.survey.look_at(language.code)

    def fetch(self, spec: FetchSpec) -> None:
        """Fetch text; it is added to its language when it is there, even if the window was closed meanwhile.

        Raises:
            UserError: the run folder cannot be made.
        """
        followed = self.start(spec)
        self.update(fetches=(*self.document.fetches, followed.run.path.name))

    def _take_fetched(self, run: RunFolder) -> None:
        """Add what a fetch has brought to its language."""
        name = run.path.name
        if name not in self.document.fetches:
            return
        self.update(fetches=tuple(other for other in self.document.fetches if other != name))
        spec = run.read_spec()
        codes = {language.code for language in self.document.languages}
        file = run.fetched_text_file
        status = run.read_status()
        # A fetch that was stopped has brought as much as its user wanted, one that failed has not.
        is_wanted = status is not None and status.state in ("done", "stopped")
        if isinstance(spec, FetchSpec) and spec.language in codes and is_wanted and file.is_file():
            path = self.project.relative(file)
            self.change_language(
                spec.language,
                self.tr("add {data_set}").format(data_set=spec.dataset),
                lambda language: language.model_copy(update={"paths": (*language.paths, path)}),
            )

    # Runs

    def shown(self, kind: str) -> FollowedRun | None:
        """Return the run of a kind that its panel shows."""
        return self._shown.get(kind)

    def start(self, spec: JobSpec) -> FollowedRun:
        """Start a job in a new run folder, and show it.

        Raises:
            UserError: the run folder cannot be made.
        """
        now = datetime.now().astimezone()
        path = RunFolder.new_path(self.project.runs_folder, spec.kind, job_label(spec), now)
        return self._work_on(RunFolder.create(path, spec), spec.kind)

    def resume(self, run: RunFolder) -> FollowedRun:
        """Go on with a stopped or failed run."""
        return self._work_on(run, run.read_spec().kind)

    def show(self, run: RunFolder) -> None:
        """Make a run the one that its panel shows."""
        self._keep_as_shown(run.read_spec().kind, run)
        self._show(self.jobs.follow(run))

    def load_selection(self) -> None:
        """Select neurons from the counts of the identification that is shown."""
        followed = self.shown("identify")
        if followed is not None and not followed.is_working and followed.run.counts_file.exists():
            self.selection.load(followed.run.counts_file, self.document.selection)
        else:
            self.selection.load(None, self.document.selection)

    def neurons_to_train(self) -> Path | None:
        """Return the file of the neuron set to train with; the selection in view is written for it.

        Raises:
            UserError: the file cannot be written.
        """
        if self.document.neurons is not None:
            return self.project.resolve(self.document.neurons)
        selected = self.selection.current
        if selected is None:
            return None
        settings = selected.settings
        name = f"{selected.counted.path.parent.name}_{settings.top_rate:g}_{settings.activity_quantile:g}.safetensors"
        path = self.project.neurons_folder / name
        try:
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise UserError(f"{path.parent} cannot be made: {error.strerror}.") from error
        save_neuron_set(selected.neurons, path)
        return path

    def refresh_runs(self) -> None:
        """Read the list of runs again."""
        folder = self.project.runs_folder

        def look(_is_cancelled: IsCancelled) -> object:
            return list_runs(folder)

        self._lister.ask(look)

    def _work_on(self, run: RunFolder, kind: str) -> FollowedRun:
        followed = self.jobs.start(run)
        self._keep_as_shown(kind, run)
        self._show(followed)
        self.refresh_runs()
        return followed

    def _keep_as_shown(self, kind: str, run: RunFolder) -> None:
        field = _RUN_FIELDS.get(kind)
        if field is not None and run.path.parent == self.project.runs_folder:
            self.update(**{field: run.path.name})

    def _show(self, followed: FollowedRun) -> None:
        try:
            kind = followed.run.read_spec().kind
        except UserError as error:
            self.save_failed.emit(str(error))
            return
        self._shown[kind] = followed
        if kind == "identify":
            self.load_selection()
        self.run_shown.emit(followed)

    @Slot(object)
    def _on_runs_listed(self, runs: list[RunSummary]) -> None:
        self.run_list = runs
        for summary in runs:
            if summary.is_running and self.jobs.of(summary.path) is None:
                self.jobs.follow(RunFolder(summary.path))
        for summary in runs:
            # The newest run of a kind whose choice is not kept in the document.
            if summary.kind == "export" and "export" not in self._shown:
                self._show(self.jobs.follow(RunFolder(summary.path)))
        for summary in runs:
            # A fetch that ended while no window was open.
            if not summary.is_running:
                self._take_fetched(RunFolder(summary.path))
        self.runs_changed.emit()

    @Slot(object)
    def _on_run_over(self, followed: FollowedRun) -> None:
        self.refresh_runs()
        self._take_fetched(followed.run)
        if followed is self.shown("identify"):
            self.load_selection()
        self.run_shown.emit(followed)
