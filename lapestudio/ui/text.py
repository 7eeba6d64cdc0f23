"""Numbers, sizes, times, paths and names as people read them, safe inside text of either direction."""

from pathlib import Path

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale

from lapestudio.core.errors import UserError
from lapestudio.core.languages import find_language

_MINUTE_S = 60
_HOUR_S = 3600
_ALMOST_TWO_MINUTES_S = 100


def isolate(text: str) -> str:
    """Return `text` so that its direction does not disturb, nor is disturbed by, what stands around it."""
    return f"\u2068{text}\u2069"


def left_to_right(text: str) -> str:
    """Return `text` so that it reads from left to right wherever it stands."""
    return f"\u2066{text}\u2069"


def path_text(path: Path | str) -> str:
    """Return a path that reads from left to right wherever it stands."""
    return left_to_right(str(path))


def count_text(number: int) -> str:
    """Return a whole number with its groups of digits."""
    return QLocale().toString(number)


def number_text(number: float, decimals: int = 2) -> str:
    """Return a number with so many decimals; a diverged one is shown as what it is."""
    return QLocale().toString(float(number), "f", decimals)


def percent_text(share: float, decimals: int = 1) -> str:
    """Return a share, 1 being all, in percent."""
    return f"{number_text(100 * share, decimals)}\u202f%"


def size_text(num_bytes: int) -> str:
    """Return a size in the unit that suits it."""
    return QLocale().formattedDataSize(num_bytes, 1, QLocale.DataSizeFormat.DataSizeTraditionalFormat)


def short_count_text(number: int) -> str:
    """Return a large number in thousands, millions or billions."""
    for limit, unit in ((10**9, "B"), (10**6, "M"), (10**4, "k")):
        if number >= limit:
            scale = 10**3 if unit == "k" else limit
            return f"{number_text(number / scale, 1)}\u202f{unit}"
    return count_text(number)


def duration_text(seconds: float) -> str:
    """Return a time span in one or two units."""
    seconds = round(seconds)
    if seconds < _ALMOST_TWO_MINUTES_S:
        return QCoreApplication.translate("Text", "{seconds} s").format(seconds=count_text(seconds))
    if seconds < _HOUR_S:
        return QCoreApplication.translate("Text", "{minutes} min").format(minutes=count_text(round(seconds / 60)))
    hours, rest = divmod(round(seconds / _MINUTE_S), _MINUTE_S)
    return QCoreApplication.translate("Text", "{hours} h {minutes} min").format(
        hours=count_text(hours), minutes=count_text(rest)
    )


def moment_text(seconds: float | None) -> str:
    """Return a point in time, seconds since 1970, in the form of the place; nothing where it is not known."""
    if seconds is None:
        return ""
    return QLocale().toString(QDateTime.fromSecsSinceEpoch(int(seconds)), QLocale.FormatType.ShortFormat)


def language_name(code: str) -> str:
    """Return the name of a language, or its code where no registry knows it."""
    try:
        return find_language(code).name
    except UserError:
        return code


def language_text(code: str) -> str:
    """Return name and code of a language, safe beside text of either direction."""
    name = language_name(code)
    return isolate(name) if name == code else f"{isolate(name)} ({isolate(code)})"


def is_right_to_left(code: str) -> bool:
    """Say whether a language is written from right to left."""
    try:
        return find_language(code).right_to_left
    except UserError:
        return False
