"""A form made from a settings model: the fields' ranges and explanations come from there, only the labels from here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import annotated_types
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from PySide6.QtCore import QCoreApplication, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLineEdit, QWidget

from lapestudio.core.settings import Settings
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.help_button import HelpButton
from lapestudio.ui.widgets.labels import label
from lapestudio.ui.widgets.number_fields import MAX_INT, ChoiceField, DecimalField, WholeNumberField

Editor = WholeNumberField | DecimalField | ChoiceField | QCheckBox | QLineEdit
_SMALLEST = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """How a field of the model is called in the form."""

    name: str
    label: str
    empty_text: str = ""
    """What stands for no value."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """Words for the values of a choice; a text field with choices becomes a list."""


class SettingsForm(QWidget):
    """Edits some fields of a settings model.

    Args:
        settings: what is shown at first.
        fields: which fields, in order.
        parent: the Qt parent.

    Signals:
        settings_changed: the whole model, with what the user has changed.
    """

    settings_changed = Signal(object)

    def __init__(self, settings: Settings, fields: Sequence[FormField], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._editors: dict[str, Editor] = {}
        self._is_filling = False
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setHorizontalSpacing(Space.S)
        layout.setVerticalSpacing(Space.S)
        layout.setColumnStretch(0, 1)
        for row, form_field in enumerate(fields):
            self._add(layout, row, form_field)
        self.set_settings(settings)

    def editor(self, name: str) -> Editor:
        """Return the editor of a field."""
        return self._editors[name]

    def set_settings(self, settings: Settings) -> None:
        """Show other settings."""
        self._settings = settings
        self._is_filling = True
        for name, editor in self._editors.items():
            _fill(editor, getattr(settings, name))
        self._is_filling = False

    def _add(self, layout: QGridLayout, row: int, form_field: FormField) -> None:
        info = type(self._settings).model_fields[form_field.name]
        editor = _editor(info, form_field, self)
        editor.setObjectName(form_field.name)
        editor.setAccessibleName(form_field.label)
        sentence = QCoreApplication.translate("Specs", info.description or "")
        editor.setAccessibleDescription(sentence)
        _changed_signal(editor).connect(self._on_edited)
        name = label(form_field.label, parent=self)
        name.setBuddy(editor)
        layout.addWidget(name, row, 0)
        layout.addWidget(editor, row, 1)
        layout.addWidget(HelpButton(form_field.label, sentence, self), row, 2)
        self._editors[form_field.name] = editor

    @Slot()
    def _on_edited(self) -> None:
        if self._is_filling:
            return
        values = {name: _value(editor) for name, editor in self._editors.items()}
        try:
            settings = type(self._settings).model_validate({**dict(self._settings), **values})
        except ValidationError:
            # Half-typed text; the editors' ranges keep everything else out.
            return
        if settings != self._settings:
            self._settings = settings
            self.settings_changed.emit(settings)


def _editor(info: FieldInfo, form_field: FormField, parent: QWidget) -> Editor:
    annotation = info.annotation
    options = [part for part in get_args(annotation) if part is not NoneType]
    kind: Any = options[0] if options and get_origin(annotation) is not Literal else annotation
    if get_origin(kind) is Literal or (kind is str and form_field.choices):
        choice = ChoiceField(parent)
        for value in get_args(kind) or form_field.choices:
            choice.addItem(form_field.choices.get(value, str(value)), value)
        return choice
    if kind is bool:
        return QCheckBox(parent)
    low, high = _range(info)
    if kind is int:
        return WholeNumberField(int(low), int(high), empty_text=form_field.empty_text, parent=parent)
    if kind is float:
        return DecimalField(low, high, parent)
    return QLineEdit(parent)


def _range(info: FieldInfo) -> tuple[float, float]:
    low, high = 0.0, float(MAX_INT)
    for rule in info.metadata:
        match rule:
            case annotated_types.Ge(ge=bound):
                low = float(bound)  # type: ignore[arg-type]  # the library says only that it can be compared
            case annotated_types.Gt(gt=bound):
                low = float(bound) + _SMALLEST  # type: ignore[arg-type]
            case annotated_types.Le(le=bound):
                high = float(bound)  # type: ignore[arg-type]
            case annotated_types.Lt(lt=bound):
                high = float(bound) - _SMALLEST  # type: ignore[arg-type]
            case _:
                pass
    return low, high


def _changed_signal(editor: Editor) -> Any:
    match editor:
        case WholeNumberField() | DecimalField():
            return editor.valueChanged
        case ChoiceField():
            return editor.currentIndexChanged
        case QCheckBox():
            return editor.toggled
        case _:
            return editor.textChanged


def _fill(editor: Editor, value: Any) -> None:
    match editor:
        case WholeNumberField():
            editor.set_number(value)
        case DecimalField():
            editor.setValue(value)
        case ChoiceField():
            editor.choose(value)
        case QCheckBox():
            editor.setChecked(value)
        case _:
            editor.setText(value)


def _value(editor: Editor) -> object:
    match editor:
        case WholeNumberField():
            return editor.number
        case DecimalField():
            return editor.value()
        case ChoiceField():
            return editor.currentData()
        case QCheckBox():
            return editor.isChecked()
        case _:
            return editor.text()
