"""The loop: what an update is, when it validates, what it keeps, how it goes on after any end."""

import math
import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from lapestudio.core.errors import UserError
from lapestudio.core.events import CheckpointEvent, Event, MetricsEvent, NoticeEvent, ProgressEvent
from lapestudio.core.specs import TrainSettings
from lapestudio.engine import training
from lapestudio.engine.training import TrainingOutcome, train
from lapestudio.engine.training_plan import make_plan, rate_factor

VOCAB = 7


class BigramMethod:
    """The smallest thing that learns: a table of logits."""

    def __init__(self) -> None:
        self.table = nn.Parameter(torch.randn(VOCAB, VOCAB, generator=torch.Generator().manual_seed(0)))

    def parameters(self) -> list[nn.Parameter]:
        return [self.table]

    def save_weights(self, folder: Path) -> None:
        save_file({"table": self.table.detach()}, folder / "table.safetensors")

    def load_weights(self, folder: Path) -> None:
        with torch.no_grad():
            self.table.copy_(load_file(folder / "table.safetensors")["table"])

    def loss(self, ids: Tensor) -> Tensor:
        logits = self.table[ids[:, :-1]]
        return nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")


class ListedBlocks(list[Tensor]):
    @property
    def fingerprint(self) -> str:
        return str([block.tolist() for block in self])


def make_blocks(lengths: Sequence[int] = (9,) * 10 + (4,), seed: int = 1) -> ListedBlocks:
    generator = torch.Generator().manual_seed(seed)
    return ListedBlocks(torch.randint(0, VOCAB, (length,), generator=generator) for length in lengths)


class Run:
    """Calls `train` with defaults that suit the tests, and keeps what it emitted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events: list[Event] = []
        self.method = BigramMethod()

    def __call__(self, **changes: Any) -> TrainingOutcome:
        arguments: dict[str, Any] = {
            "method": self.method,
            "loss": self.method.loss,
            "blocks": make_blocks(),
            "validate": lambda: {"validation_loss": float(self.method.table.square().mean())},
            "emit": self.events.append,
            "should_stop": lambda: False,
            "checkpoints": self.folder,
            "resume": False,
            "learning_rate": 0.05,
            "schedule": "cosine",
            "warmup_share": 0.1,
            "weight_decay": 0.01,
            "gradient_clip": 1.0,
            "batch_size": 2,
            "accumulation": 1,
            "max_steps": 10,
            "max_tokens": None,
            "epochs": 1.0,
            "validate_every": 4,
            "seed": 5,
        }
        return train(**{**arguments, **changes})

    def metrics(self, name: str) -> dict[int, float]:
        return {
            event.step: event.values[name]
            for event in self.events
            if isinstance(event, MetricsEvent) and name in event.values
        }


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "checkpoints")


def test_updates_equal_a_plain_loop_over_tokens(run: Run) -> None:
    """A plain loop without batches: mean over the tokens of the update's blocks, clip, AdamW."""
    blocks = make_blocks()
    run(batch_size=3, accumulation=2, max_steps=5, schedule="constant", warmup_share=0.0)
    table = BigramMethod().table
    optimiser = torch.optim.AdamW([table], lr=0.05, weight_decay=0.01)
    plan = make_plan([len(b) for b in blocks], seed=5, blocks_per_update=6, max_steps=5, max_tokens=None, epochs=1)
    for step in range(5):
        logits = torch.cat([table[blocks[index][:-1]] for index in plan.blocks_at(6 * step)])
        targets = torch.cat([blocks[index][1:] for index in plan.blocks_at(6 * step)])
        loss = nn.functional.cross_entropy(logits, targets)
        optimiser.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_([table], 1.0)
        optimiser.step()
        assert run.metrics("train_loss")[step + 1] == pytest.approx(loss.item(), rel=1e-5)
        assert run.metrics("gradient_norm")[step + 1] == pytest.approx(norm.item(), rel=1e-4)
    torch.testing.assert_close(run.method.table.detach(), table.detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("batch_size", "accumulation"), [(1, 4), (2, 2)])
def test_accumulation_does_not_change_the_update(tmp_path: Path, batch_size: int, accumulation: int) -> None:
    together, apart = Run(tmp_path / "a"), Run(tmp_path / "b")
    together(batch_size=4)
    apart(batch_size=batch_size, accumulation=accumulation)
    torch.testing.assert_close(together.method.table, apart.method.table, rtol=1e-4, atol=1e-5)


def test_batches_are_of_equal_length_and_never_padded(run: Run) -> None:
    shapes: list[tuple[int, ...]] = []
    loss = run.method.loss

    def watched(ids: Tensor) -> Tensor:
        shapes.append(tuple(ids.shape))
        return loss(ids)

    run(loss=watched, batch_size=11, max_steps=1)
    assert sum(rows for rows, _ in shapes) == 11
    assert {length for _, length in shapes} == {9, 4}
    assert sum(rows for rows, length in shapes if length == 4) == 1


@pytest.mark.parametrize(
    ("limits", "num_steps", "num_tokens"),
    [
        ({"max_steps": 3, "max_tokens": None, "epochs": 1.0}, 3, None),
        ({"max_steps": None, "max_tokens": None, "epochs": 1.0}, 6, 83),
        ({"max_steps": None, "max_tokens": None, "epochs": 2.0}, 11, 166),
        ({"max_steps": None, "max_tokens": None, "epochs": 0.01}, 1, None),
        ({"max_steps": 100, "max_tokens": 200, "epochs": 1.0}, None, 200),
        ({"max_steps": 2, "max_tokens": 200, "epochs": 1.0}, 2, None),
        ({"max_steps": None, "max_tokens": 1, "epochs": 9.0}, 1, None),
    ],
)
def test_the_limit_that_is_reached_first_ends_it(
    run: Run, limits: dict[str, Any], num_steps: int | None, num_tokens: int | None
) -> None:
    outcome = run(**limits)
    if num_steps is not None:
        assert outcome.step == num_steps
    if num_tokens is not None:
        assert num_tokens <= outcome.tokens < num_tokens + 16
    last = [event for event in run.events if isinstance(event, ProgressEvent)][-1]
    assert last.done == last.total == outcome.step
    assert last.remaining_s == 0.0
    assert not outcome.stopped


@pytest.mark.parametrize("lengths", [(), (1,), (1, 1)])
def test_text_without_a_token_to_predict_is_refused(run: Run, lengths: tuple[int, ...]) -> None:
    with pytest.raises(UserError, match="no token to predict"):
        run(blocks=make_blocks(lengths))


def test_learning_rate_follows_the_schedule(run: Run) -> None:
    run()
    expected = [0.05 * rate_factor(step, 10, "cosine", 0.1) for step in range(10)]
    assert list(run.metrics("learning_rate").values()) == pytest.approx(expected)


def test_every_step_has_its_figures(run: Run) -> None:
    run()
    for name in ("train_loss", "learning_rate", "gradient_norm", "tokens_per_s", "memory_bytes"):
        assert list(run.metrics(name)) == list(range(1, 11))
    assert all(value > 1e6 for value in run.metrics("memory_bytes").values())


def test_validates_before_every_n_and_at_the_end(run: Run) -> None:
    outcome = run(validate=lambda: {"validation_loss": 1.0, "control_loss/en": 2.0})
    assert list(run.metrics("validation_loss")) == [0, 4, 8, 10]
    assert list(run.metrics("control_loss/en")) == [0, 4, 8, 10]
    saved = [event.step for event in run.events if isinstance(event, CheckpointEvent) and event.name == "last"]
    assert saved == [0, 4, 8, 10]
    assert (outcome.first_loss, outcome.last_loss, outcome.best_loss, outcome.best_step) == (1.0, 1.0, 1.0, 0)


def losses_in_turn(*losses: float) -> Callable[[], Mapping[str, float]]:
    remaining = iter(losses)
    return lambda: {"validation_loss": next(remaining)}


def test_best_is_the_lowest_and_later_ones_do_not_replace_it(run: Run) -> None:
    kept: list[Tensor] = []
    losses = losses_in_turn(3.0, 2.0, 2.5, 2.6)

    def validate() -> Mapping[str, float]:
        kept.append(run.method.table.detach().clone())
        return losses()

    outcome = run(validate=validate)
    assert (outcome.best_step, outcome.best_loss, outcome.first_loss, outcome.last_loss) == (4, 2.0, 3.0, 2.6)
    assert torch.equal(load_file(run.folder / "best" / "table.safetensors")["table"], kept[1])
    assert torch.equal(load_file(run.folder / "last" / "table.safetensors")["table"], kept[3])


def test_a_model_worse_than_the_base_is_never_best(run: Run) -> None:
    base = run.method.table.detach().clone()
    outcome = run(validate=losses_in_turn(1.0, 1.1, math.nan, 1.2))
    assert outcome.best_step == 0
    assert torch.equal(load_file(run.folder / "best" / "table.safetensors")["table"], base)


def test_a_model_that_cannot_read_the_text_is_refused_before_training(run: Run) -> None:
    with pytest.raises(UserError, match="before any training"):
        run(validate=losses_in_turn(math.nan))


@pytest.mark.parametrize("stop_after", [0, 1, 4, 7])
def test_stopped_and_resumed_equals_uninterrupted(tmp_path: Path, stop_after: int) -> None:
    whole, parts = Run(tmp_path / "whole"), Run(tmp_path / "parts")
    whole()
    steps = parts.metrics
    outcome = parts(should_stop=lambda: len(steps("train_loss")) >= stop_after)
    assert outcome.stopped
    assert outcome.step == stop_after
    parts.method = BigramMethod()
    outcome = parts(resume=True)
    assert not outcome.stopped
    assert outcome.step == 10
    assert torch.equal(parts.method.table, whole.method.table)
    assert parts.metrics("train_loss") == whole.metrics("train_loss")
    assert parts.metrics("validation_loss") == whole.metrics("validation_loss")


def test_stopped_during_a_validation_it_is_done_again(run: Run) -> None:
    values: list[Mapping[str, float] | None] = [{"validation_loss": 2.0}, None]
    assert run(validate=lambda: values.pop(0)).stopped
    assert list(run.metrics("validation_loss")) == [0]
    outcome = run(resume=True, validate=lambda: {"validation_loss": 1.5})
    assert list(run.metrics("validation_loss")) == [0, 4, 8, 10]
    assert (outcome.first_loss, outcome.best_step) == (2.0, 4)


def test_random_numbers_are_not_disturbed_by_validation_and_survive_a_stop(tmp_path: Path) -> None:
    def noisy(run: Run) -> Callable[[Tensor], Tensor]:
        return lambda ids: run.method.loss(ids) * torch.rand(())

    def drawing() -> Mapping[str, float]:
        return {"validation_loss": float(torch.rand(100).mean())}

    whole, parts = Run(tmp_path / "whole"), Run(tmp_path / "parts")
    torch.manual_seed(1)
    whole(loss=noisy(whole), validate=lambda: {"validation_loss": 1.0})
    torch.manual_seed(1)
    parts(loss=noisy(parts), validate=drawing, should_stop=lambda: len(parts.metrics("train_loss")) >= 6)
    torch.manual_seed(2)
    parts.method = BigramMethod()
    parts(loss=noisy(parts), validate=drawing, resume=True)
    assert torch.equal(parts.method.table, whole.method.table)


@pytest.mark.parametrize("change", [{"learning_rate": 0.1}, {"seed": 6}, {"blocks": make_blocks(seed=2)}])
def test_resuming_with_something_else_is_refused(run: Run, change: dict[str, Any]) -> None:
    run(max_steps=4, should_stop=lambda: len(run.metrics("train_loss")) >= 2)
    with pytest.raises(UserError, match="other settings or another text"):
        run(max_steps=4, resume=True, **change)


def test_resuming_without_a_checkpoint_is_refused(run: Run) -> None:
    with pytest.raises(UserError, match="no checkpoint"):
        run(resume=True)


def test_divergence_is_shown_and_leaves_the_last_good_checkpoint(run: Run) -> None:
    def diverging(ids: Tensor) -> Tensor:
        return run.method.loss(ids) * (math.inf if len(run.metrics("train_loss")) == 6 else 1.0)

    with pytest.raises(UserError, match=r"diverged at step 7.*learning rate"):
        run(loss=diverging)
    assert not math.isfinite(run.metrics("train_loss")[7])
    assert torch.isfinite(run.method.table).all()
    assert torch.isfinite(load_file(run.folder / "last" / "table.safetensors")["table"]).all()
    assert run(resume=True).step == 10


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_out_of_memory_halves_the_batch_and_keeps_the_result(tmp_path: Path, error: Exception) -> None:
    whole, tight = Run(tmp_path / "whole"), Run(tmp_path / "tight")
    whole(batch_size=4)

    def loss(ids: Tensor) -> Tensor:
        if len(ids) > 1 and len(tight.metrics("train_loss")) >= 3:
            raise error
        return tight.method.loss(ids)

    tight(batch_size=4, loss=loss)
    notices = [event.text for event in tight.events if isinstance(event, NoticeEvent)]
    assert ["2 blocks" in notices[0], "1 blocks" in notices[1], len(notices)] == [True, True, 2]
    torch.testing.assert_close(tight.method.table, whole.method.table, rtol=1e-4, atol=1e-5)


def test_memory_too_small_for_one_block_is_said(run: Run) -> None:
    def loss(ids: Tensor) -> Tensor:
        raise torch.OutOfMemoryError

    with pytest.raises(UserError, match="single block"):
        run(loss=loss)


def test_other_faults_are_not_taken_for_lack_of_memory(run: Run) -> None:
    def loss(ids: Tensor) -> Tensor:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes do not match"):
        run(loss=loss)


def test_a_full_disk_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object, **_named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(training, "write_checkpoint", full)
    with pytest.raises(UserError, match="No space left on device"):
        run()


def test_a_checkpoint_is_written_when_the_time_has_come(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "CHECKPOINT_EVERY_S", 0.0)
    run()
    saved = [event.step for event in run.events if isinstance(event, CheckpointEvent) and event.name == "last"]
    assert set(saved) == set(range(11))


def test_the_settings_of_a_spec_fit(run: Run) -> None:
    outside = {"block_size", "validation_share", "test_share", "max_validation_tokens", "dtype", "device"}
    settings = TrainSettings(max_steps=2, validate_every=1).model_dump(exclude=outside)
    assert run(**settings).step == 2


@pytest.mark.slow
def test_killed_again_and_again_the_rows_are_the_same_to_the_bit(tmp_path: Path) -> None:
    """A real process with a real split model, killed by SIGKILL at random moments, writing checkpoints included."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert _train_in_a_process(whole, 0) == 0
    generator = random.Random(7)
    moments = [("event", 2), ("fsync", generator.randint(2, 30)), ("event", generator.randint(5, 20)), ("fsync", 25)]
    for kind, moment in moments:
        assert _train_in_a_process(parts, moment, kind) == -9
    assert _train_in_a_process(parts, 0) == 0
    for checkpoint in ("last", "best"):
        expected = load_file(whole / checkpoint / "rows.safetensors")
        found = load_file(parts / checkpoint / "rows.safetensors")
        assert expected.keys() == found.keys()
        assert all(
            torch.equal(expected[key].flatten().view(torch.uint8), found[key].flatten().view(torch.uint8))
            for key in expected
        )
    base = load_file(whole / "base" / "rows.safetensors")
    assert any(
        not torch.equal(base[key], value) for key, value in load_file(whole / "last" / "rows.safetensors").items()
    )


def _train_in_a_process(folder: Path, moment: int, kind: str = "never") -> int:
    command = [sys.executable, "-m", "tests.engine.training_process", str(folder), kind, str(moment)]
    root = Path(training.__file__).parents[2]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    finished = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False, timeout=120)
    assert finished.returncode in {0, -9}, finished.stderr.decode()
    return finished.returncode
