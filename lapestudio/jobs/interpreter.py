"""Which Python runs the jobs: a setting of the user, so that the window stays small and torch lives elsewhere.

Order: environment variable `LAPESTUDIO_ENGINE_PYTHON`, the saved setting, the Python that runs this program.
"""

import json
import os
import sys
from pathlib import Path

import platformdirs

from lapestudio.core.atomic import write_text_atomically
from lapestudio.core.errors import UserError

ENVIRONMENT_VARIABLE = "LAPESTUDIO_ENGINE_PYTHON"
_KEY = "engine_python"


def settings_file() -> Path:
    """Return where the user's settings of the engine lie; the file need not exist."""
    return platformdirs.user_config_path("lapestudio", appauthor=False) / "settings.json"


def saved_interpreter() -> Path | None:
    """Return the interpreter in the settings, or nothing where none is set.

    Raises:
        UserError: the settings file is damaged.
    """
    file = settings_file()
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
        value = settings.get(_KEY)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(f"The settings in {file} cannot be read ({error}); correct or delete the file.") from error
    return Path(value) if value else None


def save_interpreter(python: Path | None) -> None:
    """Set the interpreter that runs jobs; nothing: the Python of this program.

    Raises:
        UserError: `python` is no program, or the settings cannot be written.
    """
    if python is not None:
        _check(python, "The engine environment")
    file = settings_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(file, json.dumps({_KEY: None if python is None else str(python)}, indent=2) + "\n")
    except OSError as error:
        raise UserError(f"The settings cannot be written to {file}: {error.strerror}.") from error


def engine_python() -> Path:
    """Return the interpreter that runs jobs.

    Raises:
        UserError: the chosen one does not exist, or none is chosen and this program is no interpreter itself: a frozen
            program that started itself as worker would open windows for ever.
    """
    from_environment = os.environ.get(ENVIRONMENT_VARIABLE)
    if from_environment:
        return _check(Path(from_environment), f"The Python in {ENVIRONMENT_VARIABLE}")
    saved = saved_interpreter()
    if saved is not None:
        return _check(saved, f"The engine environment set in {settings_file()}")
    if getattr(sys, "frozen", False) or not sys.executable:
        raise UserError(
            "No engine environment is set: choose a Python that has lapestudio and torch installed, in the settings or "
            f"with the environment variable {ENVIRONMENT_VARIABLE}."
        )
    return Path(sys.executable)


def _check(python: Path, what: str) -> Path:
    if not (python.is_file() and os.access(python, os.X_OK)):
        raise UserError(f"{what}, {python}, is not a program that can be started.")
    return python
