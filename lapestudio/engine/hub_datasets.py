"""Text of a data set on the Hugging Face hub, or of a folder of the same form, to a file that is read like any other.

In: what to fetch. Out: JSON Lines in the run folder, usable offline for ever. Nothing but data is loaded: no script of
a repository is run. A fetch that was stopped or killed goes on exactly where it was.
"""

import difflib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from lapestudio.core.atomic import write_text_atomically
from lapestudio.core.errors import UserError
from lapestudio.core.languages import same_language
from lapestudio.core.run_folder import RunFolder
from lapestudio.core.specs import FetchSpec

_KEEP_EVERY = 500
_KEEP_EVERY_S = 2.0
_MAX_NEAR = 12
_PATIENCE_S = 10
_OFFLINE = "The hub cannot be reached to fetch {name}: check the connection; what was fetched before works offline."


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """How much there is in the file."""

    num_records: int
    num_characters: int
    num_bytes: int
    is_whole: bool
    """Whether the data set came to its end before the limit."""


@dataclass(slots=True)
class _State:
    """What a fetch has written and where in the data set it is."""

    position: dict[str, Any] | None = None
    num_records: int = 0
    num_characters: int = 0
    num_bytes: int = 0


def fetch(
    spec: FetchSpec,
    run: RunFolder,
    *,
    on_progress: Callable[[int], None],
    should_stop: Callable[[], bool],
) -> Fetched | None:
    """Fetch text until the limit or the end; nothing where it was stopped, and then it can go on later.

    Args:
        spec: what to fetch.
        run: where the text and the state of the fetch are kept.
        on_progress: called with the characters so far.
        should_stop: asked at each record.

    Raises:
        UserError: no connection, no such data set, configuration, split or column, or conditions to be accepted first.
    """
    state = _read_state(run)
    stream = _open(spec)
    if state.position is not None:
        stream.load_state_dict(state.position)
    with _open_to_append(run.fetched_text_file, state.num_bytes) as file:
        is_whole = True
        kept_s = time.monotonic()
        records = _records(spec, stream)
        while (record := next(records, None)) is not None:
            text = text_of_record(spec, record)
            if text:
                line = json.dumps({"text": text, "source": spec.dataset}, ensure_ascii=False) + "\n"
                data = line.encode("utf-8", "replace")
                file.write(data)
                state.num_records += 1
                state.num_characters += len(text)
                state.num_bytes += len(data)
                on_progress(state.num_characters)
            is_full = state.num_characters >= spec.max_characters
            if is_full or should_stop() or _is_due(state, kept_s):
                state.position = stream.state_dict()
                _keep(file, state, run)
                kept_s = time.monotonic()
            if is_full:
                is_whole = False
                break
            if should_stop():
                return None
        state.position = stream.state_dict()
        _keep(file, state, run)
    if not state.num_records:
        raise UserError(f'The data set {spec.dataset} has no text under "{spec.column}"; choose another column.')
    return Fetched(
        num_records=state.num_records,
        num_characters=state.num_characters,
        num_bytes=state.num_bytes,
        is_whole=is_whole,
    )


def text_of_record(spec: FetchSpec, record: dict[str, Any]) -> str:
    """Return a record's text: of a translation, the side in the wanted language.

    Raises:
        UserError: the record has no such column, or no such language.
    """
    if spec.column not in record:
        listed = ", ".join(record)
        raise UserError(f'The data set {spec.dataset} has no column "{spec.column}"; it has {listed}.')
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


def _open(spec: FetchSpec) -> Any:
    import datasets

    datasets.disable_progress_bars()
    # The library tries for half a minute before it gives up; whether anybody answers is known at once.
    if not Path(spec.dataset).exists() and not _hub_answers(spec.dataset):
        raise UserError(_OFFLINE.format(name=spec.dataset))
    try:
        return datasets.load_dataset(
            spec.dataset, spec.config, split=spec.split, revision=spec.revision, streaming=True
        )
    except Exception as error:
        raise _explained(spec, error) from error


def _records(spec: FetchSpec, stream: Any) -> Iterator[dict[str, Any]]:
    try:
        yield from stream
    except UserError:
        raise
    except Exception as error:
        raise _explained(spec, error) from error


def _explained(spec: FetchSpec, error: Exception) -> Exception:
    """Return the sentence for what can go wrong with a hub, or the error itself where it is something else."""
    text = " ".join(str(error).split())
    for explain in (_access_fault, _choice_fault, _connection_fault, _existence_fault):
        sentence = explain(spec, error, text)
        if sentence is not None:
            return UserError(sentence)
    return error


def _access_fault(spec: FetchSpec, error: Exception, text: str) -> str | None:
    from huggingface_hub import errors

    if isinstance(error, errors.GatedRepoError) or "gated" in text.casefold():
        return (
            f"The data set {spec.dataset} is open only to those who accept its conditions: do so on its page on the "
            "hub, then give your token (hf auth login, or the variable HF_TOKEN) and fetch again."
        )
    return None


def _choice_fault(spec: FetchSpec, _error: Exception, text: str) -> str | None:
    """Say which configurations and splits there are."""
    name = spec.dataset
    if match := re.search(r"BuilderConfig '?.*?'? not found\. Available: \[(.*)\]", text):
        known = re.findall(r"'([^']+)'", match[1])
        near = difflib.get_close_matches(spec.config or "", known, n=_MAX_NEAR, cutoff=0.4) or known[:_MAX_NEAR]
        listed = ", ".join(near)
        return (
            f'The data set {name} has no configuration "{spec.config}"; near it are {listed} ({len(known):,} in all).'
        )
    if "Config name is missing" in text:
        known = re.findall(r"'([^']+)'", text)[:_MAX_NEAR]
        return f"The data set {name} has several configurations; choose one: {', '.join(known)}."
    if re.search(r"(unknown|bad) split", text, re.IGNORECASE):
        known = re.findall(r"'([^']+)'", text)[-_MAX_NEAR:]
        return f'The data set {name} has no split "{spec.split}"; it has {", ".join(known)}.'
    return None


def _connection_fault(spec: FetchSpec, error: Exception, _text: str) -> str | None:
    return _OFFLINE.format(name=spec.dataset) if _is_offline(error) else None


def _not_found(name: str) -> str:
    return f"There is no data set {name} on the hub, or it is private; check its name."


def _hub_answers(name: str) -> bool:
    from huggingface_hub import HfApi, errors

    try:
        HfApi().dataset_info(name, timeout=_PATIENCE_S)
    except errors.HfHubHTTPError:
        return True
    except Exception as error:
        if _is_offline(error):
            return False
        raise
    return True


def _existence_fault(spec: FetchSpec, error: Exception, text: str) -> str | None:
    import datasets.exceptions
    from huggingface_hub import errors

    name = spec.dataset
    if "script" in text.casefold() and "no longer supported" in text.casefold():
        return f"The data set {name} needs a program of its own to be read, which is never run; choose another one."
    if isinstance(error, errors.RevisionNotFoundError) or re.match(r"Revision .* doesn't exist", text):
        return f"The data set {name} has no revision {spec.revision}; check it."
    if isinstance(error, datasets.exceptions.DatasetNotFoundError | errors.RepositoryNotFoundError):
        # The library says the same of a data set that does not exist and of a hub that does not answer.
        return _not_found(name) if _hub_answers(name) else _OFFLINE.format(name=name)
    if isinstance(error, datasets.exceptions.DatasetsError | FileNotFoundError):
        return f"The data set {name} cannot be read: {text[:300]}"
    return None


def _is_offline(error: BaseException | None) -> bool:
    """Say whether a connection failed somewhere below."""
    import httpx2
    from huggingface_hub import errors

    seen = 0
    while error is not None and seen < 10:  # noqa: PLR2004 - chains are short
        if isinstance(error, ConnectionError | TimeoutError | httpx2.TransportError | errors.OfflineModeIsEnabled):
            return True
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False


def _read_state(run: RunFolder) -> _State:
    try:
        kept = json.loads(run.fetch_state_file.read_bytes())
    except (FileNotFoundError, ValueError):
        return _State()
    return _State(**kept)


def _keep(file: IO[bytes], state: _State, run: RunFolder) -> None:
    """Bring the text to the disk first, then the state that counts it: after a crash the file is at least as long."""
    file.flush()
    os.fsync(file.fileno())
    kept = {name: getattr(state, name) for name in ("position", "num_records", "num_characters", "num_bytes")}
    write_text_atomically(run.fetch_state_file, json.dumps(kept) + "\n")


def _open_to_append(path: Path, num_bytes: int) -> IO[bytes]:
    """Open the file behind what the state counts: what a killed fetch had written beyond that is written again."""
    path.touch()
    file = path.open("r+b")
    file.truncate(num_bytes)
    file.seek(num_bytes)
    return file


def _is_due(state: _State, kept_s: float) -> bool:
    return state.num_records % _KEEP_EVERY == 0 or time.monotonic() - kept_s > _KEEP_EVERY_S
