"""The selection of neurons from stored counts: made anew in a thread whenever a slider moves.

In: the counts of an identification, rho and tau. Out: a `SelectedNeurons` with the arrays that the pictures draw.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QObject, Signal, Slot

from lapestudio.core.activation_counts import ActivationCounts, load_counts
from lapestudio.core.lape import Selection, Selector
from lapestudio.core.neuron_set import NeuronSet
from lapestudio.core.specs import SelectionSettings
from lapestudio.core.summaries import language_map, layer_activity, neurons_per_layer, overlap_matrix
from lapestudio.ui.query_thread import IsCancelled, LatestAnswer
from lapestudio.ui.text import language_name


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedModel:
    """Counts with what is computed of them once."""

    path: Path
    counts: ActivationCounts
    selector: Selector
    activity: npt.NDArray[np.float64]
    """(num_layers, num_languages): mean activation probability."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectedNeurons:
    """One selection and its pictures."""

    counted: CountedModel
    settings: SelectionSettings
    selection: Selection
    neurons: NeuronSet
    per_layer: npt.NDArray[np.int64]
    """(num_languages, num_layers): numbers of neurons."""
    owners: npt.NDArray[np.int16]
    """(num_layers, intermediate_size): -1 none, k one language, num_languages several."""
    overlap: npt.NDArray[np.float64]
    """(num_languages, num_languages): Jaccard index."""


class SelectionState(QObject):
    """Keeps the counts of one identification and the newest selection from them.

    Args:
        parent: the Qt parent.

    Signals:
        selected: a `SelectedNeurons`.
        cleared: there are no counts any more.
        failed: one sentence, and details.
    """

    selected = Signal(object)
    cleared = Signal()
    failed = Signal(str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.current: SelectedNeurons | None = None
        self._path: Path | None = None
        self._counted: CountedModel | None = None
        # While a slider is dragged every answer is shown: the pictures follow the hand.
        self._answers = LatestAnswer(self, interrupts=False)
        self._answers.answered.connect(self._on_selected)
        self._answers.failed.connect(self.failed)

    @property
    def is_busy(self) -> bool:
        """Whether a selection is on its way."""
        return self._answers.is_busy

    def load(self, path: Path | None, settings: SelectionSettings) -> None:
        """Take the counts of another identification; nothing where there are none."""
        if path != self._path or path is None:
            self._path, self._counted, self.current = path, None, None
            self.cleared.emit()
        if path is not None and self.current is None:
            self.select(settings)

    def select(self, settings: SelectionSettings) -> None:
        """Select with other settings."""
        path, known = self._path, self._counted
        if path is None:
            return

        def work(_is_cancelled: IsCancelled) -> object:
            counted = known if known is not None else _count(path)
            return _select(counted, settings)

        self._answers.ask(work)

    def forget(self, path: Path) -> None:
        """Read a file again at the next `load`: it has been written anew."""
        if path == self._path:
            self._path = None

    @Slot(object)
    def _on_selected(self, selected: SelectedNeurons) -> None:
        # Counts that were left for others meanwhile are of no interest.
        if selected.counted.path == self._path:
            self._counted, self.current = selected.counted, selected
            self.selected.emit(selected)


def _count(path: Path) -> CountedModel:
    counts = load_counts(path)
    names = [language_name(code) for code in counts.languages]
    return CountedModel(
        path=path,
        counts=counts,
        selector=Selector(counts.over_zero, counts.num_tokens, names),
        activity=layer_activity(counts),
    )


def _select(counted: CountedModel, settings: SelectionSettings) -> SelectedNeurons:
    selection = counted.selector.select(settings.top_rate, settings.activity_quantile)
    neurons = NeuronSet.from_selection(selection, counted.counts)
    return SelectedNeurons(
        counted=counted,
        settings=settings,
        selection=selection,
        neurons=neurons,
        per_layer=neurons_per_layer(neurons),
        owners=language_map(neurons),
        overlap=overlap_matrix(neurons),
    )
