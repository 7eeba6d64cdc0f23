"""An open project: the rail, the panel in view, and the job bar. Panels are made when they are first looked at."""

from PySide6.QtCore import QTimer, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from lapestudio.core.project import Project
from lapestudio.ui.job_bar import JobBar
from lapestudio.ui.panels.panel import Panel
from lapestudio.ui.query_thread import IsCancelled, LatestAnswer
from lapestudio.ui.rail import Rail
from lapestudio.ui.running_jobs import FollowedRun
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.steps import Step
from lapestudio.ui.style import is_dark
from lapestudio.ui.widgets.message_bar import MessageBar

_REFRESH_MS = 200


class ProjectView(QWidget):
    """Shows a project; `shut_down` before it goes.

    Args:
        project: the project.
        parent: the Qt parent.

    Signals:
        start_requested: the start page is wanted.
    """

    start_requested = Signal()

    def __init__(self, project: Project, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = ProjectSession(project, self)
        self.rail = Rail(self.session, self)
        self.job_bar = JobBar(self.session.jobs, self)
        self._message = MessageBar(self)
        self._stack = QStackedWidget(self)
        self._panels: dict[Step, Panel] = {}
        self.step = Step.PROJECT
        self._lay_out()
        # The rail is painted at most five times a second, however many signals say that something has changed.
        self._refresh = QTimer(self)
        self._refresh.setSingleShot(True)
        self._refresh.setInterval(_REFRESH_MS)
        self._refresh.timeout.connect(self.rail.refresh)
        self._preloader = LatestAnswer(self, interrupts=False)
        self._connect()
        self.show_step(Step.PROJECT)

    def begin(self) -> None:
        """Take up what the project holds; called when the window is on the screen."""
        self.session.begin()
        self._preloader.ask(_load_large_modules)

    def panel(self, step: Step) -> Panel:
        """Return the panel of a step; it is made now if it was never looked at."""
        if step not in self._panels:
            made = _make_panel(step, self.session, self)
            made.set_dark(is_dark())
            self._panels[step] = made
            self._stack.addWidget(made)
            made.step_requested.connect(self.show_step)
            made.start_requested.connect(self.start_requested)
        return self._panels[step]

    @Slot(object)
    def show_step(self, step: Step) -> None:
        """Bring a step into view."""
        self.step = step
        self.rail.select(step)
        self._stack.setCurrentWidget(self.panel(step))

    def shut_down(self) -> None:
        """Stop all threads; jobs go on."""
        self._refresh.stop()
        self.session.shut_down()
        for asker in self.findChildren(LatestAnswer):
            asker.shut_down()

    def _lay_out(self) -> None:
        right = QVBoxLayout()
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(0)
        right.addWidget(self._message)
        right.addWidget(self._stack, 1)
        right.addWidget(self.job_bar)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.rail)
        layout.addLayout(right, 1)

    def _connect(self) -> None:
        self.rail.step_chosen.connect(self.show_step)
        for signal in (
            self.session.document_changed,
            self.session.report_changed,
            self.session.run_shown,
            self.session.runs_changed,
            self.session.survey.language_changed,
        ):
            signal.connect(self._on_something_changed)
        self.session.jobs.run_followed.connect(self._on_run_followed)
        self.session.save_failed.connect(self._on_save_failed)

    @Slot()
    def _on_something_changed(self) -> None:
        if not self._refresh.isActive():
            self._refresh.start()

    @Slot(object)
    def _on_run_followed(self, followed: FollowedRun) -> None:
        followed.events_received.connect(self._on_something_changed)
        followed.job_over.connect(self._on_something_changed)

    @Slot(str)
    def _on_save_failed(self, message: str) -> None:
        self._message.show_message("error", message)


def _load_large_modules(_is_cancelled: IsCancelled) -> None:
    # In a thread, and before they are needed: the window would stand still while they are loaded.
    import lapestudio.ui.panels.identify_panel
    import lapestudio.ui.panels.train_panel  # noqa: F401 - loading is the purpose
    from lapestudio.core.languages import search_languages

    search_languages("", 1)


def _make_panel(step: Step, session: ProjectSession, parent: QWidget) -> Panel:
    # Imported when needed: the pictures' libraries would double the time until the window can be used.
    match step:
        case Step.PROJECT:
            from lapestudio.ui.panels.project_panel import ProjectPanel

            return ProjectPanel(session, parent)
        case Step.MODEL:
            from lapestudio.ui.panels.model_panel import ModelPanel

            return ModelPanel(session, parent)
        case Step.LANGUAGES:
            from lapestudio.ui.panels.languages_panel import LanguagesPanel

            return LanguagesPanel(session, parent)
        case Step.IDENTIFY:
            from lapestudio.ui.panels.identify_panel import IdentifyPanel

            return IdentifyPanel(session, parent)
        case Step.TRAIN:
            from lapestudio.ui.panels.train_panel import TrainPanel

            return TrainPanel(session, parent)
        case Step.EXPORT:
            from lapestudio.ui.panels.export_panel import ExportPanel

            return ExportPanel(session, parent)
