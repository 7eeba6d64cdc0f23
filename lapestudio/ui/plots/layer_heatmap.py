"""Layers x languages heatmap: in which layers a language's neurons lie; filled in live while counts come in."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from PySide6.QtWidgets import QWidget

from lapestudio.ui.plots.matrix_plot import MatrixPlot

_LABELLED_LAYERS = 40


class LayerHeatmap(MatrixPlot):
    """One row a language, one column a layer; the colour is a value that `show_values` names."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._values: npt.NDArray[np.float64] = np.zeros((0, 0))
        self._languages: list[str] = []
        self._label = ""
        super().__init__(parent)
        self.set_texts(
            self.tr("Layers and languages"),
            self.tr(
                "One row a language, one column a layer of the model, the first layer at the left. "
                "The brighter a cell, the more this layer has to do with this language."
            ),
        )
        self.plot.setLabel("bottom", self.tr("layer"))

    def show_values(self, values: npt.NDArray[np.float64], languages: Sequence[str], value_label: str) -> None:
        """Show new values.

        Args:
            values: (num_layers, num_languages) float.
            languages: names, as they are to be read.
            value_label: what a value is, with its unit.
        """
        self._values, self._languages, self._label = np.asarray(values, dtype=np.float64), list(languages), value_label
        self.redraw()

    def redraw(self) -> None:
        """Draw the values."""
        if self._values.size == 0:
            return
        num_layers = len(self._values)
        high = float(np.nanmax(self._values)) or 1.0
        self.paint(self._values.T, high, self._label)
        step = max(1, num_layers // _LABELLED_LAYERS)
        self.plot.getAxis("bottom").setTicks([[(i + 0.5, str(i)) for i in range(0, num_layers, step)]])
        self.plot.getAxis("left").setTicks([[(k + 0.5, name) for k, name in enumerate(self._languages)]])

    def describe(self, x: float, y: float) -> str:
        """Name the language, the layer and the value under the mouse."""
        layer, language = int(np.floor(x)), int(np.floor(y))
        if not (0 <= layer < self._values.shape[0] and 0 <= language < self._values.shape[1]):
            return ""
        return self.tr("{language}, layer {layer}: {value} {label}").format(
            language=self._languages[language],
            layer=layer,
            value=f"{self._values[layer, language]:.4g}",
            label=self._label,
        )

    def table(self) -> Iterable[Sequence[object]]:
        """Return one row a layer."""
        yield ["layer", *self._languages]
        for layer, row in enumerate(self._values):
            yield [layer, *row.tolist()]
