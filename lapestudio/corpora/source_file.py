"""A file to read, wherever it lies: on disk, or inside an archive or a compressed file.

Readers know these alone, so that whatever reads a file reads it from an archive too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lapestudio.core.errors import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file that can be opened again and again."""

    path: Path
    """On disk; of a member of an archive, its name below the path of the archive."""
    opener: Callable[[], BinaryIO] | None = None
    """Opens what does not lie on disk by itself."""

    @property
    def suffix(self) -> str:
        """Ending of the name, lower case, with its dot."""
        return self.path.suffix.lower()

    def __str__(self) -> str:
        """Return the name for people and documents."""
        return str(self.path)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open to read bytes; the stream can be sought in.

        Raises:
            UserError: it does not exist, may not be read, or reading fails, also later in the block.
        """
        with explaining_file_errors(self.path):
            stream = self.path.open("rb") if self.opener is None else self.opener()
            with stream:
                yield stream


@contextmanager
def explaining_file_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's errors about `path` into sentences.

    Raises:
        UserError: the body raised an OSError.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist; check the name, or choose the file again.") from error
    except PermissionError as error:
        raise UserError(
            f"{path} may not be read; ask its owner for permission, or copy it to your own folder."
        ) from error
    except OSError as error:
        reason = " ".join(str(error.strerror or error).split()).rstrip(".")
        raise UserError(f"{path} cannot be read: {reason}.") from error
