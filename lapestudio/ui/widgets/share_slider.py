"""A slider for a share, with the number beside it; both can be used."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSlider, QWidget

from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.help_button import HelpButton
from lapestudio.ui.widgets.labels import label
from lapestudio.ui.widgets.number_fields import DecimalField

_STEPS_A_PERCENT = 10
_FIELD_WIDTH = 92


class ShareSlider(QWidget):
    """Edits a share as percent.

    Args:
        name: what it is the share of.
        help_text: the explanation.
        low: smallest share that the slider reaches.
        high: largest share that the slider reaches.
        limits: smallest and largest share that may be typed.
        parent: the Qt parent.

    Signals:
        share_changed: the new share, in [0, 1]; also while the slider is being dragged.
    """

    share_changed = Signal(float)

    def __init__(
        self,
        name: str,
        help_text: str,
        *,
        low: float,
        high: float,
        limits: tuple[float, float],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._limits = limits
        self.slider = QSlider(Qt.Orientation.Horizontal, self)
        self.slider.setRange(_to_step(low), _to_step(high))
        self.slider.setAccessibleName(name)
        self.slider.setAccessibleDescription(help_text)
        self.field = DecimalField(100 * limits[0], 100 * limits[1], self)
        self.field.setSuffix("\u202f%")
        self.field.setFixedWidth(_FIELD_WIDTH)
        self.field.setAccessibleName(self.tr("{name}, in percent").format(name=name))
        self.slider.valueChanged.connect(self._on_slider_changed)
        self.field.valueChanged.connect(self._on_field_changed)
        title = QHBoxLayout()
        title.setSpacing(Space.XS + 2)
        title.addWidget(label(name, parent=self, wraps=False))
        title.addWidget(HelpButton(name, help_text, self))
        title.addStretch(1)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setVerticalSpacing(Space.XS)
        layout.setHorizontalSpacing(Space.M)
        layout.addLayout(title, 0, 0, 1, 2)
        layout.addWidget(self.slider, 1, 0)
        layout.addWidget(self.field, 1, 1)

    @property
    def share(self) -> float:
        """The share."""
        # Percent and back must not turn 0.95 into 0.9500000000000001.
        share = round(self.field.value() / 100, 12)
        return min(self._limits[1], max(self._limits[0], share))

    def set_share(self, share: float) -> None:
        """Show a share without telling anybody."""
        with QSignalBlocker(self.field), QSignalBlocker(self.slider):
            self.field.setValue(100 * share)
            self.slider.setValue(_to_step(share))

    @Slot(int)
    def _on_slider_changed(self, step: int) -> None:
        with QSignalBlocker(self.field):
            self.field.setValue(step / _STEPS_A_PERCENT)
        self.share_changed.emit(self.share)

    @Slot(float)
    def _on_field_changed(self, _percent: float) -> None:
        with QSignalBlocker(self.slider):
            self.slider.setValue(_to_step(self.share))
        self.share_changed.emit(self.share)


def _to_step(share: float) -> int:
    return round(100 * share * _STEPS_A_PERCENT)
