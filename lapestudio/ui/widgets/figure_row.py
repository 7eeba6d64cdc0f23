"""A few figures side by side, each above its name."""

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.help_button import HelpButton
from lapestudio.ui.widgets.labels import label

UNKNOWN = "\u2013"


class FigureRow(QWidget):
    """Shows figures under fixed names.

    Args:
        names: (key, name, explanation or nothing) of each figure.
        parent: the Qt parent.
        spacing: pixels between two figures.
    """

    def __init__(
        self, names: Sequence[tuple[str, str, str]], parent: QWidget | None = None, *, spacing: int = Space.XL
    ) -> None:
        super().__init__(parent)
        self._values: dict[str, QLabel] = {}
        self._names = {key: name for key, name, _help in names}
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(spacing)
        for key, name, help_text in names:
            layout.addLayout(self._column(key, name, help_text))
        layout.addStretch(1)

    def set_value(self, key: str, text: str) -> None:
        """Show a figure; empty text stands for not known."""
        value = self._values[key]
        value.setText(text or UNKNOWN)
        value.setAccessibleName(f"{self._names[key]}: {text or UNKNOWN}")

    def _column(self, key: str, name: str, help_text: str) -> QVBoxLayout:
        value = label(UNKNOWN, "figure", parent=self, wraps=False)
        value.setObjectName(f"figure-{key}")
        self._values[key] = value
        caption = QHBoxLayout()
        caption.setSpacing(Space.XS + 2)
        caption.addWidget(label(name, "muted", parent=self, wraps=False))
        if help_text:
            caption.addWidget(HelpButton(name, help_text, self))
        caption.addStretch(1)
        column = QVBoxLayout()
        column.setSpacing(2)
        column.addWidget(value)
        column.addLayout(caption)
        return column
