"""The projects that were open lately, and where new ones go."""

from pathlib import Path

from PySide6.QtCore import QSettings, QStandardPaths

from lapestudio.core.project import PROJECT_FILE_NAME

_RECENT_KEY = "recent/projects"
FOLDER_KEY = "start/projects_folder"
_MOST = 8


def recent_projects(settings: QSettings) -> list[Path]:
    """Return the folders of the latest projects that still exist, the newest first."""
    stored = settings.value(_RECENT_KEY)
    # A list of one comes back as a string, an empty one as nothing.
    names = [stored] if isinstance(stored, str) else stored if isinstance(stored, list) else []
    return [folder for name in names if ((folder := Path(str(name))) / PROJECT_FILE_NAME).is_file()]


def remember_project(settings: QSettings, folder: Path) -> None:
    """Put a project in front of the list."""
    others = [known for known in recent_projects(settings) if known != folder]
    settings.setValue(_RECENT_KEY, [str(path) for path in [folder, *others][:_MOST]])


def projects_folder(settings: QSettings) -> Path:
    """Return the folder where new projects are made."""
    chosen = settings.value(FOLDER_KEY)
    if chosen:
        return Path(str(chosen))
    documents = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    return Path(documents or Path.home()) / "LAPE Studio"
