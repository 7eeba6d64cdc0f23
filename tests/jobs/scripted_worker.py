"""A worker without a model: says and does what the test asks, through the same files as the real one.

Usage: scripted_worker.py RUN BEHAVIOUR
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from lapestudio.core.event_log import EventWriter
from lapestudio.core.events import (
    CheckpointEvent,
    ErrorEvent,
    MetricsEvent,
    ProgressEvent,
    ResultEvent,
    StartedEvent,
    StoppedEvent,
)
from lapestudio.core.run_folder import RunFolder


def succeed(run, writer):
    for step in range(3):
        writer.write(MetricsEvent(step=step, tokens=step * 10, values={"train_loss": 3.0 - step}))
    writer.write(ResultEvent(summary={"text": "done"}))


def fail(run, writer):
    writer.write(ErrorEvent(message="The corpus is empty.", exit_code=1))
    sys.exit(1)


def wait_for_stop(run, writer):
    step = 0
    while not run.stop_requested:
        step += 1
        writer.write(ProgressEvent(stage="train", done=step, total=0))
        time.sleep(0.02)
    writer.write(StoppedEvent(text="stopped as asked", resumable=True))


def hang(run, writer):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    writer.write(ProgressEvent(stage="train", done=1, total=0))
    while True:
        time.sleep(1)


def hang_with_children(run, writer):
    # One grandchild in the group, one that has left it.
    children = [
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=leaves)
        for leaves in (False, True)
    ]
    (run.path / "children").write_text(" ".join(str(child.pid) for child in children), encoding="utf-8")
    hang(run, writer)


def leave_an_orphan_and_die(run, writer):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (run.path / "children").write_text(str(child.pid), encoding="utf-8")
    os._exit(5)


def checkpoint_and_hang(run, writer):
    writer.write(MetricsEvent(step=7, tokens=70, values={"train_loss": 1.5}))
    run.rows_file("last").parent.mkdir(parents=True)
    run.rows_file("last").write_bytes(b"rows")
    writer.write(CheckpointEvent(step=7, name="last"))
    hang(run, writer)


def die_in_the_middle_of_a_line(run, writer):
    with run.events_file.open("ab") as file:
        file.write(b'{"type":"metrics","step":4,"tok')
        file.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def print_much(run, writer):
    sys.stdout.write("x" * 5_000_000)
    sys.stdout.flush()
    writer.write(ResultEvent())


def main():
    run, behaviour = RunFolder(Path(sys.argv[1])), sys.argv[2]
    if behaviour == "die_at_once":
        sys.stderr.write("ImportError: no torch here\n")
        os._exit(3)
    with EventWriter(run.events_file) as writer:
        writer.write(StartedEvent(pid=os.getpid()))
        globals()[behaviour](run, writer)


if __name__ == "__main__":
    main()
