"""Documents that are zips of XML (docx, odt, epub): opens their members within bounds."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from lapestudio.core.errors import UserError
from lapestudio.corpora.archives import MAX_RATIO
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import MAX_DOCUMENT_BYTES


class Package:
    """An open document.

    Args:
        file: the document.
        archive: its zip.
    """

    def __init__(self, file: SourceFile, archive: zipfile.ZipFile) -> None:
        self._file = file
        self._archive = archive
        self.names = frozenset(archive.namelist())

    def member(self, name: str) -> SourceFile:
        """Return a member to read; nothing of it is in memory yet.

        Raises:
            UserError: there is none, it needs a password, or it grows out of bounds.
        """
        if name not in self.names:
            raise UserError(f"{self._file} is no whole document: {name} is missing in it; save it again.")
        info = self._archive.getinfo(name)
        if info.flag_bits & 1:
            raise UserError(f"{self._file} is protected by a password; save it without one.")
        size = info.file_size
        if size > MAX_DOCUMENT_BYTES or (size > 1 << 20 and size > MAX_RATIO * max(1, info.compress_size)):
            raise UserError(f"{self._file} grows out of all bounds when it is unpacked; save it again.")
        # No more than the directory says is ever read: the zip module stops there.
        return SourceFile(path=self._file.path, opener=lambda: self._archive.open(info))  # type: ignore[arg-type,return-value]

    def bytes_of(self, name: str) -> bytes:
        """Return a member's bytes.

        Raises:
            UserError: as `member`.
        """
        with self.member(name).open() as stream:
            return stream.read()


@contextmanager
def open_package(file: SourceFile) -> Iterator[Package]:
    """Open a document.

    Raises:
        UserError: it is damaged, also later in the block.
    """
    try:
        with file.open() as stream, zipfile.ZipFile(stream) as archive:
            yield Package(file, archive)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, zlib.error) as error:
        raise UserError(f"{file} is damaged or cut off; copy or save it again.") from error
