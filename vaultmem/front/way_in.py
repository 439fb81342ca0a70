"""What of a command line the vault's engine can do, and whether it did."""

from __future__ import annotations

import os
import sys

from vaultmem.front.engine_place import OFF, SWITCH, NoPlace, engine_place, named_or_near_vault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultmem.front.window import Left

# What stands behind `serve` in a client's settings. Whatever else does is for the whole program.
_FLAGS = ("--read-only",)
_VALUES = ("--vault", "--toolsets", "--dialect", "--user", "--project", "--session", "--palace")
_TOOLSETS = ("core", "graph", "session", "curate")
_NATIVE = "native"
# Dialects that bring settings of their own: what they share is not shared with other windows.
_WITH_SETTINGS = ("surreal", "trae")
_SURREAL_FILE = "~/.claude/surrealdb-memory.local.md"
_DIALECTS = ("evolution", "memory-mcp", "surreal", "trusty", "trae", "memory-tool")

# Commands that people wait for, and that need nothing of the process that asks but its words.
READING = ("search", "context", "recent", "show", "tags", "timeline", "facts", "history", "graph")
WRITING = ("add", "append", "replace", "task", "today", "forget", "restore")
_HOOK = "hook"
DONE_BY_ENGINES = (*READING, *WRITING, _HOOK)
_HOOK_SECONDS = 1.5  # an agent waits for its hooks
_LAST_SECONDS = 1.8  # for all of it, as the command has it
_LARGEST_EVENT = 5_000_000  # bytes, as the command has it

left: list[Left] = []  # by a window, to the server in this process


def reason_for_no_engine() -> str:
    """Why the server in this process works by itself; empty where it was not to be otherwise."""
    return left[-1].reason if left else ""


def try_engine(arguments: list[str]) -> int | None:
    """The exit code, where the engine did it; None where the whole program has to."""
    if os.environ.get(SWITCH, "").lower() in OFF:
        return None
    name = arguments[0] if arguments else ""
    if name == "serve":
        return _serve(arguments[1:])
    if not (sys.stdout and sys.stderr):
        return None
    if name not in DONE_BY_ENGINES or "-h" in arguments or "--help" in arguments:
        return None
    try:
        return _hook(arguments) if name == _HOOK else _command(name, arguments)
    except (NoPlace, OSError):
        return None


def _serve(arguments: list[str]) -> int | None:
    if not (sys.stdin and sys.stdout and sys.stderr) or os.isatty(0):
        return None  # a socket must never get the number of a stream that was closed
    given = _plain_options(arguments)
    if given is None:
        return _left_to_server(
            "" if _is_over_http(arguments) else "it has options that windows have not"
        )
    dialect = given.get("--dialect", _NATIVE)
    toolsets = tuple(given.get("--toolsets", "").split(",")) if "--toolsets" in given else ()
    if dialect != _NATIVE and (dialect not in _DIALECTS or toolsets):
        return None
    if not set(toolsets) <= set(_TOOLSETS) or ("--palace" in given and dialect != "trusty"):
        return None
    if dialect == "surreal" and not _is_surreal_with_engine():
        return None
    try:
        vault = named_or_near_vault(given.get("--vault", ""), os.environ)
        if not vault:
            return _left_to_server("the vault was not there when it started")
        own = dialect if dialect in _WITH_SETTINGS else ""
        place = engine_place(vault, own, os.environ)
    except (NoPlace, OSError) as error:
        return _left_to_server(str(error))
    from vaultmem.front.conversation import Conversation
    from vaultmem.front.replies import Replies
    from vaultmem.front.window import Window

    read_only = "--read-only" in given or _perhaps_read_only(vault)
    replies = Replies(dialect, toolsets, read_only, given.get("--palace", ""))
    talk = Conversation(replies, in_turn=dialect != _NATIVE)
    rest = Window(place, own, os.environ, arguments, talk).run()
    if rest is None:
        return 0
    left.append(rest)
    return None


def _is_surreal_with_engine() -> bool:
    """Unless its configuration may say that the memories are elsewhere: then the whole program
    reads it."""
    mode = os.environ.get("MEMORY_DEPLOYMENT_MODE", "").strip() or _surreal_mode_in_file()
    if mode == "local-server":
        return True
    named = [os.environ.get(name) for name in ("MEMORY_DB_PATH", "MEMORY_REMOTE_URL")]
    return not mode and not any(named)


def _surreal_mode_in_file() -> str:
    """A question mark where there is a file that does not begin with its mode."""
    file = os.environ.get("MEMORY_CONFIG_PATH", "").strip()
    try:
        with open(file or os.path.expanduser(_SURREAL_FILE), encoding="utf-8") as opened:
            lines = opened.read(4_000).split("\n")
    except FileNotFoundError:
        return "?" if file else ""
    except (OSError, ValueError):
        return "?"
    told = [line.partition(":")[2] for line in lines if line.startswith("deployment_mode:")]
    return told[0].strip(" \t\"'") if len(told) == 1 else "?"


def _left_to_server(reason: str) -> int | None:
    """To the one in this process, which says why."""
    from vaultmem.front.window import Left

    if reason:
        left.append(Left(reason))
    return None


def _is_over_http(arguments: list[str]) -> bool:
    """Then the server may be the engine itself."""
    return any(argument.partition("=")[0] == "--http" for argument in arguments)


def _perhaps_read_only(vault: str) -> bool | None:
    """False where nothing says so; None where the engine has to be asked."""
    if "VAULTMEM_READ_ONLY" in os.environ:
        return None
    try:
        with open(os.path.join(vault, ".vaultmem", "config.toml"), "rb") as file:
            lines = file.read(100_001).splitlines()
    except FileNotFoundError:
        return False
    except OSError:
        return None
    told = any(b"read_only" in line and not line.lstrip().startswith(b"#") for line in lines)
    return None if told else False


def _command(name: str, arguments: list[str]) -> int | None:
    from vaultmem.front.command import DONE_SECONDS, EngineCommand, Unknown, printed
    from vaultmem.front.engine_call import NoEngine

    vault = named_or_near_vault(_named_vault(arguments), os.environ)
    if not vault:
        return None
    asked = EngineCommand(engine_place(vault, "", os.environ), os.environ)
    try:
        return printed(asked.answer(arguments, DONE_SECONDS, None))
    except NoEngine:
        return None
    except Unknown:
        if name in READING:
            return None
    sys.stderr.write(
        "The process that holds the vault ended before it answered, so it is not known whether "
        "this was done. Look first, and run it again where it was not.\n"
    )
    return 3


def _hook(arguments: list[str]) -> int | None:
    """The event is read here; the whole program finds it on its standard input again."""
    if not sys.stdin or os.isatty(0):
        return None
    _end_in_time()
    piped = sys.stdin.buffer.read(_LARGEST_EVENT + 1)
    while sys.stdin.buffer.read(1 << 20):  # who writes it should not find the pipe closed
        pass
    try:
        return _hook_by_engine(arguments, piped)
    finally:
        _pipe_again(piped)


def _hook_by_engine(arguments: list[str], piped: bytes) -> int | None:
    from vaultmem.front import plain_json
    from vaultmem.front.command import EngineCommand, Unknown, printed
    from vaultmem.front.engine_call import NoEngine, start_if_none

    try:
        text = piped.decode()
        event = plain_json.parsed(text)
    except ValueError:
        return None
    if len(piped) > _LARGEST_EVENT or not isinstance(event, dict):
        return None
    folder = event.get("cwd")
    here = folder if isinstance(folder, str) and os.path.isdir(folder) else ""
    vault = named_or_near_vault(_named_vault(arguments), os.environ, here)
    if not vault:
        return None
    place = engine_place(vault, "", os.environ)
    try:
        if event.get("hook_event_name") == "SessionStart":
            start_if_none(place, os.environ)  # the prompts that follow will find it
        return printed(EngineCommand(place, os.environ).answer(arguments, _HOOK_SECONDS, text))
    except NoEngine:
        return None
    except Unknown:
        return 0  # it may have been written down already


def _end_in_time() -> None:
    """Whoever wrote the event may never close the pipe, and an agent waits for its hooks."""
    import _signal  # type: ignore[import-not-found]

    if hasattr(_signal, "SIGALRM"):
        _signal.signal(_signal.SIGALRM, lambda *_: os._exit(0))
        _signal.setitimer(_signal.ITIMER_REAL, _LAST_SECONDS)
        return
    import _thread
    import time

    def end() -> None:
        time.sleep(_LAST_SECONDS)
        os._exit(0)

    _thread.start_new_thread(end, ())


def _pipe_again(piped: bytes) -> None:
    """Over a file of our own, since the input was read to its end."""
    import io

    sys.stdin = io.TextIOWrapper(io.BytesIO(piped), encoding="utf-8", errors="replace")


def _named_vault(arguments: list[str]) -> str:
    for number, argument in enumerate(arguments):
        if argument == "--":
            return ""
        if argument == "--vault":
            return arguments[number + 1] if number + 1 < len(arguments) else ""
        if argument.startswith("--vault="):
            return argument.partition("=")[2]
    return ""


def _plain_options(arguments: list[str]) -> dict[str, str] | None:
    """None where there is something that is not understood here."""
    given: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if name in _FLAGS and not equals:
            given[name] = ""
        elif name in _VALUES:
            value = value if equals else next(rest, "")
            if not value or name in given:
                return None
            given[name] = value
        else:
            return None
    return given
