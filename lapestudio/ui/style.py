"""How the window looks: one palette a theme, one scale of spaces and type sizes, and the style sheet made of them.

Everything that has a colour or a distance takes it from here.
"""

from typing import Literal

from PySide6.QtCore import QObject, QSettings, Qt, Signal, Slot
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from lapestudio.ui.icons import icon_file
from lapestudio.ui.style_sheet import style_sheet
from lapestudio.ui.tokens import DARK, LIGHT, Colors

ThemeName = Literal["system", "light", "dark"]
THEME_KEY = "view/theme"
_HALF_LIGHT = 128


def is_dark() -> bool:
    """Say whether the application is in the dark theme."""
    # A widget's own palette is no guide: the style sheet makes its window colour transparent.
    return QGuiApplication.palette().color(QPalette.ColorRole.Window).lightness() < _HALF_LIGHT


def theme_colors() -> Colors:
    """Return the colours of the theme that the application is in."""
    return DARK if is_dark() else LIGHT


class Theme(QObject):
    """Keeps the application in the light or the dark theme, following the system unless the user chose one.

    Args:
        app: the application to paint.
        settings: where the user's choice is kept.
        parent: the Qt parent.

    Signals:
        name_changed: the user chose another theme.
    """

    name_changed = Signal(str)

    def __init__(self, app: QApplication, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._app = app
        self._settings = settings
        app.setStyle("Fusion")
        app.styleHints().colorSchemeChanged.connect(self._on_color_scheme_changed)
        self._apply()

    @property
    def name(self) -> ThemeName:
        """What the user chose."""
        value = self._settings.value(THEME_KEY, "system")
        return "light" if value == "light" else "dark" if value == "dark" else "system"

    def set_name(self, name: ThemeName) -> None:
        """Choose a theme and remember the choice."""
        self._settings.setValue(THEME_KEY, name)
        self._apply()
        self.name_changed.emit(name)

    @Slot(Qt.ColorScheme)
    def _on_color_scheme_changed(self, _scheme: Qt.ColorScheme) -> None:
        self._apply()

    def _apply(self) -> None:
        name = self.name
        dark = name == "dark"
        if name == "system":
            dark = self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark
        paint(self._app, DARK if dark else LIGHT)


def paint(app: QApplication, colors: Colors) -> None:
    """Give the application a theme's palette and style sheet."""
    app.setPalette(_palette(colors))
    pictures = {name: icon_file(name, dark=colors is DARK) for name in ("spin-up", "spin-down", "tick")}
    rtl = app.layoutDirection() == Qt.LayoutDirection.RightToLeft
    app.setStyleSheet(style_sheet(colors, base_pt=app.font().pointSizeF(), pictures=pictures, rtl=rtl))


def _palette(colors: Colors) -> QPalette:
    palette = QPalette()
    role = QPalette.ColorRole
    for place, color in {
        role.Window: colors.window,
        role.WindowText: colors.text,
        role.Base: colors.field,
        role.AlternateBase: colors.hover,
        role.Text: colors.text,
        role.PlaceholderText: colors.muted,
        role.Button: colors.surface,
        role.ButtonText: colors.text,
        role.ToolTipBase: colors.surface,
        role.ToolTipText: colors.text,
        role.Highlight: colors.accent,
        role.HighlightedText: colors.accent_text,
        role.Accent: colors.accent,
        role.Link: colors.accent,
        role.LinkVisited: colors.accent,
        role.Mid: colors.border_strong,
        role.Midlight: colors.border,
        role.Light: colors.surface,
        role.Dark: colors.border_strong,
    }.items():
        palette.setColor(place, QColor(color))
    for place in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, place, QColor(colors.border_strong))
    return palette
