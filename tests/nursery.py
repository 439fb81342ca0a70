"""Processes of the program that start quickly: one that has imported everything is forked.

Most tests that start a process want what it does and not how it starts; importing the libraries
of a server takes longer than what most of them do with it. How it starts for a person is the
matter of the launcher's tests, of the examples in the documents and of many that do not come here.
A forked process becomes a child of ours, so that everything that a Popen can do is as usual.
"""

from __future__ import annotations

import array
import atexit
import ctypes
import gc
import importlib
import inspect
import io
import json
import os
import pkgutil
import runpy
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

import vaultmem

ROOT: Final = Path(__file__).parent.parent
_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER
_MOST: Final = 1_000_000  # bytes of a request
_PIPES: Final = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_EARLY: Final = ("PYTHON", "LANG", "LC_")  # what an interpreter looks at before it runs anything


class Nursery:
    """The process that is forked, and the way to it; begun when the first child is wanted."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._way: socket.socket | None = None

    def fork(self, request: dict[str, Any], files: list[int]) -> int:
        """The new child's number."""
        with self._turn:
            way = self._way = self._way or self._begun()
            libc = ctypes.CDLL(None)
            libc.prctl(_SUBREAPER, 1, 0, 0, 0)
            try:
                sent = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
                way.sendmsg([json.dumps(request).encode()], sent)
                return int(way.recv(100))
            finally:
                libc.prctl(_SUBREAPER, 0, 0, 0, 0)

    def _begun(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.nursery", str(theirs.fileno())]
        own = subprocess.Popen(
            command, cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
        )
        theirs.close()
        atexit.register(lambda: (ours.close(), own.wait()))
        return ours


NURSERY: Final = Nursery()


class Popen(subprocess.Popen[Any]):
    """`subprocess.Popen` of `[sys.executable, "-m" or "-c", …]`."""

    def _execute_child(self, *given: Any) -> None:
        bound = inspect.signature(subprocess.Popen._execute_child).bind(self, *given).arguments  # type: ignore[attr-defined]
        if not _can_be_forked(bound):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        streams = [bound["p2cread"], bound["c2pwrite"], bound["errwrite"]]
        streams = [number if fd == -1 else fd for number, fd in enumerate(streams)]
        request = {
            "arguments": [os.fspath(each) for each in bound["args"]][1:],
            "cwd": os.path.abspath(bound["cwd"] or "."),
            "env": dict(os.environ if bound["env"] is None else bound["env"]),
            "files": [0, 1, 2, *bound["pass_fds"]],
            "parent": os.getpid(),
        }
        self.pid = NURSERY.fork(request, [*streams, *bound["pass_fds"]])
        self._child_created = True
        self._close_pipe_fds(*(bound[name] for name in _PIPES))  # type: ignore[attr-defined]


def _can_be_forked(bound: dict[str, Any]) -> bool:
    args, env = list(bound["args"]), os.environ if bound["env"] is None else bound["env"]
    plain = not (bound["preexec_fn"] or bound["shell"] or bound["start_new_session"])
    early = (_early(env), _early(os.environ))
    ours = args[0] == sys.executable and args[1] in ("-m", "-c")
    return sys.platform == "linux" and plain and ours and early[0] == early[1]


def _early(env: Any) -> dict[str, str]:
    ours = ("PYTHONPATH", "PYTHONFAULTHANDLER")
    return {k: v for k, v in env.items() if k.startswith(_EARLY) and k not in ours}


def run(
    command: list[Any],
    *,
    input: Any = None,
    timeout: float | None = None,
    check: bool = False,
    capture_output: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """`subprocess.run`."""
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        options["stdin"] = subprocess.PIPE
    with Popen(command, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


# --- the process that is forked --------------------------------------------------------------


def main() -> None:
    """Fork what is asked for, until nobody is there to ask; a child comes out of here, and runs."""
    way = socket.socket(fileno=int(sys.argv[1]))
    for module in pkgutil.walk_packages(vaultmem.__path__, "vaultmem."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.freeze()
    while request := _next_request(way):
        told, tell = os.pipe()
        between = os.fork()
        if between == 0:
            child = os.fork()
            if child == 0:
                for fd in (told, tell, way.detach()):
                    os.close(fd)
                _become(*request)
                return
            os.write(tell, str(child).encode())
            os._exit(0)
        os.waitpid(between, 0)  # from here on the child is an orphan, and adopted
        way.send(os.read(told, 100))
        for fd in (told, tell, *request[1]):
            os.close(fd)
    os._exit(0)


def _next_request(way: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    raw, files, _, _ = socket.recv_fds(way, _MOST, 20)
    return (json.loads(raw), files) if raw else None


def _become(request: dict[str, Any], files: list[int]) -> None:
    """What was asked for, as if it had been started so; then it is run."""
    for fd, wanted in zip(files, request["files"], strict=True):
        os.dup2(fd, wanted)
    for fd in {*files} - {*request["files"]}:
        os.close(fd)
    _open_streams()
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()  # the clock's zone, too, is the child's own
    os.chdir(request["cwd"])
    while (parent := os.getppid()) != request["parent"]:
        assert parent != 1, "nobody adopted it"
        time.sleep(0.0005)
    _forget_the_forked()
    how, what, *arguments = request["arguments"]
    sys.path[0] = "" if how == "-c" else request["cwd"]
    sys.orig_argv = [sys.executable, how, what, *arguments]
    sys.argv = [how, *arguments]
    if how == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        space = vars(sys.modules["__main__"])
        space.clear()
        exec(compile(what, "<string>", "exec"), space | {"__name__": "__main__"})


def _open_streams() -> None:
    """What was opened on the forked process's own is of another kind, perhaps."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        raw = open(fd, "rb" if fd == 0 else "wb", 0, closefd=False)  # noqa: SIM115
        whole = io.BufferedReader(raw) if fd == 0 else io.BufferedWriter(raw)
        lines = fd == 2 or raw.isatty()
        new = io.TextIOWrapper(
            whole, old.encoding, old.errors, line_buffering=lines, write_through=old.write_through
        )
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def _forget_the_forked() -> None:
    """Who is the parent, and what the environment says, was seen when all was imported."""
    import faulthandler

    from vaultmem.base import telemetry
    from vaultmem.base.processes import parent_process

    importlib.reload(parent_process)
    telemetry.switch_off_telemetry()
    if os.environ.get("PYTHONFAULTHANDLER"):
        faulthandler.enable()


if __name__ == "__main__":
    main()
