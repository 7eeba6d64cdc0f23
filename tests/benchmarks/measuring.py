"""Measuring on a machine that does other things too: competitors by turns, medians, and ratios of one run."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

import psutil


@dataclass(kw_only=True)
class Report:
    """Figures and targets of a benchmark."""

    name: str
    figures: dict[str, Any] = field(default_factory=dict)
    targets: list[dict[str, Any]] = field(default_factory=list)

    def target(self, what: str, value: float, *, at_least: float | None = None, at_most: float | None = None) -> None:
        """Record a ratio and whether it meets its target."""
        is_met = (at_least is None or value >= at_least) and (at_most is None or value <= at_most)
        self.targets.append(
            {"what": what, "value": round(value, 4), "at_least": at_least, "at_most": at_most, "met": is_met}
        )

    def print(self) -> None:
        """Print the report."""
        print(f"\n{self.name}")
        for what, value in self.figures.items():
            print(f"  {what}: {value:,.4g}" if isinstance(value, float) else f"  {what}: {value}")
        for target in self.targets:
            bound = f">= {target['at_least']}" if target["at_least"] is not None else f"<= {target['at_most']}"
            print(f"  {'met   ' if target['met'] else 'MISSED'} {target['what']}: {target['value']} (target {bound})")

    def document(self) -> dict[str, Any]:
        """Return the report for a JSON file."""
        return asdict(self)


def seconds_by_turns(competitors: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """Return each competitor's median time in seconds; they run one after another in every round, one warm-up first."""
    times: dict[str, list[float]] = {name: [] for name in competitors}
    for number in range(rounds + 1):
        for name, run in competitors.items():
            begin = time.perf_counter()
            run()
            if number:
                times[name].append(time.perf_counter() - begin)
    return {name: median(values) for name, values in times.items()}


class PeakMemory:
    """Highest anonymous resident memory (RssAnon) of this process while the context lasts, in bytes."""

    def __init__(self) -> None:
        self.start = self.peak = anonymous_bytes()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "PeakMemory":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(0.005):
            self.peak = max(self.peak, anonymous_bytes())


def anonymous_bytes() -> int:
    """Return the resident memory of this process without file pages."""
    memory = psutil.Process().memory_info()
    return int(memory.rss - memory.shared)
