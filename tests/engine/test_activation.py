"""Counts of active neurons against an independent full forward pass, on every family."""

import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from lapestudio.core.errors import UserError
from lapestudio.corpora.segment import Segment
from lapestudio.engine.activation import count_activations, count_positive
from lapestudio.engine.ffn_layout import activation_of, layout_for
from lapestudio.engine.loading import load_model, load_tokenizer
from lapestudio.engine.tokens import TokenBlocks, build_blocks
from tests.engine.block_files import write_blocks
from tests.engine.tiny_models import FAMILIES, VOCAB_SIZE, tiny_model

LANGUAGES = ("mt", "it", "ka")


def make_blocks(folder: Path, *, has_bos: bool) -> dict[str, TokenBlocks]:
    generator = torch.Generator().manual_seed(7)
    lengths = {"mt": [16] * 9 + [5], "it": [16] * 3, "ka": [7]}
    return {
        language: write_blocks(
            folder / language,
            [torch.randint(3, VOCAB_SIZE, (length,), generator=generator) for length in lengths[language]],
            block_size=16,
            has_bos=has_bos,
        )
        for language in LANGUAGES
    }


def run(
    model: torch.nn.Module, blocks: dict[str, TokenBlocks], **options: object
) -> tuple[dict[str, NDArray[np.int64]], dict[str, int]]:
    counts: dict[str, NDArray[np.int64]] = {}
    tokens: dict[str, int] = {}

    def on_counts(language: str, over_zero: NDArray[np.int64], num_tokens: int) -> None:
        counts[language] = counts.get(language, 0) + over_zero
        tokens[language] = tokens.get(language, 0) + num_tokens

    assert count_activations(model, layout_for(model), blocks, on_counts=on_counts, **options)  # type: ignore[arg-type]
    return counts, tokens


def naive_counts(model: torch.nn.Module, blocks: TokenBlocks, *, has_bos: bool) -> Tensor:
    """Whole model, one block at a time; counts the output of the activation module itself."""
    layout = layout_for(model)
    seen: list[Tensor] = []
    hooks = [
        activation_of(model, layer).register_forward_hook(lambda _m, _i, output: seen.append(output))
        for layer in layout.layers
    ]
    total = torch.zeros(layout.num_layers, layout.intermediate_size, dtype=torch.int64)
    for index in range(len(blocks)):
        seen.clear()
        with torch.no_grad():
            model(blocks[index][None])
        outputs = torch.stack([output.reshape(-1, output.shape[-1]) for output in seen])
        total += (outputs[:, 1 if has_bos else 0 :] > 0).sum(dim=1)
    for hook in hooks:
        hook.remove()
    return total


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("has_bos", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_counts_equal_a_full_forward_pass(family: str, has_bos: bool, dtype: torch.dtype, tmp_path: Path) -> None:
    model = tiny_model(family, dtype=dtype)
    blocks = make_blocks(tmp_path, has_bos=has_bos)
    counts, tokens = run(model, blocks, batch_size=1 if dtype is torch.bfloat16 else 4)
    for language in LANGUAGES:
        expected = naive_counts(model, blocks[language], has_bos=has_bos)
        assert tokens[language] == blocks[language].num_text_tokens
        assert 0 < int(expected.sum()) < expected.numel() * tokens[language]
        np.testing.assert_array_equal(counts[language], expected.numpy())


def test_nothing_behind_the_last_sign_module_is_computed(tmp_path: Path) -> None:
    model = tiny_model("llama")
    computed: list[str] = []
    for name, module in model.named_modules():
        module.register_forward_hook(lambda _m, _i, _o, name=name: computed.append(name))
    run(model, make_blocks(tmp_path, has_bos=True))
    assert "model.layers.2.mlp.gate_proj" in computed
    for absent in ("model.layers.2.mlp.up_proj", "model.layers.2.mlp.down_proj", "model.norm", "lm_head"):
        assert absent not in computed


def test_hooks_are_gone_afterwards(tmp_path: Path) -> None:
    model = tiny_model("llama")
    ids = torch.tensor([[1, 5, 6]])
    before = model(ids).logits
    run(model, make_blocks(tmp_path, has_bos=True))
    assert torch.equal(model(ids).logits, before)
    assert not any(module._forward_hooks for module in model.modules())


def test_languages_take_turns(tmp_path: Path) -> None:
    order: list[str] = []
    blocks = make_blocks(tmp_path, has_bos=True)
    model = tiny_model("llama")
    count_activations(
        model, layout_for(model), blocks, on_counts=lambda language, *_: order.append(language), batch_size=1
    )
    assert order[:6] == ["mt", "it", "ka", "mt", "it", "mt"]
    assert order.count("mt") == 10


def test_progress_and_stop(tmp_path: Path) -> None:
    model = tiny_model("llama")
    blocks = make_blocks(tmp_path, has_bos=True)
    progress: list[tuple[int, int]] = []
    run(model, blocks, on_progress=lambda *step: progress.append(step), batch_size=2)
    total = sum(language_blocks.num_text_tokens for language_blocks in blocks.values())
    assert progress[-1] == (total, total)
    assert progress == sorted(progress)
    seen: list[str] = []
    stopped = count_activations(
        model,
        layout_for(model),
        blocks,
        on_counts=lambda language, *_: seen.append(language),
        should_stop=lambda: len(seen) >= 2,
    )
    assert not stopped
    assert len(seen) == 2


def test_language_without_tokens_is_named(tmp_path: Path) -> None:
    model = tiny_model("llama")
    blocks = {**make_blocks(tmp_path, has_bos=True), "cy": write_blocks(tmp_path / "cy", [], block_size=16)}
    with pytest.raises(UserError, match="cy has no tokens"):
        count_activations(model, layout_for(model), blocks, on_counts=lambda *_: None)


def failing(model: torch.nn.Module, too_many: int) -> Callable[[], None]:
    """Let the last layer run out of memory at `too_many` blocks, when lower layers have been counted already."""

    def fail(_module: torch.nn.Module, inputs: tuple[Tensor, ...]) -> None:
        if inputs[0].shape[0] >= too_many:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    return model.get_submodule("model.layers.2.mlp.gate_proj").register_forward_pre_hook(fail).remove


def test_out_of_memory_halves_the_batch_and_counts_the_same(tmp_path: Path) -> None:
    model = tiny_model("llama")
    blocks = make_blocks(tmp_path, has_bos=True)
    expected, _tokens = run(model, blocks)
    notices: list[str] = []
    remove = failing(model, 3)
    counts, _tokens = run(model, blocks, batch_size=8, on_notice=notices.append)
    remove()
    for language in LANGUAGES:
        np.testing.assert_array_equal(counts[language], expected[language])
    assert notices[0].startswith("Memory ran out: from now on 4 blocks")


def test_a_failed_batch_is_let_go_before_its_halves_are_read(tmp_path: Path) -> None:
    model = tiny_model("llama")
    failed: list[weakref.ref[Tensor]] = []
    held: list[bool] = []

    def fail_at_once(_module: torch.nn.Module, inputs: tuple[Tensor, ...]) -> None:
        held.extend(reference() is not None for reference in failed)
        if inputs[0].shape[0] >= 3:
            failed.append(weakref.ref(inputs[0]))
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    model.get_submodule("model.layers.2.mlp.gate_proj").register_forward_pre_hook(fail_at_once)
    run(model, make_blocks(tmp_path, has_bos=True), batch_size=8)
    assert len(failed) >= 2
    assert not any(held)


def test_no_memory_for_one_block_says_what_to_do(tmp_path: Path) -> None:
    model = tiny_model("llama")
    failing(model, 1)
    with pytest.raises(UserError, match="choose shorter blocks"):
        run(model, make_blocks(tmp_path, has_bos=True))


def test_other_errors_are_not_swallowed(tmp_path: Path) -> None:
    model = tiny_model("llama")

    def fail(*_arguments: object) -> None:
        raise RuntimeError("something else")

    model.get_submodule("model.layers.1").register_forward_pre_hook(fail)
    with pytest.raises(RuntimeError, match="something else"):
        run(model, make_blocks(tmp_path, has_bos=True))


@pytest.mark.parametrize("shape", [(1, 1, 8), (3, 257, 16), (2, 600, 24), (2, 5, 7), (1, 0, 8)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_packed_sum_equals_the_plain_one(shape: tuple[int, int, int], dtype: torch.dtype) -> None:
    values = torch.randn(shape, generator=torch.Generator().manual_seed(3)).to(dtype)
    values[values.abs() < 0.1] = 0.0
    values = torch.cat([values, torch.full_like(values[..., :0], 1)], dim=-1)
    expected = np.array([sum(float(v) > 0 for v in column) for column in values.flatten(0, 1).T])
    np.testing.assert_array_equal(count_positive(values).numpy(), expected)


def test_packed_sum_holds_when_every_neuron_is_active() -> None:
    assert count_positive(torch.ones(4, 512, 8)).tolist() == [2048] * 8


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100, None])
def test_counts_do_not_depend_on_the_batch_size(batch_size: int | None, tmp_path: Path) -> None:
    model = tiny_model("gemma3_text", dtype=torch.float64)
    blocks = make_blocks(tmp_path, has_bos=True)
    counts, _tokens = run(model, blocks, batch_size=batch_size)
    for language in LANGUAGES:
        np.testing.assert_array_equal(counts[language], naive_counts(model, blocks[language], has_bos=True).numpy())


@pytest.mark.realmodel
@pytest.mark.parametrize("name", ["smollm2", "gemma"])
def test_real_model_counts_equal_a_full_forward_pass(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Some hundred tokens of text, as the model's own tokenizer gives them."""
    source = str(request.getfixturevalue(f"{name}_gguf"))
    lines = ["Il-kelb qabeż fuq ħajt għoli waqt ix-xita.", "ძაღლი გადახტა მაღალ კედელზე.", "The dog jumped high. </s>"]
    segments = [Segment(text=line, document="d", location=str(row)) for row, line in enumerate(lines * 5)]
    blocks = build_blocks(
        segments, load_tokenizer(source), block_size=64, out=tmp_path / "blocks", separate_documents=False
    )
    assert blocks is not None
    assert blocks.num_text_tokens > 200
    assert blocks.has_bos == (name == "gemma")
    model = load_model(source, dtype="float32", device="cpu")
    counts, tokens = run(model, {"xx": blocks}, batch_size=1)
    assert tokens["xx"] == blocks.num_text_tokens
    np.testing.assert_array_equal(counts["xx"], naive_counts(model, blocks, has_bos=blocks.has_bos).numpy())
