"""A worker without a model for the window's tests: writes through the same files, at the pace that the test sets.

Takes the arguments of the real one (`-P -m lapestudio.engine.worker RUN`); what it does is in `fake_worker` beside
the run folders: `quick` (the whole job at once), `slow` (until it is stopped), `crash`, `fail`.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

from lapestudio.core.activation_counts import PartialCounts
from lapestudio.core.event_log import EventWriter
from lapestudio.core.events import (
    CheckpointEvent,
    ErrorEvent,
    ProgressEvent,
    ResultEvent,
    StageEvent,
    StartedEvent,
    StoppedEvent,
)
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import ExportSpec, FetchSpec, IdentifySpec, TrainSpec
from tests.ui import recorded

_PACE_S = 0.02


def identify(run, writer, is_slow):
    counts = recorded.counts()
    partial = PartialCounts.create(
        run.partial_counts_file,
        languages=counts.languages,
        num_layers=counts.num_layers,
        intermediate_size=counts.intermediate_size,
    )
    writer.write(StartedEvent(pid=os.getpid(), device="cpu"))
    writer.write(StageEvent(name="count", text="Counting activations"))
    with partial:
        while True:
            for k, language in enumerate(counts.languages):
                partial.add(language, np.ascontiguousarray(counts.over_zero[:, :, k]), int(counts.num_tokens[k]))
            writer.write(ProgressEvent(stage="count", done=300, total=1000, rate_per_s=500.0, remaining_s=1.4))
            if run.stop_requested:
                return StoppedEvent(text="Stopped before every language had been counted.")
            if not is_slow:
                break
            time.sleep(_PACE_S)
    counts.save(run.counts_file)
    return ResultEvent(summary={"text": "Neurons found."})


def train(run, writer, is_slow):
    start = 0
    if run.rows_file("last").exists():
        start = int(run.rows_file("last").read_text(encoding="utf-8"))
    writer.write(StartedEvent(pid=os.getpid(), resumed_step=start or None))
    for step in range(start + bool(start), recorded.NUM_STEPS + 1):
        for event in recorded.train_events(range(step, step + 1)):
            writer.write(event)
        run.rows_file("last").parent.mkdir(parents=True, exist_ok=True)
        run.rows_file("last").write_text(str(step), encoding="utf-8")
        while is_slow and step == recorded.NUM_STEPS // 2 and not run.stop_requested:
            time.sleep(_PACE_S)
        if run.stop_requested:
            writer.write(CheckpointEvent(step=step, name="last"))
            return StoppedEvent(text=f"Stopped at step {step}; the checkpoint is kept.", resumable=True)
    writer.write(CheckpointEvent(step=recorded.NUM_STEPS, name="best"))
    return ResultEvent(summary={"text": "Trained."})


def export(spec):
    spec.out.mkdir(parents=True)
    (spec.out / "model.safetensors").write_bytes(b"0" * 3000)
    return ResultEvent(summary={"text": "Written and verified.", "verified": True})


def main():
    run = RunFolder(Path(sys.argv[-1]))
    behaviour = (run.path.parent / "fake_worker").read_text(encoding="utf-8")
    if behaviour == "crash":
        sys.stderr.write("no more memory\n")
        os._exit(9)
    with EventWriter(run.events_file) as writer:
        if behaviour == "fail":
            writer.write(ErrorEvent(message="The corpus is empty.", details="Traceback: here", exit_code=1))
            sys.exit(1)
        match run.read_spec():
            case IdentifySpec():
                end = identify(run, writer, behaviour == "slow")
            case TrainSpec():
                end = train(run, writer, behaviour == "slow")
            case ExportSpec() as spec:
                end = export(spec)
            case FetchSpec():
                run.fetched_text_file.write_text('{"text": "Artiklu."}\n', encoding="utf-8")
                end = ResultEvent(summary={"text": "Fetched."})
        writer.write(end)
    state = "stopped" if isinstance(end, StoppedEvent) else "done"
    run.write_status(run.read_status().model_copy(update={"state": state, "finished": time.time()}))


if __name__ == "__main__":
    main()
