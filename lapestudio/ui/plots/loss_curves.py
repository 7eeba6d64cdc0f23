"""Loss curves: training, validation and control languages against the step, growing while a run goes on."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from lapestudio.ui.plots.colors import language_color
from lapestudio.ui.plots.plot_frame import PlotFrame

TRAIN_LOSS = "train_loss"
VALIDATION_LOSS = "validation_loss"
CONTROL_PREFIX = "control_loss/"
_SMOOTHING_STEPS = 20
_LEGEND_OPACITY = 215


class LossCurves(PlotFrame):
    """One line a series; the training loss is drawn raw (faint) and smoothed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._series: dict[str, tuple[list[float], list[float]]] = {}
        self._items: dict[str, pg.PlotDataItem] = {}
        self._raw = pg.PlotDataItem()
        self._names: dict[str, str] = {}
        super().__init__(parent)
        self.set_texts(
            self.tr("Loss"),
            self.tr(
                "Loss is the model's surprise at a token, in nats: lower is better. The target's validation line "
                "should fall; the control languages' lines should stay level."
            ),
        )
        self._legend = self.plot.addLegend(offset=(-10, 6), labelTextSize="9pt", colCount=2, verSpacing=-4)
        self.plot.addItem(self._raw)
        self.plot.setLabel("bottom", self.tr("step"))
        self.plot.setLabel("left", self.tr("loss, nats a token"))
        self.plot.showGrid(x=False, y=True, alpha=0.25)
        self.redraw()

    def set_language_names(self, names: Mapping[str, str]) -> None:
        """Say how control languages are called.

        Args:
            names: language tag -> name.
        """
        self._names = dict(names)

    def set_points(self, series: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> None:
        """Replace everything that is shown.

        Args:
            series: `train_loss`, `validation_loss` or `control_loss/<tag>` -> (steps, losses in nats).
        """
        self.clear()
        self._series = {name: (list(steps), list(losses)) for name, (steps, losses) in series.items()}
        self.redraw()

    def append_points(self, name: str, steps: Sequence[float], losses: Sequence[float]) -> None:
        """Add points at the end of a series."""
        known_steps, known_losses = self._series.setdefault(name, ([], []))
        known_steps.extend(steps)
        known_losses.extend(losses)
        self._draw(name)

    def clear(self) -> None:
        """Forget all points."""
        for item in self._items.values():
            self.plot.removeItem(item)
        self._items = {}
        self._series = {}
        self._raw.setData([], [])

    def redraw(self) -> None:
        """Draw all series in the theme's colours."""
        for name in self._series:
            self._draw(name)
        legend = getattr(self, "_legend", None)
        if legend is not None:
            paper = pg.mkColor(self.theme.background)
            paper.setAlpha(_LEGEND_OPACITY)
            legend.setBrush(pg.mkBrush(paper))
            legend.setLabelTextColor(self.theme.text)
            for _sample, label in legend.items:
                label.setText(label.text, color=self.theme.text)

    def _draw(self, name: str) -> None:
        steps, losses = (np.asarray(values, dtype=np.float64) for values in self._series[name])
        item = self._items.get(name)
        if item is None:
            item = pg.PlotDataItem(name=self._label(name), connect="finite")
            item.setDownsampling(auto=True, method="peak")
            item.setClipToView(True)
            self._items[name] = item
            self.plot.addItem(item)
        if name == TRAIN_LOSS:
            self._raw.setData(steps, losses, pen=pg.mkPen(self.theme.grid, width=1), connect="finite")
            losses = smoothed(losses, _SMOOTHING_STEPS)
        item.setData(steps, losses)
        self._style(name, item)

    def _style(self, name: str, item: pg.PlotDataItem) -> None:
        if name == TRAIN_LOSS:
            item.setPen(pg.mkPen(self.theme.text, width=1.5))
            return
        controls = [known for known in self._series if known.startswith(CONTROL_PREFIX)]
        is_control = name in controls
        color = language_color(1 + controls.index(name)) if is_control else self.theme.accent
        style = Qt.PenStyle.DashLine if is_control else Qt.PenStyle.SolidLine
        item.setPen(pg.mkPen(color, width=2 if is_control else 3, style=style))
        item.setSymbol("o")
        item.setSymbolSize(5 if is_control else 7)
        item.setSymbolBrush(color)
        item.setSymbolPen(None)

    def _label(self, name: str) -> str:
        if name == TRAIN_LOSS:
            return self.tr("training (smoothed)")
        if name == VALIDATION_LOSS:
            return self.tr("validation, target language")
        tag = name.removeprefix(CONTROL_PREFIX)
        return self.tr("control: {language}").format(language=self._names.get(tag, tag))

    def describe(self, x: float, y: float) -> str:  # noqa: ARG002 - all series are named at one step
        """Name each series' last value up to the step under the mouse."""
        parts = []
        for name, (steps, losses) in self._series.items():
            place = int(np.searchsorted(steps, x, side="right")) - 1
            if place >= 0:
                parts.append(f"{self._label(name)}: {losses[place]:.3f}")
        if not parts:
            return ""
        return self.tr("Step {step}. {values}").format(step=int(x), values="; ".join(parts))

    def table(self) -> Iterable[Sequence[object]]:
        """Return the points of all series, two columns each."""
        names = list(self._series)
        yield [heading for name in names for heading in (f"{name} step", name)]
        columns = [column for name in names for column in self._series[name]]
        yield from zip_longest(*columns, fillvalue="")


def smoothed(values: npt.NDArray[np.float64], span: int) -> npt.NDArray[np.float64]:
    """Return the mean of each value and up to `span - 1` finite ones before it; (n,) -> (n,)."""
    finite = np.isfinite(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(finite, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(finite)])
    end = np.arange(1, values.size + 1)
    start = np.maximum(0, end - span)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(finite, (sums[end] - sums[start]) / (counts[end] - counts[start]), np.nan)
