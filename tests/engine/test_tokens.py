"""Token blocks: nothing lost, nothing doubled, and the begin-of-sequence token where it belongs."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from lapestudio.core.errors import UserError
from lapestudio.corpora.segment import Segment
from lapestudio.engine.tokens import TokenBlocks, build_blocks

BOS, EOS = 0, 1


def byte_tokenizer(*, adds_bos: bool) -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(["<s>", "</s>", *alphabet])}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if adds_bos:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", BOS)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")


WITH_BOS = byte_tokenizer(adds_bos=True)
WITHOUT_BOS = byte_tokenizer(adds_bos=False)


def segments(*documents: Sequence[str]) -> list[Segment]:
    return [
        Segment(text=line, document=str(number), location=f"{number}:{row}")
        for number, lines in enumerate(documents)
        for row, line in enumerate(lines)
    ]


def build(
    path: Path, text: list[Segment], tokenizer: PreTrainedTokenizerFast = WITH_BOS, **options: object
) -> TokenBlocks:
    arguments = {"block_size": 16, "separate_documents": True, **options}
    blocks = build_blocks(text, tokenizer, out=path / "blocks.arrow", **arguments)  # type: ignore[arg-type]
    assert blocks is not None
    return blocks


def ids_of(blocks: TokenBlocks) -> list[int]:
    first = 1 if blocks.has_bos else 0
    return [token for index in range(len(blocks)) for token in blocks[index].tolist()[first:]]


text = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=40)


@given(
    documents=st.lists(st.lists(text, min_size=1, max_size=5), max_size=5),
    block_size=st.integers(8, 40),
    adds_bos=st.booleans(),
    separate=st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_blocks_hold_every_byte_once_and_in_order(
    tmp_path: Path, documents: list[list[str]], block_size: int, adds_bos: bool, separate: bool
) -> None:
    tokenizer = WITH_BOS if adds_bos else WITHOUT_BOS
    blocks = build(tmp_path, segments(*documents), tokenizer, block_size=block_size, separate_documents=separate)
    expected: list[int] = []
    for number, lines in enumerate(documents):
        if number and separate:
            expected.append(EOS)
        expected.extend(tokenizer.encode("\n".join(lines), add_special_tokens=False))
    assert ids_of(blocks) == expected
    assert blocks.num_text_tokens == len(expected)
    lengths = [len(blocks[index]) for index in range(len(blocks))]
    assert all(length == block_size for length in lengths[:-1])
    if adds_bos:
        assert all(blocks[index][0] == BOS for index in range(len(blocks)))


def test_long_documents_are_tokenised_in_pieces_without_a_seam(tmp_path: Path) -> None:
    lines = [f"line {number} " + "x" * 300 for number in range(400)]
    blocks = build(tmp_path, segments(lines), block_size=512)
    assert ids_of(blocks) == WITH_BOS.encode("\n".join(lines), add_special_tokens=False)


def test_more_blocks_than_a_record_batch(tmp_path: Path) -> None:
    lines = [str(number) * 7 for number in range(3000)]
    blocks = build(tmp_path, segments(lines), block_size=16)
    assert len(blocks) > 2 * 256
    assert ids_of(blocks) == WITH_BOS.encode("\n".join(lines), add_special_tokens=False)
    assert (
        torch.cat([batch.flatten() for batch in blocks.batches(7)]).tolist()
        == torch.cat([blocks[index] for index in range(len(blocks))]).tolist()
    )


def test_batches_are_of_equal_length_and_the_short_block_comes_alone(tmp_path: Path) -> None:
    blocks = build(tmp_path, segments(["a" * 15 * 5 + "bcd"]))
    shapes = [tuple(batch.shape) for batch in blocks.batches(4)]
    assert shapes == [(4, 16), (1, 16), (1, 4)]
    assert [tuple(batch.shape) for batch in blocks.batches(2, start=3, stop=5)] == [(2, 16)]


@pytest.mark.parametrize("limit", [1, 15, 16, 31, 10_000])
def test_limit_counts_text_tokens(tmp_path: Path, limit: int) -> None:
    whole = WITH_BOS.encode("a" * 40, add_special_tokens=False)
    blocks = build(tmp_path, segments(["a" * 40]), max_tokens=limit)
    assert ids_of(blocks) == whole[:limit]
    assert blocks.num_text_tokens == min(limit, len(whole))


def test_begin_of_sequence_can_be_left_out_as_in_the_public_code(tmp_path: Path) -> None:
    blocks = build(tmp_path, segments(["abc"]), add_bos=False)
    assert not blocks.has_bos
    assert blocks[0].tolist() == WITH_BOS.encode("abc", add_special_tokens=False)


def test_text_that_looks_like_a_control_token_stays_text(tmp_path: Path) -> None:
    line = f"<p>{WITH_BOS.bos_token} and {WITH_BOS.eos_token}</p>"
    blocks = build(tmp_path, segments([line]), block_size=512)
    assert not {BOS, EOS} & set(ids_of(blocks))
    assert WITH_BOS.decode(ids_of(blocks)) == line


def test_no_text_gives_no_blocks(tmp_path: Path) -> None:
    blocks = build(tmp_path, [])
    assert len(blocks) == 0
    assert blocks.num_text_tokens == 0
    assert list(blocks.batches(4)) == []


def test_reopened_file_is_the_same(tmp_path: Path) -> None:
    blocks = build(tmp_path, segments(["abc" * 30], ["def"]))
    again = TokenBlocks.open(blocks.path)
    assert ids_of(again) == ids_of(blocks)
    assert (again.block_size, again.has_bos, again.fingerprint) == (blocks.block_size, True, blocks.fingerprint)


def test_fingerprint_tells_texts_apart(tmp_path: Path) -> None:
    first = build(tmp_path, segments(["abc"])).fingerprint
    assert build(tmp_path, segments(["abd"])).fingerprint != first
    assert build(tmp_path, segments(["abc"])).fingerprint == first


def test_stopping_leaves_no_file(tmp_path: Path) -> None:
    stopped = build_blocks(
        segments(["abc"]),
        WITH_BOS,
        block_size=16,
        out=tmp_path / "blocks.arrow",
        separate_documents=True,
        should_stop=lambda: True,
    )
    assert stopped is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"not arrow at all", b"ARROW1\0\0"])
def test_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.arrow").write_bytes(content)
    with pytest.raises(UserError, match=r"bad\.arrow"):
        TokenBlocks.open(tmp_path / "bad.arrow")
