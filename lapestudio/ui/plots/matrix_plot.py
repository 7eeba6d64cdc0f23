"""A picture of a matrix: cells in the colours of a scale, with a colour bar; rows run downwards."""

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from lapestudio.ui.plots.plot_frame import PlotFrame


class MatrixPlot(PlotFrame):
    """What pictures of matrices share; subclasses say what the cells are and call `paint` from `redraw`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._image = pg.ImageItem(axisOrder="row-major")
        self._bar: pg.ColorBarItem | None = None
        super().__init__(parent)
        self.plot.addItem(self._image)
        self.plot.setMouseEnabled(x=False, y=False)
        self.plot.getPlotItem().invertY(b=True)
        self._bar = pg.ColorBarItem(values=(0, 1), colorMap=pg.colormap.get("viridis"), interactive=False, width=14)
        self._bar.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        # A share of 0.5 must not be labelled 500.
        self._bar.getAxis("right").enableAutoSIPrefix(False)
        self._bar.setImageItem(self._image, insert_in=self.plot.getPlotItem())

    def paint(self, cells: npt.NDArray[np.float64], high: float, label: str) -> None:
        """Paint the cells.

        Args:
            cells: (num_rows, num_columns) float; NaN is left empty.
            high: value of the brightest colour; the darkest is 0.
            label: what a value is, with its unit.
        """
        if self._bar is None:
            return
        num_rows, num_columns = cells.shape
        self._image.setImage(cells, autoLevels=False, levels=(0.0, high))
        self._bar.setLevels((0.0, high))
        self._bar.setLabel("right", label, color=self.theme.text)
        self._bar.getAxis("right").setTextPen(self.theme.text)
        self.plot.setRange(xRange=(0, num_columns), yRange=(0, num_rows), padding=0)
