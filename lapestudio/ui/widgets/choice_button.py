"""A large button with an icon, what it does, and a sentence about it."""

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QSizePolicy, QWidget

from lapestudio.ui.icons import pixmap
from lapestudio.ui.style import theme_colors
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.labels import label

_ICON_SIZE = 28


class ChoiceButton(QPushButton):
    """One of a few ways to go on.

    Args:
        icon: name of the drawing.
        title: what it does.
        sentence: what to expect.
        name: object name.
        parent: the Qt parent.
    """

    def __init__(self, icon: str, title: str, sentence: str, *, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setProperty("kind", "choice")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(title)
        self.setAccessibleDescription(sentence)
        self._icon_name = icon
        self._icon = QLabel(self)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
        self._grid.setHorizontalSpacing(Space.L)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(1, 1)
        self._grid.addWidget(self._icon, 0, 0, 2, 1, Qt.AlignmentFlag.AlignVCenter)
        self._grid.addWidget(label(title, "heading", parent=self, wraps=False), 0, 1)
        self._grid.addWidget(label(sentence, "muted", parent=self, wraps=False), 1, 1)
        for part in self.findChildren(QLabel):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._paint_icon()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of the content."""
        return self._grid.sizeHint()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._paint_icon()

    def _paint_icon(self) -> None:
        self._icon.setPixmap(pixmap(self._icon_name, theme_colors().accent, _ICON_SIZE))
