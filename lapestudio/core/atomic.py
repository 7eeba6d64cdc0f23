"""Writing files so that a reader, or a power cut, finds the old content or the new one and never a part."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def fsync_directory(directory: Path) -> None:
    """Make renames inside `directory` survive a power cut; does nothing where folders cannot be opened (Windows)."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it replaces `path`, on an exception it is removed.

    Raises:
        OSError: the folder is missing or not writable, or the disk is full; `path` is then untouched.
    """
    path = Path(path)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        # mkstemp makes files private; results are as readable as any other file of the user.
        temporary.chmod(default_mode())
        temporary.replace(path)
        fsync_directory(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_bytes_atomically(path: Path, data: bytes) -> None:
    """Replace the content of `path` by `data` in one step."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def write_text_atomically(path: Path, text: str) -> None:
    """Replace the content of `path` by `text`, in UTF-8 with line feeds, in one step."""
    write_bytes_atomically(path, text.encode("utf-8"))


def default_mode() -> int:
    """Return the access rights of files that the user makes."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
