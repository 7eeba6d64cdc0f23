"""Icons: drawings in one colour, tinted for the theme; mirrored by the widgets that point somewhere."""

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QImage, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from lapestudio.core.resources import resources_folder

_SIZES = (16, 20, 24, 32, 48)
_RATIO = 2


def icon(name: str, color: str, *, mark: str = "#FFFFFF", mirrored: bool = False) -> QIcon:
    """Return an icon of `resources/icons`.

    Args:
        name: its file name without ending.
        color: of the drawing, #RRGGBB.
        mark: of what lies inside a filled shape, #RRGGBB.
        mirrored: for a window that is read from right to left.
    """
    return _icon(name, color, mark, mirrored)


def pixmap(name: str, color: str, size: int) -> QPixmap:
    """Return a drawing of (size, size) logical pixels."""
    picture = QPixmap.fromImage(_image(_drawing(name, color, "#FFFFFF"), size * _RATIO))
    picture.setDevicePixelRatio(_RATIO)
    return picture


def icon_file(name: str, *, dark: bool) -> str:
    """Return the path of a drawing that is stored in a theme's colour, as style sheets need it: they tint nothing."""
    return (resources_folder() / "icons" / f"{name}-{'dark' if dark else 'light'}.svg").as_posix()


@lru_cache(maxsize=512)
def _icon(name: str, color: str, mark: str, mirrored: bool) -> QIcon:
    drawing = _drawing(name, color, mark)
    result = QIcon()
    for size in _SIZES:
        image = _image(drawing, size * _RATIO)
        picture = QPixmap.fromImage(image.flipped(Qt.Orientation.Horizontal) if mirrored else image)
        picture.setDevicePixelRatio(_RATIO)
        result.addPixmap(picture)
    return result


def _drawing(name: str, color: str, mark: str) -> bytes:
    text = (resources_folder() / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    return text.replace("currentColor", color).replace("#ffffff", mark).encode("utf-8")


def _image(drawing: bytes, size: int) -> QImage:
    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(drawing)).render(painter, QRectF(0, 0, size, size))
    painter.end()
    return image
