"""Neuron map: every selected neuron at its layer and index, coloured by language; zoom by wheel, pan by dragging.

A screen has fewer pixels than a layer has neurons: what is visible is binned anew at each zoom, and only the selected
neurons (a few percent) are looked at, so that a view of 80 x 28,672 neurons is drawn within a frame.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from lapestudio.ui.plots.colors import language_color, rgb
from lapestudio.ui.plots.plot_frame import PlotFrame

_MAX_COLUMNS = 1200
_FAINTEST = 0.45
_NAMED_LANGUAGES = 4
_REBIN_RATE_HZ = 60


class NeuronMap(PlotFrame):
    """Layers x neurons; a list beside it names the colours, and choosing a language there shows it alone."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._languages: list[str] = []
        self._shape = (0, 0)
        self._layer: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._neuron: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._owner: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._probabilities_of: Callable[[int, int], npt.NDArray[np.floating]] | None = None
        self._image = pg.ImageItem(axisOrder="row-major")
        self._legend = QListWidget()
        super().__init__(parent)
        self.set_texts(
            self.tr("Neuron map"),
            self.tr(
                "Each line is a layer, each mark a neuron in the colour of its language. Turn the wheel to zoom, drag "
                "to move, double-click to see everything. Choose a language in the list to see it alone."
            ),
        )
        self._legend.setParent(self)
        self._legend.setAccessibleName(self.tr("Languages and their colours"))
        self._legend.setMaximumWidth(190)
        self._legend.setIconSize(QSize(12, 12))
        self._legend.currentRowChanged.connect(self._on_language_chosen)
        self.body.addWidget(self._legend)
        self.plot.addItem(self._image)
        self.plot.setMouseEnabled(x=True, y=False)
        self.plot.setLabel("bottom", self.tr("neuron"))
        self.plot.setLabel("left", self.tr("layer"))
        self.plot.getPlotItem().invertY(b=True)
        self.plot.scene().sigMouseClicked.connect(self._on_mouse_clicked)
        view = self.plot.getPlotItem().getViewBox()
        self._range_proxy = pg.SignalProxy(view.sigXRangeChanged, rateLimit=_REBIN_RATE_HZ, slot=self._on_range_changed)
        self.redraw()

    def show_map(
        self,
        language_map: npt.NDArray[np.integer],
        languages: Sequence[str],
        probabilities_of: Callable[[int, int], npt.NDArray[np.floating]] | None = None,
    ) -> None:
        """Show a new selection; the part of the map in view stays.

        Args:
            language_map: (num_layers, intermediate_size) int; -1: no language, k: language k only,
                num_languages: several languages.
            languages: names, as they are to be read.
            probabilities_of: (layer, neuron) -> (num_languages,) activation probabilities, for the hover text.
        """
        shape_before, languages_before = self._shape, self._languages
        self._shape = (int(language_map.shape[0]), int(language_map.shape[1]))
        self._languages = list(languages)
        self._layer, self._neuron = np.nonzero(language_map >= 0)
        self._owner = language_map[self._layer, self._neuron].astype(np.int64)
        self._probabilities_of = probabilities_of
        if languages_before != self._languages:
            self._fill_legend()
        if shape_before != self._shape:
            self._show_everything()
        self.redraw()

    def _fill_legend(self) -> None:
        self._legend.blockSignals(True)
        self._legend.clear()
        self._legend.addItem(QListWidgetItem(self.tr("All languages")))
        for index, name in enumerate(self._languages):
            self._legend.addItem(QListWidgetItem(_chip(language_color(index)), name))
        self._legend.addItem(QListWidgetItem(_chip(self.theme.several), self.tr("Several languages")))
        self._legend.setCurrentRow(0)
        self._legend.blockSignals(False)

    def _show_everything(self) -> None:
        num_layers, width = self._shape
        view = self.plot.getPlotItem().getViewBox()
        view.setLimits(xMin=0, xMax=width, minXRange=min(16, width))
        self.plot.setRange(xRange=(0, width), yRange=(0, num_layers), padding=0)

    @property
    def chosen_language(self) -> int | None:
        """The language that is shown alone (num_languages: neurons of several), or nothing."""
        row = self._legend.currentRow()
        return row - 1 if row > 0 else None

    def set_dark(self, dark: bool) -> None:
        """Draw for a light or a dark window."""
        super().set_dark(dark)
        last = self._legend.item(self._legend.count() - 1)
        if last is not None:
            last.setIcon(_chip(self.theme.several))

    def redraw(self) -> None:
        """Bin what is in view and draw it."""
        num_layers, width = self._shape
        if width == 0:
            return
        (low, high), _rows = self.plot.getPlotItem().getViewBox().viewRange()
        first, last = max(0, int(np.floor(low))), min(width, int(np.ceil(high)))
        num_columns = max(1, min(_MAX_COLUMNS, last - first))
        picture = self._binned(first, last, num_columns)
        self._image.setImage(picture, autoLevels=False, levels=(0, 255))
        self._image.setRect(QRectF(first, 0, last - first, num_layers))
        self.plot.getAxis("left").setTicks(
            [[(layer + 0.5, str(layer)) for layer in range(0, num_layers, max(1, num_layers // 16))]]
        )

    def _binned(self, first: int, last: int, num_columns: int) -> npt.NDArray[np.uint8]:
        """Return (num_layers, num_columns, 3) uint8: each bin's commonest language, fainter where neurons are few."""
        num_layers, num_owners = self._shape[0], len(self._languages) + 1
        visible = (self._neuron >= first) & (self._neuron < last)
        chosen = self.chosen_language
        if chosen is not None:
            visible &= self._owner == chosen
        layer, owner = self._layer[visible], self._owner[visible]
        column = (self._neuron[visible] - first) * num_columns // max(1, last - first)
        cell = (layer * num_columns + column) * num_owners + owner
        counts = np.bincount(cell, minlength=num_layers * num_columns * num_owners).reshape(-1, num_owners)
        total = counts.sum(axis=1)
        palette = np.stack([rgb(language_color(index)) for index in range(num_owners - 1)] + [rgb(self.theme.several)])
        strength = _FAINTEST + (1 - _FAINTEST) * np.sqrt(total / max(1, int(total.max(initial=1))))
        strength = np.where(total > 0, strength, 0.0)[:, None]
        colors = strength * palette[counts.argmax(axis=1)] + (1 - strength) * rgb(self.theme.empty)
        picture: npt.NDArray[np.uint8] = colors.reshape(num_layers, num_columns, 3).astype(np.uint8)
        return picture

    @Slot(int)
    def _on_language_chosen(self, _row: int) -> None:
        self.redraw()

    @Slot(object)
    def _on_range_changed(self, _arguments: tuple[object, ...]) -> None:
        self.redraw()

    @Slot(object)
    def _on_mouse_clicked(self, event: object) -> None:
        if event.double():  # type: ignore[attr-defined]  # pyqtgraph's MouseClickEvent is untyped
            self._show_everything()

    def describe(self, x: float, y: float) -> str:
        """Name the selected neuron nearest to the mouse in its layer, with its activation probabilities."""
        layer = int(np.floor(y))
        (low, high), _rows = self.plot.getPlotItem().getViewBox().viewRange()
        candidates = np.flatnonzero(self._layer == layer)
        if candidates.size == 0:
            return ""
        nearest = candidates[np.abs(self._neuron[candidates] + 0.5 - x).argmin()]
        neuron = int(self._neuron[nearest])
        if abs(neuron + 0.5 - x) > max(0.5, (high - low) / 200):
            return ""
        owner = int(self._owner[nearest])
        name = self._languages[owner] if owner < len(self._languages) else self.tr("several languages")
        text = self.tr("Layer {layer}, neuron {neuron}: {name}").format(layer=layer, neuron=neuron, name=name)
        return text if self._probabilities_of is None else f"{text} ({self._probabilities(layer, neuron)})"

    def _probabilities(self, layer: int, neuron: int) -> str:
        assert self._probabilities_of is not None
        values = self._probabilities_of(layer, neuron)
        strongest = np.argsort(-values, kind="stable")[:_NAMED_LANGUAGES]
        parts = [f"{self._languages[k]} {100 * values[k]:.1f} %" for k in strongest]
        return self.tr("active for {shares} of the tokens").format(shares=", ".join(parts))

    def table(self) -> Iterable[Sequence[object]]:
        """Return one row a selected neuron."""
        names = [*self._languages, self.tr("several languages")]
        yield ["layer", "neuron", "language"]
        for layer, neuron, owner in zip(self._layer.tolist(), self._neuron.tolist(), self._owner.tolist(), strict=True):
            yield [layer, neuron, names[owner]]


def _chip(color: str) -> QIcon:
    pixmap = QPixmap(12, 12)
    pixmap.fill(Qt.GlobalColor.transparent)
    pixmap.fill(color)
    return QIcon(pixmap)
