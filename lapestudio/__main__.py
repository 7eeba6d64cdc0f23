"""The program's entry: without a command the window opens, with one the same work runs in the terminal."""

import sys


def main() -> None:
    """Run LAPE Studio."""
    from lapestudio.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
