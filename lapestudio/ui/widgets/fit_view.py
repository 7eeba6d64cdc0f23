"""Whether a stage fits into the memory of a device, with the parts of the estimate."""

from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from lapestudio.core.model_report import MemoryEstimate
from lapestudio.ui.text import isolate, size_text
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.labels import label, restyle, set_role

_STEPS = 1000


class FitView(QWidget):
    """Shows one estimate.

    Args:
        stage: name of the stage.
        parent: the Qt parent.
    """

    def __init__(self, stage: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stage = stage
        self._verdict = label("", "success", parent=self, wraps=False)
        self._needed = label("", "muted", parent=self, wraps=False)
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self._bar.setRange(0, _STEPS)
        self._bar.setAccessibleName(self.tr("Memory for {stage}").format(stage=stage))
        self._parts = label("", "muted", parent=self)
        line = QHBoxLayout()
        line.setSpacing(Space.S)
        line.addWidget(label(stage, "strong", parent=self, wraps=False))
        line.addWidget(self._verdict)
        line.addStretch(1)
        line.addWidget(self._needed)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(Space.XS + 2)
        layout.addLayout(line)
        layout.addWidget(self._bar)
        layout.addWidget(self._parts)

    def show_estimate(self, estimate: MemoryEstimate, free_bytes: int) -> None:
        """Show an estimate beside what is free on its device."""
        set_role(self._verdict, "success" if estimate.fits else "danger")
        self._verdict.setText(self.tr("fits") if estimate.fits else self.tr("does not fit"))
        needed = self.tr("{needed} needed, {free} free on {device}").format(
            needed=size_text(estimate.total_bytes), free=size_text(free_bytes), device=isolate(estimate.device)
        )
        self._needed.setText(needed)
        self._bar.setProperty("fits", estimate.fits)
        restyle(self._bar)
        share = estimate.total_bytes / free_bytes if free_bytes else 1.0
        self._bar.setValue(min(_STEPS, max(1, round(share * _STEPS))))
        self._bar.setAccessibleDescription(needed)
        parts = sorted(estimate.parts.items(), key=lambda part: -part[1])
        self._parts.setText(" · ".join(f"{self._part_name(name)} {size_text(size)}" for name, size in parts if size))

    def _part_name(self, name: str) -> str:
        return {
            "weights": self.tr("weights"),
            "activations": self.tr("activations"),
            "counts": self.tr("counts"),
            "program and libraries": self.tr("program and libraries"),
            "trained weights, gradients and optimiser": self.tr("trained weights with gradients and optimiser"),
            "vocabulary head": self.tr("vocabulary head"),
            "unpacking the file": self.tr("unpacking the file"),
        }.get(name, name)
