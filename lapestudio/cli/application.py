"""The command line: words to a command, faults to one sentence and an exit code.

Exit codes: 0 done, 1 failed, 2 wrong usage. Results go to standard output, everything else to standard error.
"""

import traceback
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

import lapestudio
from lapestudio.cli import corpus_command, data_commands, demo, job_commands
from lapestudio.cli.arguments import spread_lists
from lapestudio.cli.job_commands import JobFailedError
from lapestudio.cli.terminal import say
from lapestudio.core.errors import UserError
from lapestudio.jobs.queries import EngineError

_VERBOSE = "--verbose"

app = typer.Typer(
    name="lapestudio",
    help="Give a language model an under-represented language by training only that language's neurons. "
    "Without a command, or with a project folder, the window opens.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)
_COMMANDS: dict[str, tuple[Callable[..., None], str]] = {
    "demo": (demo.demo, "The main job on the built-in example"),
    "example": (data_commands.example, "Write the example project"),
    "inspect": (data_commands.inspect, "What a model is, and whether it fits"),
    "corpus": (corpus_command.corpus, "Read, check and describe text"),
    "fetch": (job_commands.fetch, "Fetch text from the Hugging Face hub"),
    "identify": (job_commands.identify, "Find each language's neurons in a model"),
    "select": (data_commands.select, "Select neurons anew from stored counts"),
    "neurons": (data_commands.neurons, "Show or convert a neuron set"),
    "train": (job_commands.train, "Train a language's neurons"),
    "resume": (job_commands.resume, "Go on with a stopped training"),
    "evaluate": (job_commands.evaluate, "Measure perplexity on text"),
    "export": (job_commands.export, "Write the adapted model, verified"),
    "run": (job_commands.run_spec, "Run a job description (JSON)"),
}
for _name, (_command, _short_help) in _COMMANDS.items():
    app.command(_name, short_help=_short_help)(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lapestudio {lapestudio.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option(_VERBOSE, help="Show the traceback of an error; may stand anywhere.")
    ] = False,
) -> None:
    pass


def run(arguments: Sequence[str]) -> int:
    """Run the command in `arguments` and return the exit code."""
    is_verbose = _VERBOSE in arguments
    words = spread_lists([word for word in arguments if word != _VERBOSE])
    try:
        app(args=words, prog_name="lapestudio")
    except SystemExit as end:
        # typer prints wrong usage itself, with exit code 2; its exceptions are private and differ between versions.
        return end.code if isinstance(end.code, int) else 0
    except UserError as error:
        return _fail(str(error), traceback.format_exc(), is_verbose=is_verbose)
    except (JobFailedError, EngineError) as error:
        return _fail(str(error), error.details, is_verbose=is_verbose)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _fail(f"{place}{error.strerror or error}.", traceback.format_exc(), is_verbose=is_verbose)
    return 0


def _fail(message: str, details: str, *, is_verbose: bool) -> int:
    if is_verbose and details:
        say(details.rstrip())
    say(f"Error: {message}")
    return 1
