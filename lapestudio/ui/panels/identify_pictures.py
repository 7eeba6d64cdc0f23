"""The pictures of an identification, and the table: filled in live while counts come in, redrawn as sliders move."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QSignalBlocker, Slot
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QTabWidget, QVBoxLayout, QWidget

from lapestudio.core.activation_counts import PartialCounts
from lapestudio.ui.panels.neuron_table import NeuronTable
from lapestudio.ui.plots.layer_heatmap import LayerHeatmap
from lapestudio.ui.plots.neuron_map import NeuronMap
from lapestudio.ui.plots.overlap_matrix import OverlapMatrix
from lapestudio.ui.plots.score_histogram import ScoreHistogram
from lapestudio.ui.query_thread import IsCancelled, LatestAnswer
from lapestudio.ui.selection import SelectedNeurons, SelectionState
from lapestudio.ui.text import language_name
from lapestudio.ui.tokens import Space
from lapestudio.ui.widgets.card import Card
from lapestudio.ui.widgets.labels import label
from lapestudio.ui.widgets.number_fields import ChoiceField


class IdentifyPictures(Card):
    """Shows a selection; only the picture in view is drawn.

    Args:
        state: makes the selections.
        parent: the Qt parent.
    """

    def __init__(self, state: SelectionState, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._state = state
        self._selected: SelectedNeurons | None = None
        self._drawn: dict[int, SelectedNeurons] = {}
        self.heatmap = LayerHeatmap()
        self.neuron_map = NeuronMap()
        self.overlap = OverlapMatrix()
        self.histogram = ScoreHistogram()
        self.table = NeuronTable()
        self._partial = LatestAnswer(self, interrupts=False)
        self._partial.answered.connect(self._on_partial_read)
        self._partial.failed.connect(self._on_partial_failed)
        self._lay_out()
        state.selected.connect(self._on_selected)
        state.cleared.connect(self._on_cleared)
        if state.current is not None:
            self._on_selected(state.current)

    def set_dark(self, dark: bool) -> None:
        """Draw for a light or a dark window."""
        for picture in (self.heatmap, self.neuron_map, self.overlap, self.histogram):
            picture.set_dark(dark)

    def show_waiting(self) -> None:
        """Say that pictures will come."""
        self._selected, self._drawn = None, {}
        with QSignalBlocker(self._shown_value):
            self._shown_value.choose("neurons")
        self._hint.setText(self.tr("The heatmap appears as soon as the first tokens have been counted."))
        self._pages.setCurrentWidget(self._hint_page)

    def show_partial(self, path: Path) -> None:
        """Show the counts so far of a job that is counting."""

        def read(_is_cancelled: IsCancelled) -> object:
            partial = PartialCounts.open(path)
            if partial is None:
                return None
            with partial:
                return partial.layer_activity(), partial.languages

        self._partial.ask(read)

    def _lay_out(self) -> None:
        self._tabs = QTabWidget(self)
        self._tabs.setObjectName("pictures")
        self._tabs.setAccessibleName(self.tr("Pictures"))
        self._tabs.setDocumentMode(True)
        self._tabs.tabBar().setAccessibleName(self.tr("Pictures"))
        self._tabs.addTab(self._heatmap_page(), self.tr("Layers"))
        self._tabs.addTab(self.neuron_map, self.tr("Neurons"))
        self._tabs.addTab(self.overlap, self.tr("Overlap"))
        self._tabs.addTab(self.histogram, self.tr("Entropy"))
        self._tabs.addTab(self.table, self.tr("Table"))
        self._tabs.currentChanged.connect(self._draw)
        self._hint = label(self.tr("Pictures appear here when the neurons have been counted."), "muted", parent=self)
        self._hint_page = QWidget(self)
        hint = QVBoxLayout(self._hint_page)
        hint.addWidget(self._hint)
        hint.addStretch(1)
        self._pages = QStackedWidget(self)
        self._pages.addWidget(self._hint_page)
        self._pages.addWidget(self._tabs)
        self.body.addWidget(self._pages)

    def _heatmap_page(self) -> QWidget:
        page = QWidget(self)
        self._shown_value = ChoiceField(page)
        self._shown_value.setObjectName("heatmapValue")
        self._shown_value.setAccessibleName(self.tr("What the heatmap shows"))
        self._shown_value.addItem(self.tr("Selected neurons"), "neurons")
        self._shown_value.addItem(self.tr("Mean activity"), "activity")
        self._shown_value.currentIndexChanged.connect(self._on_value_chosen)
        line = QHBoxLayout()
        line.setSpacing(Space.S)
        line.addWidget(label(self.tr("Show"), "muted", parent=page, wraps=False))
        line.addWidget(self._shown_value)
        line.addStretch(1)
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(Space.S)
        layout.addLayout(line)
        layout.addWidget(self.heatmap, 1)
        return page

    def _names(self, codes: tuple[str, ...]) -> list[str]:
        return [language_name(code) for code in codes]

    @Slot(object)
    def _on_selected(self, selected: SelectedNeurons) -> None:
        self._selected = selected
        for tab in range(1, self._tabs.count()):
            self._tabs.setTabEnabled(tab, True)
        if not self._shown_value.isEnabled():
            # What was shown while counting gives way to what was found.
            self._shown_value.setEnabled(True)
            with QSignalBlocker(self._shown_value):
                self._shown_value.choose("neurons")
        self._pages.setCurrentWidget(self._tabs)
        self._draw()

    @Slot()
    def _on_cleared(self) -> None:
        self._selected, self._drawn = None, {}
        self._pages.setCurrentWidget(self._hint_page)

    @Slot()
    def _draw(self) -> None:
        tab, selected = self._tabs.currentIndex(), self._selected
        if selected is None or self._drawn.get(tab) is selected:
            return
        self._drawn[tab] = selected
        names = self._names(selected.neurons.languages)
        match self._tabs.currentWidget():
            case self.neuron_map:
                self.neuron_map.show_map(selected.owners, names, selected.counted.counts.probabilities_of)
            case self.overlap:
                self.overlap.show_matrix(selected.overlap, names)
            case self.histogram:
                self.histogram.show_scores(selected.counted.selector.scores, selected.selection.highest_score)
            case self.table:
                self.table.show_selection(selected)
            case _:
                self._draw_heatmap(selected, names)

    def _draw_heatmap(self, selected: SelectedNeurons, names: list[str]) -> None:
        if self._shown_value.currentData() == "activity":
            self._show_activity(selected.counted.activity, names)
        else:
            self.heatmap.show_values(selected.per_layer.T.astype(np.float64), names, self.tr("neurons"))

    @Slot()
    def _on_value_chosen(self) -> None:
        self._drawn.pop(0, None)
        self._draw()

    @Slot(object)
    def _on_partial_read(self, answer: tuple[npt.NDArray[np.float64], tuple[str, ...]] | None) -> None:
        if answer is None or self._selected is not None:
            return
        activity, codes = answer
        if not np.isfinite(activity).any():
            return
        self._tabs.setCurrentIndex(0)
        for tab in range(1, self._tabs.count()):
            self._tabs.setTabEnabled(tab, False)
        self._shown_value.setEnabled(False)
        self._pages.setCurrentWidget(self._tabs)
        with QSignalBlocker(self._shown_value):
            self._shown_value.choose("activity")
        self._show_activity(activity, self._names(codes))

    def _show_activity(self, activity: npt.NDArray[np.float64], names: list[str]) -> None:
        self.heatmap.show_values(100 * activity, names, self.tr("tokens with active neurons, %"))

    @Slot(str, str)
    def _on_partial_failed(self, message: str, _details: str) -> None:
        self._hint.setText(message)
