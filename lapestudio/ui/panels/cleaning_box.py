"""What is left out of a language's text: a switch for each step, with how much it removed and a look at it."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QCheckBox, QGridLayout, QPushButton, QWidget

from lapestudio.core.text_settings import CleaningSettings
from lapestudio.corpora.corpus_summary import CorpusSummary
from lapestudio.ui.text import count_text
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.help_button import HelpButton
from lapestudio.ui.widgets.labels import button, label
from lapestudio.ui.widgets.number_fields import WholeNumberField

_MOST_CHARACTERS = 10_000


class CleaningBox(QWidget):
    """Edits the cleaning of a language.

    Args:
        parent: the Qt parent.

    Signals:
        settings_changed: `CleaningSettings`.
        examples_requested: name of the step whose removals are to be shown.
    """

    settings_changed = Signal(object)
    examples_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = CleaningSettings()
        self._is_filling = False
        self.boxes: dict[str, QCheckBox] = {}
        self.links: dict[str, QPushButton] = {}
        self._layout = QGridLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setHorizontalSpacing(Space.S)
        self._layout.setVerticalSpacing(Space.XS)
        self._layout.setColumnStretch(0, 1)
        for row, (field, name, help_text) in enumerate(self._fields()):
            self._add_row(row, field, name, help_text)
        row = self._layout.rowCount()
        self.min_characters = WholeNumberField(0, _MOST_CHARACTERS, parent=self)
        self.min_characters.setObjectName("minCharacters")
        self.min_characters.setAccessibleName(self.tr("Shortest, in characters"))
        self.min_characters.valueChanged.connect(self._on_min_characters_changed)
        self._layout.addWidget(label(self.tr("Shortest, in characters"), parent=self), row, 0)
        self._layout.addWidget(self.min_characters, row + 1, 0)
        self._add_link(row, "min_characters", self.min_characters.accessibleName())

    def show_language(self, settings: CleaningSettings, summary: CorpusSummary | None) -> None:
        """Show what is switched on, and what it did."""
        self._is_filling = True
        self._settings = settings
        for field, box in self.boxes.items():
            box.setChecked(getattr(settings, field))
        self.min_characters.set_number(settings.min_characters)
        for link in self.links.values():
            link.hide()
        for step in summary.cleaning if summary is not None else []:
            link_of_step = self.links.get(step.setting)
            number = step.num_removed + step.num_changed
            if link_of_step is not None and number:
                text = self.tr("{number} removed") if step.num_removed else self.tr("{number} changed")
                link_of_step.setText(text.format(number=count_text(number)))
                link_of_step.setAccessibleName(f"{self._name(step.setting)}: {link_of_step.text()}")
                link_of_step.show()
        self._is_filling = False

    def _fields(self) -> list[tuple[str, str, str]]:
        return [
            (
                "compose",
                self.tr("Accents as one character"),
                self.tr("The same word is then always stored in the same way (Unicode NFC)."),
            ),
            (
                "remove_invisible",
                self.tr("Invisible characters"),
                self.tr("Control and zero-width characters; the joiners that scripts such as Persian need stay."),
            ),
            (
                "remove_markup",
                self.tr("Web and wiki markup"),
                self.tr("Tags, entities and braces that are no part of the language."),
            ),
            (
                "repair_double_encoding",
                self.tr("Letters stored twice"),
                self.tr("Text such as Ä§ instead of ħ; it is repaired where the repair is certain."),
            ),
            (
                "remove_duplicates",
                self.tr("Repetitions"),
                self.tr("Only the first is kept; a model learns repeated sentences by heart."),
            ),
            (
                "remove_near_duplicates",
                self.tr("Near repetitions"),
                self.tr("Segments that differ from an earlier one in a few letters or words only."),
            ),
            (
                "remove_held_out",
                self.tr("Text kept for testing"),
                self.tr("Segments that occur in the files kept for testing: whoever has trained on them knows them."),
            ),
            (
                "check_script",
                self.tr("Other scripts"),
                self.tr("Segments most of whose letters belong to a script that the language does not use."),
            ),
            (
                "check_language",
                self.tr("Other languages"),
                self.tr("Segments that are surely in another language; only where the checker knows your language."),
            ),
        ]

    def _add_row(self, row: int, field: str, name: str, help_text: str) -> None:
        box = QCheckBox(name, self)
        box.setObjectName(f"cleaning-{field}")
        box.toggled.connect(self._on_toggled)
        box.setProperty("field", field)
        self.boxes[field] = box
        self._layout.addWidget(box, row, 0)
        self._layout.addWidget(HelpButton(name, help_text, self), row, 1)
        self._add_link(row, field, name)

    def _add_link(self, row: int, field: str, name: str) -> None:
        link = button("", "link", name=f"removed-{field}", parent=self)
        link.setAccessibleName(name)
        link.setProperty("field", field)
        link.setToolTip(self.tr("Show examples at the side"))
        link.clicked.connect(self._on_link_clicked)
        link.hide()
        self.links[field] = link
        self._layout.addWidget(link, row, 3)

    def _name(self, field: str) -> str:
        box = self.boxes.get(field)
        return box.text() if box is not None else self.min_characters.accessibleName()

    def _emit(self, **changes: object) -> None:
        if not self._is_filling:
            self._settings = CleaningSettings.model_validate({**dict(self._settings), **changes})
            self.settings_changed.emit(self._settings)

    @Slot(bool)
    def _on_toggled(self, is_on: bool) -> None:
        box = self.sender()
        if isinstance(box, QCheckBox):
            self._emit(**{str(box.property("field")): is_on})

    @Slot(int)
    def _on_min_characters_changed(self, number: int) -> None:
        self._emit(min_characters=number)

    @Slot()
    def _on_link_clicked(self) -> None:
        link = self.sender()
        if isinstance(link, QPushButton):
            self.examples_requested.emit(str(link.property("field")))
