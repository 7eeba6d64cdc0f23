"""The jobs as commands; imports neither torch nor Qt. `application.run` is the entry.

A package rather than one file, because the window's start must be able to look at `COMMANDS` without loading typer.
"""

COMMANDS = (
    "corpus",
    "demo",
    "evaluate",
    "example",
    "export",
    "fetch",
    "identify",
    "inspect",
    "neurons",
    "resume",
    "run",
    "select",
    "train",
)
"""Names of the commands; anything else in their place is a project to open."""
