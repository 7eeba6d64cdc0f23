"""What can go wrong with a data set of the hub, as sentences that say what to do.

In: an exception of the libraries that fetch. Out: a `UserError`, or the exception itself where it is a fault of ours.
The libraries have no exceptions of their own for most of it, so that some are known by their words.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from lapestudio.core.errors import UserError
from lapestudio.core.languages import find_language
from lapestudio.core.specs import FetchSpec

_Error = TypeVar("_Error", bound=BaseException)
_MAX_NAMED = 12
_MAX_CHAIN = 10
_MAX_QUOTED = 300
_UNAUTHORISED = (401, 403)
_TOO_MANY_REQUESTS = 429
_SERVER_FAULTS = range(500, 600)


@contextmanager
def faults_as_sentences(spec: FetchSpec) -> Iterator[None]:
    """Turn what the libraries raise inside into a sentence.

    Raises:
        UserError: whatever concerns the hub, the data set or its form.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        sentence = _sentence(spec, error)
        if sentence is None:
            raise
        raise UserError(sentence) from error


def _sentence(spec: FetchSpec, error: Exception) -> str | None:
    text = " ".join(str(error).split())
    explanations: tuple[Callable[[FetchSpec, Exception, str], str | None], ...] = (
        _access_fault,
        _choice_fault,
        _answer_fault,
        _connection_fault,
        _existence_fault,
        _form_fault,
    )
    for explain in explanations:
        sentence = explain(spec, error, text)
        if sentence is not None:
            return sentence
    return None


def _access_fault(spec: FetchSpec, error: Exception, text: str) -> str | None:
    from huggingface_hub import errors

    # The name of a data set may contain "gated" too.
    if _caused_by(error, errors.GatedRepoError) or re.search(r"\bis a gated dataset\b", text):
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
        listed = ", ".join(_nearest(spec, known))
        return (
            f'The data set {name} has no configuration "{spec.config}"; near it are {listed} ({len(known):,} in all).'
        )
    if match := re.search(r"Config name is missing.*?\[(.*?)\]", text):
        known = re.findall(r"'([^']+)'", match[1])
        listed = ", ".join(_nearest(spec, known))
        return f"The data set {name} has several configurations ({len(known):,}); choose one, such as {listed}."
    if re.search(r"(unknown|bad) split", text, re.IGNORECASE):
        known = re.findall(r"'([^']+)'", text)[-_MAX_NAMED:]
        return f'The data set {name} has no split "{spec.split}"; it has {", ".join(known)}.'
    return None


def _nearest(spec: FetchSpec, known: Sequence[str]) -> list[str]:
    """Return a few of the known configurations: those of the language, those like the wanted one, else the first."""
    try:
        language = find_language(spec.language)
        codes = {language.code.partition("-")[0], language.iso639_3}
    except UserError:
        # A job description may name a language as it likes.
        codes = {spec.language}
    found = [name for name in known if codes & set(re.split(r"[^A-Za-z]+", name))]
    found += difflib.get_close_matches(spec.config or "", known, n=_MAX_NAMED, cutoff=0.4)
    return list(dict.fromkeys(found))[:_MAX_NAMED] or list(known[:_MAX_NAMED])


def _answer_fault(spec: FetchSpec, error: Exception, _text: str) -> str | None:
    """Say what the hub answered where it refused or failed."""
    from huggingface_hub import errors

    cause = _caused_by(error, errors.HfHubHTTPError)
    if cause is None or isinstance(cause, errors.RepositoryNotFoundError | errors.RevisionNotFoundError):
        return None
    status = cause.response.status_code
    if status in _UNAUTHORISED:
        return (
            f"The hub does not let you read {spec.dataset} (answer {status}): give a valid token (hf auth login, or "
            "the variable HF_TOKEN) and fetch again."
        )
    if status == _TOO_MANY_REQUESTS or status in _SERVER_FAULTS:
        return (
            f"The hub cannot serve {spec.dataset} at the moment (answer {status}): wait some minutes, then go on; what "
            "was fetched before is kept."
        )
    return None


def _connection_fault(spec: FetchSpec, error: Exception, _text: str) -> str | None:
    import httpx2
    from huggingface_hub import errors

    if _caused_by(error, ConnectionError, TimeoutError, httpx2.TransportError, errors.OfflineModeIsEnabled):
        return (
            f"The hub cannot be reached to fetch {spec.dataset}: check the connection, then go on; what was fetched "
            "before is kept and works offline."
        )
    return None


def _existence_fault(spec: FetchSpec, error: Exception, text: str) -> str | None:
    import datasets.exceptions
    from huggingface_hub import errors

    name = spec.dataset
    if "script" in text.casefold() and "no longer supported" in text.casefold():
        return f"The data set {name} needs a program of its own to be read, which is never run; choose another one."
    if isinstance(error, errors.HFValidationError):
        return f"{name} is neither a folder nor a name on the hub; give a name such as owner/name, or a folder."
    if isinstance(error, errors.RevisionNotFoundError) or re.match(r"Revision .* doesn't exist", text):
        return f"The data set {name} has no revision {spec.revision}; check it."
    if isinstance(error, datasets.exceptions.DatasetNotFoundError | errors.RepositoryNotFoundError):
        return (
            f"There is no data set {name} on the hub, or it is private and you have given no valid token; check its "
            "name."
        )
    return None


def _form_fault(spec: FetchSpec, error: Exception, text: str) -> str | None:
    import datasets.exceptions

    # Arrow's and JSON's faults are ValueErrors.
    if isinstance(error, datasets.exceptions.DatasetsError | FileNotFoundError | ValueError):
        return f"The data set {spec.dataset} cannot be read: {text[:_MAX_QUOTED]}"
    return None


def _caused_by(error: BaseException | None, *kinds: type[_Error]) -> _Error | None:
    """Return the first exception of such a kind in the chain of causes."""
    for _ in range(_MAX_CHAIN):
        if error is None:
            break
        if isinstance(error, kinds):
            return error
        error = error.__cause__ or error.__context__
    return None
