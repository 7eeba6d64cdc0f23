"""A surface that holds what belongs together, under a heading."""

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.help_button import HelpButton
from lapestudio.ui.widgets.labels import label


class Card(QFrame):
    """A titled surface; fill `body`.

    Args:
        title: the heading; empty for none.
        help_text: one sentence that explains the heading; empty for none.
        parent: the Qt parent.
    """

    def __init__(self, title: str = "", help_text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(Space.L, Space.L, Space.L, Space.L)
        self.body.setSpacing(Space.M)
        self.header = QHBoxLayout()
        self.header.setSpacing(Space.S)
        if title:
            self.setAccessibleName(title)
            self.header.addWidget(label(title, "heading", parent=self, wraps=False))
            if help_text:
                self.header.addWidget(HelpButton(title, help_text, self))
            self.header.addStretch(1)
            self.body.addLayout(self.header)

    @staticmethod
    def column(holder: QWidget) -> QVBoxLayout:
        """Return a column without margins inside `holder`, spaced as the body is."""
        layout = QVBoxLayout(holder)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(Space.S)
        return layout
