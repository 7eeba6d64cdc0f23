"""The rail: the steps of the line, each with its state, in reading order."""

from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from lapestudio.ui.icons import icon, pixmap
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.steps import StateKind, Step, StepState, kind_text, step_name, step_state
from lapestudio.ui.style import theme_colors
from lapestudio.ui.tokens import Colors, Space
from lapestudio.ui.widgets.labels import label

RAIL_WIDTH = 208
_ICON_SIZE = 22
_STEP_HEIGHT = 56


class StepButton(QPushButton):
    """One step: icon, name, and how far it is in a few words.

    Args:
        step: which step.
        number: its place, which is its key in the menu.
        parent: the Qt parent.
    """

    def __init__(self, step: Step, number: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.step = step
        self._state = StepState(kind="todo", text="")
        self.setObjectName(f"step-{step.value}")
        self.setProperty("kind", "step")
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setToolTip(self.tr("{name} (Ctrl+{number})").format(name=step_name(step), number=number))
        self._icon = QLabel(self)
        self._name = label(step_name(step), "stepName", parent=self, wraps=False)
        self._text = label("", "stepState", parent=self, wraps=False)
        self._grid = layout = QGridLayout(self)
        layout.setContentsMargins(Space.M, Space.S, Space.S, Space.S)
        layout.setHorizontalSpacing(Space.M)
        layout.setVerticalSpacing(0)
        layout.setColumnStretch(1, 1)
        layout.addWidget(self._icon, 0, 0, 2, 1, Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self._name, 0, 1)
        layout.addWidget(self._text, 1, 1)
        for part in (self._icon, self._name, self._text):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._text.setMinimumWidth(1)
        self.show_state(self._state)

    @property
    def state(self) -> StepState:
        """How far the step is shown to be."""
        return self._state

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of the content."""
        return QSize(RAIL_WIDTH - 2 * Space.S, max(_STEP_HEIGHT, self._grid.sizeHint().height()))

    def show_state(self, state: StepState) -> None:
        """Show how far the step is."""
        self._state = state
        width = RAIL_WIDTH - 2 * Space.S - _ICON_SIZE - 3 * Space.M
        self._text.setText(self._text.fontMetrics().elidedText(state.text, Qt.TextElideMode.ElideRight, width))
        self.setAccessibleName(step_name(self.step))
        self.setAccessibleDescription(f"{kind_text(state.kind)}. {state.text}")
        self._paint_icon()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._paint_icon()

    def _paint_icon(self) -> None:
        colors = theme_colors()
        picture = icon(f"step-{self._state.kind}", _state_color(self._state.kind, colors), mark=colors.surface)
        self._icon.setPixmap(picture.pixmap(_ICON_SIZE, _ICON_SIZE))


class Rail(QFrame):
    """All steps.

    Args:
        session: the open project.
        parent: the Qt parent.

    Signals:
        step_chosen: a `Step`.
    """

    step_chosen = Signal(object)

    def __init__(self, session: ProjectSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("rail")
        self.setAccessibleName(self.tr("Steps"))
        self.setFixedWidth(RAIL_WIDTH)
        self._session = session
        self._group = QButtonGroup(self)
        self._group.buttonClicked.connect(self._on_button_clicked)
        self.buttons = {step: StepButton(step, number, self) for number, step in enumerate(Step, start=1)}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(Space.S, Space.L, Space.S, Space.M)
        layout.setSpacing(Space.XS)
        layout.addLayout(self._wordmark())
        layout.addSpacing(Space.M)
        for made in self.buttons.values():
            self._group.addButton(made)
            layout.addWidget(made)
        layout.addStretch(1)
        self.refresh()

    def select(self, step: Step) -> None:
        """Mark a step as the one in view."""
        self.buttons[step].setChecked(True)

    def refresh(self) -> None:
        """Show how far each step is now."""
        for step, made in self.buttons.items():
            state = step_state(self._session, step)
            if state != made.state:
                made.show_state(state)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._logo.setPixmap(pixmap("logo", theme_colors().accent, _ICON_SIZE))

    def _wordmark(self) -> QHBoxLayout:
        self._logo = QLabel(self)
        self._logo.setPixmap(pixmap("logo", theme_colors().accent, _ICON_SIZE))
        line = QHBoxLayout()
        line.setContentsMargins(Space.M, 0, Space.S, 0)
        line.setSpacing(Space.M)
        line.addWidget(self._logo)
        line.addWidget(label("LAPE Studio", "wordmark", parent=self, wraps=False), 1)
        return line

    @Slot(object)
    def _on_button_clicked(self, made: StepButton) -> None:
        self.step_chosen.emit(made.step)


def _state_color(kind: StateKind, colors: Colors) -> str:
    return {
        "todo": colors.border_strong,
        "ready": colors.accent,
        "working": colors.accent,
        "done": colors.success,
        "failed": colors.danger,
    }[kind]
