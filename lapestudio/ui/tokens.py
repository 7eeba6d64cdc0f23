"""The measures and colours of the window: nothing else in it names a colour or a distance."""

from dataclasses import dataclass
from enum import IntEnum


class Space(IntEnum):
    """Distances in pixels."""

    XS = 4
    S = 8
    M = 12
    L = 16
    XL = 24
    XXL = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Colors:
    """The colours of one theme, as #RRGGBB."""

    window: str
    surface: str
    field: str
    hover: str
    border: str
    border_strong: str
    text: str
    muted: str
    accent: str
    accent_hover: str
    accent_text: str
    accent_soft: str
    success: str
    success_soft: str
    warning: str
    warning_soft: str
    danger: str
    danger_soft: str


LIGHT = Colors(
    window="#F4F6F8",
    surface="#FFFFFF",
    field="#FFFFFF",
    hover="#EDF1F5",
    border="#E0E4EA",
    border_strong="#B9C1CC",
    text="#1D2129",
    muted="#5A6472",
    accent="#0B5CAD",
    accent_hover="#094C90",
    accent_text="#FFFFFF",
    accent_soft="#E3EEF9",
    success="#1A7A4A",
    success_soft="#E4F4EB",
    warning="#8A5A00",
    warning_soft="#FCF2DC",
    danger="#B3261E",
    danger_soft="#FBE9E7",
)
DARK = Colors(
    window="#15171C",
    surface="#1E2127",
    field="#17191F",
    hover="#2A2E37",
    border="#30353F",
    border_strong="#525A68",
    text="#E6E9EE",
    muted="#A3ACBA",
    accent="#6CB2F5",
    accent_hover="#8CC4F9",
    accent_text="#0B1A2B",
    accent_soft="#1D3650",
    success="#6FCF97",
    success_soft="#1B3427",
    warning="#F0C36D",
    warning_soft="#3A2F17",
    danger="#F2A29B",
    danger_soft="#43211F",
)
