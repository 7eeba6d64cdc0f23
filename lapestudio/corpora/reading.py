"""Files and folders to a stream of segments: finds files, chooses their readers, checks that text came out."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from lapestudio.core.errors import UserError
from lapestudio.corpora import jsonl, plain_text
from lapestudio.corpora.reader import Reader, Report, stop_at_fault
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.text_lines import explaining_file_errors, read_head

READERS: tuple[Reader, ...] = (jsonl.READER, plain_text.READER)
"""All formats; where several recognise a file, the first one takes it."""
_OTHER_FORMATS = frozenset(
    {".csv", ".tsv", ".json", ".srt", ".vtt", ".po", ".conllu", ".conll", ".textgrid", ".sfm", ".usfm", ".tex"}
)
"""Endings of text files that hold more than running text; what is not text must not be taught to a model."""
_SUFFIXES = frozenset(suffix for reader in READERS for suffix in reader.suffixes)


def read(path: Path, *, report: Report = stop_at_fault) -> Iterator[Segment]:
    """Stream the text of a file, or of all files in a folder.

    Args:
        path: file or folder.
        report: gets a sentence for each broken line, which is then passed over; without it the first one raises.

    Raises:
        UserError: names the file, the line where it applies, and what to do: nothing to read, no text, not UTF-8,
            a format that is not known.
    """
    for file in find_files(path):
        yield from _read_file(file, report)


def read_all(paths: Iterable[Path], *, report: Report = stop_at_fault) -> Iterator[Segment]:
    """Stream the text of several files and folders in order; a file that is named twice is read once.

    Raises:
        UserError: as `read`.
    """
    for file in find_all_files(paths):
        yield from _read_file(file, report)


def find_files(path: Path) -> list[Path]:
    """Return the files to read under `path`: the file itself, or the readable ones of a folder and its subfolders.

    Hidden files and files with endings of other formats are passed over (see `find_unreadable_files`).

    Raises:
        UserError: nothing there, or a folder without readable files.
    """
    path = Path(path)
    if not path.is_dir():
        with explaining_file_errors(path):
            path.stat()
        if not path.is_file():
            raise UserError(f"{path} is not a file; choose a file or a folder with text.")
        return [path]
    files = [file for file in _walk(path) if file.suffix.lower() in _SUFFIXES]
    if not files:
        raise UserError(
            f"The folder {path} holds no files that can be read; put files in it that end in {_suffix_list()}."
        )
    return files


def find_all_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files under all `paths`, each once.

    Raises:
        UserError: as `find_files`; no paths at all.
    """
    files = {file.resolve(): file for path in paths for file in find_files(path)}
    if not files:
        raise UserError("No files are given; choose at least one file or folder with text.")
    return list(files.values())


def find_unreadable_files(path: Path) -> list[Path]:
    """Return the files of a folder that are passed over because of their endings; hidden ones are not mentioned."""
    path = Path(path)
    return [file for file in _walk(path) if file.suffix.lower() not in _SUFFIXES] if path.is_dir() else []


def reader_for(path: Path) -> Reader:
    """Return the reader for a file, by its ending and its first characters.

    An ending that only one special format uses decides; `.txt` and unknown endings say nothing, the content does.

    Raises:
        UserError: not readable, empty, binary, of another format, or not in UTF-8.
    """
    head = read_head(path)
    suffix = path.suffix.lower()
    special = [reader for reader in READERS if reader is not plain_text.READER]
    for reader in special:
        if suffix in reader.suffixes:
            return reader
    for reader in special:
        if reader.recognises(head):
            return reader
    if suffix in _OTHER_FORMATS:
        raise UserError(
            f"{path}: files that end in {suffix} cannot be read; save the text in them as {_suffix_list()}."
        )
    return plain_text.READER


def _read_file(path: Path, report: Report) -> Iterator[Segment]:
    segment: Segment | None = None
    for segment in reader_for(path).read(path, report):
        yield segment
    if segment is None:
        raise UserError(f"{path} holds no text, only blank lines or empty records; choose another file.")


def _walk(folder: Path) -> list[Path]:
    """Return all files under `folder` that are not hidden, sorted by path; links to folders are not followed."""
    files: list[Path] = []
    with explaining_file_errors(folder):
        for parent, folders, names in os.walk(folder, onerror=_raise):
            folders[:] = [name for name in folders if not name.startswith(".")]
            files.extend(Path(parent, name) for name in names if not name.startswith("."))
    return sorted(file for file in files if file.is_file())


def _raise(error: OSError) -> None:
    raise error


def _suffix_list() -> str:
    *most, last = sorted(_SUFFIXES)
    return f"{', '.join(most)} or {last}"
