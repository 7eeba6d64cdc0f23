"""The steps of the line, and how far each is: what the rail shows."""

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from PySide6.QtCore import QCoreApplication

from lapestudio.core.events import ErrorEvent, StoppedEvent
from lapestudio.core.specs import MIN_LANGUAGES
from lapestudio.ui.running_jobs import FollowedRun
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.text import count_text, isolate, language_name, percent_text

StateKind = Literal["todo", "ready", "working", "done", "failed"]


class Step(Enum):
    """A step; the value is its name in settings and object names."""

    PROJECT = "project"
    MODEL = "model"
    LANGUAGES = "languages"
    IDENTIFY = "identify"
    TRAIN = "train"
    EXPORT = "export"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepState:
    """How far a step is, for the icon and in a few words."""

    kind: StateKind
    text: str


def step_name(step: Step) -> str:
    """Return the name of a step as the user reads it."""
    return {
        Step.PROJECT: _tr("Project"),
        Step.MODEL: _tr("Model"),
        Step.LANGUAGES: _tr("Languages"),
        Step.IDENTIFY: _tr("Identify"),
        Step.TRAIN: _tr("Train"),
        Step.EXPORT: _tr("Export"),
    }[step]


def kind_text(kind: StateKind) -> str:
    """Return the word for a state, for those who cannot see the icon."""
    return {
        "todo": _tr("to do"),
        "ready": _tr("ready"),
        "working": _tr("working"),
        "done": _tr("done"),
        "failed": _tr("needs attention"),
    }[kind]


def step_state(session: ProjectSession, step: Step) -> StepState:
    """Return how far a step of an open project is."""
    return {
        Step.PROJECT: _project_state,
        Step.MODEL: _model_state,
        Step.LANGUAGES: _languages_state,
        Step.IDENTIFY: _identify_state,
        Step.TRAIN: _train_state,
        Step.EXPORT: _export_state,
    }[step](session)


def can_identify(session: ProjectSession) -> str:
    """Return what is missing before neurons can be identified; empty where nothing is."""
    if session.document.model is None:
        return _tr("Choose a model first.")
    if session.report is not None and not session.report.supported:
        return _tr("The chosen model is not supported; choose another one.")
    if session.report_fault is not None:
        return _tr("The chosen model cannot be read; choose another one.")
    if len(languages_with_text(session)) < MIN_LANGUAGES:
        return _tr("Add at least two languages with text: a neuron is specific only in comparison.")
    return ""


def languages_with_text(session: ProjectSession) -> list[str]:
    """Return the codes of the languages that have files."""
    return [language.code for language in session.document.languages if language.paths]


def has_neurons(session: ProjectSession) -> bool:
    """Say whether there is a neuron set to train with."""
    identified = session.shown("identify")
    return session.document.neurons is not None or (identified is not None and identified.run.counts_file.exists())


def _project_state(session: ProjectSession) -> StepState:
    return StepState(kind="done", text=isolate(session.document.name))


def _model_state(session: ProjectSession) -> StepState:
    if session.document.model is None:
        return StepState(kind="ready", text=_tr("Choose one"))
    if session.report_fault is not None:
        return StepState(kind="failed", text=_tr("Cannot be read"))
    if session.report is None:
        return StepState(kind="working", text=_tr("Looking at it…"))
    if not session.report.supported:
        return StepState(kind="failed", text=_tr("Not supported"))
    return StepState(kind="done", text=isolate(session.report.architecture))


def _languages_state(session: ProjectSession) -> StepState:
    number = len(session.document.languages)
    if number == 0:
        return StepState(kind="ready", text=_tr("Add languages and text"))
    with_text = len(languages_with_text(session))
    if any(summary.problems for summary in session.survey.summaries.values()):
        return StepState(kind="failed", text=_tr("Some files have problems"))
    if with_text < number or with_text < MIN_LANGUAGES:
        text = _tr("{with_text} of {number} have text")
        return StepState(
            kind="ready", text=text.format(with_text=count_text(with_text), number=count_text(max(number, 2)))
        )
    return StepState(kind="done", text=_tr("{number} languages").format(number=count_text(number)))


def _identify_state(session: ProjectSession) -> StepState:
    run = session.shown("identify")
    if run is not None and (state := _run_state(run, done=_tr("Neurons found"))) is not None:
        return state
    missing = can_identify(session)
    return StepState(kind="todo", text=_tr("Not yet")) if missing else StepState(kind="ready", text=_tr("Ready"))


def _train_state(session: ProjectSession) -> StepState:
    run = session.shown("train")
    if run is not None and (state := _run_state(run, done=_tr("Trained"))) is not None:
        return state
    if has_neurons(session):
        target = session.document.target
        text = _tr("Ready") if target is None else _tr("Ready: {language}").format(language=language_name(target))
        return StepState(kind="ready", text=text)
    return StepState(kind="todo", text=_tr("After Identify"))


def _export_state(session: ProjectSession) -> StepState:
    run = session.shown("export")
    if run is not None and (state := _run_state(run, done=_tr("Written and verified"))) is not None:
        return state
    trained = session.shown("train")
    if trained is not None and not trained.is_working and trained.run.rows_file("last").exists():
        return StepState(kind="ready", text=_tr("Ready"))
    return StepState(kind="todo", text=_tr("After Train"))


def _run_state(followed: FollowedRun, *, done: str) -> StepState | None:
    if followed.is_working:
        progress = followed.history.progress
        if progress is not None and progress.total:
            return StepState(kind="working", text=percent_text(min(1.0, progress.done / progress.total), 0))
        return StepState(kind="working", text=_tr("Starting…"))
    end = followed.history.terminal
    if end is None:
        return None
    if isinstance(end, ErrorEvent):
        return StepState(kind="failed", text=_tr("Failed"))
    if isinstance(end, StoppedEvent):
        return StepState(kind="ready", text=_tr("Stopped"))
    return StepState(kind="done", text=done)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Steps", text)
