"""Overlap of the languages' neuron sets: how many neurons two languages share."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from lapestudio.ui.plots.matrix_plot import MatrixPlot

_MAX_WRITTEN_LANGUAGES = 16


class OverlapMatrix(MatrixPlot):
    """Languages x languages; the colour is the Jaccard index of two sets, the diagonal is left out."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._matrix: npt.NDArray[np.float64] = np.zeros((0, 0))
        self._languages: list[str] = []
        self._texts: list[pg.TextItem] = []
        super().__init__(parent)
        self.set_texts(
            self.tr("Shared neurons"),
            self.tr(
                "How much two languages share: neurons that both have, divided by neurons that either has "
                "(Jaccard index, in percent). Related languages usually share more."
            ),
        )

    def show_matrix(self, matrix: npt.NDArray[np.float64], languages: Sequence[str]) -> None:
        """Show a new matrix.

        Args:
            matrix: (num_languages, num_languages) float in [0, 1].
            languages: names, as they are to be read.
        """
        self._matrix, self._languages = np.asarray(matrix, dtype=np.float64), list(languages)
        self.redraw()

    def redraw(self) -> None:
        """Draw the matrix."""
        if self._matrix.size == 0:
            return
        percent = 100 * self._matrix
        num_languages = len(self._languages)
        others = percent[~np.eye(num_languages, dtype=bool)]
        high = float(np.nanmax(others, initial=0.0)) or 1.0
        shown = percent.copy()
        np.fill_diagonal(shown, np.nan)
        self.paint(shown, high, self.tr("shared neurons, %"))
        ticks = [(k + 0.5, name) for k, name in enumerate(self._languages)]
        self.plot.getAxis("left").setTicks([ticks])
        self.plot.getAxis("bottom").setTicks([[(place, _short(name)) for place, name in ticks]])
        self._write_values(percent, high)

    def _write_values(self, percent: npt.NDArray[np.float64], high: float) -> None:
        for text in self._texts:
            self.plot.removeItem(text)
        self._texts = []
        if len(self._languages) > _MAX_WRITTEN_LANGUAGES:
            return
        for row, column in np.argwhere(~np.eye(len(self._languages), dtype=bool)):
            value = percent[row, column]
            text = pg.TextItem(f"{value:.0f}", color="#000000" if value > high / 2 else "#FFFFFF", anchor=(0.5, 0.5))
            text.setPos(column + 0.5, row + 0.5)
            text.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
            self.plot.addItem(text)
            self._texts.append(text)

    def describe(self, x: float, y: float) -> str:
        """Name the two languages and what they share."""
        column, row = int(np.floor(x)), int(np.floor(y))
        if not (0 <= row < len(self._languages) and 0 <= column < len(self._languages)) or row == column:
            return ""
        return self.tr("{first} and {second}: {value} % of their neurons are shared").format(
            first=self._languages[row], second=self._languages[column], value=f"{100 * self._matrix[row, column]:.1f}"
        )

    def table(self) -> Iterable[Sequence[object]]:
        """Return the matrix with names."""
        yield ["language", *self._languages]
        for name, row in zip(self._languages, self._matrix, strict=True):
            yield [name, *row.tolist()]


def _short(name: str) -> str:
    """Return a name that fits under a column."""
    length = 4
    return name if len(name) <= length else f"{name[:length]}."
