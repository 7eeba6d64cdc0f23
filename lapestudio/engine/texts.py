"""A job's text to token blocks in its run folder, and what the user should know about the text.

In: files and a tokenizer. Out: `TokenBlocks`. It stands between the readers of `corpora` and the stages that compute.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from lapestudio.core.atomic import write_text_atomically
from lapestudio.core.errors import UserError
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import CorpusSource, TrainSpec
from lapestudio.corpora.corpus import Corpus
from lapestudio.corpora.reading import find_unreadable_files
from lapestudio.corpora.segment import Segment
from lapestudio.corpora.splitting import leave_out, split_segments
from lapestudio.engine.stages import JobContext, StoppedEarlyError
from lapestudio.engine.tokens import TokenBlocks, build_blocks

_MAX_NAMED_FAULTS = 5
_TRAINING = "training"
_VALIDATION = "validation"


class StoredText:
    """The clean text of files, read anew each time it is gone through.

    A broken line is passed over and told once; so is what cleaning left out.

    Args:
        source: the files, and how they are read and cleaned.
        job: takes the notices.
    """

    def __init__(self, source: CorpusSource, job: JobContext) -> None:
        self._corpus = Corpus(source, report=self._on_fault)
        self._language = source.language
        self._job = job
        self._faults: dict[str, None] = {}
        self._is_told = False
        for path in source.paths:
            if num_passed_over := len(find_unreadable_files(path)):
                job.note(f"{num_passed_over} files in {path} are passed over: files with their endings cannot be read.")

    def __iter__(self) -> Iterator[Segment]:
        """Stream the segments.

        Raises:
            UserError: there is no text; the first fault says why.
        """
        is_empty = True
        for segment in self._corpus:
            is_empty = False
            yield segment
        if is_empty:
            raise UserError(next(iter(self._faults), f"There is no text of {self._language} left after cleaning."))
        if not self._is_told:
            self._is_told = True
            self._tell()

    def _tell(self) -> None:
        removed = [(step.name, step.num_removed) for step in self._corpus.cleaning_log.results() if step.num_removed]
        removed += list(self._corpus.reading_log.skipped.items())
        if removed:
            left_out = ", ".join(f"{number:,} x {name}" for name, number in removed)
            self._job.note(f"Left out of the text of {self._language}: {left_out}.")

    def _on_fault(self, fault: str) -> None:
        if fault in self._faults or len(self._faults) > _MAX_NAMED_FAULTS:
            return
        self._faults[fault] = None
        if len(self._faults) <= _MAX_NAMED_FAULTS:
            self._job.warn(f"Passed over: {fault}")
        else:
            self._job.warn(f"There are more such faults in the text of {self._language}; they are passed over too.")


class BlockMaker:
    """Makes the token blocks of a job; blocks that an earlier attempt has made are taken as they are.

    Args:
        run: the run folder.
        job: is told how far it is, and asked whether to stop.
        tokenizer: of the model.
        block_size: ids in a block.
        add_bos: begin blocks with the begin-of-sequence token where the tokenizer adds one.
    """

    def __init__(
        self,
        run: RunFolder,
        job: JobContext,
        tokenizer: PreTrainedTokenizerBase,
        *,
        block_size: int,
        add_bos: bool = True,
    ) -> None:
        self._run = run
        self._folder = run.blocks_folder
        self._job = job
        self._tokenizer = tokenizer
        self._block_size = block_size
        self._add_bos = add_bos

    def corpora(
        self, sources: Sequence[CorpusSource], max_tokens: int | None, *, prefix: str = ""
    ) -> dict[str, TokenBlocks]:
        """Return the blocks of each corpus by language.

        Raises:
            UserError: text that cannot be read, or a language without tokens.
            StoppedEarlyError: somebody asked to stop.
        """
        return {
            source.language: self._blocks(
                f"{prefix}{source.language}", source.language, StoredText(source, self._job), max_tokens
            )
            for source in sources
        }

    def training(self, spec: TrainSpec) -> tuple[TokenBlocks, TokenBlocks]:
        """Return the blocks to train on and those to validate on, which have no sentence in common.

        Raises:
            UserError: text that cannot be read, or too little of it.
            StoppedEarlyError: somebody asked to stop.
        """
        if self._file(_TRAINING).exists() and self._file(_VALIDATION).exists():
            return TokenBlocks(self._file(_TRAINING)), TokenBlocks(self._file(_VALIDATION))
        training, validation = training_text(spec, self._job, self._run)
        max_tokens = spec.settings.max_validation_tokens
        return (
            self._blocks(_TRAINING, spec.language, training, None, separate_documents=True),
            self._blocks(_VALIDATION, spec.language, validation, max_tokens),
        )

    def _blocks(
        self,
        name: str,
        language: str,
        segments: Iterable[Segment],
        max_tokens: int | None,
        *,
        separate_documents: bool = False,
    ) -> TokenBlocks:
        file = self._file(name)
        if file.exists():
            return TokenBlocks(file)
        file.parent.mkdir(exist_ok=True)
        progress = self._job.stage("tokens", f"Reading the text of {language}")
        blocks = build_blocks(
            segments,
            self._tokenizer,
            block_size=self._block_size,
            out=file,
            separate_documents=separate_documents,
            add_bos=self._add_bos,
            max_tokens=max_tokens,
            on_progress=lambda done: progress(done, max_tokens or 0),
            should_stop=self._job.should_stop,
        )
        if blocks is None:
            raise StoppedEarlyError("Stopped while the text was being read; nothing has been computed yet.")
        if blocks.num_tokens <= len(blocks):
            raise UserError(f"The text of {language} is too short: it has no token that could be predicted; add text.")
        return blocks

    def _file(self, name: str) -> Path:
        return self._folder / f"{re.sub(r'[^0-9A-Za-z_-]', '_', name)}.arrow"


def training_text(spec: TrainSpec, job: JobContext, run: RunFolder) -> tuple[Iterable[Segment], Iterable[Segment]]:
    """Return the text to train on and the text to validate on, which have no sentence in common.

    How it was split is written into the run folder, and so is the text of a test.

    Raises:
        UserError: nothing is left to train on, or too little to hold some of it out.
    """
    text = StoredText(spec.text, job)
    if spec.validation_text is None:
        settings = spec.settings
        split = split_segments(
            text, validation_share=settings.validation_share, test_share=settings.test_share, seed=settings.seed
        )
        write_text_atomically(run.split_file, json.dumps(asdict(split.record), indent=2) + "\n")
        if split.test is not None:
            records = (json.dumps({"text": segment.text}, ensure_ascii=False) + "\n" for segment in split.test)
            write_text_atomically(run.test_text_file, "".join(records))
        return split.training, split.validation
    validation = StoredText(spec.validation_text, job)
    training, num_left_out = leave_out(text, validation)
    if not len(training):
        raise UserError(
            "All of the training text occurs in the validation text too; choose other files for one of the two."
        )
    if num_left_out:
        job.warn(f"{num_left_out:,} segments occur in the validation text and are not trained on.")
    return training, validation
