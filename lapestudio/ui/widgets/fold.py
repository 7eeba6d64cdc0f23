"""A part of a form that is folded away until somebody wants it."""

from PySide6.QtCore import QEvent, Qt, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from lapestudio.ui.icons import icon
from lapestudio.ui.style import theme_colors
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.labels import button


class Fold(QWidget):
    """A button that shows and hides `content`.

    Args:
        title: what lies inside.
        content: the widget; it is adopted.
        name: object name of the button.
        parent: the Qt parent.
    """

    def __init__(self, title: str, content: QWidget, *, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._content = content
        self.button = button(title, "link", name=name, parent=self)
        self.button.setCheckable(True)
        self.button.toggled.connect(self._on_toggled)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(Space.S)
        layout.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeading)
        layout.addWidget(content)
        content.hide()
        self._paint_icon()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._paint_icon()

    @Slot(bool)
    def _on_toggled(self, is_open: bool) -> None:
        self._content.setVisible(is_open)
        self._paint_icon()

    def _paint_icon(self) -> None:
        name = "fold-open" if self.button.isChecked() else "fold-closed"
        mirrored = self.isRightToLeft() and not self.button.isChecked()
        self.button.setIcon(icon(name, theme_colors().accent, mirrored=mirrored))
