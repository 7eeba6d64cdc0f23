"""Subtitles in SRT and WebVTT: what is said in each cue."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from lapestudio.corpora.elan import clock
from lapestudio.corpora.reader import Head, Reader, Reading
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.source_file import SourceFile
from lapestudio.corpora.text_lines import read_lines

_TIME = r"(?:(\d+):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?"
_TIMES = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}")
_VOICE = re.compile(r"<v(?:\.[^\s>]+)*\s+([^>]+)>")
_TAG = re.compile(r"</?[a-zA-Z0-9:.]+(?:\s[^<>]*)?>|<\d[\d:.]*>|\{\\[^{}]*\}")
_BLOCKS = ("NOTE", "STYLE", "REGION")
_SEEN_LINES = 3


@dataclass(slots=True)
class _Cue:
    start: float
    end: float
    line: int
    lines: list[str] = field(default_factory=list)


def read_subtitles(file: SourceFile, reading: Reading) -> Iterator[Segment]:
    """Stream the cues; lines that automatic captions repeat from the cue before are left out.

    Raises:
        UserError: not readable.
    """
    before: list[str] = []
    for cue in _cues(file, reading):
        speaker = next((match[1].strip() for line in cue.lines if (match := _VOICE.search(line))), None)
        lines = [_plain(line) for line in cue.lines]
        lines = [line for line in lines if line]
        new = [line for line in lines if line not in before]
        if lines and len(new) < len(lines):
            reading.skip("repeated caption line", len(lines) - len(new))
        elif not lines:
            reading.skip("empty cue")
        before = lines[-_SEEN_LINES:] or before
        if new:
            place = f"{clock(cue.start)} to {clock(cue.end)}"
            yield Segment(" ".join(new), str(file), place, speaker=speaker, span_s=(cue.start, cue.end))


def _cues(file: SourceFile, reading: Reading) -> Iterator[_Cue]:
    """Yield the cues: one ends where the times of the next stand, with the number before them, not at a blank line."""
    cue: _Cue | None = None
    pending: list[str] = []
    in_block = False
    for number, line in chain(read_lines(file, reading), [(0, "00:00 --> 00:00")]):
        match = _TIMES.match(line)
        if match is None:
            if not line.strip():
                in_block = False
            if line.strip().startswith(_BLOCKS) and (not pending or not pending[-1].strip()):
                in_block = True
            if not in_block:
                pending.append(line)
            continue
        in_block = False
        if cue is not None:
            cue.lines = _without_number(pending, is_last=not number)
            yield cue
        cue, pending = _Cue(_seconds(match.groups()[:4]), _seconds(match.groups()[4:]), number), []


def _without_number(lines: list[str], *, is_last: bool) -> list[str]:
    """Take off what stands before the next cue's times: its number or name, after a blank line."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
        is_last = True if not lines else is_last
    if not is_last and lines:
        last = lines[-1].strip()
        if last.isdigit() or (len(lines) > 1 and not lines[-2].strip()):
            lines = lines[:-1]
    return lines


def _plain(line: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", _VOICE.sub("", line))).split())


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = parts
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0) + float(f"0.{fraction or 0}")


def _recognises(head: Head) -> bool:
    if head.text is None:
        return False
    start = head.text.lstrip()
    return start.startswith("WEBVTT") or any(_TIMES.match(line) for line in start.split("\n")[:4])


READER = Reader(name="subtitles", suffixes=frozenset({".srt", ".vtt"}), recognises=_recognises, read=read_subtitles)
