"""Benchmarks as a command: `python -m tests.benchmarks [NAME ...] [--threads 2] [--out FILE]`.

Prints figures, ratios of one run and whether they meet their targets. Exit code 1 where one is missed.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from lapestudio.jobs.starting import engine_environment
from tests.benchmarks import corpora, identification, training, window
from tests.benchmarks.measuring import Report

BENCHMARKS: dict[str, Callable[[], list[Report]]] = {
    "startup": window.startup_benchmark,
    "selection": window.selection_benchmark,
    "identification": identification.benchmark,
    "training": training.benchmark,
    "memory": training.memory_benchmark,
    "corpora": corpora.benchmark,
    "gigabyte": corpora.gigabyte_benchmark,
}
_IS_SET_UP = "LAPESTUDIO_BENCHMARK_IS_SET_UP"


def main() -> int:
    """Run the named benchmarks, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], help="which; all when none is named")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="also write the figures as JSON")
    parser.add_argument("--usual-allocator", action="store_true", help="leave the C library's allocator as it is")
    arguments = parser.parse_args()
    environment = engine_environment()
    if os.environ.get(_IS_SET_UP) is None and not arguments.usual_allocator:
        # As jobs run: the allocator's settings hold from the start of a process.
        command = [sys.executable, "-m", "tests.benchmarks", *sys.argv[1:]]
        os.execve(sys.executable, command, environment | {_IS_SET_UP: "1"})
    torch.set_num_threads(arguments.threads)
    reports = []
    for name in arguments.names or BENCHMARKS:
        for report in BENCHMARKS[name]():
            report.print()
            reports.append(report)
    if arguments.out is not None:
        document = json.dumps([report.document() for report in reports], indent=1)
        arguments.out.write_text(document + "\n", encoding="utf-8")
    return 0 if all(target["met"] for report in reports for target in report.targets) else 1


if __name__ == "__main__":
    sys.exit(main())
