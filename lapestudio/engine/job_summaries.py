"""What a job has found out, in figures for programs and one sentence for people.

In: the results of the stages. Out: the summary in the job's last event, which the window and the command line show.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lapestudio.core.activation_counts import ActivationCounts
from lapestudio.core.event_log import EventTail
from lapestudio.core.events import MetricsEvent
from lapestudio.core.model_report import ModelReport
from lapestudio.core.neuron_set import NeuronSet
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import ExportSpec, FetchSpec, TrainSpec
from lapestudio.engine.checkpoints import read_checkpoint
from lapestudio.engine.evaluation.perplexity import TextLoss
from lapestudio.engine.export import WrittenFile
from lapestudio.engine.hub_datasets import Fetched
from lapestudio.engine.model_card import model_card
from lapestudio.engine.trained_rows import TrainedRows
from lapestudio.engine.training import TrainingOutcome
from lapestudio.engine.verify_export import Verification

TARGET_LOSS = "validation_loss"
CONTROL_LOSS = "control_loss/"

Summary = dict[str, Any]


def identify_summary(run: RunFolder, counts: ActivationCounts, neurons: NeuronSet) -> Summary:
    """Return how many neurons each language has."""
    by_language = neurons.counts().sum(axis=1).tolist()
    flat, _languages = neurons.flat()
    num_selected, num_neurons = len(np.unique(flat)), neurons.num_layers * neurons.intermediate_size
    return {
        "languages": list(neurons.languages),
        "neurons": dict(zip(neurons.languages, by_language, strict=True)),
        "tokens": dict(zip(counts.languages, counts.num_tokens.tolist(), strict=True)),
        "num_selected": num_selected,
        "num_neurons": num_neurons,
        "counts_file": str(run.counts_file),
        "neurons_file": str(run.neurons_file),
        "text": f"{num_selected:,} of {num_neurons:,} neurons are specific to one or more languages.",
    }


def fetch_summary(run: RunFolder, spec: FetchSpec, fetched: Fetched) -> Summary:
    """Return how much was fetched and where it is."""
    end = "the whole data set" if fetched.is_whole else "up to the limit"
    licence = f" Their licence, by the data set's card: {fetched.licence}." if fetched.licence else ""
    text = f"{fetched.num_records:,} texts with {fetched.num_characters:,} characters were fetched ({end}).{licence}"
    return {
        "dataset": spec.dataset,
        "config": spec.config,
        "revision": fetched.revision,
        "licence": fetched.licence,
        "language": spec.language,
        "records": fetched.num_records,
        "characters": fetched.num_characters,
        "num_bytes": fetched.num_bytes,
        "is_whole": fetched.is_whole,
        "file": str(run.fetched_text_file),
        "text": text,
    }


def train_summary(
    run: RunFolder, spec: TrainSpec, outcome: TrainingOutcome, num_trained: int, report: ModelReport
) -> Summary:
    """Return what the training has changed, by the losses that were measured before it and at its best step."""
    losses = measured_losses(run, spec.language)
    before, after = losses[0], losses[outcome.best_step]
    share = num_trained / report.num_parameters
    text = (
        f"{num_trained:,} weights ({share:.2%} of the model) were trained for {outcome.step:,} steps; the best "
        f"checkpoint is of step {outcome.best_step:,}."
    )
    if outcome.best_step == 0:
        text = "The training never bettered the model: its best checkpoint is the model as it was. " + text
    return {
        "language": spec.language,
        "method": spec.method,
        "steps": outcome.step,
        "tokens": outcome.tokens,
        "best_step": outcome.best_step,
        "loss_before": before,
        "loss_after": after,
        "num_trained_weights": num_trained,
        "trained_share": share,
        "text": text,
    }


def export_summary(spec: ExportSpec, files: Sequence[WrittenFile], verdict: Verification) -> Summary:
    """Return what was written and what a fresh look at it found."""
    text = (
        f"Verified: {verdict.num_tensors:,} tensors were compared with the base model; {verdict.num_changed_tensors:,} "
        f"hold trained rows, and every other weight is {'the same' if spec.dtype == 'keep' else 'only converted'}. "
        f"Its logits differ from the trained model's by at most {verdict.max_logit_difference:.2g}."
    )
    return {
        "out": str(spec.out),
        "files": [{"name": file.name, "num_bytes": file.num_bytes} for file in files],
        "verified": verdict.verified,
        "num_tensors": verdict.num_tensors,
        "num_changed_tensors": verdict.num_changed_tensors,
        "max_logit_difference": verdict.max_logit_difference,
        "text": text if verdict.verified else f"Not verified: {verdict.problem}.",
    }


def card_of(spec: ExportSpec, training: TrainSpec, rows: TrainedRows, base: str) -> str:
    """Return the model card of an export, with the losses that its training measured."""
    run = RunFolder(spec.trained)
    state = read_checkpoint(run.checkpoints_folder, spec.checkpoint, load_weights=None).state
    losses = measured_losses(run, training.language)
    return model_card(
        base=base,
        language=training.language,
        num_trained=rows.num_values,
        num_neurons=sum(len(group.neurons) for group in rows.groups if group.place.role == "down"),
        num_tokens=state.tokens,
        num_steps=state.step,
        text_files=[path.name for path in training.paths],
        loss_before=losses[0],
        loss_after=losses.get(state.step, {}),
    )


def measured_losses(run: RunFolder, language: str) -> dict[int, dict[str, float]]:
    """Return the validation losses of all attempts, by step and language; the trained language comes first."""
    losses: dict[int, dict[str, float]] = {}
    for event in EventTail(run.events_file).read_new():
        if isinstance(event, MetricsEvent) and TARGET_LOSS in event.values:
            controls = {
                name.removeprefix(CONTROL_LOSS): value
                for name, value in event.values.items()
                if name.startswith(CONTROL_LOSS)
            }
            losses[event.step] = {language: event.values[TARGET_LOSS], **controls}
    return losses


def text_summary(loss: TextLoss) -> Summary:
    """Return the figures of one text; JSON has no numbers that are not finite, so these are words."""
    return {
        "loss_nats": _number(loss.mean_nats),
        "perplexity": _number(loss.perplexity),
        "tokens": loss.num_tokens,
    }


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
