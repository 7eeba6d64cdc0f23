"""Text of a data set on the Hugging Face hub, or of a folder of the same form, to a file that is read like any other.

In: what to fetch. Out: JSON Lines in the run folder, usable offline for ever. Nothing but data is loaded: no script of
a repository is run. A fetch that was stopped or killed goes on exactly where it was, in the same revision of the data
set, whatever was added to it meanwhile.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from lapestudio.core.atomic import write_text_atomically
from lapestudio.core.errors import UserError
from lapestudio.core.languages import same_language
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import FetchSpec
from lapestudio.engine.hub_faults import faults_as_sentences

_KEEP_EVERY_S = 1.0
_ANSWER_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """How much there is in the file, and of what."""

    num_records: int
    num_characters: int
    num_bytes: int
    is_whole: bool
    """Whether the data set came to its end before the limit."""
    revision: str | None
    """Commit of the data set; nothing for a folder."""
    licence: str | None
    """As the data set's card states it."""


@dataclass(slots=True)
class _State:
    """What a fetch has written and where in the data set it is."""

    position: dict[str, Any] | None = None
    num_records: int = 0
    num_characters: int = 0
    num_bytes: int = 0
    revision: str | None = None
    licence: str | None = None


class _TextFile:
    """The text in the run folder, with the state that counts it.

    What a killed fetch had written beyond its state is cut off: it is fetched again.
    """

    def __init__(self, run: RunFolder, state: _State, source: str, keep_every_s: float) -> None:
        self._run = run
        self._keep_every_s = keep_every_s
        self._state = state
        self._source = source

    def __enter__(self) -> Self:
        self._run.fetched_text_file.touch()
        self._file = self._run.fetched_text_file.open("r+b")
        self._file.truncate(self._state.num_bytes)
        self._file.seek(self._state.num_bytes)
        self._kept_s = time.monotonic()
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()
        if not self._state.num_records:
            # Nothing came of it: the run folder can be used again.
            self._run.fetched_text_file.unlink()
            self._run.fetch_state_file.unlink(missing_ok=True)

    @property
    def is_due(self) -> bool:
        """Whether it is time to keep what there is."""
        return time.monotonic() - self._kept_s >= self._keep_every_s

    def add(self, text: str) -> None:
        """Append a text."""
        line = json.dumps({"text": text, "source": self._source}, ensure_ascii=False) + "\n"
        data = line.encode("utf-8", "replace")
        self._file.write(data)
        self._state.num_records += 1
        self._state.num_characters += len(text)
        self._state.num_bytes += len(data)

    def keep(self, position: dict[str, Any]) -> None:
        """Bring the text to the disk first, then the state: after a crash the file is at least as long as it says."""
        self._state.position = position
        self._file.flush()
        os.fsync(self._file.fileno())
        write_text_atomically(self._run.fetch_state_file, json.dumps(asdict(self._state)) + "\n")
        self._kept_s = time.monotonic()


def fetch(
    spec: FetchSpec,
    run: RunFolder,
    *,
    on_progress: Callable[[int], None],
    should_stop: Callable[[], bool],
    keep_every_s: float = _KEEP_EVERY_S,
) -> Fetched | None:
    """Fetch text until the limit or the end; nothing where it was stopped, and then it can go on later.

    Args:
        spec: what to fetch.
        run: where the text and the state of the fetch are kept.
        on_progress: called with the characters so far.
        should_stop: asked at each record.
        keep_every_s: how often text and state are brought to the disk; a crash costs what came in between.

    Raises:
        UserError: no connection, no such data set, configuration, split or column, or conditions to be accepted first.
    """
    state = _read_state(run)
    if state.num_characters >= spec.max_characters:
        # It was killed between its last record and its end.
        return _fetched(state, is_whole=False)
    with faults_as_sentences(spec):
        stream = _open(spec, state)
    with _TextFile(run, state, spec.dataset, keep_every_s) as file:
        for record in _records(spec, stream):
            if text := text_of_record(spec, record):
                file.add(text)
                on_progress(state.num_characters)
            is_full = state.num_characters >= spec.max_characters
            is_stopped = should_stop()
            if is_full or is_stopped or file.is_due:
                file.keep(stream.state_dict())
            if is_full:
                return _fetched(state, is_whole=False)
            if is_stopped:
                return None
        file.keep(stream.state_dict())
    if not state.num_records:
        raise UserError(f'The data set {spec.dataset} has no text under "{spec.column}"; choose another column.')
    return _fetched(state, is_whole=True)


def num_fetched_characters(run: RunFolder) -> int:
    """Return how many characters an earlier attempt has fetched."""
    return _read_state(run).num_characters


def text_of_record(spec: FetchSpec, record: dict[str, Any]) -> str:
    """Return a record's text: of a translation, the side in the wanted language.

    Raises:
        UserError: the record has no such column, or no such language.
    """
    _check_column(spec, record)
    value = record[spec.column]
    if isinstance(value, dict):
        side = next((code for code in value if same_language(code, spec.language)), None)
        if side is None:
            listed = ", ".join(value)
            raise UserError(
                f"The data set {spec.dataset} ({spec.config}) has {listed}, but not {spec.language}; choose another "
                "configuration."
            )
        value = value[side]
    return value.strip() if isinstance(value, str) else ""


def _check_column(spec: FetchSpec, columns: dict[str, Any]) -> None:
    if spec.column not in columns:
        listed = ", ".join(columns)
        raise UserError(f'The data set {spec.dataset} has no column "{spec.column}"; it has {listed}.')


def _open(spec: FetchSpec, state: _State) -> Any:
    """Return the stream of records, at the place where the state is."""
    import datasets
    from datasets.features.features import require_decoding

    datasets.disable_progress_bars()
    _leave_retries_to_the_client()
    if not Path(spec.dataset).exists():
        _look_up(spec, state)
    builder = datasets.load_dataset_builder(spec.dataset, spec.config, revision=state.revision)
    stream = builder.as_streaming_dataset(split=spec.split)
    if hasattr(builder.config, "columns") and stream.features is not None:
        # Of a table by columns, the others (sound, pictures) are not even fetched.
        _check_column(spec, stream.features)
        builder.config.columns = [spec.column]
        stream = builder.as_streaming_dataset(split=spec.split)
    elif stream.features is not None and require_decoding(stream.features):
        stream = stream.decode(False)
    if state.position is not None:
        stream.load_state_dict(state.position)
    return stream


def _look_up(spec: FetchSpec, state: _State) -> None:
    """Find the commit that is fetched and the licence; a fetch that goes on stays with its commit."""
    from huggingface_hub import HfApi

    # The library tries for half a minute before it gives up; whether anybody answers is known at once.
    info = HfApi().dataset_info(
        spec.dataset, revision=state.revision or spec.revision, timeout=_ANSWER_TIMEOUT_S, expand=["sha", "cardData"]
    )
    licence = info.card_data.get("license") if info.card_data is not None else None
    state.revision = info.sha
    state.licence = ", ".join(licence) if isinstance(licence, list) else licence


def _leave_retries_to_the_client() -> None:
    """Let a connection that is gone be told within half a minute.

    The hub's client tries five times by itself; the library would have it try twenty times over, some 20 minutes in
    which a job cannot be stopped.
    """
    from datasets import config

    config.STREAMING_OPEN_MAX_RETRIES = config.STREAMING_READ_MAX_RETRIES = 1
    config.STREAMING_OPEN_RETRY_INTERVAL = config.STREAMING_READ_RETRY_INTERVAL = 0
    config.STREAMING_READ_SERVER_UNAVAILABLE_RETRY_INTERVAL = config.STREAMING_READ_RATE_LIMIT_RETRY_INTERVAL = 0


def _records(spec: FetchSpec, stream: Any) -> Iterator[dict[str, Any]]:
    with faults_as_sentences(spec):
        yield from stream


def _read_state(run: RunFolder) -> _State:
    try:
        state = _State(**json.loads(run.fetch_state_file.read_bytes()))
        num_bytes = run.fetched_text_file.stat().st_size
    except FileNotFoundError:
        return _State()
    except (ValueError, TypeError) as error:
        raise UserError(f"{run.fetch_state_file} is damaged; fetch the text anew into another folder.") from error
    if num_bytes < state.num_bytes:
        raise UserError(f"{run.fetched_text_file} has been shortened; fetch the text anew into another folder.")
    return state


def _fetched(state: _State, *, is_whole: bool) -> Fetched:
    return Fetched(
        num_records=state.num_records,
        num_characters=state.num_characters,
        num_bytes=state.num_bytes,
        is_whole=is_whole,
        revision=state.revision,
        licence=state.licence,
    )
