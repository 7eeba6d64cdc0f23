import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lapestudio.core.errors import UserError
from lapestudio.core.neuron_set import NeuronSet
from lapestudio.engine.published_masks import read_published_mask, write_published_mask

PUBLISHED = [
    ("llama-3.1-5", "mt af is cy mk lv lt sl sk et ka ne", 32, 14_336),
    ("LLaMA-2-7B.neuron.pth", "en zh fr es vi id ja", 32, 11_008),
    ("BLOOM-7B.neuron.pth", "en zh fr es vi id", 30, 16_384),
]
LLAMA_COUNTS = [3015, 2581, 5033, 6020, 1743, 3212, 2978, 2046, 1940, 3204, 1150, 4625]


@pytest.mark.parametrize("mask", PUBLISHED, ids=lambda mask: mask[0])
def test_published_masks_come_back_unchanged(shared_dir: Path, tmp_path: Path, mask: tuple[str, str, int, int]) -> None:
    name, languages, num_layers, width = mask
    path = shared_dir / "reference" / "masks" / name
    neurons = read_published_mask(path, languages.split(), num_layers=num_layers, intermediate_size=width)
    write_published_mask(neurons, tmp_path / name)
    published, written = (torch.load(file, weights_only=True) for file in (path, tmp_path / name))
    assert type(written) is type(published) is list
    for theirs, ours in zip(published, written, strict=True):
        assert type(ours) is type(theirs) is list
        for their_layer, our_layer in zip(theirs, ours, strict=True):
            assert our_layer.dtype == their_layer.dtype == torch.int64
            assert torch.equal(our_layer, their_layer)


def test_the_llama_mask_has_the_known_numbers(shared_dir: Path) -> None:
    name, languages, num_layers, width = PUBLISHED[0]
    neurons = read_published_mask(
        shared_dir / "reference" / "masks" / name, languages.split(), num_layers=num_layers, intermediate_size=width
    )
    assert neurons.counts().sum(axis=1).tolist() == LLAMA_COUNTS
    tags, overlap = languages.split(), neurons.jaccard()
    for first, second, share in [("mk", "sl", 0.245), ("lv", "lt", 0.230), ("sl", "sk", 0.225)]:
        assert overlap[tags.index(first), tags.index(second)] == pytest.approx(share, abs=5e-4)
    with pytest.raises(UserError, match="does not fit a model with layers of 11008 neurons: language mt, layer"):
        read_published_mask(shared_dir / "reference" / "masks" / name, languages.split(), intermediate_size=11_008)


def mask_file(path: Path, mask: Any) -> Path:
    torch.save(mask, path)
    return path


def test_a_language_without_neurons_keeps_its_place(tmp_path: Path) -> None:
    nothing = np.zeros(0, dtype=np.int64)
    neurons = NeuronSet(
        languages=("mt", "cy"),
        neurons=((np.array([2]), nothing), (nothing, nothing)),
        num_layers=2,
        intermediate_size=4,
    )
    write_published_mask(neurons, tmp_path / "mask ქ")
    read = read_published_mask(tmp_path / "mask ქ", ["mt", "cy"], intermediate_size=4)
    assert read.document()["neurons"] == neurons.document()["neurons"]
    assert read.model_fingerprint is None


def test_writing_is_repeatable(tmp_path: Path) -> None:
    mask = [[torch.tensor([1, 3]), torch.tensor([], dtype=torch.int64)]]
    neurons = read_published_mask(mask_file(tmp_path / "a", mask), ["mt"], intermediate_size=4)
    for name in ("b", "c"):
        write_published_mask(neurons, tmp_path / name)
    assert (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


def test_languages_must_be_named_all(tmp_path: Path) -> None:
    path = mask_file(tmp_path / "mask", [[torch.tensor([1])], [torch.tensor([2])]])
    for languages in (["mt"], ["mt", "cy", "ka"]):
        with pytest.raises(UserError, match=f"neurons of 2 languages, but {len(languages)} are named"):
            read_published_mask(path, languages, intermediate_size=4)


def test_another_models_mask(tmp_path: Path) -> None:
    path = mask_file(tmp_path / "mask", [[torch.tensor([1, 9])]])
    with pytest.raises(UserError, match="is for a model of 1 layers; this one has 2"):
        read_published_mask(path, ["mt"], num_layers=2, intermediate_size=10)
    with pytest.raises(UserError, match="language mt, layer 0: neuron 9 is not one of 0 to 8"):
        read_published_mask(path, ["mt"], intermediate_size=9)


@pytest.mark.parametrize(
    "mask",
    [
        [],
        {"mt": 1},
        [torch.tensor([1])],
        [[]],
        [[torch.tensor([1])], []],
        [[torch.tensor([[1]])]],
        [[torch.tensor([0.5])]],
        [[[1, 2]]],
        torch.tensor([1]),
    ],
)
def test_other_structures_are_refused(tmp_path: Path, mask: Any) -> None:
    path = mask_file(tmp_path / "mask", mask)
    with pytest.raises(UserError, match="mask cannot be read as a published mask: it must hold a list of languages"):
        read_published_mask(path, ["mt"], intermediate_size=4)


def test_indices_must_ascend(tmp_path: Path) -> None:
    path = mask_file(tmp_path / "mask", [[torch.tensor([3, 1])]])
    with pytest.raises(UserError, match="neuron 1 follows 3"):
        read_published_mask(path, ["mt"], intermediate_size=4)


class Hostile:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (str(self.path),)

    def __init__(self, path: Path) -> None:
        self.path = path


@pytest.mark.parametrize("zipped", [True, False])
def test_a_pickle_that_would_run_code_is_refused(tmp_path: Path, zipped: bool) -> None:
    path = tmp_path / "mask"
    torch.save([[Hostile(tmp_path / "made")]], path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(UserError, match=r"mask is refused: .* could run code"):
        read_published_mask(path, ["mt"], intermediate_size=4)
    assert not (tmp_path / "made").exists()


def test_damaged_files_are_named(tmp_path: Path) -> None:
    data = mask_file(tmp_path / "whole", [[torch.arange(50)]]).read_bytes()
    contents = {f"cut {length}": data[:length] for length in (0, 10, len(data) // 2, len(data) - 30)}
    contents |= {"text": "Ħello, this is text".encode(), "zip": b"PK\x05\x06" + bytes(18)}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError) as caught:
            read_published_mask(tmp_path / name, ["mt"], intermediate_size=50)
        assert str(tmp_path / name) in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match="does not exist"):
        read_published_mask(tmp_path / "nothing", ["mt"], intermediate_size=50)
    with pytest.raises(UserError, match="cannot be written"):
        write_published_mask(
            read_published_mask(tmp_path / "whole", ["mt"], intermediate_size=50), tmp_path / "missing" / "mask"
        )
