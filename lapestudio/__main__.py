"""The program's entry: without a command the window opens, with one the same work runs in the terminal.

Only here do the two faces meet. Each is imported when it is wanted: the window must not wait for the command line's
libraries, nor the commands for Qt.
"""

import sys
from pathlib import Path

from lapestudio.cli import COMMANDS
from lapestudio.core.project import PROJECT_FILE_NAME


def main() -> None:
    """Run LAPE Studio."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Open the window on the project in `arguments`, or run the command, and return the exit code."""
    if not arguments:
        return _open_window(None)
    if len(arguments) == 1 and _is_project(arguments[0]):
        return _open_window(Path(arguments[0]))
    from lapestudio.cli.application import run as run_command

    return run_command(arguments)


def _is_project(word: str) -> bool:
    if word in COMMANDS:
        return False
    path = Path(word)
    return path.is_dir() or path.name == PROJECT_FILE_NAME


def _open_window(project: Path | None) -> int:
    from lapestudio.ui.app import run_app

    return run_app(project)


if __name__ == "__main__":
    main()
