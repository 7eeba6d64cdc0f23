"""Reading and tokenising large text: megabytes a second, peak memory on a gigabyte, and the tokenizer's own speed."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import psutil

from lapestudio.core.specs import CorpusSource
from lapestudio.corpora.corpus import Corpus
from lapestudio.corpora.reading import read
from lapestudio.engine.loading import load_tokenizer
from lapestudio.engine.tokens import count_tokens
from tests.benchmarks.measuring import Report
from tests.benchmarks.models import smollm2_gguf

_WORDS = tuple(
    f"{start}{middle}{end}"
    for start in ("ħ", "b", "il-k", "dr", "jit", "s", "għ", "m")
    for middle in ("a", "ie", "o", "u", "wie", "i")
    for end in ("", "ta", "n", "dijiet", "qa", "ssi")
)
_READ_MB = 100
_TOKENISED_MB = 12
_GIGABYTE = 1_000_000_000


def write_text(path: Path, num_bytes: int) -> None:
    """Write lines of words, no two of them alike."""
    generator = np.random.default_rng(3)
    written = number = 0
    with path.open("w", encoding="utf-8") as file:
        while written < num_bytes:
            lengths = generator.integers(5, 25, size=5000)
            words = iter(generator.choice(_WORDS, size=int(lengths.sum())).tolist())
            lines = []
            for length in lengths.tolist():
                number += 1
                lines.append(f"{number} {' '.join(next(words) for _ in range(length))}\n")
            block = "".join(lines)
            written += len(block.encode("utf-8"))
            file.write(block)


def benchmark() -> list[Report]:
    """Measure reading, cleaning and tokenising."""
    report = Report(name="Text")
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "text.txt"
        write_text(file, _READ_MB * 1_000_000)
        megabytes = file.stat().st_size / 1e6
        source = CorpusSource(language="mt", paths=(file,))
        report.target("reading plain text, MB/s", megabytes / _seconds(lambda: _exhaust(read(file))), at_least=30)
        report.figures["reading and cleaning, MB/s"] = megabytes / _seconds(lambda: _exhaust(Corpus(source)))
        write_text(file, _TOKENISED_MB * 1_000_000)
        _tokenising(report, file)
    return [report]


def _tokenising(report: Report, file: Path) -> None:
    tokenizer = load_tokenizer(str(smollm2_gguf()))
    backend = tokenizer.backend_tokenizer
    texts = [segment.text for segment in read(file)]
    pieces = ["\n".join(texts[start : start + 80]) for start in range(0, len(texts), 80)]
    source = CorpusSource(language="mt", paths=(file,))

    def library() -> None:
        for start in range(0, len(pieces), 64):
            backend.encode_batch_fast(pieces[start : start + 64], add_special_tokens=False)

    library()
    times = {"library": [], "ours": []}
    for _round in range(3):
        times["library"].append(_seconds(library))
        times["ours"].append(_seconds(lambda: count_tokens(Corpus(source), tokenizer)))
    ours, theirs = min(times["ours"]), min(times["library"])
    report.figures["tokenising with the library alone, MB/s"] = file.stat().st_size / 1e6 / theirs
    report.target("reading, cleaning and tokenising, share of the library's speed", theirs / ours, at_least=0.8)


def gigabyte_benchmark() -> list[Report]:
    """Describe a file of a gigabyte with the command and measure its peak memory."""
    report = Report(name="`lapestudio corpus` on 1 GB of text")
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "text.txt"
        write_text(file, _GIGABYTE)
        command = [sys.executable, "-m", "lapestudio", "corpus", str(file), "--language", "mt", "--json"]
        begin = time.perf_counter()
        with tempfile.TemporaryFile() as out:
            child = subprocess.Popen(command, stdout=out, env={**os.environ, "PYTHONUTF8": "1"})
            # Sampled: what the system counts as the child's peak includes this process at the moment of the fork.
            process, peak = psutil.Process(child.pid), 0
            while child.poll() is None:
                with contextlib.suppress(psutil.Error):
                    peak = max(peak, process.memory_info().rss)
                time.sleep(0.02)
            assert child.returncode == 0, "the command failed"
            out.seek(0)
            answer = out.read()
        seconds = time.perf_counter() - begin
        report.figures["segments"] = json.loads(answer)["num_segments"]
        report.figures["time, s"] = seconds
        report.figures["describing, MB/s"] = file.stat().st_size / 1e6 / seconds
        report.target("peak resident memory, MB", peak / 1e6, at_most=400)
    return [report]


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _exhaust(items: Iterable[object]) -> None:
    deque(items, maxlen=0)
