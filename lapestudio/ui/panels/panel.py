"""What all panels share: a title, a sentence that says what the step is for, a place for messages, and the body."""

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from lapestudio.ui.session import ProjectSession
from lapestudio.ui.style import is_dark
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.labels import label
from lapestudio.ui.widgets.message_bar import MessageBar

COLUMN_WIDTH = 880
SIDE_WIDTH = 372


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
        area, holder, layout = scrolling_column(self)
        holder.setMaximumWidth(COLUMN_WIDTH)
        self.outer.addWidget(area, 1)
        return layout

    def side_and_main(self) -> tuple[QVBoxLayout, QVBoxLayout]:
        """Lay the panel out as a narrow scrolling column of settings and a wide place for results."""
        area, _holder, side = scrolling_column(self)
        area.setFixedWidth(SIDE_WIDTH)
        main = QVBoxLayout()
        main.setSpacing(Space.M)
        main.setContentsMargins(0, 0, 0, Space.M)
        line = QHBoxLayout()
        line.setSpacing(Space.XS)
        line.addWidget(area)
        line.addLayout(main, 1)
        self.outer.addLayout(line, 1)
        return side, main

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.set_dark(is_dark())

    def set_dark(self, dark: bool) -> None:
        """Draw for a light or a dark window; panels with pictures pass it on."""


def scrolling_column(parent: QWidget) -> tuple[QScrollArea, QWidget, QVBoxLayout]:
    """Return a scroll area that is as wide as its content may be, its content and the layout inside."""
    area = QScrollArea(parent)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    holder = QWidget(area)
    holder.setObjectName("column")
    holder.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
    layout = QVBoxLayout(holder)
    # Room for the scroll bar, so that cards do not jump when it appears.
    layout.setContentsMargins(0, 0, Space.M, Space.M)
    layout.setSpacing(Space.L)
    area.setWidget(holder)
    return area, holder, layout
