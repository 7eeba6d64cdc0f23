"""Editors for numbers that neither change when the page is scrolled nor hide a small number behind zeros."""

import math

from PySide6.QtCore import Qt
from PySide6.QtGui import QValidator, QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QDoubleSpinBox, QSpinBox, QWidget

from lapestudio.ui.tokens import Space

MAX_INT = 2**31 - 1
_DECIMALS = 12


def _prepare(field: QAbstractSpinBox | QComboBox) -> None:
    field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    if isinstance(field, QAbstractSpinBox):
        field.setKeyboardTracking(False)
        # The style sheet's padding does not reach the text inside.
        field.lineEdit().setTextMargins(Space.XS, 0, Space.XS, 0)


class WholeNumberField(QSpinBox):
    """A whole number; where `empty_text` is given, the value below `low` stands for none.

    Args:
        low: smallest value.
        high: largest value.
        empty_text: what is shown for none; empty where there must be a number.
        parent: the Qt parent.
    """

    def __init__(self, low: int, high: int, *, empty_text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        _prepare(self)
        self._low = low
        self._is_optional = bool(empty_text)
        self.setRange(low - 1 if empty_text else low, min(high, MAX_INT))
        self.setSpecialValueText(empty_text)
        self.setStepType(QAbstractSpinBox.StepType.AdaptiveDecimalStepType)
        self.setGroupSeparatorShown(True)

    @property
    def number(self) -> int | None:
        """The value, or none."""
        return None if self._is_optional and self.value() < self._low else self.value()

    def set_number(self, number: int | None) -> None:
        """Show a value, or none."""
        self.setValue(self._low - 1 if number is None else number)

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Turn the number only where it is being edited; else the page scrolls."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class DecimalField(QDoubleSpinBox):
    """A number that is shown as short as it can be, and may be typed as 1e-4.

    Args:
        low: smallest value.
        high: largest value.
        parent: the Qt parent.
    """

    def __init__(self, low: float, high: float, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        _prepare(self)
        self.setDecimals(_DECIMALS)
        self.setRange(low, high)
        self.setStepType(QAbstractSpinBox.StepType.AdaptiveDecimalStepType)

    def textFromValue(self, value: float) -> str:  # noqa: N802 - Qt's name
        """Return the shortest text of a value."""
        return f"{value:.6g}".replace(".", self.locale().decimalPoint())

    def valueFromText(self, text: str) -> float:  # noqa: N802 - Qt's name
        """Return the value of a text."""
        number = _number(text)
        return self.value() if number is None else number

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Accept numbers in the range, and what may become one."""
        number = _number(text)
        if number is not None and self.minimum() <= number <= self.maximum():
            state = QValidator.State.Acceptable
        elif all(letter in "0123456789.,eE+-" for letter in text):
            state = QValidator.State.Intermediate
        else:
            state = QValidator.State.Invalid
        return state, text, position

    def stepBy(self, steps: int) -> None:  # noqa: N802 - Qt's name
        """Go on by a unit of the first digit: learning rates span many powers of ten."""
        value = self.value()
        unit = 10.0 ** math.floor(math.log10(abs(value))) if value else 10.0**-3
        if steps < 0 and math.isclose(abs(value), unit):
            unit /= 10
        self.setValue(round(value + steps * unit, _DECIMALS))

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Turn the number only where it is being edited; else the page scrolls."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class ChoiceField(QComboBox):
    """A list of choices, each with a value.

    Args:
        parent: the Qt parent.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        _prepare(self)

    def choose(self, value: object) -> None:
        """Show the choice with a value; the first one where there is none."""
        self.setCurrentIndex(max(0, self.findData(value)))

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Change the choice only where it is being edited; else the page scrolls."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


def _number(text: str) -> float | None:
    try:
        number = float(text.strip().replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
