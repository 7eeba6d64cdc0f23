"""A message inside a panel: the sentence first, the details folded; both can be copied."""

from typing import Literal

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from lapestudio.ui.icons import pixmap
from lapestudio.ui.style import theme_colors
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.labels import button, label, restyle

Level = Literal["info", "success", "warning", "error"]
_ICONS = {"info": "info", "success": "check", "warning": "warning", "error": "warning"}
_ICON_SIZE = 18
_DETAILS_HEIGHT = 160


class MessageBar(QFrame):
    """Hidden until there is something to say."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("message")
        self._level: Level = "info"
        self._icon = QLabel(self)
        self._text = label("", parent=self)
        self._text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._details = QPlainTextEdit(self)
        self._details.setReadOnly(True)
        self._details.setFixedHeight(_DETAILS_HEIGHT)
        self._details.setAccessibleName(self.tr("Details"))
        # What an engine prints is read from left to right in every language of the window.
        self._details.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self._fold = button(self.tr("Details"), "link", name="messageDetails", parent=self)
        self._fold.setCheckable(True)
        self._fold.toggled.connect(self._details.setVisible)
        self._copy = button(self.tr("Copy"), "link", name="messageCopy", parent=self)
        self._copy.clicked.connect(self._on_copy_clicked)
        self._lay_out()
        self.clear()

    @property
    def text(self) -> str:
        """The sentence that is shown; empty where none is."""
        return self._text.text() if not self.isHidden() else ""

    def show_message(self, level: Level, text: str, details: str = "") -> None:
        """Say something."""
        self._level = level
        self._text.setText(text)
        self._details.setPlainText(details)
        self._fold.setChecked(False)
        self._details.hide()
        self._fold.setVisible(bool(details))
        self._copy.setVisible(level == "error" or bool(details))
        self.setProperty("level", level)
        self.setAccessibleName(text)
        restyle(self)
        self._paint_icon()
        self.show()

    def clear(self) -> None:
        """Say nothing."""
        self._text.clear()
        self.hide()

    def _lay_out(self) -> None:
        line = QHBoxLayout()
        line.setSpacing(Space.S)
        line.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self._text, 1)
        for control in (self._fold, self._copy):
            line.addWidget(control, 0, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(Space.M, Space.S, Space.S, Space.S)
        layout.setSpacing(Space.S)
        layout.addLayout(line)
        layout.addWidget(self._details)

    def _paint_icon(self) -> None:
        colors = theme_colors()
        color = {
            "info": colors.accent,
            "success": colors.success,
            "warning": colors.warning,
            "error": colors.danger,
        }[self._level]
        self._icon.setPixmap(pixmap(_ICONS[self._level], color, _ICON_SIZE))

    @property
    def copy_button(self) -> QPushButton:
        """The button that copies."""
        return self._copy

    @Slot()
    def _on_copy_clicked(self) -> None:
        parts = [self._text.text(), self._details.toPlainText()]
        QGuiApplication.clipboard().setText("\n\n".join(part for part in parts if part))
