"""What the panels of jobs share: they show one run, as it goes on and when it has ended."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from lapestudio.core.errors import UserError
from lapestudio.core.events import ErrorEvent, StoppedEvent, TerminalEvent
from lapestudio.core.specs import JobSpec
from lapestudio.ui.panels.panel import Panel
from lapestudio.ui.running_jobs import FollowedRun
from lapestudio.ui.session import ProjectSession


class RunPanel(Panel):
    """Follows the run of its kind; subclasses override `show_run`, `show_events`, `show_stop` and `show_end`.

    Args:
        kind: kind of job.
        session: the open project.
        title: name of the step.
        intro: what it is for.
        parent: the Qt parent.
    """

    def __init__(
        self, kind: str, session: ProjectSession, title: str, intro: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(session, title, intro, parent)
        self._kind = kind
        self.followed: FollowedRun | None = None
        session.run_shown.connect(self._on_run_shown)

    def take_up(self) -> None:
        """Show the run that the project names; called when the panel is laid out."""
        followed = self.session.shown(self._kind)
        if followed is not None:
            self._on_run_shown(followed)
        else:
            self.show_run(None)

    @property
    def is_working(self) -> bool:
        """Whether the job of the run in view is at work."""
        return self.followed is not None and self.followed.is_working

    def start(self, spec: JobSpec) -> None:
        """Start a job and show it."""
        self.message.clear()
        try:
            self.session.start(spec)
        except UserError as error:
            self.message.show_message("error", str(error))

    def show_run(self, followed: FollowedRun | None) -> None:
        """Show another run from its history so far."""

    def show_events(self, followed: FollowedRun, events: list[object]) -> None:
        """Show what is new."""

    def show_stop(self, followed: FollowedRun) -> None:
        """Show the next means of stopping."""

    def show_end(self, followed: FollowedRun, end: TerminalEvent) -> None:  # noqa: ARG002 - subclasses use it
        """Show how the run ended: a failure or a stop above everything else."""
        if isinstance(end, ErrorEvent):
            self.message.show_message("error", end.message, end.details)
        elif isinstance(end, StoppedEvent):
            self.message.show_message("info", end.text)

    @Slot(object)
    def _on_run_shown(self, followed: FollowedRun) -> None:
        if self.session.shown(self._kind) is not followed or followed is self.followed:
            return
        if self.followed is not None:
            self.followed.events_received.disconnect(self._on_events_received)
            self.followed.job_over.disconnect(self._on_job_over)
            self.followed.stop_changed.disconnect(self._on_stop_changed)
        self.followed = followed
        followed.events_received.connect(self._on_events_received)
        followed.job_over.connect(self._on_job_over)
        followed.stop_changed.connect(self._on_stop_changed)
        self.message.clear()
        self.show_run(followed)
        self.show_stop(followed)
        if followed.history.terminal is not None and followed.is_over:
            self.show_end(followed, followed.history.terminal)

    @Slot(list)
    def _on_events_received(self, events: list[object]) -> None:
        if self.followed is not None and self.sender() is self.followed:
            self.show_events(self.followed, events)

    @Slot(object)
    def _on_job_over(self, end: TerminalEvent) -> None:
        if self.followed is not None and self.sender() is self.followed:
            self.show_end(self.followed, end)

    @Slot()
    def _on_stop_changed(self) -> None:
        if self.followed is not None and self.sender() is self.followed:
            self.show_stop(self.followed)
