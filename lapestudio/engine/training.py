"""The training loop: token blocks and a method in, checkpoints and metrics out.

The model stays in evaluation mode throughout: no dropout, so that nothing but the order of the blocks is random, and
that order follows from the seed. What is trained, what the loss is and how it is validated come in as functions; the
loop knows no model. It stands between the split FFN and the evaluation.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import psutil
import torch
from torch import Tensor, nn

from lapestudio.core.errors import UserError
from lapestudio.core.events import CheckpointEvent, Emit, MetricsEvent, NoticeEvent, ProgressEvent
from lapestudio.engine.checkpoints import (
    TrainingState,
    load_state_tensors,
    read_checkpoint,
    state_tensors,
    write_checkpoint,
)
from lapestudio.engine.out_of_memory import is_out_of_memory
from lapestudio.engine.training_plan import Plan, make_plan, rate_factor

CHECKPOINT_EVERY_S = 120.0
_ADAM_BETAS = (0.9, 0.999)


class Method(Protocol):
    """What is trained: the subnetwork, or later another way to compare it with."""

    def parameters(self) -> Sequence[nn.Parameter]:
        """Return the trained parameters, always in the same order."""
        ...

    def save_weights(self, folder: Path) -> None:
        """Write their values into `folder`."""
        ...

    def load_weights(self, folder: Path) -> None:
        """Set their values to what `save_weights` wrote.

        Raises:
            UserError: missing, damaged, or of something else.
        """
        ...


class Blocks(Protocol):
    """Training text as blocks of token ids; the first token of a block is read and never predicted."""

    @property
    def fingerprint(self) -> str:
        """Equal for equal blocks only."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Tensor:
        """Return (seq_len,) int64."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingOutcome:
    """How a training ended.

    Args:
        stopped: somebody asked; it can be resumed.
        step, tokens: how far it came; predicted tokens.
        first_loss, last_loss, best_loss: validation loss before training, at the latest validation, and the lowest.
        best_step: where the lowest was; 0: the base model was never bettered.
    """

    stopped: bool
    step: int
    tokens: int
    first_loss: float
    last_loss: float
    best_loss: float
    best_step: int


def train(
    *,
    method: Method,
    loss: Callable[[Tensor], Tensor],
    blocks: Blocks,
    validate: Callable[[], Mapping[str, float] | None],
    emit: Emit,
    should_stop: Callable[[], bool],
    checkpoints: Path,
    resume: bool,
    learning_rate: float,
    schedule: Literal["constant", "cosine"],
    warmup_share: float,
    weight_decay: float,
    gradient_clip: float,
    batch_size: int,
    accumulation: int,
    max_steps: int | None,
    max_tokens: int | None,
    epochs: float,
    validate_every: int,
    seed: int,
) -> TrainingOutcome:
    """Train until a limit is reached or somebody asks to stop.

    Each update is the mean loss over all predicted tokens of its blocks, whatever their lengths. `last` is written
    after each validation, at the end, when stopped, and every two minutes; `best` when the validation loss is the
    lowest so far, and the untrained model at step 0 is the first candidate.

    Args:
        method: what is trained.
        loss: (batch_size, seq_len) ids -> (batch_size, seq_len - 1) losses in nats.
        blocks: the training text.
        validate: returns `validation_loss` and any `control_loss/<language>`, in nats a token; None: it was stopped.
        emit: takes the events.
        should_stop: asked between steps.
        checkpoints: folder of `last` and `best`.
        resume: go on from `last`, exactly; all settings must be the same.
        learning_rate: highest rate of AdamW.
        schedule: constant, or falling to a tenth along a cosine.
        warmup_share: share of the steps over which the rate rises.
        weight_decay: of AdamW.
        gradient_clip: largest norm of the gradient.
        batch_size: blocks computed together.
        accumulation: batches of an update.
        max_steps: limit; None: not by steps.
        max_tokens: limit in predicted tokens; None: not by tokens.
        epochs: limit when there is no other.
        validate_every: steps between validations; the first is before step 1, the last at the end.
        seed: of the order of the blocks.

    Raises:
        UserError: no text, the loss diverged, memory does not suffice for one block, or no fitting checkpoint.
    """
    settings = {
        "learning_rate": learning_rate,
        "schedule": schedule,
        "warmup_share": warmup_share,
        "weight_decay": weight_decay,
        "gradient_clip": gradient_clip,
        "blocks_per_update": batch_size * accumulation,
        "max_steps": max_steps,
        "max_tokens": max_tokens,
        "epochs": epochs,
        "validate_every": validate_every,
        "seed": seed,
    }
    lengths = [len(blocks[index]) for index in range(len(blocks))]
    plan = make_plan(
        lengths,
        seed=seed,
        blocks_per_update=batch_size * accumulation,
        max_steps=max_steps,
        max_tokens=max_tokens,
        epochs=epochs,
    )
    training = _Training(
        method=method,
        loss=loss,
        blocks=blocks,
        validate=validate,
        emit=emit,
        checkpoints=checkpoints,
        plan=plan,
        rate=lambda step: learning_rate * rate_factor(step, plan.num_steps, schedule, warmup_share),
        weight_decay=weight_decay,
        gradient_clip=gradient_clip,
        state=TrainingState(micro_batch=batch_size, settings_hash=_hash({**settings, "blocks": blocks.fingerprint})),
    )
    if resume:
        training.resume()
    return training.run(should_stop, validate_every)


class _Training:
    """One run of the loop; see `train` for the arguments."""

    def __init__(
        self,
        *,
        method: Method,
        loss: Callable[[Tensor], Tensor],
        blocks: Blocks,
        validate: Callable[[], Mapping[str, float] | None],
        emit: Emit,
        checkpoints: Path,
        plan: Plan,
        rate: Callable[[int], float],
        weight_decay: float,
        gradient_clip: float,
        state: TrainingState,
    ) -> None:
        self._method = method
        self._loss = loss
        self._blocks = blocks
        self._validate = validate
        self._emit = emit
        self._checkpoints = checkpoints
        self._plan = plan
        self._rate = rate
        self._gradient_clip = gradient_clip
        self._state = state
        self._parameters = list(method.parameters())
        self._optimiser = torch.optim.AdamW(
            self._parameters, lr=rate(0), betas=_ADAM_BETAS, weight_decay=weight_decay, fused=True
        )
        self._process = psutil.Process()
        self._saved_at = time.monotonic()

    def resume(self) -> None:
        """Set everything to the state of `last`."""
        checkpoint = read_checkpoint(self._checkpoints, "last", load_weights=self._method.load_weights)
        if checkpoint.state.settings_hash != self._state.settings_hash:
            raise UserError(
                f"The checkpoint {checkpoint.path} was made with other settings or another text; "
                "resume with the same, or start a new training."
            )
        load_state_tensors(self._optimiser, checkpoint.tensors)
        self._state = checkpoint.state
        if checkpoint.notice is not None:
            self._emit(NoticeEvent(level="warning", text=checkpoint.notice))

    def run(self, should_stop: Callable[[], bool], validate_every: int) -> TrainingOutcome:
        """Train to the end of the plan or until `should_stop`."""
        num_steps, begun_step, begun = self._plan.num_steps, self._state.step, time.monotonic()
        while True:
            step = self._state.step
            is_due = step % validate_every == 0 or step == num_steps
            if is_due and self._state.validated_step != step:
                if not self._validate_now():
                    return self._end(stopped=True)
                self._save_last()
            if step >= num_steps:
                return self._end(stopped=False)
            if should_stop():
                return self._end(stopped=True)
            self._update()
            per_s = (self._state.step - begun_step) / (time.monotonic() - begun)
            self._emit(
                ProgressEvent(
                    stage="train",
                    done=self._state.step,
                    total=num_steps,
                    unit="steps",
                    rate_per_s=per_s,
                    remaining_s=(num_steps - self._state.step) / per_s,
                )
            )
            if time.monotonic() - self._saved_at > CHECKPOINT_EVERY_S:
                self._save_last()

    def _end(self, *, stopped: bool) -> TrainingOutcome:
        if stopped:
            self._save_last()
        return TrainingOutcome(
            stopped=stopped,
            step=self._state.step,
            tokens=self._state.tokens,
            first_loss=self._state.first_loss,
            last_loss=self._state.latest_loss,
            best_loss=self._state.best_loss,
            best_step=self._state.best_step,
        )

    def _update(self) -> None:
        begun, step = time.monotonic(), self._state.step
        indices = self._plan.blocks_at(self._state.position)
        num_tokens = sum(len(self._blocks[index]) - 1 for index in indices)
        total_loss = self._gradients(indices)
        for parameter in self._parameters:
            if parameter.grad is not None:
                # Divided here and not in the loss: the sums keep float16 gradients out of the range of zero.
                parameter.grad /= num_tokens
        norm = float(torch.nn.utils.clip_grad_norm_(self._parameters, self._gradient_clip))
        rate = self._rate(step)
        values = {"train_loss": total_loss / num_tokens, "learning_rate": rate, "gradient_norm": norm}
        is_finite = math.isfinite(total_loss) and math.isfinite(norm)
        if is_finite:
            for group in self._optimiser.param_groups:
                group["lr"] = rate
            self._optimiser.step()
        values["tokens_per_s"] = num_tokens / (time.monotonic() - begun)
        values["memory_bytes"] = float(_anonymous_bytes(self._process))
        tokens = self._state.tokens + num_tokens
        self._emit(MetricsEvent(step=step + 1, tokens=tokens, values=values))
        if not is_finite:
            raise UserError(
                f"The training diverged at step {step + 1}: loss {values['train_loss']:.4g}, gradient norm {norm:.4g}; "
                f"lower the learning rate (now {rate:.3g}) or compute in float32. The checkpoints before it are kept."
            )
        self._set(step=step + 1, tokens=tokens, position=self._state.position + len(indices))

    def _gradients(self, indices: Sequence[int]) -> float:
        """Leave the gradient of the summed loss in the parameters and return that loss."""
        while True:
            self._optimiser.zero_grad(set_to_none=True)
            try:
                return self._accumulate(indices)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                if self._state.micro_batch == 1:
                    raise UserError(
                        "The memory does not suffice to train on a single block of text; choose shorter blocks "
                        "(block size), a smaller model or a machine with more memory."
                    ) from error
            # Outside the handler, so that the failed attempt's tensors are no longer held by its traceback.
            self._set(micro_batch=max(1, self._state.micro_batch // 2))
            torch.cuda.empty_cache()
            self._emit(
                NoticeEvent(
                    level="warning",
                    text=f"Memory ran out: from now on {self._state.micro_batch} blocks are computed at once and more "
                    "batches are added up, which gives the same result more slowly.",
                )
            )

    def _accumulate(self, indices: Sequence[int]) -> float:
        total = 0.0
        for batch in _equal_length_batches(self._blocks, indices, self._state.micro_batch):
            loss = self._loss(batch).sum()
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.item()
        return total

    def _validate_now(self) -> bool:
        """Validate and keep the best; False: it was stopped before it was complete."""
        with torch.no_grad(), torch.random.fork_rng(range(torch.cuda.device_count())):
            values = self._validate()
        if values is None:
            return False
        step, loss = self._state.step, values["validation_loss"]
        self._emit(MetricsEvent(step=step, tokens=self._state.tokens, values=dict(values)))
        if step == 0 and not math.isfinite(loss):
            raise UserError(
                f"The validation loss is {loss} before any training: the model cannot read this text in the chosen "
                "number format; compute in float32."
            )
        self._set(validated_step=step, latest_loss=loss, first_loss=loss if step == 0 else self._state.first_loss)
        if loss < self._state.best_loss:
            self._set(best_loss=loss, best_step=step)
            self._save("best", {})
        return True

    def _save_last(self) -> None:
        self._save("last", state_tensors(self._optimiser))
        self._saved_at = time.monotonic()

    def _save(self, name: Literal["last", "best"], tensors: Mapping[str, Tensor]) -> None:
        try:
            write_checkpoint(
                self._checkpoints, name, state=self._state, save_weights=self._method.save_weights, tensors=tensors
            )
        except OSError as error:
            raise UserError(
                f"The checkpoint cannot be written to {self._checkpoints}: {error.strerror or error}; "
                "make space there and resume the training."
            ) from error
        self._emit(CheckpointEvent(step=self._state.step, name=name))

    def _set(self, **changes: float) -> None:
        self._state = self._state.model_copy(update=changes)


def _equal_length_batches(blocks: Blocks, indices: Sequence[int], batch_size: int) -> Iterator[Tensor]:
    """Yield (b, s) int64 of neighbours of equal length, so that nothing is padded."""
    batch: list[Tensor] = []
    for block in (blocks[index] for index in indices):
        if batch and (len(batch) == batch_size or len(batch[0]) != len(block)):
            yield torch.stack(batch)
            batch = []
        batch.append(block)
    if batch:
        yield torch.stack(batch)


def _anonymous_bytes(process: psutil.Process) -> int:
    """Return resident memory without file pages where the system tells them apart (Linux), else all of it."""
    memory = process.memory_info()
    return int(memory.rss - getattr(memory, "shared", 0))


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("utf-8")).hexdigest()
