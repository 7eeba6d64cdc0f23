"""Colours of the pictures: one palette a theme, and hues for languages that colour-blind readers can tell apart."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Okabe and Ito's eight hues without black, then Tol's "muted" ones that differ from them, then lighter and darker kin.
_LANGUAGE_HUES = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#B8A800",
    "#882255",
    "#44AA99",
    "#AA4499",
    "#7A6FCF",
    "#999933",
    "#CC6677",
    "#5F6B73",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotTheme:
    """What a picture is drawn with."""

    background: str
    text: str
    grid: str
    empty: str
    """Where a map holds nothing."""
    several: str
    """A neuron of more than one language."""
    accent: str
    warning: str


LIGHT = PlotTheme(
    background="#FFFFFF",
    text="#2B2F36",
    grid="#C9CED6",
    empty="#F1F3F6",
    several="#2B2F36",
    accent="#0B5CAD",
    warning="#B3261E",
)
DARK = PlotTheme(
    background="#1E2127",
    text="#E4E7EC",
    grid="#4A505B",
    empty="#2A2E36",
    several="#F2F4F7",
    accent="#6CB2F5",
    warning="#F2B8B5",
)


def plot_theme(*, dark: bool) -> PlotTheme:
    """Return the colours for a light or a dark window."""
    return DARK if dark else LIGHT


def language_color(index: int) -> str:
    """Return the hue of the language with this place in the list; after fourteen languages hues repeat."""
    return _LANGUAGE_HUES[index % len(_LANGUAGE_HUES)]


def rgb(color: str) -> npt.NDArray[np.float64]:
    """Return `#RRGGBB` as (3,) float in [0, 255]."""
    return np.array([int(color[start : start + 2], 16) for start in (1, 3, 5)], dtype=np.float64)
