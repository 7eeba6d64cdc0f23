"""Archives and compressed files to the files in them, within bounds: nothing is unpacked to disk.

In: a file. Out: source files that read as any other. What is in an archive decides, not its name.
"""

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from lapestudio.core.errors import UserError
from lapestudio.corpora.reader import Report
from lapestudio.corpora.source_file import SourceFile

ARCHIVE_SUFFIXES = frozenset({".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz"})
MAX_RATIO = 200
MAX_TOTAL_BYTES = 64 << 30
_RATIO_MATTERS_FROM = 1 << 20
_STREAM_RATIO_MATTERS_FROM = 64 << 20
_MAX_MEMBERS = 100_000
_MAX_DEPTH = 2
_JUNK = re.compile(r"(^|/)(__MACOSX/|\.[^/.])")
_OFFICE = ("mimetype", "[Content_Types].xml", "word/document.xml", "META-INF/container.xml")
_Opener = Callable[[BinaryIO], Any]
_OPENERS: dict[bytes, _Opener] = {
    b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
}
_FILE_TYPE, _LINK = 0o170000, 0o120000
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, EOFError, lzma.LZMAError, OSError, ValueError, NotImplementedError)
IsCandidate = Callable[[Path], bool]


def expand(file: SourceFile, report: Report, is_candidate: IsCandidate, *, depth: int = 0) -> Iterator[SourceFile]:
    """Yield what is in an archive, or the file itself where it is none.

    Args:
        file: any file.
        report: gets a sentence for each member that is refused.
        is_candidate: whether a member is looked at, by its name; the others are passed over.
        depth: how many archives the file lies in.

    Raises:
        UserError: a damaged archive, or archives in archives in archives.
    """
    with file.open() as stream:
        head = stream.read(8)
        is_zip = head.startswith((b"PK\x03\x04", b"PK\x05\x06"))
        is_archive = is_zip and not _is_office(file, stream)
    opener = next((opener for magic, opener in _OPENERS.items() if head.startswith(magic)), None)
    is_tar = not is_zip and _is_tar(file, opener)
    if not (is_archive or is_tar or opener is not None):
        yield file
        return
    if depth >= _MAX_DEPTH:
        raise UserError(f"{file} lies in an archive in an archive; unpack the outer one.")
    if is_archive:
        yield from _zip_members(file, report, is_candidate, depth)
    elif is_tar:
        yield from _tar_members(file, opener, report, is_candidate, depth)
    else:
        assert opener is not None
        inner = file.path / file.path.stem if file.suffix in ARCHIVE_SUFFIXES else file.path / file.path.name
        yield SourceFile(path=inner, opener=_decompressing(file, opener))


def _is_office(file: SourceFile, stream: BinaryIO) -> bool:
    """Say whether a zip is a document: those are zips too."""
    try:
        with zipfile.ZipFile(stream) as archive:
            return any(name in archive.NameToInfo for name in _OFFICE)
    except _DAMAGED as error:
        raise UserError(f"{file} is a damaged zip archive or document; copy or save it again.") from error


def _zip_members(file: SourceFile, report: Report, is_candidate: IsCandidate, depth: int) -> Iterator[SourceFile]:
    with file.open() as stream, zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
    if len(members) > _MAX_MEMBERS:
        raise UserError(f"{file} holds more than {_MAX_MEMBERS:,} files; unpack it.")
    total = 0
    for info in members:
        if info.is_dir():
            continue
        total += info.file_size
        if reason := _refusal(info.filename) or _zip_refusal(info, total):
            report(f"{file}, {info.filename}: left out, {reason}.")
        elif not _JUNK.search(info.filename) and is_candidate(Path(info.filename)):
            member = SourceFile(path=file.path / info.filename, opener=_zip_opener(file, info))
            yield from _inner(member, report, is_candidate, depth)


def _inner(member: SourceFile, report: Report, is_candidate: IsCandidate, depth: int) -> Iterator[SourceFile]:
    try:
        yield from expand(member, report, is_candidate, depth=depth + 1)
    except UserError as error:
        report(str(error))


def _zip_refusal(info: zipfile.ZipInfo, total: int) -> str | None:
    if info.flag_bits & 1:
        return "it needs a password; unpack it"
    if info.file_size > _RATIO_MATTERS_FROM and info.file_size > MAX_RATIO * max(1, info.compress_size):
        return f"it grows more than {MAX_RATIO} times when it is unpacked"
    if total > MAX_TOTAL_BYTES:
        return f"the archive holds more than {MAX_TOTAL_BYTES >> 30} GB"
    if (info.external_attr >> 16) & _FILE_TYPE == _LINK:
        return "it is a link"
    return None


def _refusal(name: str) -> str | None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or re.match(r"[A-Za-z]:", name) or "\\" in name or "\0" in name:
        return "its name leads out of the archive"
    return None


def _zip_opener(file: SourceFile, info: zipfile.ZipInfo) -> Callable[[], BinaryIO]:
    def open_member() -> BinaryIO:
        # The archive is opened anew: a reader may hold several members open, or none for long.
        outer = file.path.open("rb") if file.opener is None else file.opener()
        archive = zipfile.ZipFile(outer)
        name = str(file.path / info.filename)
        return cast("BinaryIO", _Bounded(archive.open(info), name, limit=info.file_size, also_close=(outer,)))

    return open_member


def _is_tar(file: SourceFile, opener: _Opener | None) -> bool:
    with file.open() as stream:
        try:
            header = (stream if opener is None else opener(stream)).read(512)
        except _DAMAGED:
            return False  # Whoever reads it says so.
    return header[257:262] == b"ustar"


def _tar_members(
    file: SourceFile,
    opener: _Opener | None,
    report: Report,
    is_candidate: IsCandidate,
    depth: int,
) -> Iterator[SourceFile]:
    try:
        with file.open() as stream:
            unpacked = stream if opener is None else _decompressed(file, opener, stream)
            with tarfile.open(fileobj=unpacked) as archive:
                members = [member for member in archive if member.isfile()]
    except _DAMAGED as error:
        raise UserError(f"{file} is a damaged archive; copy or download it again.") from error
    for member in members:
        if reason := _refusal(member.name):
            report(f"{file}, {member.name}: left out, {reason}.")
        elif not _JUNK.search(member.name) and is_candidate(Path(member.name)):
            source = SourceFile(path=file.path / member.name, opener=_tar_opener(file, opener, member))
            yield from _inner(source, report, is_candidate, depth)


def _tar_opener(file: SourceFile, opener: _Opener | None, member: tarfile.TarInfo) -> Callable[[], BinaryIO]:
    def open_member() -> BinaryIO:
        outer = file.path.open("rb") if file.opener is None else file.opener()
        unpacked = outer if opener is None else _decompressed(file, opener, outer)
        # Straight to the member's place, without reading the headers before it again.
        name = str(file.path / member.name)
        return cast("BinaryIO", _Bounded(unpacked, name, start=member.offset_data, size=member.size))

    return open_member


def _decompressing(file: SourceFile, opener: _Opener) -> Callable[[], BinaryIO]:
    def open_inner() -> BinaryIO:
        outer = file.path.open("rb") if file.opener is None else file.opener()
        return _decompressed(file, opener, outer)

    return open_inner


def _decompressed(file: SourceFile, opener: _Opener, outer: BinaryIO) -> BinaryIO:
    packed_bytes = outer.seek(0, io.SEEK_END)
    outer.seek(0)
    limit = max(_STREAM_RATIO_MATTERS_FROM, MAX_RATIO * packed_bytes)
    return cast("BinaryIO", _Bounded(opener(outer), str(file), limit=limit, also_close=(outer,)))


class _Bounded(io.RawIOBase):
    """A stream that ends with a clear sentence where it is damaged or yields more than it may.

    Args:
        stream: what is read.
        name: of the file, for the sentence.
        limit: most bytes that may come.
        start: where the file begins in the stream.
        size: bytes of the file from there; nothing: up to the end.
        also_close: streams below, closed with this one.
    """

    def __init__(
        self,
        stream: Any,
        name: str,
        *,
        limit: int | None = None,
        start: int = 0,
        size: int | None = None,
        also_close: tuple[BinaryIO, ...] = (),
    ) -> None:
        super().__init__()
        self._stream = stream
        self._name = name
        self._limit = limit
        self._start = start
        self._size = size
        self._also_close = also_close
        self._place = 0
        if start:
            self._stream.seek(start)

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def seekable(self) -> bool:
        """Going back costs reading again."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes."""
        view = memoryview(buffer)
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def read(self, size: int = -1) -> bytes:
        """Read bytes.

        Raises:
            UserError: the archive is damaged, or holds more than it says.
        """
        if self._size is not None:
            left = self._size - self._place
            size = left if size < 0 else min(size, left)
        try:
            data: bytes = self._stream.read(size)
        except _DAMAGED as error:
            raise UserError(f"{self._name} is damaged or cut off; copy or download it again.") from error
        self._place += len(data)
        if self._limit is not None and self._place > self._limit:
            raise UserError(
                f"{self._name} grows more than {MAX_RATIO} times when it is unpacked, as no text does; unpack it "
                "yourself if you trust it."
            )
        return data

    def readall(self) -> bytes:
        """Read to the end."""
        return self.read(-1)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        if whence == io.SEEK_CUR:
            offset += self._place
        elif whence == io.SEEK_END:
            end = self._size if self._size is not None else self._stream.seek(0, io.SEEK_END) - self._start
            offset += end
        place: int = self._stream.seek(self._start + offset) - self._start
        self._place = place
        return place

    def tell(self) -> int:
        """Return the place."""
        return self._place

    def close(self) -> None:
        """Close the stream and those below."""
        if not self.closed:
            self._stream.close()
            for stream in self._also_close:
                stream.close()
        super().close()
