"""One function a kind of job: the line from text to a result, in order.

In: a run folder and its spec. Out: the terminal event of the job; results lie in the run folder. The stages know
nothing of each other; what one needs of a later one, it is given here.
"""

import json
import os
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from lapestudio.core.activation_counts import ActivationCounts, PartialCounts
from lapestudio.core.atomic import write_text_atomically
from lapestudio.core.errors import UserError
from lapestudio.core.events import Emit, ResultEvent, StartedEvent, StoppedEvent
from lapestudio.core.lape import Selector
from lapestudio.core.neuron_set import NeuronSet, save_neuron_set
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import (
    EvaluateSpec,
    ExportSpec,
    FetchSpec,
    IdentifySpec,
    JobSpec,
    SelectionSettings,
    TrainSpec,
)
from lapestudio.engine.activation import count_activations
from lapestudio.engine.checkpoints import read_checkpoint
from lapestudio.engine.devices import best_device
from lapestudio.engine.evaluation.perplexity import text_loss
from lapestudio.engine.export import export_merged
from lapestudio.engine.fast_linear import speed_up
from lapestudio.engine.ffn_layout import layout_for
from lapestudio.engine.frozen_head import LanguageModelLoss
from lapestudio.engine.hub_datasets import fetch as fetch_text
from lapestudio.engine.hub_datasets import num_fetched_characters
from lapestudio.engine.job_inputs import (
    check_block_size,
    model_name,
    neurons_to_train,
    supported_model,
    trained_rows,
    training_spec,
)
from lapestudio.engine.job_summaries import (
    CONTROL_LOSS,
    TARGET_LOSS,
    Summary,
    card_of,
    export_summary,
    fetch_summary,
    identify_summary,
    text_summary,
    train_summary,
)
from lapestudio.engine.loading import load_model, load_tokenizer
from lapestudio.engine.merging import patch_parameters
from lapestudio.engine.split_ffn import ROWS_FILE, split_model
from lapestudio.engine.stages import JobContext, StoppedEarlyError
from lapestudio.engine.texts import BlockMaker
from lapestudio.engine.tokens import TokenBlocks
from lapestudio.engine.training import train as train_rows
from lapestudio.engine.verify_export import sample_ids, trained_logits, verify_export

_VALIDATION_TOKENS_A_BATCH = 4096


def run_job(run: RunFolder, spec: JobSpec, emit: Emit, should_stop: Callable[[], bool]) -> ResultEvent | StoppedEvent:
    """Run the job that `spec` describes.

    Raises:
        UserError: a fault in the input, in one sentence.
    """
    job = JobContext(emit=emit, should_stop=should_stop)
    try:
        match spec:
            case IdentifySpec():
                summary = identify(run, spec, job)
            case TrainSpec():
                summary = train(run, spec, job)
            case EvaluateSpec():
                summary = evaluate(run, spec, job)
            case ExportSpec():
                summary = export(run, spec, job)
            case FetchSpec():
                summary = fetch(run, spec, job)
    except StoppedEarlyError as stop:
        resumable = isinstance(spec, FetchSpec) or (isinstance(spec, TrainSpec) and run.has_checkpoint)
        return StoppedEvent(text=str(stop), resumable=resumable)
    return ResultEvent(summary=summary)


def started_event(run: RunFolder, spec: JobSpec, versions: Mapping[str, str]) -> StartedEvent:
    """Return the first event of an attempt."""
    resumed_step = None
    if isinstance(spec, TrainSpec) and run.has_checkpoint:
        resumed_step = read_checkpoint(run.checkpoints_folder, "last", load_weights=None).state.step
    return StartedEvent(
        pid=os.getpid(), device=str(device_of(spec)), versions=dict(versions), resumed_step=resumed_step
    )


def device_of(spec: JobSpec) -> torch.device:
    """Return where the job computes.

    Raises:
        UserError: this machine has no such device.
    """
    match spec:
        case IdentifySpec() | TrainSpec():
            return best_device(spec.settings.device)
        case EvaluateSpec():
            return best_device(spec.device)
        case ExportSpec() | FetchSpec():
            return torch.device("cpu")


def fetch(run: RunFolder, spec: FetchSpec, job: JobContext) -> Summary:
    """A data set of the hub to text in the run folder."""
    already = num_fetched_characters(run)
    progress = job.stage("fetch", f"Fetching {spec.dataset}", "characters", already=already)
    fetched = fetch_text(
        spec, run, on_progress=lambda done: progress(done, spec.max_characters), should_stop=job.should_stop
    )
    if fetched is None:
        raise StoppedEarlyError("Stopped; what was fetched is kept, and the fetch can go on from there.")
    # A data set may come to its end long before the limit.
    progress(fetched.num_characters, fetched.num_characters)
    return fetch_summary(run, spec, fetched)


def identify(run: RunFolder, spec: IdentifySpec, job: JobContext) -> Summary:
    """Text of several languages to counts, and counts to each language's neurons."""
    settings = spec.settings
    report = supported_model(spec.model)
    check_block_size(report, settings.block_size)
    maker = BlockMaker(run, job, load_tokenizer(spec.model), block_size=settings.block_size, add_bos=settings.add_bos)
    blocks = maker.corpora(spec.corpora, settings.max_tokens)
    job.stage("load", "Loading the model")
    model = load_model(spec.model, dtype=settings.dtype, device=settings.device)
    speed_up(model)
    progress = job.stage("count", "Counting activations")
    with PartialCounts.create(
        run.partial_counts_file,
        languages=list(blocks),
        num_layers=report.num_layers,
        intermediate_size=report.intermediate_size,
        model_name=model_name(report),
        model_fingerprint=report.fingerprint,
        corpus_fingerprints={language: text.fingerprint for language, text in blocks.items()},
    ) as partial:
        is_complete = count_activations(
            model,
            layout_for(model),
            blocks,
            on_counts=partial.add,
            batch_size=settings.batch_size,
            on_progress=progress,
            on_notice=job.warn,
            should_stop=job.should_stop,
        )
        counts = partial.snapshot()
    if not counts.num_tokens.all():
        raise StoppedEarlyError("Stopped before every language had been counted; no neurons have been selected.")
    counts.save(run.counts_file)
    job.stage("select", "Selecting neurons")
    neurons = select(counts, spec.selection, job)
    save_neuron_set(neurons, run.neurons_file)
    run.partial_counts_file.unlink()
    if not is_complete:
        raise StoppedEarlyError(
            f"Stopped after {counts.num_tokens.sum():,} tokens; their counts and the neurons that these give are kept."
        )
    return identify_summary(run, counts, neurons)


def train(run: RunFolder, spec: TrainSpec, job: JobContext) -> Summary:
    """A neuron set and text to trained rows; goes on from the last checkpoint where there is one."""
    settings = spec.settings
    report = supported_model(spec.model)
    neurons = neurons_to_train(spec, report, job)
    check_block_size(report, settings.block_size)
    save_neuron_set(neurons, run.neurons_file)
    maker = BlockMaker(run, job, load_tokenizer(spec.model), block_size=settings.block_size)
    training, validation = maker.training(spec)
    controls = maker.corpora(spec.controls, settings.max_validation_tokens, prefix="control_")
    job.stage("load", "Loading the model")
    model = load_model(spec.model, dtype=settings.dtype, device=settings.device)
    speed_up(model)
    subnetwork = split_model(
        model,
        layout_for(model),
        neurons.of(spec.language),
        model_name=model_name(report),
        model_fingerprint=report.fingerprint,
        language=spec.language,
    )
    loss = LanguageModelLoss(model)
    if loss.notice is not None:
        job.note(loss.notice)
    watched = {TARGET_LOSS: validation} | {f"{CONTROL_LOSS}{code}": text for code, text in controls.items()}
    job.stage("train", "Training", unit="steps")
    outcome = train_rows(
        method=subnetwork,
        loss=loss,
        blocks=training,
        validate=lambda: validation_losses(loss, watched, job),
        emit=job.emit,
        should_stop=job.should_stop,
        checkpoints=run.checkpoints_folder,
        resume=run.has_checkpoint,
        learning_rate=settings.learning_rate,
        schedule=settings.schedule,
        warmup_share=settings.warmup_share,
        weight_decay=settings.weight_decay,
        gradient_clip=settings.gradient_clip,
        batch_size=settings.batch_size,
        accumulation=settings.accumulation,
        max_steps=settings.max_steps,
        max_tokens=settings.max_tokens,
        epochs=settings.epochs,
        validate_every=settings.validate_every,
        seed=settings.seed,
    )
    if outcome.stopped:
        raise StoppedEarlyError(f"Stopped after step {outcome.step}; the checkpoint of this step is written.")
    return train_summary(run, spec, outcome, subnetwork.trained_rows().num_values, report)


def evaluate(run: RunFolder, spec: EvaluateSpec, job: JobContext) -> Summary:
    """Text to its perplexity, under a model as it is or with a training's rows in it."""
    report = supported_model(spec.model)
    rows = None if spec.trained is None else trained_rows(spec.trained, spec.checkpoint, report)
    check_block_size(report, spec.block_size)
    maker = BlockMaker(run, job, load_tokenizer(spec.model), block_size=spec.block_size)
    blocks = maker.corpora(spec.corpora, spec.max_tokens)
    job.stage("load", "Loading the model")
    model = load_model(spec.model, dtype=spec.dtype, device=spec.device)
    speed_up(model)
    if rows is not None:
        patch_parameters({name: parameter.data for name, parameter in model.named_parameters()}, rows)
    loss = LanguageModelLoss(model)
    if loss.notice is not None:
        job.note(loss.notice)
    languages = {}
    for language, text in blocks.items():
        progress = job.stage("evaluate", f"Measuring {language}", unit="blocks")
        found = text_loss(loss, text, batch_size=spec.batch_size, on_progress=progress, should_stop=job.should_stop)
        if found is None:
            raise StoppedEarlyError("Stopped before everything was measured; nothing has been written.")
        languages[language] = text_summary(found)
    what = "the model as it is" if rows is None else f"the model with the {spec.checkpoint} rows of {spec.trained}"
    summary = {"languages": languages, "text": f"Perplexity of {what}."}
    write_text_atomically(run.results_file, json.dumps(summary, ensure_ascii=False, indent=2) + "\n")
    return summary


def export(run: RunFolder, spec: ExportSpec, job: JobContext) -> Summary:
    """A training's rows to a plain model, opened again and compared with the trained one."""
    training = training_spec(spec.trained)
    report = supported_model(training.model)
    rows = trained_rows(spec.trained, spec.checkpoint, report)
    progress = job.stage("write", "Writing the model", unit="bytes")
    files = export_merged(
        training.model,
        rows,
        spec.out,
        dtype=spec.dtype,
        card=card_of(spec, training, rows, model_name(report)),
        on_progress=progress,
        should_stop=job.should_stop,
    )
    if files is None:
        raise StoppedEarlyError("Stopped before the model was complete; nothing has been written.")
    job.stage("verify", "Comparing what was written with the trained model")
    ids = sample_ids(report.vocab_size)
    rows_file = run.path / ROWS_FILE
    rows.save(rows_file)
    logits = trained_logits(training.model, rows, ids, spec.dtype)
    verdict = verify_export(
        spec.out, training.model, rows_file, ids=ids, logits=logits, dtype=spec.dtype, should_stop=job.should_stop
    )
    if verdict is None:
        raise StoppedEarlyError(f"Stopped before the model in {spec.out} was verified; it is complete but unchecked.")
    summary = export_summary(spec, files, verdict)
    write_text_atomically(run.results_file, json.dumps(summary, ensure_ascii=False, indent=2) + "\n")
    if not verdict.verified:
        raise UserError(
            f"The export in {spec.out} is not what was trained: {verdict.problem}; do not use it, and export again."
        )
    return summary


def select(counts: ActivationCounts, settings: SelectionSettings, job: JobContext) -> NeuronSet:
    """Return the neurons that the counts give, and tell what is to be known about them."""
    selector = Selector(counts.over_zero, counts.num_tokens, counts.languages)
    selection = selector.select(settings.top_rate, settings.activity_quantile)
    for notice in selection.notices:
        job.warn(notice)
    return NeuronSet.from_selection(selection, counts)


def validation_losses(
    loss: Callable[[Tensor], Tensor], watched: Mapping[str, TokenBlocks], job: JobContext
) -> dict[str, float] | None:
    """Return the mean loss of each watched text, or nothing where somebody asked to stop."""
    losses = {}
    for name, text in watched.items():
        batch_size = max(1, _VALIDATION_TOKENS_A_BATCH // text.block_size)
        found = text_loss(loss, text, batch_size=batch_size, should_stop=job.should_stop)
        if found is None:
            return None
        losses[name] = found.mean_nats
    return losses
