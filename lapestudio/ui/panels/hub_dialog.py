"""The dialog that fetches text from the hub: ready-made choices for the language, or any data set."""

from pydantic import ValidationError
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QFormLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from lapestudio.core.hub_choices import HubChoice, choices_for
from lapestudio.core.specs import FetchSpec, first_problem
from lapestudio.ui.text import language_name
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.labels import button, centre_labels, label
from lapestudio.ui.widgets.message_bar import MessageBar
from lapestudio.ui.widgets.number_fields import ChoiceField, WholeNumberField

_WIDTH = 600
_MILLION = 1_000_000
_MOST_MILLIONS = 2000
_USUAL_MILLIONS = 20


class HubDialog(QDialog):
    """Asks what to fetch; `spec` is what was chosen.

    Args:
        code: the language.
        parent: the Qt parent.
    """

    def __init__(self, code: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._code = code
        self.spec: FetchSpec | None = None
        self.setObjectName("hubDialog")
        self.setWindowTitle(self.tr("Text from the hub"))
        self.setMinimumWidth(_WIDTH)
        self._choices = choices_for(code)
        self.choice = ChoiceField(self)
        self.choice.setObjectName("hubChoice")
        for one in self._choices:
            self.choice.addItem(one.name, one.name)
        self.choice.addItem(self.tr("Another data set"), "")
        self.choice.currentIndexChanged.connect(self._on_choice_changed)
        self._about = label("", "muted", parent=self)
        self.dataset, self.config, self.split, self.column = (QLineEdit(self) for _ in range(4))
        self.limit = WholeNumberField(1, _MOST_MILLIONS, parent=self)
        self.limit.set_number(_USUAL_MILLIONS)
        self._message = MessageBar(self)
        self._lay_out()
        self._on_choice_changed()

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(Space.L)
        form.setVerticalSpacing(Space.M)
        rows: tuple[tuple[str, str, QWidget], ...] = (
            ("hubChoice", self.tr("Data set"), self.choice),
            ("hubDataset", self.tr("Its name on the hub"), self.dataset),
            ("hubConfig", self.tr("Configuration"), self.config),
            ("hubSplit", self.tr("Split"), self.split),
            ("hubColumn", self.tr("Column with the text"), self.column),
            ("hubLimit", self.tr("At most, million characters"), self.limit),
        )
        for name, text, widget in rows:
            widget.setObjectName(name)
            widget.setAccessibleName(text)
            form.addRow(text, widget)
            if widget is self.choice:
                form.addRow("", self._about)
        centre_labels(form)
        cancel = button(self.tr("Cancel"), name="cancelFetch", parent=self)
        cancel.clicked.connect(self.reject)
        fetch = button(self.tr("Fetch"), "primary", name="startFetch", parent=self)
        fetch.setDefault(True)
        fetch.clicked.connect(self._on_fetch_clicked)
        buttons = QHBoxLayout()
        buttons.setSpacing(Space.S)
        buttons.addStretch(1)
        buttons.addWidget(cancel)
        buttons.addWidget(fetch)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(Space.XL, Space.XL, Space.XL, Space.L)
        layout.setSpacing(Space.M)
        heading = self.tr("Text in {language} from the Hugging Face hub").format(language=language_name(self._code))
        layout.addWidget(label(heading, "heading", parent=self, wraps=False))
        layout.addWidget(
            label(
                self.tr("This needs a connection. What is fetched is kept in the project and works offline."),
                "muted",
                parent=self,
            )
        )
        layout.addWidget(self._message)
        layout.addLayout(form)
        layout.addLayout(buttons)

    def _chosen(self) -> HubChoice | None:
        return next((one for one in self._choices if one.name == self.choice.currentData()), None)

    @Slot()
    def _on_choice_changed(self) -> None:
        one = self._chosen()
        about = one.about if one is not None else self.tr("Any public data set with a column of text.")
        if one is not None and one.needs_access:
            about += " " + self.tr("Its conditions have to be accepted on the hub first.")
        self._about.setText(about)
        self.dataset.setText(one.dataset if one is not None else "")
        self.config.setText(one.config if one is not None else "")
        self.split.setText(one.split if one is not None else "train")
        self.column.setText(one.column if one is not None else "text")

    @Slot()
    def _on_fetch_clicked(self) -> None:
        try:
            self.spec = FetchSpec(
                dataset=self.dataset.text().strip(),
                config=self.config.text().strip() or None,
                split=self.split.text().strip(),
                column=self.column.text().strip(),
                language=self._code,
                max_characters=(self.limit.number or _USUAL_MILLIONS) * _MILLION,
            )
        except ValidationError as error:
            self._message.show_message("error", first_problem(error))
            return
        self.accept()
