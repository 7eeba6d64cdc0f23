"""Where the files that come with the program lie: in a source tree, an installed wheel or a frozen bundle."""

import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def resources_folder() -> Path:
    """Return the folder `resources/` of this installation.

    Raises:
        FileNotFoundError: the installation is incomplete.
    """
    bundle = getattr(sys, "_MEIPASS", None)
    candidates = [_PACKAGE / "_resources", _PACKAGE.parent / "resources"]
    if bundle is not None:
        candidates.insert(0, Path(bundle) / "lapestudio" / "_resources")
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"LAPE Studio is not installed completely: no resources in {candidates[0]}.")


def example_folder() -> Path:
    """Return the folder of the built-in example (model, corpus, `example.json`)."""
    return resources_folder() / "example"
