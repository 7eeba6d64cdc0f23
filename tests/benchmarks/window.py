"""What the window's user waits for: the cold start, and a slider move."""

import os
import subprocess
import sys
import time
from statistics import median

import numpy as np

from lapestudio.core.lape import Selector
from tests.benchmarks.measuring import Report

_SHAPE = (32, 14_336, 100)
_START_TARGET_S = 1.0


def selection_benchmark() -> list[Report]:
    """Measure re-selection from stored counts on 32 x 14,336 x 100."""
    generator = np.random.default_rng(1)
    num_tokens = np.full(_SHAPE[-1], 100_000, dtype=np.int64)
    over_zero = generator.binomial(100_000, generator.beta(0.5, 3, _SHAPE[:2])[..., None] * generator.random(_SHAPE))
    begin = time.perf_counter()
    selector = Selector(over_zero.astype(np.int64), num_tokens)
    report = Report(name="Selection, 32 x 14,336 neurons x 100 languages")
    report.figures["loading, s"] = time.perf_counter() - begin
    times = []
    for top_rate in np.linspace(0.01, 0.1, 15):
        begin = time.perf_counter()
        selector.select(float(top_rate), 0.95 - float(top_rate) / 10)
        times.append(time.perf_counter() - begin)
    report.target("slider move, s", median(times), at_most=0.1)
    return [report]


def startup_benchmark(rounds: int = 5) -> list[Report]:
    """Measure the cold start to a usable window, in processes of their own on a warm disk."""
    command = [sys.executable, "-m", "tests.benchmarks.window"]
    environment = {**os.environ, "QT_QPA_PLATFORM": os.environ.get("QT_QPA_PLATFORM", "offscreen")}
    times = []
    for number in range(rounds + 1):
        begin = time.perf_counter()
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        if number:
            times.append(time.perf_counter() - begin)
    report = Report(name="Window, process start until it is shown, laid out and painted, and closed again")
    report.figures["all, s"] = ", ".join(f"{value:.2f}" for value in times)
    report.target("median, s", median(times), at_most=_START_TARGET_S)
    return [report]


def _open_and_close() -> None:
    from PySide6.QtCore import QTimer

    from lapestudio.ui.app import run_app

    QTimer.singleShot(0, _close_when_painted)
    sys.exit(run_app(None))


def _close_when_painted() -> None:
    from PySide6.QtWidgets import QApplication

    for window in QApplication.topLevelWidgets():
        window.grab()
    QApplication.quit()


if __name__ == "__main__":
    _open_and_close()
