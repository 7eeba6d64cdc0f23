"""Text to packed token blocks on disk.

In: text segments and a tokenizer. Out: an Arrow file of token blocks, read through a memory map. It stands between the
readers of `corpora` and every stage that runs the model.

Ids are kept end to end: text is tokenised once and never made from ids again, no token is lost between blocks, and
nothing is padded. Text that looks like a control token ("<|endoftext|>" in a web page) stays text. Every block begins
with the begin-of-sequence token where the tokenizer adds one by itself (models such as Gemma compute nonsense without
it); it is not text, so it is never counted, and the last block may be short.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from lapestudio.core.atomic import replacing
from lapestudio.core.errors import UserError
from lapestudio.corpora.segment import Segment
from lapestudio.engine.loading import adds_bos

# Long documents are tokenised in pieces, cut between segments, so that memory stays flat whatever the corpus.
_PIECE_CHARACTERS = 8192
_PIECES_A_BATCH = 64
_BLOCKS_A_RECORD_BATCH = 256
_BATCHES_AHEAD = 2
_FORMAT = "lapestudio.blocks.1"
_Piece = tuple[str, bool]
_Result = TypeVar("_Result")

Ids = NDArray[np.int32]


class TokenBlocks:
    """Token blocks of a file, in order; all are full but the last, which may be short.

    Args:
        path: a file that `build_blocks` wrote.

    Raises:
        UserError: the file is missing, damaged or something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        try:
            self._reader = pa.ipc.open_file(pa.memory_map(str(path)))
        except (OSError, pa.ArrowInvalid) as error:
            raise UserError(f"{path} cannot be read as token blocks; start the job anew in another folder.") from error
        metadata = self._reader.schema.metadata or {}
        if metadata.get(b"format") != _FORMAT.encode():
            raise UserError(f"{path} holds no token blocks; start the job anew in another folder.")
        self.block_size = int(metadata[b"block_size"])
        self.has_bos = metadata[b"has_bos"] == b"1"
        self._batches = [self._reader.get_batch(i).column(0) for i in range(self._reader.num_record_batches)]
        self._num_blocks = sum(len(batch) for batch in self._batches)

    @classmethod
    def open(cls, path: Path) -> "TokenBlocks":
        """Open a file of token blocks."""
        return cls(path)

    def __len__(self) -> int:
        return self._num_blocks

    def __getitem__(self, index: int) -> Tensor:
        """Return (seq_len,) int64, seq_len <= block_size, the begin-of-sequence token included."""
        if not 0 <= index < self._num_blocks:
            raise IndexError(index)
        return torch.from_numpy(self._ids(index).astype(np.int64))

    def _ids(self, index: int) -> Ids:
        values: Ids = self._batches[index // _BLOCKS_A_RECORD_BATCH][index % _BLOCKS_A_RECORD_BATCH].values.to_numpy(
            zero_copy_only=True
        )
        return values

    @property
    def num_tokens(self) -> int:
        """Ids in all blocks, begin-of-sequence tokens included."""
        if not self._num_blocks:
            return 0
        return (self._num_blocks - 1) * self.block_size + len(self._ids(self._num_blocks - 1))

    @property
    def num_text_tokens(self) -> int:
        """Ids that stand for text or for the end of a document."""
        return self.num_tokens - (self._num_blocks if self.has_bos else 0)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the blocks: equal for equal text, tokenizer and block size."""
        digest = hashlib.sha256(f"{self.block_size} {self.has_bos}".encode())
        for index in range(self._num_blocks):
            digest.update(self._ids(index).tobytes())
        return digest.hexdigest()

    def batches(self, batch_size: int, *, start: int = 0, stop: int | None = None) -> Iterator[Tensor]:
        """Yield (b, seq_len) int64 in the order of the blocks, b <= batch_size; a short last block comes alone.

        Args:
            batch_size: blocks in a batch.
            start: first block.
            stop: one after the last block; None: all.
        """
        indices = range(start, self._num_blocks if stop is None else min(stop, self._num_blocks))
        for _length, same in groupby(indices, key=lambda index: len(self._ids(index))):
            while chunk := list(islice(same, batch_size)):
                yield torch.from_numpy(np.stack([self._ids(index) for index in chunk]).astype(np.int64))


def build_blocks(
    segments: Iterable[Segment],
    tokenizer: PreTrainedTokenizerBase,
    *,
    block_size: int,
    out: Path,
    separate_documents: bool,
    add_bos: bool = True,
    max_tokens: int | None = None,
    on_progress: Callable[[int], None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> TokenBlocks | None:
    """Tokenise `segments` and write them as blocks; None when it was stopped, and then no file is written.

    Args:
        segments: the text; neighbours of one document are joined by a line feed.
        tokenizer: of the model.
        block_size: ids in a block, the begin-of-sequence token included.
        out: the file to write.
        separate_documents: put the tokenizer's end token between documents; training does, identification does not.
        add_bos: begin blocks with the begin-of-sequence token where the tokenizer adds one; False: as the public code.
        max_tokens: take at most so many tokens of text.
        on_progress: called with the tokens so far.
        should_stop: asked now and then.

    Raises:
        OSError: `out` cannot be written.
    """
    bos = tokenizer.bos_token_id if add_bos and adds_bos(tokenizer) else None
    end = tokenizer.eos_token_id if separate_documents else None
    ids = _limited(_text_ids(segments, tokenizer, end), max_tokens)
    schema = pa.schema(
        [pa.field("ids", pa.list_(pa.int32()))],
        metadata={"format": _FORMAT, "block_size": str(block_size), "has_bos": "0" if bos is None else "1"},
    )
    head = np.array([] if bos is None else [bos], dtype=np.int32)
    room = block_size - len(head)
    num_done = 0
    try:
        with (
            replacing(out) as temporary,
            pa.OSFile(str(temporary), "wb") as sink,
            pa.ipc.new_file(sink, schema) as file,
        ):
            for flat in _regrouped(ids, room * _BLOCKS_A_RECORD_BATCH, should_stop):
                file.write_batch(_record_batch(flat, room, head, schema))
                num_done += len(flat)
                if on_progress is not None:
                    on_progress(num_done)
    except _StoppedError:
        return None
    return TokenBlocks(out)


def count_tokens(
    segments: Iterable[Segment],
    tokenizer: PreTrainedTokenizerBase,
    *,
    on_progress: Callable[[int], None] = lambda _characters: None,
) -> int:
    """Return how many tokens the text has, as `build_blocks` makes them: line feeds between segments included.

    Args:
        segments: the text.
        tokenizer: of the model.
        on_progress: called with the characters so far.
    """
    num_tokens = num_characters = 0

    def count(batch: list[_Piece]) -> int:
        return sum(map(len, _encode([text for text, _begins in batch], tokenizer)))

    for batch, number in _ahead(_batched(segments), count):
        num_tokens += number
        num_characters += sum(len(text) for text, _begins in batch)
        on_progress(num_characters)
    return num_tokens


class _StoppedError(Exception):
    """Somebody asked to stop; the half-written file goes with it."""


def _regrouped(chunks: Iterable[Ids], size: int, should_stop: Callable[[], bool]) -> Iterator[Ids]:
    """Yield the same ids in arrays of `size`; the last may be shorter."""
    waiting: list[Ids] = []
    num_waiting = 0
    for chunk in chunks:
        if should_stop():
            raise _StoppedError
        waiting.append(chunk)
        num_waiting += len(chunk)
        if num_waiting >= size:
            flat = np.concatenate(waiting)
            end = num_waiting - num_waiting % size
            yield from (flat[begin : begin + size] for begin in range(0, end, size))
            waiting, num_waiting = [flat[end:]], num_waiting - end
    if num_waiting:
        yield np.concatenate(waiting)


def _record_batch(flat: Ids, room: int, head: Ids, schema: Any) -> Any:
    """Return the ids as one Arrow record batch of blocks."""
    blocks = [np.concatenate([head, flat[begin : begin + room]]) for begin in range(0, len(flat), room)]
    offsets = np.cumsum([0, *(len(block) for block in blocks)], dtype=np.int32)
    column = pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.concatenate(blocks)))
    return pa.record_batch([column], schema=schema)


def _text_ids(segments: Iterable[Segment], tokenizer: PreTrainedTokenizerBase, end: int | None) -> Iterator[Ids]:
    """Yield the ids of the pieces in order, the end token between documents."""
    num_documents = 0

    def ids_of(batch: list[_Piece]) -> list[Ids]:
        return [np.array(_ids(one), dtype=np.int32) for one in _encode([text for text, _begins in batch], tokenizer)]

    for batch, encoded in _ahead(_batched(segments), ids_of):
        for ids, (_text, begins) in zip(encoded, batch, strict=True):
            num_documents += begins
            if begins and num_documents > 1 and end is not None:
                yield np.array([end], dtype=np.int32)
            yield ids


def _ahead(
    batches: Iterator[list[_Piece]], work: Callable[[list[_Piece]], _Result]
) -> Iterator[tuple[list[_Piece], _Result]]:
    """Yield each batch with what `work` makes of it, in order, while the next batches are read.

    The tokenizer's library works outside Python: text is read meanwhile.
    """
    with ThreadPoolExecutor(1) as pool:
        pending: deque[tuple[list[_Piece], Future[_Result]]] = deque()
        for batch in batches:
            pending.append((batch, pool.submit(work, batch)))
            if len(pending) > _BATCHES_AHEAD:
                first, future = pending.popleft()
                yield first, future.result()
        for first, future in pending:
            yield first, future.result()


def _batched(segments: Iterable[Segment]) -> Iterator[list[_Piece]]:
    pieces = _pieces(segments)
    while batch := list(islice(pieces, _PIECES_A_BATCH)):
        yield batch


def _ids(encoded: Any) -> list[int]:
    """Return the ids of what `_encode` gives for a text."""
    ids: list[int] = encoded if isinstance(encoded, list) else encoded.ids
    return ids


def _encode(texts: list[str], tokenizer: PreTrainedTokenizerBase) -> Sequence[Any]:
    """Return for each text its ids, or an object that has as many and knows them; see `_ids`.

    What looks like a control token stays text.

    The library below is asked itself where there is one: without masks, offsets and copies it is a third faster.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        encoded: list[list[int]] = tokenizer(
            texts, add_special_tokens=False, split_special_tokens=True, return_attention_mask=False, verbose=False
        ).input_ids
        return encoded
    backend.encode_special_tokens = True
    backend.no_truncation()
    backend.no_padding()
    encodings: list[Any] = backend.encode_batch_fast(texts, add_special_tokens=False)
    return encodings


def _pieces(segments: Iterable[Segment]) -> Iterator[_Piece]:
    """Yield pieces of text and whether each begins a document; all but a document's last piece end with a line feed."""
    for _document, members in groupby(segments, key=lambda segment: segment.document):
        lines: list[str] = []
        size, begins = 0, True
        for segment in members:
            if size >= _PIECE_CHARACTERS:
                yield "\n".join([*lines, ""]), begins
                lines, size, begins = [], 0, False
            lines.append(segment.text)
            size += len(segment.text) + 1
        yield "\n".join(lines), begins


def _limited(chunks: Iterable[Ids], max_tokens: int | None) -> Iterator[Ids]:
    """Yield chunks up to `max_tokens` ids."""
    left = max_tokens
    for chunk in chunks:
        if left is None:
            yield chunk
            continue
        yield chunk[:left]
        left -= min(left, len(chunk))
        if left == 0:
            return
