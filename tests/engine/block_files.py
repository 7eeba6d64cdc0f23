"""Token block files with given ids, written without a tokenizer."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from torch import Tensor

from lapestudio.engine.tokens import TokenBlocks


def write_blocks(path: Path, blocks: Sequence[Tensor], *, block_size: int, has_bos: bool = False) -> TokenBlocks:
    """Write blocks as they are; the first id of each is the begin-of-sequence token if `has_bos`."""
    schema = pa.schema(
        [pa.field("ids", pa.list_(pa.int32()))],
        metadata={"format": "lapestudio.blocks.1", "block_size": str(block_size), "has_bos": str(int(has_bos))},
    )
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        if blocks:
            column = pa.array([block.tolist() for block in blocks], pa.list_(pa.int32()))
            writer.write_batch(pa.record_batch([column], schema=schema))
    return TokenBlocks(path)
