"""Processes on a core and with a priority of their own, which end with this one."""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import subprocess

SERVER_CORE = 0
CLIENT_CORE = 1
# Before whatever else runs on a machine that is not quiet, but not before the kernel's own threads.
NICE = -10
REALTIME = 10
PR_SET_PDEATHSIG = 1


class Failed(Exception):
    """Something did not do its part; the text says what and why."""


def all_descriptors():
    """As many as the hard limit allows, for this process and those that it starts."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _settle(core, realtime):
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.sched_setaffinity(0, {core})
    # Without the right to it all are alike, which only a busy machine shows.
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
        # Where each session has its share of a core, that is what counts.
        with contextlib.suppress(OSError), open("/proc/self/autogroup", "w", encoding="ascii") as group:
            group.write(str(NICE))
        if realtime:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME))


def start(command, core, realtime=False, **more):
    return subprocess.Popen([str(part) for part in command], start_new_session=True,
                            preexec_fn=lambda: _settle(core, realtime), **more)


def stop(process, seconds=15):
    """Asks, then insists."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


class Client:
    """A process of the clients' program: it prints a line of JSON at its start, and one whenever it is asked."""

    def __init__(self, program, arguments, realtime=False):
        self.name = arguments[0]
        self.process = start([program, *arguments], CLIENT_CORE, realtime=realtime, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        stop(self.process)

    def heard(self, seconds):
        """Whether it has something to say within that time, be it that it has ended."""
        return bool(select.select([self.process.stdout], [], [], seconds)[0])

    def line(self, seconds=30):
        if not self.heard(seconds):
            raise Failed(f"the {self.name} client says nothing for {seconds} s")
        said = self.process.stdout.readline()
        if not said:
            raise Failed(f"the {self.name} client ended with {self.process.wait()}")
        return json.loads(said)

    def ask(self):
        try:
            self.process.stdin.write(b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed(f"the {self.name} client ended with {self.process.wait()}") from None
        return self.line()

    def leave(self, seconds=30):
        self.process.stdin.close()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
