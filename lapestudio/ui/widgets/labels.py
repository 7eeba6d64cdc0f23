"""Labels in the roles of the type scale, and buttons in the kinds of the style sheet."""

from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QFrame, QLabel, QPushButton, QSizePolicy, QWidget

Role = Literal[
    "title",
    "heading",
    "figure",
    "muted",
    "strong",
    "success",
    "warning",
    "danger",
    "body",
    "stepName",
    "stepState",
    "wordmark",
]
ButtonKind = Literal["plain", "primary", "link", "choice"]


def label(text: str, role: Role = "body", *, parent: QWidget | None = None, wraps: bool = True) -> QLabel:
    """Return a label whose text is shown as it stands and can be selected where it says more than a heading."""
    made = QLabel(text, parent)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setProperty("role", role)
    made.setWordWrap(wraps)
    if wraps:
        made.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
    return made


def set_role(widget: QLabel, role: Role) -> None:
    """Give a label another role and paint it anew."""
    if widget.property("role") != role:
        widget.setProperty("role", role)
        restyle(widget)


def button(text: str, kind: ButtonKind = "plain", *, name: str, parent: QWidget | None = None) -> QPushButton:
    """Return a button.

    Args:
        text: what it does.
        kind: how it looks; one primary button a panel.
        name: object name, for tests and style sheets.
        parent: the Qt parent.
    """
    made = QPushButton(text, parent)
    made.setObjectName(name)
    made.setProperty("kind", kind)
    made.setAccessibleName(text.replace("&", ""))
    made.setCursor(Qt.CursorShape.PointingHandCursor)
    # A button that hides after a click would else hand the focus, and its ring, to whatever comes next.
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return made


def centre_labels(form: QFormLayout) -> None:
    """Put each label of a form at the height of its field's middle, not of its upper edge."""
    for row in range(form.rowCount()):
        item = form.itemAt(row, QFormLayout.ItemRole.LabelRole)
        widget = item.widget() if item is not None else None
        if widget is not None:
            widget.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)


def rule(parent: QWidget | None = None) -> QFrame:
    """Return a thin line."""
    made = QFrame(parent)
    made.setObjectName("rule")
    return made


def restyle(widget: QWidget) -> None:
    """Apply the style sheet again after a property that it looks at has changed."""
    widget.style().unpolish(widget)
    widget.style().polish(widget)
