"""A question mark that explains a word in one sentence, on hover, on click and to screen readers."""

from PySide6.QtCore import QPoint, Qt, Slot
from PySide6.QtWidgets import QToolButton, QToolTip, QWidget


class HelpButton(QToolButton):
    """Explains a word where it stands.

    Args:
        word: what is explained.
        sentence: the explanation.
        parent: the Qt parent.
    """

    def __init__(self, word: str, sentence: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("help")
        self.setText("?")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.WhatsThisCursor)
        self.setAccessibleName(self.tr("What is this: {word}").format(word=word))
        self.set_sentence(sentence)
        self.clicked.connect(self._on_clicked)

    def set_sentence(self, sentence: str) -> None:
        """Explain in other words."""
        # Rich text wraps, plain text makes a line as long as the screen.
        self.setToolTip(f"<qt>{sentence}</qt>")
        self.setAccessibleDescription(sentence)

    @Slot()
    def _on_clicked(self) -> None:
        QToolTip.showText(self.mapToGlobal(QPoint(0, self.height())), self.toolTip(), self)
