"""Facts in two columns: what, and how much; with a sentence for words that need one."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QWidget

from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.help_button import HelpButton
from lapestudio.ui.widgets.labels import label

_LONG = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One line."""

    name: str
    value: str
    help: str = ""


class FactGrid(QWidget):
    """Shows facts."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layout = QGridLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setHorizontalSpacing(Space.XL)
        self._layout.setVerticalSpacing(Space.S)
        self._layout.setColumnStretch(1, 1)
        self._facts: tuple[Fact, ...] = ()

    def set_facts(self, facts: Sequence[Fact]) -> None:
        """Show other facts."""
        if tuple(facts) == self._facts:
            return
        self._facts = tuple(facts)
        while (item := self._layout.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for row, fact in enumerate(facts):
            self._layout.addWidget(self._name(fact), row, 0)
            value = label(fact.value, parent=self, wraps=len(fact.value) > _LONG)
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            value.setAccessibleName(f"{fact.name}: {fact.value}")
            self._layout.addWidget(value, row, 1)

    def _name(self, fact: Fact) -> QWidget:
        holder = QWidget(self)
        layout = QHBoxLayout(holder)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(Space.XS + 2)
        layout.addWidget(label(fact.name, "muted", parent=holder, wraps=False))
        if fact.help:
            layout.addWidget(HelpButton(fact.name, fact.help, holder))
        layout.addStretch(1)
        return holder
