"""The thread that follows one run: it waits, reads and tells, and never owns the worker.

In: a run folder. Out: one list of events a look, and how the job ended.
"""

from PySide6.QtCore import QObject, QThread, Signal

from lapestudio.core.errors import UserError
from lapestudio.core.events import ErrorEvent, Event, TerminalEvent, is_terminal
from lapestudio.core.run_folder import RunFolder
from lapestudio.jobs.starting import start
from lapestudio.jobs.watching import RunWatcher

_POLL_EVERY_MS = 100
# A long run's past comes in pieces, so that the window's thread is free between them.
_MOST_EVENTS = 1000


class JobThread(QThread):
    """Follows a run until its job is over or the thread is interrupted; the job itself goes on then.

    Args:
        run: the run folder.
        starts: start the job, or go on with it from its checkpoint, before following it.
        parent: the Qt parent.

    Signals:
        events_received: a list of events, oldest first; at most ten lists a second once the past is told.
        job_over: the terminal event; nothing follows.
    """

    events_received = Signal(list)
    job_over = Signal(object)

    def __init__(self, run: RunFolder, *, starts: bool, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run = run
        self._starts = starts

    def run(self) -> None:
        """Start the job where asked, and follow it."""
        try:
            if self._starts:
                start(self._run)
            end = self._follow(RunWatcher(self._run))
        except UserError as error:
            end = ErrorEvent(message=str(error))
            self.events_received.emit([end])
        if end is not None:
            self.job_over.emit(end)

    def _follow(self, watcher: RunWatcher) -> TerminalEvent | None:
        end: TerminalEvent | None = None
        while not self.isInterruptionRequested():
            events = watcher.poll()
            self._tell(events)
            end = next((event for event in reversed(events) if is_terminal(event)), end)
            if watcher.is_over:
                return end or ErrorEvent(message=self.tr("The job has ended, but its folder does not say how."))
            self.msleep(_POLL_EVERY_MS)
        return None

    def _tell(self, events: list[Event]) -> None:
        for first in range(0, len(events), _MOST_EVENTS):
            if self.isInterruptionRequested():
                return
            self.events_received.emit(events[first : first + _MOST_EVENTS])
