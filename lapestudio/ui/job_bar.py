"""The job bar: what is running, how far it is, and how to stop it; visible under every panel."""

from PySide6.QtCore import QCoreApplication, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QStackedWidget, QVBoxLayout, QWidget

from lapestudio.core.errors import UserError
from lapestudio.core.events import ErrorEvent, ResultEvent, TerminalEvent
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import JobSpec, job_label
from lapestudio.ui.icons import pixmap
from lapestudio.ui.job_details import JobDetails
from lapestudio.ui.job_words import end_text, kind_name, stop_sentence, stop_words
from lapestudio.ui.running_jobs import FollowedRun, RunningJobs
from lapestudio.ui.style import theme_colors
from lapestudio.ui.text import count_text, isolate, language_name
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.elided_label import ElidedLabel
from lapestudio.ui.widgets.labels import button, label
from lapestudio.ui.widgets.progress_view import ProgressView

_ICON_SIZE = 18
_NAME_WIDTH = 176


class JobRow(QWidget):
    """One job.

    Args:
        followed: the run.
        parent: the Qt parent.

    Signals:
        dismissed: nobody wants to see it any more.
    """

    dismissed = Signal()

    def __init__(self, followed: FollowedRun, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("jobRow")
        self.followed = followed
        self._spec = _spec_of(followed.run)
        kind = self._spec.kind if self._spec is not None else ""
        self._kind = kind
        name = kind_name(kind) if self._spec is None else f"{kind_name(kind)} · {isolate(_label(self._spec))}"
        self._icon = QLabel(self)
        self._progress = ProgressView(self)
        self._end = ElidedLabel(self)
        self._middle = QStackedWidget(self)
        self._middle.addWidget(self._progress)
        self._middle.addWidget(self._end)
        self._stop = button("", name="stopJob", parent=self)
        self._details = button(self.tr("Details…"), "link", name="jobDetails", parent=self)
        self._dismiss = button(self.tr("Dismiss"), "link", name="dismissJob", parent=self)
        self._name = label(name, "strong", parent=self, wraps=False)
        self._lay_out()
        self._stop.clicked.connect(self._on_stop_clicked)
        self._details.clicked.connect(self._on_details_clicked)
        self._dismiss.clicked.connect(self._on_dismiss_clicked)
        followed.events_received.connect(self._on_events_received)
        followed.job_over.connect(self._on_job_over)
        followed.stop_changed.connect(self._show_stop)
        self._icon.hide()
        self._dismiss.hide()
        self._show_stop()
        self._progress.show_history(followed.history, is_stopping=False)

    def _lay_out(self) -> None:
        self._name.setMinimumWidth(_NAME_WIDTH)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(Space.M)
        layout.addWidget(self._icon)
        layout.addWidget(self._name)
        layout.addWidget(self._middle, 1)
        for control in (self._stop, self._details, self._dismiss):
            layout.addWidget(control)

    @Slot()
    def _show_stop(self) -> None:
        stage = self.followed.stop_stage
        self._stop.setText(stop_words(self._kind, stage))
        self._stop.setAccessibleName(stop_words(self._kind, stage))
        self._stop.setToolTip(f"<qt>{stop_sentence(self._kind, stage)}</qt>")
        self._stop.setAccessibleDescription(stop_sentence(self._kind, stage))
        self._stop.setEnabled(stage < 2)  # noqa: PLR2004 - nothing left to press

    @Slot(list)
    def _on_events_received(self, _events: list[object]) -> None:
        self._progress.show_history(self.followed.history, is_stopping=self.followed.stop_stage > 0)

    @Slot(object)
    def _on_job_over(self, end: TerminalEvent) -> None:
        colors = theme_colors()
        name, color = "info", colors.accent
        if isinstance(end, ErrorEvent):
            name, color = "warning", colors.danger
        elif isinstance(end, ResultEvent):
            name, color = "check", colors.success
        self._icon.setPixmap(pixmap(name, color, _ICON_SIZE))
        self._icon.show()
        self._end.show_text(end_text(end))
        self._middle.setCurrentWidget(self._end)
        self._stop.hide()
        self._dismiss.show()

    @Slot()
    def _on_dismiss_clicked(self) -> None:
        self.hide()
        self.dismissed.emit()

    @Slot()
    def _on_stop_clicked(self) -> None:
        self.followed.stop()

    @Slot()
    def _on_details_clicked(self) -> None:
        JobDetails(self.followed, self.window()).open()


class JobBar(QFrame):
    """All running jobs, and those that ended since the window was opened until they are dismissed.

    Args:
        jobs: the runs that are followed.
        parent: the Qt parent.
    """

    def __init__(self, jobs: RunningJobs, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("jobBar")
        self.setAccessibleName(self.tr("Jobs"))
        self._rows: list[JobRow] = []
        self._idle = label(self.tr("No job is running."), "muted", parent=self, wraps=False)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(Space.XL, Space.S, Space.L, Space.S)
        self._layout.setSpacing(Space.S)
        self._layout.addWidget(self._idle)
        jobs.job_started.connect(self._on_job_started)

    @property
    def rows(self) -> list[JobRow]:
        """The rows that are shown."""
        return [row for row in self._rows if not row.isHidden()]

    @Slot(object)
    def _on_job_started(self, followed: FollowedRun) -> None:
        # One that has ended gives way: the newest news is enough.
        for row in [row for row in self._rows if row.followed.is_over or row.isHidden()]:
            self._rows.remove(row)
            self._layout.removeWidget(row)
            row.hide()
            row.deleteLater()
        row = JobRow(followed, self)
        row.dismissed.connect(self._show_idle)
        self._rows.append(row)
        self._layout.addWidget(row)
        row.show()
        self._show_idle()

    @Slot()
    def _show_idle(self) -> None:
        self._idle.setVisible(not self.rows)


def _spec_of(run: RunFolder) -> JobSpec | None:
    try:
        return run.read_spec()
    except UserError:
        return None


def _label(spec: JobSpec) -> str:
    if spec.kind == "train":
        return language_name(spec.language)
    if spec.kind == "identify":
        text = QCoreApplication.translate("JobBar", "{number} languages")
        return text.format(number=count_text(len(spec.corpora)))
    return job_label(spec)
