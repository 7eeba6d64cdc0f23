"""What all panels share: a title, a sentence that says what the step is for, a place for messages, and the body."""

from PySide6.QtCore import QEvent, QMargins, Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from lapestudio.ui.session import ProjectSession
from lapestudio.ui.style import is_dark
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.labels import label
from lapestudio.ui.widgets.message_bar import MessageBar

COLUMN_WIDTH = 880
SIDE_WIDTH = 372
SCROLL_ROOM = 20


class Panel(QWidget):
    """A step's panel; subclasses fill `body`, or `side` and `main` after `split`.

    Args:
        session: the open project.
        title: name of the step.
        intro: what it is for, in one or two sentences.
        parent: the Qt parent.

    Signals:
        step_requested: a `Step` that the user wants to go on with.
        start_requested: the start page is wanted.
    """

    step_requested = Signal(object)
    start_requested = Signal()

    def __init__(self, session: ProjectSession, title: str, intro: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(title)
        self.message = MessageBar(self)
        self.outer = QVBoxLayout(self)
        self.outer.setContentsMargins(Space.XXL, Space.XL, Space.XXL, Space.L)
        self.outer.setSpacing(Space.M)
        self.outer.addWidget(label(title, "title", parent=self, wraps=False))
        self.outer.addWidget(label(intro, "muted", parent=self))
        self.outer.addWidget(self.message)
        self.outer.addSpacing(Space.XS)

    def single_column(self) -> QVBoxLayout:
        """Lay the panel out as one scrolling column and return its layout."""
        area = ScrollingColumn(self)
        area.holder.setMaximumWidth(COLUMN_WIDTH)
        margins = area.column.contentsMargins()
        margins.setBottom(Space.M)
        area.column.setContentsMargins(margins)
        self.outer.addWidget(area, 1)
        return area.column

    def side_and_main(self) -> tuple[QVBoxLayout, QVBoxLayout]:
        """Lay the panel out as a narrow scrolling column of settings and a wide place for results.

        `footer` lies under the column and does not scroll.
        """
        area = ScrollingColumn(self)
        area.setFixedWidth(SIDE_WIDTH)
        self.footer = QVBoxLayout()
        self.footer.setSpacing(Space.S)
        self.footer.setContentsMargins(trailing_margin(self, SCROLL_ROOM))
        column = QVBoxLayout()
        column.setSpacing(Space.S)
        column.setContentsMargins(0, 0, 0, Space.M)
        column.addWidget(area, 1)
        column.addLayout(self.footer)
        main = QVBoxLayout()
        main.setSpacing(Space.M)
        main.setContentsMargins(0, 0, 0, Space.M)
        line = QHBoxLayout()
        line.setSpacing(0)
        line.addLayout(column)
        line.addLayout(main, 1)
        self.outer.addLayout(line, 1)
        return area.column, main

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.set_dark(is_dark())

    def set_dark(self, dark: bool) -> None:
        """Draw for a light or a dark window; panels with pictures pass it on."""


class ScrollingColumn(QScrollArea):
    """A column that scrolls when it must; fill `column`.

    Args:
        parent: the Qt parent.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.holder = QWidget(self)
        self.holder.setObjectName("column")
        self.holder.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.column = QVBoxLayout(self.holder)
        self.column.setContentsMargins(trailing_margin(self, SCROLL_ROOM))
        self.column.setSpacing(Space.L)
        self.setWidget(self.holder)
        self.verticalScrollBar().rangeChanged.connect(self._on_range_changed)

    @Slot(int, int)
    def _on_range_changed(self, _low: int, high: int) -> None:
        # The bar takes its room from the margin: cards do not change their width when it appears.
        margin = SCROLL_ROOM - (self.verticalScrollBar().sizeHint().width() if high > 0 else 0)
        margins = trailing_margin(self, margin)
        margins.setBottom(self.column.contentsMargins().bottom())
        self.column.setContentsMargins(margins)


def trailing_margin(widget: QWidget, size: int) -> QMargins:
    """Return a margin at the side where lines end: Qt mirrors layouts, but not their margins."""
    return QMargins(size, 0, 0, 0) if widget.isRightToLeft() else QMargins(0, 0, size, 0)
