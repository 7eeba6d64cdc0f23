"""The process behind a run: is it still the same one, does it live, and who belongs to it.

In: a run's status. Out: facts from the operating system; signals are sent by `stopping`.
"""

import os
import subprocess

import psutil

from lapestudio.core.run_folder import RunStatus

# The start time is derived from the system clock, which may be corrected while a job runs.
_CLOCK_TOLERANCE_S = 2.0

_children: dict[int, subprocess.Popen[bytes]] = {}


def adopt(child: subprocess.Popen[bytes]) -> None:
    """Remember a child of this process, so that it is reaped and its exit code is known."""
    for earlier in _children.values():
        earlier.poll()
    _children[child.pid] = child


def exit_code(pid: int) -> int | None:
    """Return how a child of this process ended (negative: the signal); nothing while it runs or for strangers."""
    child = _children.get(pid)
    return None if child is None else child.poll()


def start_time(pid: int) -> float | None:
    """Return when process `pid` began, seconds since 1970, or nothing where there is none."""
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def is_alive(status: RunStatus) -> bool:
    """Say whether the process of `status` still runs; one that ended and was not reaped counts as gone."""
    if exit_code(status.pid) is not None:
        return False
    try:
        process = psutil.Process(status.pid)
        return _is_same(process, status) and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.Error:
        return False


def members(status: RunStatus) -> list[psutil.Process]:
    """Return the living processes of a run: its worker, the worker's descendants and all of its process group."""
    found: dict[int, psutil.Process] = {}
    leader_is_stranger = False
    try:
        leader = psutil.Process(status.pid)
        leader_is_stranger = not _is_same(leader, status)
        if not leader_is_stranger:
            found = {process.pid: process for process in (leader, *leader.children(recursive=True))}
    except psutil.Error:
        pass  # The worker is gone; what it left behind is found by its group.
    if os.name == "posix" and not leader_is_stranger:
        # A group's number is not given to a new process while the group has members.
        found |= {process.pid: process for process in psutil.process_iter() if _in_group(process, status.pid)}
    return [process for process in found.values() if _runs(process)]


def _is_same(process: psutil.Process, status: RunStatus) -> bool:
    return bool(abs(process.create_time() - status.process_started) < _CLOCK_TOLERANCE_S)


def _in_group(process: psutil.Process, group: int) -> bool:
    try:
        return os.getpgid(process.pid) == group
    except OSError:
        return False


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running()) and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.Error:
        return False
