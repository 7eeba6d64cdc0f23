"""How one file is read: its encoding, and which of its tiers, columns, fields or languages."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QGridLayout, QListWidget, QListWidgetItem, QWidget

from lapestudio.core.text_settings import ReadingOptions
from lapestudio.corpora.encodings import CHOICES
from lapestudio.corpora.reader import FileNotes, Part
from lapestudio.ui.text import count_text, isolate
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.help_button import HelpButton
from lapestudio.ui.widgets.labels import label
from lapestudio.ui.widgets.number_fields import ChoiceField

_AUTO = ""
_LIST_HEIGHT = 118
_EXAMPLE_CHARACTERS = 60
_NAME = Qt.ItemDataRole.UserRole


class ReadingChoices(QWidget):
    """Edits the options of a file.

    Args:
        parent: the Qt parent.

    Signals:
        options_changed: `ReadingOptions`, and whether they are meant for all such files of the folder.
    """

    options_changed = Signal(object, bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._options = ReadingOptions()
        self._is_filling = False
        self._encoding_label = label(self.tr("Encoding"), parent=self, wraps=False)
        self.encoding = ChoiceField(self)
        self.encoding.addItem(self.tr("Found out"), _AUTO)
        for name in CHOICES:
            self.encoding.addItem(name, name)
        self.encoding.setObjectName("encoding")
        self.encoding.setAccessibleName(self.tr("Encoding"))
        self.encoding.currentIndexChanged.connect(self._on_encoding_changed)
        self._encoding_help = HelpButton(
            self.tr("Encoding"),
            self.tr("How the letters are stored in the file. If you see wrong letters below, choose another one."),
            self,
        )
        self._parts_label = label(self.tr("Read from"), parent=self, wraps=False)
        self.parts = QListWidget(self)
        self.parts.setObjectName("parts")
        self.parts.setAccessibleName(self.tr("Tiers, columns or languages to read"))
        self.parts.setFixedHeight(_LIST_HEIGHT)
        self.parts.itemChanged.connect(self._on_part_changed)
        self.for_all = QCheckBox(self)
        self.for_all.setObjectName("forAllFiles")
        self.for_all.setAccessibleName(self.tr("The same for all such files of the folder"))
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setHorizontalSpacing(Space.S)
        layout.setVerticalSpacing(Space.S)
        layout.setColumnStretch(1, 1)
        layout.addWidget(self._encoding_label, 0, 0)
        layout.addWidget(self.encoding, 0, 1)
        layout.addWidget(self._encoding_help, 0, 2)
        layout.addWidget(self._parts_label, 1, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self.parts, 1, 1, 1, 2)
        layout.addWidget(self.for_all, 2, 1, 1, 2)

    def show_file(self, options: ReadingOptions, parts: Sequence[Part], notes: FileNotes, *, ending: str) -> None:
        """Show what can be chosen in a file, and what is chosen.

        Args:
            options: what was decided.
            parts: what the file has.
            notes: what its reader found out.
            ending: of the file's name, when there are other such files in its folder; else empty.
        """
        self._is_filling = True
        self._options = options
        has_encoding = notes.encoding is not None or options.encoding is not None
        for widget in (self._encoding_label, self.encoding, self._encoding_help):
            widget.setVisible(has_encoding)
        found = notes.encoding if notes.encoding is not None and options.encoding is None else ""
        self.encoding.setItemText(
            0, self.tr("Found out: {encoding}").format(encoding=found) if found else self.tr("Found out")
        )
        self.encoding.choose(options.encoding or _AUTO)
        self._fill_parts(options, parts)
        self.for_all.setVisible(bool(ending))
        self.for_all.setText(self.tr("The same for all files that end in {ending}").format(ending=isolate(ending)))
        self._is_filling = False

    def _fill_parts(self, options: ReadingOptions, parts: Sequence[Part]) -> None:
        self.parts.clear()
        for part in parts:
            number = "" if part.num_segments is None else f" ({count_text(part.num_segments)})"
            example = part.example[:_EXAMPLE_CHARACTERS]
            item = QListWidgetItem(f"{isolate(part.name)}{number}   {isolate(example)}" if example else part.name)
            item.setData(_NAME, part.name)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            is_taken = part.is_default if options.parts is None else part.name in options.parts
            item.setCheckState(Qt.CheckState.Checked if is_taken else Qt.CheckState.Unchecked)
            kind = {
                "tier": self.tr("tier"), "column": self.tr("column"), "field": self.tr("field"),
                "language": self.tr("language"),
            }.get(part.kind, part.kind)  # fmt: skip
            below = self.tr("below {parent}").format(parent=part.parent) if part.parent else ""
            item.setToolTip("\n".join(filter(None, (f"{kind}: {part.name}", below, part.example))))
            self.parts.addItem(item)
        self._parts_label.setVisible(bool(parts))
        self.parts.setVisible(bool(parts))

    def _emit(self, **changes: object) -> None:
        self._options = ReadingOptions.model_validate({**dict(self._options), **changes})
        self.options_changed.emit(self._options, self.for_all.isVisible() and self.for_all.isChecked())

    @Slot()
    def _on_encoding_changed(self) -> None:
        if not self._is_filling:
            self._emit(encoding=self.encoding.currentData() or None)

    @Slot(QListWidgetItem)
    def _on_part_changed(self, _item: QListWidgetItem) -> None:
        if self._is_filling:
            return
        items = [self.parts.item(row) for row in range(self.parts.count())]
        taken = tuple(str(item.data(_NAME)) for item in items if item.checkState() == Qt.CheckState.Checked)
        # Nothing ticked means: as the reader chooses.
        self._emit(parts=taken or None)
