import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file

from lapestudio.core.activation_counts import ActivationCounts
from lapestudio.core.errors import UserError
from lapestudio.core.lape import Selector
from lapestudio.core.neuron_set import NeuronSet, load_neuron_set, save_neuron_set

Lists = list[list[list[int]]]
_GOLDEN = Path(__file__).parent / "golden_neuron_set.json"


def neuron_set(lists: Lists, languages: tuple[str, ...] = ("mt", "cy", "ka"), **changes: Any) -> NeuronSet:
    fields = {"num_layers": 2, "intermediate_size": 6, "model_fingerprint": "abc", "model_name": "Mini", **changes}
    return NeuronSet(
        languages=languages,
        neurons=tuple(tuple(np.array(layer, dtype=np.int64) for layer in language) for language in lists),
        **fields,
    )


def example(**changes: Any) -> NeuronSet:
    rule = {"name": "lape", "top_rate": 0.05, "activity_quantile": 0.95, "note": None}
    fields = {"counts_fingerprint": "def", "rule": rule, **changes}
    # The last language has no neurons and must keep its place.
    return neuron_set([[[0, 5], [1, 2]], [[5], []], [[], []]], **fields)


layers = st.lists(st.integers(0, 8), unique=True).map(sorted)


@st.composite
def any_set(draw: st.DrawFn) -> NeuronSet:
    languages = draw(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=4, unique=True))
    num_layers = draw(st.integers(1, 3))
    lists = draw(st.lists(st.lists(layers, min_size=num_layers, max_size=num_layers), min_size=len(languages)))
    return neuron_set(
        lists[: len(languages)], tuple(languages), num_layers=num_layers, intermediate_size=9, rule={"name": "ქ"}
    )


# Safetensors and JSON are UTF-8: lone surrogates are no text.
@given(any_set(), st.sampled_from([".safetensors", ".json"]))
@settings(deadline=None)
def test_saved_and_loaded_alike(tmp_path_factory: pytest.TempPathFactory, neurons: NeuronSet, suffix: str) -> None:
    path = tmp_path_factory.mktemp("set") / f"წყობა and more{suffix}"
    save_neuron_set(neurons, path)
    loaded = load_neuron_set(path)
    assert loaded == neurons
    assert all(layer.dtype == np.int64 for language in loaded.neurons for layer in language)


def test_json_form_is_stable(tmp_path: Path) -> None:
    save_neuron_set(example(), tmp_path / "neurons.json")
    assert (tmp_path / "neurons.json").read_bytes() == _GOLDEN.read_bytes()
    assert load_neuron_set(_GOLDEN) == example()
    assert json.loads(_GOLDEN.read_text("utf-8")) == example().document()


def test_safetensors_form_is_as_documented(tmp_path: Path) -> None:
    save_neuron_set(example(), tmp_path / "neurons.safetensors")
    with safe_open(tmp_path / "neurons.safetensors", framework="numpy") as file:
        assert file.metadata()["format"] == "lapestudio.neurons.1"
        assert json.loads(file.metadata()["description"]) == example().description()
        assert file.get_tensor("indices").tolist() == [0, 5, 1, 2, 5]
        assert file.get_tensor("lengths").tolist() == [[2, 2], [1, 0], [0, 0]]


def test_csv_form(tmp_path: Path) -> None:
    save_neuron_set(example(), tmp_path / "neurons.csv")
    rows = ["language,layer,neuron", "mt,0,0", "mt,0,5", "mt,1,1", "mt,1,2", "cy,0,5", ""]
    assert (tmp_path / "neurons.csv").read_bytes().decode("utf-8") == "\n".join(rows)
    with pytest.raises(UserError, match="CSV table cannot be read back"):
        load_neuron_set(tmp_path / "neurons.csv")


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"neurons\.pth does not end in"):
        save_neuron_set(example(), tmp_path / "neurons.pth")


def test_the_callers_arrays_are_neither_kept_nor_frozen() -> None:
    array = np.array([1, 2])
    neurons = NeuronSet(languages=("mt",), neurons=((array,),), num_layers=1, intermediate_size=3)
    array[0] = 0
    assert neurons.of("mt")[0].tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        neurons.of("mt")[0][0] = 0


def test_of_an_unknown_language() -> None:
    assert [layer.tolist() for layer in example().of("cy")] == [[5], []]
    with pytest.raises(UserError, match="has no language et; it has mt, cy, ka"):
        example().of("et")


def test_counts_and_jaccard() -> None:
    assert example().counts().tolist() == [[2, 2], [1, 0], [0, 0]]
    np.testing.assert_allclose(example().jaccard(), [[1, 0.25, 0], [0.25, 1, 0], [0, 0, 0]])


@given(any_set())
@settings(deadline=None)
def test_jaccard_equals_that_of_python_sets(neurons: NeuronSet) -> None:
    sets = [
        {(place, index) for place, layer in enumerate(language) for index in layer.tolist()}
        for language in neurons.neurons
    ]
    expected = [[len(a & b) / len(a | b) if a | b else 0 for b in sets] for a in sets]
    np.testing.assert_allclose(neurons.jaccard(), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("lists", "reason"),
    [
        ([[[0, 6], []], [[], []], [[], []]], "language mt, layer 0: neuron 6 is not one of 0 to 5"),
        ([[[], []], [[], [-1]], [[], []]], "language cy, layer 1: neuron -1"),
        ([[[], []], [[], [3, 3]], [[], []]], "language cy, layer 1: neuron 3 follows 3"),
        ([[[], []], [[], []], [[4, 2], []]], "language ka, layer 0: neuron 2 follows 4"),
        ([[[], []], [[], []]], "neurons for 2 languages, but 3 are named"),
        ([[[], []], [[]], [[], []]], "language cy has 1 layers instead of 2"),
    ],
)
def test_impossible_indices_say_where(lists: Lists, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        neuron_set(lists)


def test_impossible_sets() -> None:
    with pytest.raises(ValueError, match="each once"):
        neuron_set([[[], []]] * 2, ("mt", "mt"))
    with pytest.raises(ValueError, match="0 layers"):
        neuron_set([[]], ("mt",), num_layers=0)
    with pytest.raises(ValueError, match="language number 1, layer 1 is no list of whole numbers"):
        NeuronSet(languages=("mt",), neurons=((np.array([1]), np.array([0.5])),), num_layers=2, intermediate_size=3)


def test_from_selection() -> None:
    over_zero = np.array([[[9, 1, 0], [5, 5, 5]], [[1, 8, 8], [5, 5, 4]]])
    counts = ActivationCounts(
        over_zero=over_zero, num_tokens=np.full(3, 10), languages=("mt", "cy", "ka"), model_name="Mini"
    )
    neurons = NeuronSet.from_selection(Selector(over_zero, counts.num_tokens).select(0.5, 0.6), counts)
    assert neurons.document()["neurons"] == {"mt": [[0], []], "cy": [[], [0]], "ka": [[], [0]]}
    assert (neurons.model_name, neurons.model_fingerprint) == ("Mini", None)
    assert neurons.counts_fingerprint == counts.fingerprint
    assert neurons.rule == {"name": "lape", "top_rate": 0.5, "activity_quantile": 0.6, "threshold": 0.5}


def wide(num_layers: int = 4, width: int = 500) -> NeuronSet:
    lists = [[[3, 7, 400], [], list(range(0, 500, 4)), [1]]]
    return neuron_set(lists, ("mt",), num_layers=num_layers, intermediate_size=width)


@pytest.mark.parametrize("layer_matched", [False, True])
def test_random_controls_are_seeded_and_as_many(layer_matched: bool) -> None:
    control = wide().random_control("mt", seed=3, layer_matched=layer_matched)
    assert control.languages == ("mt",)
    assert control.counts().sum() == wide().counts().sum()
    assert control == wide().random_control("mt", seed=3, layer_matched=layer_matched)
    assert control != wide().random_control("mt", seed=4, layer_matched=layer_matched)
    assert control.model_fingerprint == "abc"
    assert control.rule == {"name": "random", "seed": 3, "layer_matched": layer_matched}


def test_layer_matched_control_keeps_layers_and_avoids_the_languages_neurons() -> None:
    for seed in range(20):
        control = wide().random_control("mt", seed=seed, layer_matched=True)
        assert control.counts().tolist() == wide().counts().tolist()
        for drawn, own in zip(control.of("mt"), wide().of("mt"), strict=True):
            assert not set(drawn.tolist()) & set(own.tolist())


def test_published_control_is_uniform_over_the_whole_ffn() -> None:
    drawn = np.sum([wide().random_control("mt", seed=seed).counts()[0] for seed in range(400)], axis=0)
    # 400 x 129 draws over four layers: 12,900 each, standard deviation under 100.
    np.testing.assert_allclose(drawn, 12_900, atol=500)
    indices = np.concatenate([wide().random_control("mt", seed=seed).of("mt")[3] for seed in range(100)])
    assert abs(indices.mean() - 249.5) < 15
    assert 1 in indices


def test_too_few_other_neurons() -> None:
    full = neuron_set([[[0, 1, 2, 3], []]], ("mt",))
    assert full.random_control("mt", seed=0).counts().sum() == 4
    with pytest.raises(UserError, match="Layer 0 has 2 neurons outside the set, too few for a control of 4"):
        full.random_control("mt", seed=0, layer_matched=True)


def test_check_model() -> None:
    assert example().check_model(2, 6, "abc") == ()
    for sizes in ((3, 6), (2, 7)):
        for insist in (False, True):
            with pytest.raises(UserError, match="is for Mini, 2 layers of 6 neurons, this model has"):
                example().check_model(*sizes, "abc", insist=insist)
    with pytest.raises(UserError, match="made with Mini, another model of the same size"):
        example().check_model(2, 6, "other")
    assert "as you insist" in example().check_model(2, 6, "other", insist=True)[0]
    assert "cannot be checked" in example(model_fingerprint=None).check_model(2, 6, "abc")[0]
    assert "cannot be checked" in example().check_model(2, 6, None)[0]


def test_damaged_files_are_named(tmp_path: Path) -> None:
    for suffix in (".safetensors", ".json"):
        save_neuron_set(example(), tmp_path / f"whole{suffix}")
        data = (tmp_path / f"whole{suffix}").read_bytes()
        for length in (0, 5, len(data) // 2, len(data) - 3):
            path = tmp_path / f"cut {length}{suffix}"
            path.write_bytes(data[:length])
            with pytest.raises(UserError, match=f"cut {length}{suffix} cannot be read as a neuron set"):
                load_neuron_set(path)


def _changed(**changes: Any) -> str:
    return json.dumps({**example().document(), **changes})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1, 2]", "neuron set"),
        ("\x00\x01", "neuron set"),
        (_changed(format="lapestudio.neurons.9"), "format"),
        (_changed(languages=["mt", "cy"]), "are not the same"),
        (_changed(languages=["mt", "cy", "ka", "ka"]), "each once"),
        (_changed(num_layers=3), "has 2 layers instead of 3"),
        (_changed(intermediate_size="6"), "intermediate_size"),
        (_changed(neurons={"mt": [[0.5], []], "cy": [[], []], "ka": [[], []]}), "neurons.mt.0.0"),
        (_changed(neurons={"mt": [[10**30], []], "cy": [[], []], "ka": [[], []]}), "neuron set"),
        (_changed(neurons={"mt": [[9], []], "cy": [[], []], "ka": [[], []]}), "neuron 9 is not one of 0 to 5"),
    ],
)
def test_wrong_json_says_what(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "set.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=reason) as caught:
        load_neuron_set(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("tensors", "reason"),
    [
        ({"indices": np.array([1])}, "lengths is missing"),
        ({"indices": np.array([1]), "lengths": np.zeros((3, 2), dtype=np.int64)}, "do not fit its lengths"),
        ({"indices": np.array([1]), "lengths": np.ones((1, 1), dtype=np.int64)}, "do not fit its languages"),
        ({"indices": np.array([1.0]), "lengths": np.zeros((3, 2), dtype=np.int64)}, "64-bit"),
        ({"indices": np.array([9] * 6), "lengths": np.ones((3, 2), dtype=np.int64)}, "neuron 9 is not one of"),
    ],
)
def test_wrong_safetensors_say_what(tmp_path: Path, tensors: dict[str, np.ndarray], reason: str) -> None:
    path = tmp_path / "set.safetensors"
    metadata = {"format": "lapestudio.neurons.1", "description": json.dumps(example().description())}
    save_file(tensors, path, metadata=metadata)
    with pytest.raises(UserError, match=reason) as caught:
        load_neuron_set(path)
    assert str(path) in str(caught.value)


def test_foreign_files_are_named(tmp_path: Path) -> None:
    save_file({"x": np.ones(2)}, tmp_path / "model.safetensors")
    (tmp_path / "mask.pth").write_bytes(b"x")
    for name, reason in [
        ("model.safetensors", "its format is not named"),
        ("mask.pth", "published mask"),
        ("nothing.json", "does not exist"),
    ]:
        with pytest.raises(UserError, match=reason) as caught:
            load_neuron_set(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)
