"""The memory-mapped file of counts that are still growing: how it is laid out, made and opened.

In: a header and a path. Out: int64 arrays on the file's memory, which `activation_counts.PartialCounts` reads and
writes.

Layout: magic (8 bytes), int64 length of the header, header (JSON), zeros up to a multiple of 64 bytes; then in
little-endian int64: versions [num_languages], tokens [num_languages], sums over the neurons of a layer
[num_languages, num_layers], counts [num_languages, num_layers, intermediate_size]. A language lies in one piece, so
that reading or writing it touches nothing else.
"""

import json
import mmap
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
import numpy.typing as npt

from lapestudio.core.atomic import replacing
from lapestudio.core.tensor_file import cannot_write, damaged

_WHAT = "partial activation counts"
_MAGIC = b"LAPEPC01"
_HEADER_START = 16
_ALIGNMENT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialHeader:
    """What is being counted."""

    languages: tuple[str, ...]
    num_layers: int
    intermediate_size: int
    model_name: str
    model_fingerprint: str
    corpus_fingerprints: dict[str, str]

    @property
    def array_sizes(self) -> tuple[int, int, int, int]:
        """Numbers of versions, tokens, sums and counts."""
        num_languages = len(self.languages)
        num_sums = num_languages * self.num_layers
        return num_languages, num_languages, num_sums, num_sums * self.intermediate_size


class IncompleteFileError(Exception):
    """The file is a beginning of what it will be."""


class PartialFile:
    """An open file.

    Args:
        path: a file that `create_partial_file` made.
        writable: whether the arrays can be changed.

    Attributes:
        header: what is being counted.
        versions: (num_languages,) int64, odd while a language's numbers are being changed.
        tokens: (num_languages,) int64.
        layer_sums: (num_languages, num_layers) int64.
        counts: (num_languages, num_layers, intermediate_size) int64.

    Raises:
        FileNotFoundError: nothing there.
        IncompleteFileError: the file is not whole yet.
        UserError: the file is something else.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        with path.open("rb+" if writable else "rb") as file:
            self.header, start = _read_header(path, file)
            sizes = self.header.array_sizes
            if os.fstat(file.fileno()).st_size < start + 8 * sum(sizes):
                raise IncompleteFileError
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ)
        data = np.frombuffer(self._map, dtype="<i8", offset=start, count=sum(sizes))
        self.versions, self.tokens, sums, counts = np.split(data, np.cumsum(sizes[:-1]))
        self.layer_sums = sums.reshape(len(self.header.languages), self.header.num_layers)
        self.counts = counts.reshape(*self.layer_sums.shape, self.header.intermediate_size)

    @classmethod
    def create(cls, path: Path, header: PartialHeader) -> Self:
        """Make the file with all numbers zero and open it for writing; it gets its name only when whole.

        Raises:
            UserError: the file cannot be written, or the disk has no room for it.
        """
        text = json.dumps(asdict(header), ensure_ascii=False).encode("utf-8")
        start = _HEADER_START + len(text)
        start += -start % _ALIGNMENT
        try:
            with replacing(path) as temporary, temporary.open("rb+") as file:
                file.write(_MAGIC + len(text).to_bytes(8, "little") + text)
                file.flush()
                _reserve(file, start + 8 * sum(header.array_sizes))
        except OSError as error:
            raise cannot_write(path, error) from error
        return cls(path, writable=True)

    def close(self) -> None:
        """Let go of the file; the arrays are empty afterwards."""
        # Views would keep the map open.
        nothing: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.versions = self.tokens = self.layer_sums = self.counts = nothing
        self._map.close()


def _read_header(path: Path, file: BinaryIO) -> tuple[PartialHeader, int]:
    """Return the header and where the arrays begin."""
    magic = file.read(len(_MAGIC))
    if not _MAGIC.startswith(magic):
        raise damaged(path, _WHAT, "it does not begin as such a file does")
    length = int.from_bytes(file.read(8), "little")
    if os.fstat(file.fileno()).st_size < _HEADER_START + length:
        raise IncompleteFileError
    try:
        fields = json.loads(file.read(length))
        header = PartialHeader(**{**fields, "languages": tuple(fields["languages"])})
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(path, _WHAT, f"its header is broken ({error})") from error
    start = _HEADER_START + length
    return header, start + -start % _ALIGNMENT


def _reserve(file: BinaryIO, size: int) -> None:
    """Make the file `size` bytes long, with real room on the disk where the system can promise it.

    Writing through a map into a hole of a full disk kills the process instead of raising an error.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:
        file.truncate(size)
