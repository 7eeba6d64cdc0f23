"""Projects and runs as the engine leaves them behind, written without it."""

import math
import os
import time
from pathlib import Path

import numpy as np

from lapestudio.core.activation_counts import ActivationCounts
from lapestudio.core.event_log import EventWriter
from lapestudio.core.events import (
    CheckpointEvent,
    ErrorEvent,
    Event,
    MetricsEvent,
    NoticeEvent,
    ProgressEvent,
    ResultEvent,
    StageEvent,
    StartedEvent,
    StoppedEvent,
)
from lapestudio.core.lape import Selector
from lapestudio.core.model_report import DeviceReport, MemoryEstimate, ModelReport
from lapestudio.core.neuron_set import NeuronSet, save_neuron_set
from lapestudio.core.project import Project, ProjectDocument, ProjectLanguage
from lapestudio.core.run_folder import RunFolder, RunState, RunStatus
from lapestudio.core.specs import CorpusSource, ExportSpec, IdentifySpec, JobSpec, TrainSpec

LANGUAGES = ("mt", "en", "ar")
TEXTS = {
    "mt": "Il-bnedmin kollha jitwieldu ħielsa.\nIl-lingwa Maltija tinkiteb b'ittri Latini.\n",
    "en": "All human beings are born free.\nThe second line is here.\nAnd a third.\n",
    "ar": "يولد جميع الناس أحرارا.\nالسطر الثاني هنا.\n",  # noqa: RUF001 - Arabic letters
}
NUM_LAYERS, WIDTH = 4, 64
NUM_STEPS = 40


def write_project(folder: Path, *, languages: tuple[str, ...] = LANGUAGES, model: str | None = "model") -> Project:
    """Make a project with text in three languages."""
    (folder / "text").mkdir(parents=True)
    for code in languages:
        (folder / "text" / f"{code}.txt").write_text(TEXTS[code], encoding="utf-8")
    document = ProjectDocument(
        name="Małti 日本",
        model=model,
        languages=tuple(ProjectLanguage(code=code, paths=(Path("text") / f"{code}.txt",)) for code in languages),
    )
    if model is not None:
        (folder / model).mkdir()
    return Project.create(folder, document)


def model_report(source: str, *, supported: bool = True) -> ModelReport:
    """Return a report as `inspect` gives it."""
    gib = 1 << 30
    return ModelReport(
        source=source,
        form="folder",
        model_type="llama",
        architecture="LlamaForCausalLM",
        supported=supported,
        reason="" if supported else "Models of the type mamba are not supported; supported are llama and others.",
        fingerprint="f" * 64,
        num_layers=NUM_LAYERS,
        intermediate_size=WIDTH,
        hidden_size=32,
        vocab_size=1000,
        max_positions=512,
        num_parameters=1_500_000,
        num_ffn_parameters=900_000,
        dtype="float32",
        size_bytes=6_000_000,
        devices=(DeviceReport(name="cpu", description="Processor", total_bytes=16 * gib, free_bytes=8 * gib),),
        identification=MemoryEstimate(
            parts={"weights": 6_000_000, "program and libraries": 600_000_000},
            total_bytes=606_000_000,
            device="cpu",
            fits=True,
        ),
        training=MemoryEstimate(
            parts={"weights": 6_000_000, "activations": 9 * gib}, total_bytes=9 * gib, device="cpu", fits=False
        ),
    )


def counts() -> ActivationCounts:
    """Return counts in which each language has neurons of its own in a layer of its own."""
    rng = np.random.default_rng(3)
    over_zero = rng.integers(50, 400, size=(NUM_LAYERS, WIDTH, len(LANGUAGES)))
    for k in range(len(LANGUAGES)):
        over_zero[k, 8 * k : 8 * k + 8, k] += 550
    return ActivationCounts(
        over_zero=over_zero, num_tokens=np.full(len(LANGUAGES), 1000), languages=LANGUAGES, model_name="model"
    )


def write_events(run: RunFolder, events: list[Event]) -> None:
    """Append events."""
    with EventWriter(run.events_file) as writer:
        for event in events:
            writer.write(event)


def write_run(project: Project, name: str, spec: JobSpec, events: list[Event], state: RunState = "done") -> RunFolder:
    """Write a run folder whose job has ended."""
    run = RunFolder.create(project.runs_folder / name, spec)
    now = time.time()
    write_events(run, [StartedEvent(pid=1, device="cpu"), *events])
    run.write_status(RunStatus(state=state, pid=1, process_started=1.0, started=now - 60, finished=now))
    return run


def identify_spec(project: Project) -> IdentifySpec:
    """Return the spec of an identification of the project."""
    corpora = [project.corpus(code) for code in LANGUAGES]
    return IdentifySpec(
        model=str(project.folder / "model"), corpora=tuple(corpus for corpus in corpora if corpus is not None)
    )


def write_identification(project: Project) -> RunFolder:
    """Write an identification that is done, and make it the one that is shown."""
    found = counts()
    events: list[Event] = [
        StageEvent(name="count", text="Counting activations"),
        NoticeEvent(text="The text of English was repeated."),
        ResultEvent(summary={"text": "13 of 256 neurons are specific to one or more languages."}),
    ]
    run = write_run(project, "2026-12-01_1000_identify", identify_spec(project), events)
    found.save(run.counts_file)
    selection = Selector(found.over_zero, found.num_tokens, found.languages).select()
    save_neuron_set(NeuronSet.from_selection(selection, found), run.neurons_file)
    project.update(identify_run=run.path.name)
    return run


def train_spec(project: Project) -> TrainSpec:
    """Return the spec of a training of Maltese with English as control."""
    return TrainSpec(
        model=str(project.folder / "model"),
        neurons=project.runs_folder / "2026-12-01_1000_identify",
        language="mt",
        paths=(project.folder / "text" / "mt.txt",),
        controls=(CorpusSource(language="en", paths=(project.folder / "text" / "en.txt",)),),
    )


def train_events(steps: range = range(NUM_STEPS + 1)) -> list[Event]:
    """Return metrics: the target's loss falls from 5 to about 3.2, the control's stays."""
    events: list[Event] = [StageEvent(name="train", text="Training")]
    for step in steps:
        values = {
            "train_loss": 3.0 + 2.0 * math.exp(-step / 12) + 0.1 * math.sin(step * 1.7),
            "tokens_per_s": 900.0,
        }
        if step % 10 == 0:
            values |= {"validation_loss": 3.2 + 1.8 * math.exp(-step / 12), "control_loss/en": 3.5 + step / 10_000}
        events.append(MetricsEvent(step=step, tokens=step * 128, values=values))
        progress = ProgressEvent(stage="train", done=step, total=NUM_STEPS, unit="steps", remaining_s=2.0)
        events.append(progress)
    return events


def write_training(project: Project, state: RunState = "done") -> RunFolder:
    """Write a training that has ended, and make it the one that is shown."""
    end: dict[str, Event] = {
        "done": ResultEvent(summary={"text": "Trained."}),
        "stopped": StoppedEvent(text="Stopped at step 40; the checkpoint is kept.", resumable=True),
        "failed": ErrorEvent(message="Memory ran out: use a smaller batch.", details="Traceback: here", exit_code=1),
    }
    events = [*train_events(), CheckpointEvent(step=NUM_STEPS, name="best"), end[state]]
    run = write_run(project, "2026-12-01_1010_train_mt", train_spec(project), events, state)
    for checkpoint in ("last", "best"):
        run.rows_file(checkpoint).parent.mkdir(parents=True)
        run.rows_file(checkpoint).write_bytes(b"rows")
    project.update(train_run=run.path.name, target="mt", controls=("en",))
    return run


def write_export(project: Project) -> RunFolder:
    """Write an export that is done."""
    out = project.folder / "exports" / "mt"
    out.mkdir(parents=True)
    (out / "model.safetensors").write_bytes(b"0" * 5000)
    (out / "config.json").write_text("{}", encoding="utf-8")
    spec = ExportSpec(trained=project.runs_folder / "2026-12-01_1010_train_mt", out=out)
    summary = {"text": "The model was written and verified.", "verified": True, "out": str(out)}
    return write_run(project, "2026-12-01_1020_export_mt", spec, [ResultEvent(summary=summary)])


def write_running(project: Project, name: str, spec: JobSpec) -> RunFolder:
    """Write a run folder whose job is at work: this very process stands for the worker."""
    import psutil

    run = RunFolder.create(project.runs_folder / name, spec)
    run.write_status(
        RunStatus(
            state="running", pid=os.getpid(), process_started=psutil.Process().create_time(), started=time.time() - 1
        )
    )
    write_events(run, [StartedEvent(pid=os.getpid(), device="cpu")])
    return run
