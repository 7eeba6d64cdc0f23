"""The jobs that the window follows: one thread a run, what each has said so far, and how it is stopped.

In: run folders. Out: signals with the run folder in front, which panels and the job bar listen to.
"""

from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from lapestudio.core.errors import UserError
from lapestudio.core.events import TerminalEvent
from lapestudio.core.run_folder import RunFolder
from lapestudio.jobs import stopping
from lapestudio.jobs.history import RunHistory
from lapestudio.ui.job_thread import JobThread
from lapestudio.ui.query_thread import IsCancelled, LatestAnswer

ASK_PATIENCE_MS = 60_000
TERMINATE_PATIENCE_MS = 10_000


class FollowedRun(QObject):
    """One run, the thread that follows it, and its history.

    Args:
        run: the run folder.
        starts: start the job first.
        was_running: whether the job is at work, not only read again.
        parent: the Qt parent.

    Signals:
        events_received: a list of events; `history` holds them already.
        job_over: the terminal event.
        stop_changed: the next means of stopping is due.
    """

    events_received = Signal(list)
    job_over = Signal(object)
    stop_changed = Signal()

    def __init__(self, run: RunFolder, *, starts: bool, was_running: bool, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.run = run
        self.history = RunHistory()
        self.is_working = starts or was_running
        self.is_over = False
        self.stop_stage = 0
        """0 not asked, 1 asked, 2 told to end, 3 killed."""
        self._stopper = LatestAnswer(self, interrupts=False)
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.timeout.connect(self._on_patience_over)
        self._thread = JobThread(run, starts=starts, parent=self)
        self._thread.events_received.connect(self._on_events_received)
        self._thread.job_over.connect(self._on_job_over)

    def begin(self) -> None:
        """Start to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the job to stop; asked again, or after a minute, end its processes; then kill them."""
        if self.is_over:
            return
        self.stop_stage = min(self.stop_stage + 1, 3)
        if self.stop_stage == 1:
            stopping.request(self.run)
            self._patience.start(ASK_PATIENCE_MS)
        else:
            # Looking through the processes of the machine takes longer than a frame.
            end = stopping.terminate if self.stop_stage == 2 else stopping.kill  # noqa: PLR2004 - a stage
            run = self.run

            def end_processes(_is_cancelled: IsCancelled) -> object:
                return end(run)

            self._stopper.ask(end_processes)
            self._patience.start(TERMINATE_PATIENCE_MS)
        self.stop_changed.emit()

    def shut_down(self) -> None:
        """Stop following; the job goes on."""
        self._patience.stop()
        self._stopper.shut_down()
        self._thread.requestInterruption()
        self._thread.wait()

    @Slot()
    def _on_patience_over(self) -> None:
        self.stop()

    @Slot(list)
    def _on_events_received(self, events: list) -> None:  # type: ignore[type-arg]  # a slot's types are plain
        self.history.add(events)
        self.events_received.emit(events)

    @Slot(object)
    def _on_job_over(self, end: TerminalEvent) -> None:
        self.is_over, self.is_working = True, False
        self._patience.stop()
        self.history.add([end])
        self.job_over.emit(end)


class RunningJobs(QObject):
    """All runs that are followed.

    Signals:
        job_started: a `FollowedRun` whose job is at work: started here, resumed here, or met running.
        run_followed: any `FollowedRun`, also of a job that has ended long ago.
        run_over: a `FollowedRun` whose end has come in.
    """

    job_started = Signal(object)
    run_followed = Signal(object)
    run_over = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._followed: dict[Path, FollowedRun] = {}

    def start(self, run: RunFolder) -> FollowedRun:
        """Start the job of a run folder, or take it up again from its checkpoint."""
        return self._follow(run, starts=True, was_running=True)

    def follow(self, run: RunFolder) -> FollowedRun:
        """Follow a run that somebody started, or read one that has ended; one that is followed already is returned."""
        known = self._followed.get(run.path)
        return known or self._follow(run, starts=False, was_running=_claims_to_run(run))

    def of(self, path: Path) -> FollowedRun | None:
        """Return the followed run in a folder."""
        return self._followed.get(path)

    def working(self) -> list[FollowedRun]:
        """Return the runs whose jobs are at work."""
        return [followed for followed in self._followed.values() if followed.is_working]

    def shut_down(self) -> None:
        """Stop following all runs; their jobs go on."""
        for followed in self._followed.values():
            followed.shut_down()

    def _follow(self, run: RunFolder, *, starts: bool, was_running: bool) -> FollowedRun:
        earlier = self._followed.get(run.path)
        if earlier is not None:
            earlier.shut_down()
        followed = FollowedRun(run, starts=starts, was_running=was_running, parent=self)
        self._followed[run.path] = followed
        followed.job_over.connect(self._on_job_over)
        self.run_followed.emit(followed)
        if was_running:
            self.job_started.emit(followed)
        followed.begin()
        return followed

    @Slot()
    def _on_job_over(self) -> None:
        self.run_over.emit(self.sender())


def _claims_to_run(run: RunFolder) -> bool:
    try:
        status = run.read_status()
    except UserError:
        return False
    return status is not None and status.state in ("starting", "running")
