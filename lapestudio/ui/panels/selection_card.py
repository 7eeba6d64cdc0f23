"""The selection of neurons: two sliders, what they give, and saving it."""

from pathlib import Path

from PySide6.QtCore import QTimer, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from lapestudio.core.errors import UserError
from lapestudio.core.neuron_set import save_neuron_set
from lapestudio.core.specs import SelectionSettings
from lapestudio.ui.selection import SelectedNeurons, SelectionState
from lapestudio.ui.session import ProjectSession
from lapestudio.ui.text import count_text, number_text, path_text, percent_text
from lapestudio.ui.widgets.card import Card
from lapestudio.ui.widgets.labels import button, label
from lapestudio.ui.widgets.message_bar import MessageBar
from lapestudio.ui.widgets.share_slider import ShareSlider

_SAVE_AFTER_MS = 400
_LIMITS = (1e-6, 0.5)
_QUANTILE_LIMITS = (1e-6, 1 - 1e-6)


class SelectionCard(Card):
    """Edits the project's selection settings.

    Args:
        session: the open project.
        state: makes the selections.
        parent: the Qt parent.
    """

    def __init__(self, session: ProjectSession, state: SelectionState, parent: QWidget | None = None) -> None:
        super().__init__("", parent=parent)
        self._session = session
        self._state = state
        self.setAccessibleName(self.tr("Selection"))
        self.header.addWidget(label(self.tr("Selection"), "heading", parent=self, wraps=False))
        self.header.addStretch(1)
        self.body.addLayout(self.header)
        self.top_rate = ShareSlider(
            self.tr("Share of neurons to keep (\u03c1)"),
            self.tr("Of all the model's neurons, so many are kept: those with the lowest entropy, the most specific."),
            low=0.001,
            high=0.2,
            limits=_LIMITS,
            parent=self,
        )
        self.top_rate.slider.setObjectName("topRate")
        self.activity = ShareSlider(
            self.tr("What counts as active (\u03c4)"),
            self.tr(
                "A neuron belongs to a language when it is active on more of its tokens than this share of all "
                "neurons and languages: higher is stricter."
            ),
            low=0.5,
            high=0.999,
            limits=_QUANTILE_LIMITS,
            parent=self,
        )
        self.activity.slider.setObjectName("activityQuantile")
        self._summary = label("", parent=self)
        self._summary.setObjectName("selectionSummary")
        self._notice = MessageBar(self)
        self.save = button(self.tr("Save neuron set…"), name="saveNeurons", parent=self)
        self._saved = MessageBar(self)
        for part in (self.top_rate, self.activity, self._summary, self._notice, self.save, self._saved):
            self.body.addWidget(part)
        self._save_later = QTimer(self)
        self._save_later.setSingleShot(True)
        self._save_later.setInterval(_SAVE_AFTER_MS)
        self._save_later.timeout.connect(self._on_save_due)
        self.top_rate.share_changed.connect(self._on_share_changed)
        self.activity.share_changed.connect(self._on_share_changed)
        self.save.clicked.connect(self._on_save_clicked)
        state.selected.connect(self.show_selection)
        state.cleared.connect(self._on_cleared)
        state.failed.connect(self._on_failed)
        self._fill(session.document.selection)
        self.show_selection(state.current)

    @property
    def settings(self) -> SelectionSettings:
        """What the sliders say."""
        return SelectionSettings(top_rate=self.top_rate.share, activity_quantile=self.activity.share)

    @Slot(object)
    def show_selection(self, selected: SelectedNeurons | None) -> None:
        """Show what the sliders give."""
        for part in (self.top_rate, self.activity, self.save):
            part.setEnabled(selected is not None)
        if selected is None:
            self._summary.setText(self.tr("There is something to select as soon as the neurons have been counted."))
            self._notice.clear()
            return
        selection = selected.selection
        text = self.tr("{number} neurons kept, {share} of all. Active means: on more than {bar} of the tokens.")
        self._summary.setText(
            text.format(
                number=count_text(selection.num_selected),
                share=percent_text(selection.num_selected / selected.owners.size, 2),
                bar=percent_text(selection.threshold, 1),
            )
        )
        if selection.notices:
            first, *others = selection.notices
            self._notice.show_message("info", first, "\n".join(others))
        else:
            self._notice.clear()

    def flush(self) -> None:
        """Save at once what the sliders say."""
        if self._save_later.isActive():
            self._save_later.stop()
            self._on_save_due()

    def _fill(self, settings: SelectionSettings) -> None:
        self.top_rate.set_share(settings.top_rate)
        self.activity.set_share(settings.activity_quantile)

    @Slot()
    def _on_cleared(self) -> None:
        self.show_selection(None)

    @Slot(str, str)
    def _on_failed(self, message: str, details: str) -> None:
        self._notice.show_message("error", message, details)

    @Slot(float)
    def _on_share_changed(self, _share: float) -> None:
        self._state.select(self.settings)
        self._save_later.start()

    @Slot()
    def _on_save_due(self) -> None:
        self._session.update(selection=self.settings)

    @Slot()
    def _on_save_clicked(self) -> None:
        selected = self._state.current
        if selected is None:
            return
        name = f"neurons-{number_text(100 * selected.settings.top_rate, 1)}.safetensors"
        filters = self.tr("Neuron set (*.safetensors);;JSON (*.json);;Table (*.csv)")
        start = str(self._session.project.folder / name)
        chosen, _filter = QFileDialog.getSaveFileName(self, self.tr("Save neuron set"), start, filters)
        if chosen:
            self.save_to(Path(chosen))

    def save_to(self, path: Path) -> None:
        """Save the selection; the ending decides the form."""
        selected = self._state.current
        assert selected is not None, "nothing to save"
        try:
            save_neuron_set(selected.neurons, path)
        except UserError as error:
            self._saved.show_message("error", str(error))
            return
        self._saved.show_message("success", self.tr("Saved to {file}.").format(file=path_text(path)))
