"""What a job is doing, how far it is and how long it will take."""

from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from lapestudio.jobs.history import RunHistory
from lapestudio.ui.text import count_text, duration_text, number_text, percent_text
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.elided_label import ElidedLabel
from lapestudio.ui.widgets.labels import label

_STEPS = 1000
_WHOLE_FROM = 10


class ProgressView(QWidget):
    """A line of text above a bar."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stage = ElidedLabel(self)
        self._rest = label("", "muted", parent=self, wraps=False)
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(self.tr("Progress"))
        line = QHBoxLayout()
        line.setSpacing(Space.M)
        line.addWidget(self._stage, 1)
        line.addWidget(self._rest)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(Space.XS + 2)
        layout.addLayout(line)
        layout.addWidget(self._bar)

    def show_history(self, history: RunHistory, *, is_stopping: bool) -> None:
        """Show how far a run is."""
        stage = history.stage.text if history.stage is not None else self.tr("Starting the engine…")
        self._stage.show_text(self.tr("Stopping after this step…") if is_stopping else stage)
        progress = history.progress
        if progress is None or not progress.total:
            self._bar.setRange(0, 0)
            self._rest.setText("")
            return
        share = min(1.0, progress.done / progress.total)
        self._bar.setRange(0, _STEPS)
        self._bar.setValue(round(share * _STEPS))
        parts = [percent_text(share, 0)]
        if progress.rate_per_s:
            rate = progress.rate_per_s
            number = count_text(round(rate)) if rate >= _WHOLE_FROM else number_text(rate, 1)
            parts.append(self.tr("{rate} {unit}/s").format(rate=number, unit=progress.unit))
        if progress.remaining_s is not None:
            parts.append(self.tr("about {time} left").format(time=duration_text(progress.remaining_s)))
        self._rest.setText(" · ".join(parts))
        self._bar.setAccessibleDescription(self._rest.text())
