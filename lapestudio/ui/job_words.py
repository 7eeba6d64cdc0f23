"""What is said about jobs in plain words: their kinds, what stopping does, how they ended."""

from PySide6.QtCore import QCoreApplication

from lapestudio.core.events import ErrorEvent, ResultEvent, TerminalEvent
from lapestudio.jobs.listing import RunListState


def kind_name(kind: str) -> str:
    """Return the name of a kind of job."""
    return {
        "identify": _tr("Identification"),
        "train": _tr("Training"),
        "evaluate": _tr("Evaluation"),
        "export": _tr("Export"),
        "fetch": _tr("Fetching text"),
    }.get(kind, _tr("Job"))


def state_name(state: RunListState) -> str:
    """Return the word for the state of a run."""
    return {
        "starting": _tr("starting"),
        "running": _tr("running"),
        "done": _tr("done"),
        "stopped": _tr("stopped"),
        "failed": _tr("failed"),
        "crashed": _tr("crashed"),
    }[state]


def stop_words(kind: str, stage: int) -> str:
    """Return what the stop button says at a stage of stopping (0: not asked yet)."""
    if stage == 0:
        return {"train": _tr("Stop and keep"), "identify": _tr("Stop counting"), "export": _tr("Stop writing")}.get(
            kind, _tr("Stop")
        )
    return _tr("End now") if stage == 1 else _tr("Ending…")


def stop_sentence(kind: str, stage: int) -> str:
    """Return what the stop button does, in one sentence."""
    if stage > 0:
        return _tr("Ends the process at once; what came after its last checkpoint is lost.")
    return {
        "train": _tr(
            "Finishes the current step and writes a checkpoint: the run can be resumed or exported from there."
        ),
        "identify": _tr(
            "Ends after the current batch; neurons are selected from what was counted, if every language was reached."
        ),
        "export": _tr("Ends the export and removes what it has written; the training stays as it is."),
        "fetch": _tr("Ends the fetch; what has been fetched is kept and can be used."),
    }.get(kind, _tr("Ends the job after its current step."))


def end_text(end: TerminalEvent) -> str:
    """Return how a job ended, in one sentence."""
    if isinstance(end, ErrorEvent):
        return end.message
    if isinstance(end, ResultEvent):
        return str(end.summary.get("text") or _tr("Done."))
    return end.text


def _tr(text: str) -> str:
    return QCoreApplication.translate("JobWords", text)
