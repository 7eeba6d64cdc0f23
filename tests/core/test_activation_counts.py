import json
import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.numpy import save_file

from lapestudio.core.activation_counts import FORM, ActivationCounts, PartialCounts, load_counts
from lapestudio.core.errors import UserError


def counts(**changes: object) -> ActivationCounts:
    fields: dict[str, object] = {
        "over_zero": np.arange(12, dtype=np.int64).reshape(2, 3, 2),
        "num_tokens": np.array([20, 30]),
        "languages": ("mt", "cy"),
        "model_name": "Małe/ქართული",
        "model_fingerprint": "abc",
        "corpus_fingerprints": {"mt": "1", "cy": "2"},
    }
    return ActivationCounts(**{**fields, **changes})  # type: ignore[arg-type]


def same(first: ActivationCounts, second: ActivationCounts) -> bool:
    texts = ("languages", "model_name", "model_fingerprint", "corpus_fingerprints", "fingerprint")
    return (
        np.array_equal(first.over_zero, second.over_zero)
        and np.array_equal(first.num_tokens, second.num_tokens)
        and all(getattr(first, name) == getattr(second, name) for name in texts)
    )


@pytest.mark.parametrize("name", ["counts.safetensors", "mit Leerzeichen ქართული.safetensors"])
def test_saved_and_loaded_alike(tmp_path: Path, name: str) -> None:
    counts().save(tmp_path / name)
    loaded = load_counts(tmp_path / name)
    assert same(loaded, counts())
    assert loaded.over_zero.dtype == loaded.num_tokens.dtype == np.int64
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_the_file_is_as_documented(tmp_path: Path) -> None:
    # A view with other strides: safetensors would store the memory as it lies.
    moved = np.arange(12).reshape(2, 2, 3).transpose(0, 2, 1)
    counts(over_zero=moved).save(tmp_path / "counts.safetensors")
    with safe_open(tmp_path / "counts.safetensors", framework="numpy") as file:
        assert file.metadata()["format"] == "lapestudio.counts.1"
        assert json.loads(file.metadata()["languages"]) == ["mt", "cy"]
        np.testing.assert_array_equal(file.get_tensor("over_zero"), moved)
        assert file.get_tensor("over_zero").dtype == np.int64
        assert file.get_tensor("tokens").tolist() == [20, 30]


def test_fingerprint_tells_counts_apart() -> None:
    changed = np.arange(12).reshape(2, 3, 2)
    changed[1, 2, 1] += 1
    fingerprints = {
        counts().fingerprint,
        counts(over_zero=changed).fingerprint,
        counts(languages=("cy", "mt")).fingerprint,
        counts(num_tokens=np.array([20, 31])).fingerprint,
    }
    assert len(fingerprints) == 4
    assert counts(over_zero=np.arange(12, dtype=np.int32).reshape(2, 3, 2)).fingerprint == counts().fingerprint


def test_reads_npz(tmp_path: Path) -> None:
    path = tmp_path / "full counts.npz"
    np.savez_compressed(
        path, over_zero=np.ones((2, 3, 2), dtype=np.int32), tokens=np.array([4, 5]), languages=np.array(["mt", "cy"])
    )
    loaded = load_counts(path)
    assert loaded.languages == ("mt", "cy")
    assert loaded.over_zero.dtype == np.int64
    assert loaded.over_zero.sum() == 12
    assert loaded.model_fingerprint == ""


def test_reads_the_reference_counts(shared_dir: Path) -> None:
    loaded = load_counts(shared_dir / "reference" / "mistral7b_mgsm_full_counts.npz")
    assert (loaded.num_layers, loaded.intermediate_size, loaded.languages[:3]) == (32, 14_336, ("en", "zh", "es"))


def test_what_cannot_be_counts() -> None:
    for changes, reason in [
        ({"languages": ("mt",)}, "shape"),
        ({"num_tokens": np.array([20])}, "token numbers"),
        ({"languages": ("mt", "mt")}, "twice"),
        ({"over_zero": np.full((2, 3, 2), -1)}, "fewer than none"),
        ({"num_tokens": np.array([20, 3])}, "more than all"),
        ({"over_zero": np.ones((2, 3, 2))}, "float64"),
    ]:
        with pytest.raises(ValueError, match=reason):
            counts(**changes)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    whole = tmp_path / "whole.safetensors"
    counts().save(whole)
    data = whole.read_bytes()
    for length in (0, 5, 60, len(data) - 1):
        path = tmp_path / f"cut {length}.safetensors"
        path.write_bytes(data[:length])
        with pytest.raises(UserError, match=f"cut {length}.safetensors cannot be read as activation counts"):
            load_counts(path)


def test_foreign_files_are_named(tmp_path: Path) -> None:
    save_file({"x": np.ones(2)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    save_file({"tokens": np.ones(2)}, tmp_path / "part.safetensors", metadata={"format": FORM})
    save_file({"tokens": np.ones(2), "over_zero": np.ones(2)}, tmp_path / "bare.safetensors", metadata={"format": FORM})
    (tmp_path / "text.npz").write_text("hello", encoding="utf-8")
    np.savez(tmp_path / "other.npz", tokens=np.ones(2))
    np.savez(tmp_path / "objects.npz", over_zero=np.ones((1, 1, 1), dtype=int), tokens=np.ones(1), languages=[{}, 1])
    (tmp_path / "counts.txt").write_text("hello", encoding="utf-8")
    (tmp_path / "folder.safetensors").mkdir()
    for name, reason in [
        ("model.safetensors", "holds no activation counts: its format is pt"),
        ("part.safetensors", "over_zero is missing"),
        ("bare.safetensors", "list of languages"),
        ("text.npz", "cannot be read"),
        ("other.npz", "over_zero"),
        ("objects.npz", "pickle"),
        ("counts.txt", "neither .safetensors nor .npz"),
        ("folder.safetensors", "is a folder"),
        ("nothing.npz", "does not exist"),
    ]:
        with pytest.raises(UserError, match=reason) as caught:
            load_counts(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "big.npz", over_zero=np.zeros(100_000))
    monkeypatch.setattr("lapestudio.core.activation_counts._MAX_UNPACKED_BYTES", 100_000)
    with pytest.raises(UserError, match="unpacks to more"):
        load_counts(tmp_path / "big.npz")


def test_saving_where_it_cannot_be_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"counts\.safetensors cannot be written"):
        counts().save(tmp_path / "missing" / "counts.safetensors")


def test_probabilities_of_a_neuron() -> None:
    some = counts(num_tokens=np.array([20, 0]), over_zero=np.array([[[5, 0]]]))
    first, second = some.probabilities_of(0, 0)
    assert first == 0.25
    assert math.isnan(second)


def partial(path: Path) -> PartialCounts:
    return PartialCounts.create(path, languages=("mt", "cy"), num_layers=2, intermediate_size=3, model_name="მოდელი")


@given(
    st.lists(
        st.tuples(st.sampled_from(["mt", "cy"]), hnp.arrays(np.int64, (2, 3), elements=st.integers(0, 9))), max_size=6
    )
)
@settings(deadline=None)
def test_partial_counts_add_up(tmp_path_factory: pytest.TempPathFactory, increments) -> None:
    path = tmp_path_factory.mktemp("run") / "counts.partial"
    over_zero, num_tokens = np.zeros((2, 3, 2), dtype=np.int64), np.zeros(2, dtype=np.int64)
    with partial(path) as writer:
        for language, increment in increments:
            writer.add(language, increment, 9)
            over_zero[..., ("mt", "cy").index(language)] += increment
            num_tokens[("mt", "cy").index(language)] += 9
        with PartialCounts.open(path) as reader:
            snapshot, activity, tokens = reader.snapshot(), reader.layer_activity(), reader.num_tokens
    np.testing.assert_array_equal(snapshot.over_zero, over_zero)
    np.testing.assert_array_equal(snapshot.num_tokens, num_tokens)
    np.testing.assert_array_equal(tokens, num_tokens)
    assert (snapshot.languages, snapshot.model_name) == (("mt", "cy"), "მოდელი")
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = np.where(num_tokens > 0, over_zero.mean(axis=1) / num_tokens, np.nan)
    np.testing.assert_allclose(activity, expected, rtol=1e-14)


def test_a_snapshot_stays_as_it_was(tmp_path: Path) -> None:
    with partial(tmp_path / "counts.partial") as writer:
        before = writer.snapshot()
        writer.add("mt", np.ones((2, 3), dtype=np.int32), 1)
        assert before.over_zero.sum() == 0
        assert writer.snapshot().over_zero.sum() == 6


def test_nothing_to_read_yet(tmp_path: Path) -> None:
    assert PartialCounts.open(tmp_path / "counts.partial") is None
    partial(tmp_path / "whole").close()
    data = (tmp_path / "whole").read_bytes()
    for length in range(len(data)):
        (tmp_path / "counts.partial").write_bytes(data[:length])
        assert PartialCounts.open(tmp_path / "counts.partial") is None


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "counts.partial").write_text("something else, and long enough", encoding="utf-8")
    with pytest.raises(UserError, match=r"counts\.partial cannot be read as partial activation counts"):
        PartialCounts.open(tmp_path / "counts.partial")
    (tmp_path / "counts.partial").write_bytes(b"LAPEPC01" + (2).to_bytes(8, "little") + b"{}")
    with pytest.raises(UserError, match="header is broken"):
        PartialCounts.open(tmp_path / "counts.partial")


def test_a_writer_killed_in_the_middle_leaves_usable_counts(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import os, sys
        import numpy as np
        from pathlib import Path
        from lapestudio.core.activation_counts import PartialCounts

        class Killing(np.ndarray):
            def sum(self, *arguments, **options):
                os._exit(9)

        writer = PartialCounts.create(Path(sys.argv[1]), languages=("mt", "cy"), num_layers=2, intermediate_size=3)
        writer.add("cy", np.full((2, 3), 2), 4)
        writer.add("mt", np.full((2, 3), 5).view(Killing), 6)
    """)
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "counts.partial"], check=False)
    assert done.returncode == 9
    with PartialCounts.open(tmp_path / "counts.partial") as reader:
        snapshot = reader.snapshot()
        assert reader.layer_activity()[:, 1].tolist() == [0.5, 0.5]
    # The tokens had not been added yet.
    assert snapshot.over_zero[..., 0].tolist() == [[5, 5, 5], [5, 5, 5]]
    assert snapshot.num_tokens.tolist() == [5, 4]


def test_another_process_reads_whole_increments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine the writer may be held up for long in the middle of a change; that is not what is tested.
    monkeypatch.setattr("lapestudio.core.activation_counts._LOOKS", 100_000)
    path = tmp_path / "counts.partial"
    script = textwrap.dedent("""
        import sys, time
        import numpy as np
        from pathlib import Path
        from lapestudio.core.activation_counts import PartialCounts

        writer = PartialCounts.create(Path(sys.argv[1]), languages=("mt", "cy"), num_layers=4, intermediate_size=5000)
        increment = np.ones((4, 5000), dtype=np.int64)
        for step in range(1000):
            writer.add("mt" if step % 2 else "cy", increment, 2)
            time.sleep(0.0005)
    """)
    seen = []
    with subprocess.Popen([sys.executable, "-c", script, path], env={**os.environ, "OMP_NUM_THREADS": "1"}) as writer:
        while writer.poll() is None:
            if (reader := PartialCounts.open(path)) is not None:
                with reader:
                    snapshot = reader.snapshot()
                lowest, highest = (function(snapshot.over_zero, axis=(0, 1)).tolist() for function in (np.min, np.max))
                seen.append((lowest, highest, (snapshot.num_tokens // 2).tolist()))
    assert writer.returncode == 0
    assert len({tuple(tokens) for _, _, tokens in seen}) > 2
    # Each increment fires every neuron on one of two tokens: a torn copy would differ between neurons.
    assert all(lowest == highest == tokens for lowest, highest, tokens in seen)
    with PartialCounts.open(path) as reader:
        assert reader.num_tokens.tolist() == [1000, 1000]


def test_no_room_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"counts\.partial cannot be written"):
        partial(tmp_path / "missing" / "counts.partial")
    if hasattr(os, "posix_fallocate"):
        with pytest.raises(UserError, match=r"counts\.partial cannot be written"):
            PartialCounts.create(
                tmp_path / "counts.partial", languages=("mt", "cy"), num_layers=2**20, intermediate_size=2**30
            )
        assert list(tmp_path.iterdir()) == []
