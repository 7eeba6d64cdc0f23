"""temporary"""
from pathlib import Path
from lapestudio.core.project import Project


def write_example(folder: Path) -> Project:
    """Temporary."""
    raise NotImplementedError
