"""Files and folders to a stream of segments: finds files, chooses their readers, checks that text came out."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lapestudio.core.errors import UserError
from lapestudio.core.text_settings import OptionsByFile, ReadingOptions, options_for
from lapestudio.corpora.archives import ARCHIVE_SUFFIXES, expand
from lapestudio.corpora.formats import readable_suffixes, reader_for
from lapestudio.corpora.normalising import normalise
from lapestudio.corpora.parallel_lines import is_line_aligned
from lapestudio.corpora.reader import FileNotes, Part, Reader, Reading, Report, stop_at_fault
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile, explaining_file_errors

Normaliser = Callable[[str], str]
MAX_FILE_NOTES = 1000


@dataclass(slots=True)
class ReadingLog:
    """What became known of the files, in the order in which they were read."""

    files: list[FileNotes] = field(default_factory=list)
    """The first `MAX_FILE_NOTES`."""
    num_files: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    """What was left out on purpose, in all files."""

    def add(self, notes: FileNotes) -> None:
        """Note a file."""
        self.num_files += 1
        self.skipped.update(notes.skipped)
        if len(self.files) < MAX_FILE_NOTES:
            self.files.append(notes)


def read(
    path: Path, *, language: str | None = None, options: OptionsByFile | None = None, report: Report = stop_at_fault
) -> Iterator[Segment]:
    """Stream the text of a file, of all files in a folder, or of all files in an archive.

    Args:
        path: file or folder.
        language: BCP-47 tag of the language whose text is wanted: of files that state the languages of their parts,
            only those are taken; it also tells code pages apart.
        options: what a user has decided about single files.
        report: gets a sentence for each fault: a broken line, which is then passed over, or a whole file. Without it
            the first one raises.

    Raises:
        UserError: names the file, the line where it applies, and what to do: nothing to read, no text, a format that
            is not known.
    """
    yield from read_all([path], language=language, options=options, report=report)


def read_all(
    paths: Iterable[Path],
    *,
    language: str | None = None,
    options: OptionsByFile | None = None,
    report: Report = stop_at_fault,
    log: ReadingLog | None = None,
    normaliser: Normaliser | None = normalise,
) -> Iterator[Segment]:
    """Stream the text of several files and folders in order; a file that is named twice is read once.

    Args:
        paths: files and folders.
        language: as in `read`.
        options: as in `read`.
        report: as in `read`.
        log: gets notes on each file as soon as it has been read.
        normaliser: what is done to the text of each segment; segments of which nothing remains are left out. Nothing
            where the caller does that.

    Raises:
        UserError: as `read`.
    """
    for file in source_files(paths, report):
        chosen = options_for(file.path, options or {})
        reading = Reading(language=language, parts=chosen.parts, encoding=chosen.encoding, report=report)
        try:
            yield from _read_file(file, reading, log, normaliser)
        except UserError as error:
            report(str(error))


class Look:
    """A look into one file: what can be chosen in it, and how its text begins.

    Args:
        file: the file.
        reading: how to read it.
    """

    def __init__(self, file: SourceFile, reading: Reading) -> None:
        self._file = file
        self._reading = reading
        self._reader = reader_for(file, reading)
        finder = self._reader.find_parts
        self.parts: Sequence[Part] = finder(file, reading) if finder is not None else ()
        """Tiers, columns, fields or languages; empty where there is nothing to choose."""

    def segments(self, normaliser: Normaliser) -> Iterator[Segment]:
        """Stream the segments; faults go to the report."""
        try:
            yield from _read_file(self._file, self._reading, None, normaliser)
        except UserError as error:
            self._reading.report(str(error))

    def notes(self, num_segments: int) -> FileNotes:
        """Return what is known by now, when `num_segments` have been read."""
        return _notes(self._file, self._reader, self._reading, num_segments)


def look_into(path: Path, *, language: str | None, options: ReadingOptions, report: Report) -> Look:
    """Look into a file, or into a member of an archive by the path that its segments name.

    Raises:
        UserError: as `read`.
    """
    reading = Reading(language=language, parts=options.parts, encoding=options.encoding, report=report)
    outer = next((place for place in (path, *path.parents) if place.exists()), path)
    for file in source_files([outer], report):
        if path in (outer, file.path):
            return Look(file, reading)
    raise UserError(f"{path} does not exist; check the name, or choose the file again.")


def source_files(paths: Iterable[Path], report: Report = stop_at_fault) -> Iterator[SourceFile]:
    """Yield the files to read under `paths`, with those inside archives, each once.

    Raises:
        UserError: as `find_files`, unless `report` takes it; no paths at all.
    """
    seen: set[Path] = set()
    any_path = False
    for path in paths:
        any_path = True
        try:
            files = find_files(path)
        except UserError as error:
            report(str(error))
            continue
        for file in files:
            if (resolved := file.resolve()) in seen:
                continue
            seen.add(resolved)
            try:
                yield from expand(SourceFile(path=file), report, is_candidate)
            except UserError as error:
                report(str(error))
    if not any_path:
        raise UserError("No files are given; choose at least one file or folder with text.")


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
    files = [file for file in _walk(path) if is_candidate(file)]
    if not files:
        raise UserError(
            f"The folder {path} holds no files that can be read; choose one with text, documents or annotations."
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
    return [file for file in _walk(path) if not is_candidate(file)] if path.is_dir() else []


def is_candidate(path: Path) -> bool:
    """Say whether a file of a folder or an archive is looked at, by its name alone."""
    suffix = path.suffix.lower()
    return suffix in readable_suffixes() or suffix in ARCHIVE_SUFFIXES or is_line_aligned(path)


def _read_file(
    file: SourceFile, reading: Reading, log: ReadingLog | None, normaliser: Normaliser | None
) -> Iterator[Segment]:
    reader = reader_for(file, reading)
    num_segments = 0
    for segment in reader.read(file, reading):
        text = segment.text if normaliser is None else normaliser(segment.text)
        if text == segment.text:
            yield segment
        elif text:
            yield segment._replace(text=text)
        else:
            reading.skip("empty segment")
            continue
        num_segments += 1
    if log is not None:
        log.add(_notes(file, reader, reading, num_segments))
    if num_segments == 0 and not reading.is_other_language:
        raise UserError(_no_text(file, reading))


def _notes(file: SourceFile, reader: Reader, reading: Reading, num_segments: int) -> FileNotes:
    return FileNotes(
        path=file.path,
        format_name=reader.name,
        encoding=reading.found_encoding,
        num_segments=num_segments,
        skipped=reading.skipped,
        warnings=tuple(reading.warnings),
    )


def _no_text(file: SourceFile, reading: Reading) -> str:
    if reading.parts is not None:
        chosen = ", ".join(f'"{part}"' for part in reading.parts)
        return f"{file} holds no text under {chosen}; choose another part of it."
    if reading.skipped:
        reasons = ", ".join(f"{number:,} x {reason}" for reason, number in reading.skipped.most_common(3))
        return f"{file} holds no text to use (left out: {reasons}); choose another file."
    return f"{file} holds no text, only blank lines or empty records; choose another file."


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
