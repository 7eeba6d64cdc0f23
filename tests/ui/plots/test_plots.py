"""The pictures over hand-made numbers: what they say under the mouse, what they save, and pixels at known places."""

import csv
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QListWidget, QWidget
from pytestqt.qtbot import QtBot

from lapestudio.ui.plots.colors import DARK, LIGHT, language_color
from lapestudio.ui.plots.layer_heatmap import LayerHeatmap
from lapestudio.ui.plots.loss_curves import CONTROL_PREFIX, TRAIN_LOSS, VALIDATION_LOSS, LossCurves, smoothed
from lapestudio.ui.plots.neuron_map import NeuronMap
from lapestudio.ui.plots.overlap_matrix import OverlapMatrix
from lapestudio.ui.plots.plot_frame import PlotFrame
from lapestudio.ui.plots.score_histogram import ScoreHistogram

LANGUAGES = ["Maltese", "Welsh", "Arabic"]


@pytest.fixture
def shown(qtbot: QtBot) -> Callable[[PlotFrame], PlotFrame]:
    def show(frame: PlotFrame) -> PlotFrame:
        qtbot.addWidget(frame)
        frame.resize(800, 500)
        with qtbot.waitExposed(frame):
            frame.show()
        return frame

    return show


def heatmap() -> LayerHeatmap:
    frame = LayerHeatmap()
    frame.show_values(np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 8.0]]), LANGUAGES, "neurons")
    return frame


def overlap() -> OverlapMatrix:
    frame = OverlapMatrix()
    frame.show_matrix(np.array([[1, 0.25, 0], [0.25, 1, 0.5], [0, 0.5, 1]]), LANGUAGES)
    return frame


def histogram() -> ScoreHistogram:
    frame = ScoreHistogram()
    frame.show_scores(np.array([[0.0, 0.5, 1.0, np.inf], [1.0, 1.0, 0.25, np.inf]]), 0.5)
    return frame


def neuron_map() -> NeuronMap:
    frame = NeuronMap()
    languages = np.full((4, 64), -1, dtype=np.int16)
    languages[1, 10] = 0
    languages[2, 20] = 2
    languages[3, 30] = 3
    frame.show_map(languages, LANGUAGES, lambda *_place: np.array([0.5, 0.25, 0.125]))
    return frame


def curves() -> LossCurves:
    frame = LossCurves()
    frame.set_language_names({"it": "Italian"})
    frame.set_points(
        {
            TRAIN_LOSS: ([1, 2, 3], [4.0, 3.0, 2.0]),
            VALIDATION_LOSS: ([0, 3], [4.5, 2.5]),
            CONTROL_PREFIX + "it": ([0, 3], [1.0, 1.25]),
        }
    )
    return frame


FRAMES = [heatmap, overlap, histogram, neuron_map, curves]


@pytest.mark.parametrize("make", FRAMES)
@pytest.mark.parametrize("dark", [False, True])
def test_each_form_is_written_and_readable(
    make: Callable[[], PlotFrame], dark: bool, shown: Callable[[PlotFrame], PlotFrame], tmp_path: Path
) -> None:
    frame = shown(make())
    frame.set_dark(dark)
    for suffix in ("png", "svg", "csv"):
        frame.save_as(tmp_path / f"picture ქარ.{suffix}")
    picture = QImage(str(tmp_path / "picture ქარ.png"))
    assert picture.width() == 2 * frame.plot.width()
    background = QColor((DARK if dark else LIGHT).background)
    assert picture.pixelColor(2, 2).rgb() == background.rgb()
    assert ET.parse(tmp_path / "picture ქარ.svg").getroot().tag.endswith("svg")
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".png", ".svg"]


@pytest.mark.parametrize("make", FRAMES)
def test_plots_stay_left_to_right_in_a_mirrored_window(
    make: Callable[[], PlotFrame], shown: Callable[[PlotFrame], PlotFrame]
) -> None:
    parent = QWidget()
    parent.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    frame = make()
    frame.setParent(parent)
    assert frame.layoutDirection() is Qt.LayoutDirection.RightToLeft
    assert frame.plot.layoutDirection() is Qt.LayoutDirection.LeftToRight


def test_unknown_form_is_refused(shown: Callable[[PlotFrame], PlotFrame], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.gif"):
        shown(heatmap()).save_as(tmp_path / "a.gif")
    assert list(tmp_path.iterdir()) == []


def test_spreadsheet_holds_the_numbers(shown: Callable[[PlotFrame], PlotFrame], tmp_path: Path) -> None:
    shown(heatmap()).save_as(tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["layer", *LANGUAGES], ["0", "0.0", "1.0", "2.0"], ["1", "3.0", "4.0", "8.0"]]


def test_heatmap_names_what_is_under_the_mouse(shown: Callable[[PlotFrame], PlotFrame]) -> None:
    frame = shown(heatmap())
    assert frame.describe(1.5, 2.5) == "Arabic, layer 1: 8 neurons"
    assert frame.describe(2.5, 0.5) == ""
    assert frame.describe(-0.1, 0.5) == ""


def test_heatmap_of_zeros_is_drawn(shown: Callable[[PlotFrame], PlotFrame]) -> None:
    frame = LayerHeatmap()
    shown(frame)
    frame.show_values(np.zeros((2, 3)), LANGUAGES, "neurons")
    assert frame.describe(0.5, 0.5) == "Maltese, layer 0: 0 neurons"


def test_overlap_leaves_the_diagonal_out(shown: Callable[[PlotFrame], PlotFrame]) -> None:
    frame = shown(overlap())
    assert frame.describe(1.5, 0.5) == "Maltese and Welsh: 25.0 % of their neurons are shared"
    assert frame.describe(1.5, 1.5) == ""


def test_histogram_counts_every_finite_score(shown: Callable[[PlotFrame], PlotFrame]) -> None:
    frame = shown(histogram())
    rows = list(frame.table())[1:]
    assert sum(int(row[2]) for row in rows) == 6  # type: ignore[call-overload]
    assert frame.describe(1.0 - 1e-9, 0).startswith("3 neurons between 0.99")


def color_at(frame: PlotFrame, layer: float, neuron: float) -> str:
    picture = frame.plot.grab().toImage()
    view = frame.plot.getPlotItem().getViewBox()
    point = frame.plot.mapFromScene(view.mapViewToScene(QPointF(neuron, layer)))
    return picture.pixelColor(point.x(), point.y()).name().upper()


def test_neuron_map_paints_neurons_at_their_place(shown: Callable[[PlotFrame], PlotFrame], qtbot: QtBot) -> None:
    frame = shown(neuron_map())
    assert color_at(frame, 1.5, 10.5) == language_color(0)
    assert color_at(frame, 2.5, 20.5) == language_color(2)
    assert color_at(frame, 3.5, 30.5) == LIGHT.several
    assert color_at(frame, 0.5, 10.5) == LIGHT.empty


def test_neuron_map_shows_one_language_alone(shown: Callable[[PlotFrame], PlotFrame]) -> None:
    frame = shown(neuron_map())
    legend = frame.findChild(QListWidget)
    assert legend is not None
    legend.setCurrentRow(3)
    assert color_at(frame, 1.5, 10.5) == LIGHT.empty
    assert color_at(frame, 2.5, 20.5) == language_color(2)


def test_neuron_map_names_neurons(shown: Callable[[PlotFrame], PlotFrame]) -> None:
    frame = shown(neuron_map())
    assert frame.describe(10.5, 1.5) == (
        "Layer 1, neuron 10: Maltese (active for Maltese 50.0 %, Welsh 25.0 %, Arabic 12.5 % of the tokens)"
    )
    assert frame.describe(40, 1.5) == ""
    assert frame.describe(10.5, 0.5) == ""


def test_neuron_map_keeps_every_neuron_when_there_are_more_than_pixels(
    shown: Callable[[PlotFrame], PlotFrame],
) -> None:
    languages = np.full((2, 14_336), -1, dtype=np.int16)
    languages[1, 7_001] = 1
    frame = NeuronMap()
    frame.show_map(languages, LANGUAGES)
    shown(frame)
    painted = np.asarray(frame._image.image)
    wanted = np.array([int(language_color(1)[i : i + 2], 16) for i in (1, 3, 5)])
    columns = np.flatnonzero((painted[1] == wanted).all(axis=1))
    assert columns.size == 1
    assert columns[0] == 7_001 * painted.shape[1] // 14_336
    assert frame.describe(7_001.5, 1.5) == "Layer 1, neuron 7001: Welsh"


def test_curves_grow_and_name_the_last_values(shown: Callable[[PlotFrame], PlotFrame]) -> None:
    frame = shown(curves())
    assert isinstance(frame, LossCurves)
    frame.append_points(VALIDATION_LOSS, [6], [2.25])
    assert frame.describe(6.2, 0) == (
        "Step 6. training (smoothed): 2.000; validation, target language: 2.250; control: Italian: 1.250"
    )
    assert frame.describe(-1, 0) == ""


def test_curves_show_the_control_language_in_the_legend(shown: Callable[[PlotFrame], PlotFrame]) -> None:
    frame = shown(curves())
    labels = [label.text for _sample, label in frame._legend.items]  # type: ignore[attr-defined]
    assert "control: Italian" in labels


def test_curves_survive_a_diverged_loss(shown: Callable[[PlotFrame], PlotFrame]) -> None:
    frame = shown(LossCurves())
    assert isinstance(frame, LossCurves)
    frame.append_points(TRAIN_LOSS, [1, 2, 3], [1.0, float("nan"), float("inf")])
    assert frame.describe(3, 0) == "Step 3. training (smoothed): inf"


def test_smoothing_equals_a_plain_loop() -> None:
    values = np.array([1.0, 5.0, np.nan, 3.0, 2.0, np.inf, 8.0])
    expected = []
    for end, value in enumerate(values):
        window = [other for other in values[max(0, end - 2) : end + 1] if np.isfinite(other)]
        expected.append(sum(window) / len(window) if np.isfinite(value) else np.nan)
    np.testing.assert_allclose(smoothed(values, 3), expected)
