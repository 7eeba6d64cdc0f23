"""Histogram of the LAPE scores with the cut below which neurons count as specific."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from lapestudio.ui.plots.plot_frame import PlotFrame

_NUM_BINS = 120


class ScoreHistogram(PlotFrame):
    """How many neurons have which entropy; a line marks the highest entropy among the kept ones."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._counts: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._edges: npt.NDArray[np.float64] = np.zeros(0)
        self._threshold: float | None = None
        self._below = pg.BarGraphItem(x0=[], x1=[], height=[])
        self._above = pg.BarGraphItem(x0=[], x1=[], height=[])
        self._line = pg.InfiniteLine(angle=90, movable=False)
        super().__init__(parent)
        self.set_texts(
            self.tr("How specific the neurons are"),
            self.tr(
                "LAPE is the entropy of a neuron's activation over the languages, in nats: 0 means that it works for "
                "one language only, the right end that it works for all alike. Neurons left of the line can be kept."
            ),
        )
        for item in (self._below, self._above, self._line):
            self.plot.addItem(item)
        self.plot.setMouseEnabled(x=True, y=False)
        self.plot.setLabel("bottom", self.tr("LAPE, nats"))
        self.plot.setLabel("left", self.tr("neurons"))
        self.redraw()

    def show_scores(self, scores: npt.NDArray[np.floating], threshold: float | None) -> None:
        """Show new scores.

        Args:
            scores: (num_layers, intermediate_size) float, nats; +inf (never active) is left out.
            threshold: the highest kept score, nats; nothing is marked where it is not known.
        """
        finite = scores[np.isfinite(scores)]
        self._counts, self._edges = np.histogram(finite, bins=_NUM_BINS)
        self._threshold = threshold
        self.redraw()
        if finite.size:
            self.plot.setRange(xRange=(float(self._edges[0]), float(self._edges[-1])), padding=0.02)
            self.plot.enableAutoRange(axis="y")

    def redraw(self) -> None:
        """Draw the bars and the line."""
        if self._edges.size == 0:
            return
        left, right = self._edges[:-1], self._edges[1:]
        cut = self._edges[0] if self._threshold is None else self._threshold
        kept = left <= cut if self._threshold is not None else np.zeros(left.size, dtype=bool)
        for item, mask, color in ((self._below, kept, self.theme.accent), (self._above, ~kept, self.theme.grid)):
            item.setOpts(x0=left[mask], x1=right[mask], height=self._counts[mask], brush=color, pen=None)
        self._line.setPen(pg.mkPen(self.theme.text, width=1.5, style=Qt.PenStyle.DashLine))
        self._line.setVisible(self._threshold is not None)
        self._line.setPos(cut)

    def describe(self, x: float, y: float) -> str:  # noqa: ARG002 - a bar is met anywhere in its column
        """Name the interval and its number of neurons."""
        place = int(np.searchsorted(self._edges, x, side="right")) - 1
        if not 0 <= place < self._counts.size:
            return ""
        return self.tr("{count} neurons between {low} and {high} nats").format(
            count=int(self._counts[place]), low=f"{self._edges[place]:.3f}", high=f"{self._edges[place + 1]:.3f}"
        )

    def table(self) -> Iterable[Sequence[object]]:
        """Return one row a bar."""
        yield ["from_nats", "to_nats", "neurons"]
        yield from zip(self._edges[:-1].tolist(), self._edges[1:].tolist(), self._counts.tolist(), strict=True)
