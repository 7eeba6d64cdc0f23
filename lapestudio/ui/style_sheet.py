"""The style sheet, written from the colours of a theme and the system's type size."""

from collections.abc import Mapping

from lapestudio.ui.tokens import Colors, Space

_RADIUS = 6
_FIELD_HEIGHT = 22


def style_sheet(colors: Colors, *, base_pt: float, pictures: Mapping[str, str], rtl: bool) -> str:
    """Return the application's style sheet.

    Args:
        colors: the theme.
        base_pt: type size of running text.
        pictures: paths of `spin-up`, `spin-down` and `tick`.
        rtl: whether the window is read from right to left.
    """
    return "\n".join(
        [
            _type(colors, base_pt),
            _surfaces(colors),
            _buttons(colors),
            _fields(colors, pictures),
            _sliders(colors, rtl=rtl),
            _checks(colors, pictures),
            _lists(colors),
            _tabs_and_bars(colors),
            _rail(colors, base_pt),
            _messages(colors),
        ]
    )


def _type(c: Colors, base_pt: float) -> str:
    return f"""
QLabel[role="title"] {{ font-size: {base_pt * 1.75:.1f}pt; font-weight: 600; }}
QLabel[role="heading"], QLabel#plotTitle {{ font-size: {base_pt * 1.15:.1f}pt; font-weight: 600; }}
QLabel[role="figure"] {{ font-size: {base_pt * 1.5:.1f}pt; font-weight: 600; }}
QLabel[role="muted"], QLabel#plotExplanation, QLabel#plotHover {{ color: {c.muted}; }}
QLabel[role="strong"] {{ font-weight: 600; }}
QLabel[role="success"] {{ color: {c.success}; font-weight: 600; }}
QLabel[role="warning"] {{ color: {c.warning}; }}
QLabel[role="danger"] {{ color: {c.danger}; font-weight: 600; }}
QToolTip {{ background: {c.surface}; color: {c.text}; border: 1px solid {c.border_strong}; padding: {Space.S}px; }}
"""


def _surfaces(c: Colors) -> str:
    return f"""
QMainWindow, QDialog, QWidget#page {{ background: {c.window}; }}
QScrollArea, QScrollArea > QWidget > QWidget#column {{ background: transparent; border: none; }}
QFrame#card {{ background: {c.surface}; border: 1px solid {c.border}; border-radius: {_RADIUS + 4}px; }}
QFrame#rule {{ background: {c.border}; border: none; max-height: 1px; min-height: 1px; }}
QMenuBar {{ background: {c.surface}; border-bottom: 1px solid {c.border}; padding: 2px {Space.S}px; }}
QMenuBar::item {{ padding: {Space.XS}px {Space.S}px; border-radius: {_RADIUS}px; }}
QMenuBar::item:selected {{ background: {c.hover}; }}
QMenu {{ background: {c.surface}; border: 1px solid {c.border_strong}; padding: {Space.XS}px; }}
QMenu::item {{ padding: {Space.XS + 2}px {Space.XL}px; border-radius: {_RADIUS - 2}px; }}
QMenu::item:selected {{ background: {c.accent_soft}; color: {c.text}; }}
QMenu::item:disabled {{ color: {c.border_strong}; }}
QMenu::separator {{ height: 1px; background: {c.border}; margin: {Space.XS}px {Space.S}px; }}
QSplitter::handle {{ background: transparent; }}
"""


def _buttons(c: Colors) -> str:
    return f"""
QPushButton {{ background: {c.surface}; color: {c.text}; border: 1px solid {c.border_strong};
    border-radius: {_RADIUS}px; padding: {Space.XS + 2}px {Space.L}px; min-height: {_FIELD_HEIGHT - 4}px; }}
QPushButton:hover {{ background: {c.hover}; }}
QPushButton:pressed {{ background: {c.border}; }}
QPushButton:focus {{ border: 2px solid {c.accent}; padding: {Space.XS + 1}px {Space.L - 1}px; }}
QPushButton:disabled {{ color: {c.border_strong}; border-color: {c.border}; background: {c.window}; }}
QPushButton[kind="primary"] {{ background: {c.accent}; color: {c.accent_text}; border-color: {c.accent};
    font-weight: 600; }}
QPushButton[kind="primary"]:hover {{ background: {c.accent_hover}; }}
QPushButton[kind="primary"]:focus {{ border: 2px solid {c.text}; }}
QPushButton[kind="primary"]:disabled {{ background: {c.border}; color: {c.muted}; border-color: {c.border}; }}
QPushButton[kind="link"] {{ background: transparent; border-color: transparent; color: {c.accent};
    padding: {Space.XS}px; text-align: left; }}
QPushButton[kind="link"]:hover {{ background: {c.accent_soft}; }}
QPushButton[kind="link"]:focus {{ border: 2px solid {c.accent}; padding: {Space.XS - 1}px; }}
QPushButton[kind="choice"] {{ text-align: left; padding: {Space.M}px {Space.L}px; background: {c.surface};
    border-color: {c.border}; border-radius: {_RADIUS + 4}px; }}
QPushButton[kind="choice"]:hover {{ border-color: {c.accent}; background: {c.accent_soft}; }}
QPushButton[kind="choice"]:focus {{ border: 2px solid {c.accent}; }}
QToolButton {{ border: 1px solid transparent; border-radius: {_RADIUS}px; padding: {Space.XS}px; color: {c.text};
    background: transparent; }}
QToolButton:hover {{ background: {c.hover}; }}
QToolButton:focus {{ border: 2px solid {c.accent}; padding: {Space.XS - 1}px; }}
QToolButton::menu-indicator {{ image: none; }}
QToolButton#help {{ color: {c.muted}; border: 1px solid {c.border_strong}; border-radius: 9px; padding: 0;
    min-width: 16px; max-width: 16px; min-height: 16px; max-height: 16px; font-weight: 600; }}
QToolButton#help:hover, QToolButton#help:focus {{ color: {c.accent}; border: 1px solid {c.accent};
    background: {c.accent_soft}; }}
"""


def _fields(c: Colors, pictures: Mapping[str, str]) -> str:
    return f"""
QLineEdit, QAbstractSpinBox, QComboBox {{ background: {c.field}; color: {c.text}; border: 1px solid {c.border_strong};
    border-radius: {_RADIUS}px; padding: {Space.XS}px {Space.S}px; min-height: {_FIELD_HEIGHT}px;
    selection-background-color: {c.accent}; selection-color: {c.accent_text}; }}
QLineEdit:focus, QAbstractSpinBox:focus, QComboBox:focus {{ border: 2px solid {c.accent};
    padding: {Space.XS - 1}px {Space.S - 1}px; }}
QLineEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled {{ background: {c.window}; color: {c.muted};
    border-color: {c.border}; }}
QLineEdit:read-only {{ background: {c.window}; }}
QAbstractSpinBox {{ padding: {Space.XS}px {Space.XL}px {Space.XS}px {Space.XS}px; }}
QAbstractSpinBox:focus {{ padding: {Space.XS - 1}px {Space.XL - 1}px {Space.XS - 1}px {Space.XS - 1}px; }}
QAbstractSpinBox QLineEdit, QAbstractSpinBox QLineEdit:focus {{ border: none; background: transparent; min-height: 0;
    padding: 0 {Space.XS}px; }}
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {{ subcontrol-origin: border; width: 20px; border: none;
    background: transparent; }}
QAbstractSpinBox::up-button {{ subcontrol-position: top right; margin-top: 2px; }}
QAbstractSpinBox::down-button {{ subcontrol-position: bottom right; margin-bottom: 2px; }}
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover {{ background: {c.hover}; }}
QAbstractSpinBox::up-arrow {{ image: url("{pictures["spin-up"]}"); width: 9px; height: 9px; }}
QAbstractSpinBox::down-arrow {{ image: url("{pictures["spin-down"]}"); width: 9px; height: 9px; }}
QComboBox::drop-down {{ border: none; width: 22px; subcontrol-position: center right; }}
QComboBox::down-arrow {{ image: url("{pictures["spin-down"]}"); width: 10px; height: 10px; }}
QComboBox QAbstractItemView {{ background: {c.surface}; border: 1px solid {c.border_strong}; padding: {Space.XS}px;
    selection-background-color: {c.accent_soft}; selection-color: {c.text}; outline: none; }}
QPlainTextEdit, QTextBrowser {{ background: {c.field}; color: {c.text}; border: 1px solid {c.border};
    border-radius: {_RADIUS}px; padding: {Space.XS}px; selection-background-color: {c.accent};
    selection-color: {c.accent_text}; }}
QPlainTextEdit:focus, QTextBrowser:focus {{ border-color: {c.accent}; }}
"""


def _sliders(c: Colors, *, rtl: bool) -> str:
    # The style sheet's pages are fixed to left and right, though the handle runs the other way in a mirrored window.
    reached, rest = ("add", "sub") if rtl else ("sub", "add")
    return f"""
QSlider {{ background: transparent; min-height: 24px; }}
QSlider::groove:horizontal {{ height: 4px; background: {c.border_strong}; border-radius: 2px; }}
QSlider::{reached}-page:horizontal {{ background: {c.accent}; border-radius: 2px; }}
QSlider::{rest}-page:horizontal {{ background: {c.border}; border-radius: 2px; }}
QSlider::handle:horizontal {{ background: {c.surface}; border: 2px solid {c.accent}; width: 14px; height: 14px;
    margin: -7px 0; border-radius: 9px; }}
QSlider::handle:horizontal:hover, QSlider::handle:horizontal:focus {{ background: {c.accent}; }}
QSlider::{reached}-page:horizontal:disabled {{ background: {c.border}; }}
QSlider::handle:horizontal:disabled {{ border-color: {c.border_strong}; background: {c.surface}; }}
"""


def _checks(c: Colors, pictures: Mapping[str, str]) -> str:
    return f"""
QCheckBox, QRadioButton {{ spacing: {Space.S}px; }}
QCheckBox::indicator, QAbstractItemView::indicator {{ width: 16px; height: 16px; border: 1px solid {c.border_strong};
    border-radius: 4px; background: {c.field}; }}
QCheckBox::indicator:checked, QAbstractItemView::indicator:checked {{ background: {c.accent};
    border-color: {c.accent}; image: url("{pictures["tick"]}"); }}
QCheckBox::indicator:focus {{ border: 2px solid {c.accent}; }}
QCheckBox:focus {{ color: {c.accent}; }}
QRadioButton::indicator {{ width: 16px; height: 16px; border: 1px solid {c.border_strong}; border-radius: 8px;
    background: {c.field}; }}
QRadioButton::indicator:checked {{ border: 5px solid {c.accent}; width: 8px; height: 8px; }}
QRadioButton:focus {{ color: {c.accent}; }}
"""


def _lists(c: Colors) -> str:
    return f"""
QAbstractItemView {{ background: {c.field}; border: 1px solid {c.border}; border-radius: {_RADIUS}px; outline: none;
    selection-background-color: {c.accent_soft}; selection-color: {c.text}; gridline-color: {c.border}; }}
QAbstractItemView:focus {{ border-color: {c.accent}; }}
QListView::item {{ min-height: 18px; padding: {Space.XS}px {Space.S}px; border-radius: {_RADIUS - 2}px; }}
QTableView::item {{ padding: {Space.XS}px {Space.S}px; }}
QAbstractItemView::item:hover {{ background: {c.hover}; }}
QAbstractItemView::item:selected {{ background: {c.accent_soft}; color: {c.text}; }}
QAbstractItemView[dropping="true"] {{ border: 2px dashed {c.accent}; background: {c.accent_soft}; }}
QHeaderView {{ background: {c.surface}; border: none; }}
QHeaderView::section {{ background: {c.surface}; color: {c.muted}; border: none;
    border-bottom: 1px solid {c.border_strong}; padding: {Space.XS + 2}px {Space.S + 3}px; font-weight: 600; }}
QTableCornerButton::section {{ background: {c.surface}; border: none; }}
QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 0; }}
QScrollBar::handle {{ background: {c.border}; border-radius: 4px; margin: 1px; }}
QScrollBar::handle:vertical {{ min-height: 32px; }}
QScrollBar::handle:horizontal {{ min-width: 32px; }}
QScrollBar::handle:hover {{ background: {c.border_strong}; }}
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent;
    border: none; width: 0; height: 0; }}
"""


def _tabs_and_bars(c: Colors) -> str:
    return f"""
QTabWidget::pane {{ border: none; border-top: 1px solid {c.border}; padding-top: {Space.M}px; }}
QTabBar {{ background: transparent; }}
QTabBar::tab {{ background: transparent; color: {c.muted}; padding: {Space.S}px {Space.M}px;
    border-bottom: 2px solid transparent; margin-right: {Space.XS}px; }}
QTabBar::tab:hover {{ color: {c.text}; }}
QTabBar::tab:selected {{ color: {c.accent}; border-bottom-color: {c.accent}; font-weight: 600; }}
QTabBar::tab:focus {{ background: {c.accent_soft}; }}
QProgressBar {{ background: {c.border}; border: none; border-radius: 3px; min-height: 6px; max-height: 6px; }}
QProgressBar::chunk {{ background: {c.accent}; border-radius: 3px; }}
QProgressBar[fits="false"]::chunk {{ background: {c.danger}; }}
QFrame#jobBar {{ background: {c.surface}; border: none; border-top: 1px solid {c.border}; }}
"""


def _rail(c: Colors, base_pt: float) -> str:
    return f"""
QFrame#rail {{ background: {c.surface}; border: none; border-right: 1px solid {c.border}; }}
QPushButton[kind="step"] {{ background: transparent; border: 2px solid transparent; border-radius: {_RADIUS + 2}px;
    text-align: left; padding: 0; }}
QPushButton[kind="step"]:hover {{ background: {c.hover}; }}
QPushButton[kind="step"]:checked {{ background: {c.accent_soft}; }}
QPushButton[kind="step"]:focus {{ border-color: {c.accent}; }}
QLabel[role="stepName"] {{ font-size: {base_pt * 1.05:.1f}pt; font-weight: 600; }}
QLabel[role="stepState"] {{ color: {c.muted}; font-size: {base_pt * 0.92:.1f}pt; }}
QLabel[role="wordmark"] {{ font-size: {base_pt * 1.2:.1f}pt; font-weight: 700; }}
"""


def _messages(c: Colors) -> str:
    kinds = {
        "info": (c.accent_soft, c.accent),
        "success": (c.success_soft, c.success),
        "warning": (c.warning_soft, c.warning),
        "error": (c.danger_soft, c.danger),
    }
    rules = [
        f'QFrame#message[level="{level}"] {{ background: {soft}; border: 1px solid {soft}; '
        f"border-radius: {_RADIUS}px; }}\n"
        f'QFrame#message[level="{level}"] QLabel[role="strong"] {{ color: {strong}; }}'
        for level, (soft, strong) in kinds.items()
    ]
    return "\n".join(rules)
