"""The frame around every picture: title, a sentence that explains it, what is under the mouse, and saving."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QAction, QImage, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLabel, QMenu, QMessageBox, QToolButton, QVBoxLayout, QWidget

from lapestudio.core.atomic import replacing, write_bytes_atomically
from lapestudio.ui.plots.colors import LIGHT, PlotTheme, plot_theme

_PICTURE_SCALE = 2
_HOVER_RATE_HZ = 30


class PlotFrame(QWidget):
    """A picture with its title, its explanation and a save button.

    Subclasses fill `plot` (a pyqtgraph PlotWidget), and answer `table()`, `describe(x, y)` and `redraw()`.

    Args:
        parent: the Qt parent.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme: PlotTheme = LIGHT
        self.plot = pg.PlotWidget(self)
        # WORKAROUND(pyqtgraph 2532): a mirrored plot draws its grid and axes in the wrong margin.
        self.plot.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.plot.getPlotItem().setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.plot.setMenuEnabled(False)
        self.plot.hideButtons()
        self._title = QLabel(self)
        self._title.setObjectName("plotTitle")
        self._explanation = QLabel(self)
        self._explanation.setObjectName("plotExplanation")
        self._explanation.setWordWrap(True)
        self._hover = QLabel(self)
        self._hover.setObjectName("plotHover")
        self._hover.setTextFormat(Qt.TextFormat.PlainText)
        self._hover.setWordWrap(True)
        self._hover.setMinimumHeight(self.fontMetrics().height())
        self.body = QHBoxLayout()
        self.body.addWidget(self.plot, stretch=1)
        self._lay_out()
        self._hover_proxy = pg.SignalProxy(
            self.plot.scene().sigMouseMoved, rateLimit=_HOVER_RATE_HZ, slot=self._on_mouse_moved
        )
        self.set_dark(dark=False)

    def set_texts(self, title: str, explanation: str) -> None:
        """Say what the picture shows and, in one or two sentences, how to read it."""
        self._title.setText(title)
        self._explanation.setText(explanation)
        self.plot.setAccessibleName(title)
        self.plot.setAccessibleDescription(explanation)
        self._save.setAccessibleName(self.tr("Save picture: {title}").format(title=title))

    def _lay_out(self) -> None:
        self._save = save = QToolButton(self)
        save.setText(self.tr("Save picture"))
        save.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        save.setMenu(self._save_menu())
        header = QHBoxLayout()
        header.addWidget(self._title, stretch=1)
        header.addWidget(save)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(header)
        layout.addWidget(self._explanation)
        layout.addLayout(self.body, stretch=1)
        layout.addWidget(self._hover)

    def _save_menu(self) -> QMenu:
        menu = QMenu(self)
        forms = {
            "png": self.tr("Picture for slides (PNG)…"),
            "svg": self.tr("Picture for print (SVG)…"),
            "csv": self.tr("Numbers for a spreadsheet (CSV)…"),
        }
        for suffix, text in forms.items():
            action = QAction(text, menu)
            action.setData(suffix)
            action.triggered.connect(self._on_save_triggered)
            menu.addAction(action)
        return menu

    @Slot()
    def _on_save_triggered(self) -> None:
        action = self.sender()
        if not isinstance(action, QAction):
            return
        suffix = str(action.data())
        name, _filter = QFileDialog.getSaveFileName(
            self, self.tr("Save picture"), f"{self._title.text()}.{suffix}", f"*.{suffix}"
        )
        if not name:
            return
        try:
            self.save_as(Path(name).with_suffix(f".{suffix}"))
        except OSError as error:
            reason = self.tr("{file} could not be written: {reason}.")
            QMessageBox.warning(self, self.tr("Not saved"), reason.format(file=name, reason=error.strerror))

    def save_as(self, path: Path) -> None:
        """Write the picture (`.png`, `.svg`) or its numbers (`.csv`, UTF-8 with a byte order mark for spreadsheets).

        Raises:
            ValueError: another suffix.
            OSError: the file cannot be written.
        """
        writers = {".png": self._write_png, ".svg": self._write_svg, ".csv": self._write_csv}
        writer = writers.get(path.suffix.lower())
        if writer is None:
            raise ValueError(f"a picture is saved as .png, .svg or .csv, not {path.suffix}")
        writer(path)

    def _write_png(self, path: Path) -> None:
        size = self.plot.size()
        image = QImage(size * _PICTURE_SCALE, QImage.Format.Format_RGB32)
        image.fill(self.theme.background)
        painter = QPainter(image)
        self.plot.render(painter, QRectF(image.rect()), self.plot.viewport().rect())
        painter.end()
        with replacing(path) as temporary:
            if not image.save(str(temporary), "PNG"):  # type: ignore[call-overload]
                raise OSError(0, self.tr("the picture could not be encoded"), str(path))

    def _write_svg(self, path: Path) -> None:
        size: QSize = self.plot.size()
        with replacing(path) as temporary:
            generator = QSvgGenerator()
            generator.setFileName(str(temporary))
            generator.setSize(size)
            generator.setViewBox(QRect(0, 0, size.width(), size.height()))
            generator.setTitle(self._title.text())
            painter = QPainter(generator)
            self.plot.render(painter, QRectF(0, 0, size.width(), size.height()), self.plot.viewport().rect())
            painter.end()

    def _write_csv(self, path: Path) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(self.table())
        write_bytes_atomically(path, text.getvalue().encode("utf-8-sig"))

    def set_dark(self, dark: bool) -> None:
        """Draw for a light or a dark window."""
        self.theme = plot_theme(dark=dark)
        self.plot.setBackground(self.theme.background)
        for side in ("left", "bottom", "right", "top"):
            axis = self.plot.getAxis(side)
            axis.setPen(self.theme.grid)
            axis.setTextPen(self.theme.text)
        self.redraw()

    @Slot(object)
    def _on_mouse_moved(self, arguments: tuple[QPointF]) -> None:
        view = self.plot.getPlotItem().getViewBox()
        if not view.sceneBoundingRect().contains(arguments[0]):
            self._hover.setText("")
            return
        point = view.mapSceneToView(arguments[0])
        self._hover.setText(self.describe(point.x(), point.y()))

    def table(self) -> Iterable[Sequence[object]]:
        """Return the picture's numbers, the heading first."""
        raise NotImplementedError

    def describe(self, x: float, y: float) -> str:
        """Return what lies at (x, y) in the plot's own coordinates, for people; empty where nothing does."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw again, in the theme's colours, what is shown."""
        raise NotImplementedError
