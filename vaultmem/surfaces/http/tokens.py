"""Bearer tokens: the file they come from, and who the bearer of each one is.

A file with one line is one token with every right. A TOML file names several:

    [tokens.laptop]
    token = "…"
    user = "me"          # sees shared notes and this user's
    project = "Atlas"    # sees notes without a project and this project's
    read_only = true
"""

from __future__ import annotations

import hashlib
import hmac
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vaultmem.base import small_files
from vaultmem.errors import InvalidInput

if TYPE_CHECKING:
    from vaultmem.operations.caller import Caller

SHORTEST: Final = 16
LONGEST: Final = 1_000
LARGEST_FILE: Final = 1_000_000
_TOML: Final = re.compile(r"""^\s*(\[|\w+\s*=\s*["'])""", re.MULTILINE)
_KEYS: Final = {"token": str, "user": str, "project": str, "read_only": bool}
_MAKE_ONE: Final = "Make one: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"


@dataclass(frozen=True, slots=True)
class Token:
    """Who may come in. The token itself is not kept, only its digest."""

    digest: bytes = field(repr=False)
    name: str = ""
    user: str = ""
    project: str = ""
    read_only: bool = False


def read_tokens(path: str, warn: Callable[[str], None]) -> tuple[Token, ...]:
    """The tokens of a file; no message ever shows one."""
    text = _token_file_text(path, warn)
    named = path.endswith(".toml") or _TOML.search(text) is not None
    tokens = _named_tokens(path, text) if named else _single_token(path, text)
    if len({token.digest for token in tokens}) < len(tokens):
        raise InvalidInput(f"{path} gives the same token to two names. Each needs its own.")
    return tokens


def token_of_run(text: str) -> Token:
    return Token(hashlib.sha256(text.encode()).digest(), "the run's")


def token_of_bearer(tokens: Iterable[Token], presented: bytes) -> Token | None:
    """Whose token this is. Every token is compared, so that the time tells nothing."""
    digest = hashlib.sha256(presented).digest()
    found = None
    for token in tokens:
        if hmac.compare_digest(token.digest, digest):
            found = token
    return found


def pinned_caller(caller: Caller, token: Token) -> Caller:
    """The caller behind a token: the server's own pins, narrowed by the token's. Bearers of
    different tokens are different clients, so each has a session of its own."""
    for what, mine, theirs in (
        ("user", caller.user, token.user),
        ("project", caller.project, token.project),
    ):
        if mine and theirs and mine.casefold() != theirs.casefold():
            raise InvalidInput(
                f"The server is started for the {what} {mine}, but token {token.name} is for "
                f"{theirs}. Start it without --{what}, or leave {what} out of the token file."
            )
    return replace(
        caller,
        user=caller.user or token.user,
        project=caller.project or token.project,
        session=f"{caller.session}-{token.name}"
        if caller.session and token.name
        else caller.session,
        read_only=caller.read_only or token.read_only,
        client=token.name or caller.client,
    )


def _token_file_text(path: str, warn: Callable[[str], None]) -> str:
    file = Path(path).expanduser()
    try:
        with file.open("rb") as opened:
            raw = opened.read(LARGEST_FILE + 1)
        mode = file.stat().st_mode
    except OSError as error:
        raise InvalidInput(f"The token file {path} cannot be read: {error.strerror}.") from None
    if len(raw) > LARGEST_FILE:
        raise InvalidInput(f"{path} is too large to be a token file.")
    if stat.S_ISREG(mode) and mode & stat.S_IROTH:
        warn(f"Everyone on this machine can read {path}. Keep it to yourself: chmod 600 {path}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not a text file.") from None
    if not text.strip():
        raise InvalidInput(f"{path} is empty; it must hold a token. {_MAKE_ONE}")
    return text


def _single_token(path: str, text: str) -> tuple[Token, ...]:
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    if len(lines) != 1:
        raise InvalidInput(
            f"{path} must hold one token on one line. For several, give each a name: "
            'a table [tokens.NAME] with token = "…" in TOML.'
        )
    return (Token(_token_digest(lines[0], path)),)


def _named_tokens(path: str, text: str) -> tuple[Token, ...]:
    try:
        data = small_files.parse_toml(text)
    except ValueError as error:  # its message may quote the line: only say where
        where = re.search(r"line \d+", str(error))
        place = f" ({where[0]})" if where else ""
        raise InvalidInput(f"{path} is not valid TOML{place}.") from None
    tables = data.pop("tokens", None)
    if data or not isinstance(tables, dict) or not tables:
        raise InvalidInput(f'{path} must hold tables [tokens.NAME], each with token = "…".')
    return tuple(_token_of_table(path, name, table) for name, table in tables.items())


def _token_of_table(path: str, name: str, table: Any) -> Token:
    place = f"[tokens.{name}] in {path}"
    if not isinstance(table, dict) or "token" not in table:
        raise InvalidInput(f'{place} has no token = "…".')
    for key, value in table.items():
        if key not in _KEYS:
            raise InvalidInput(
                f"{place} has an unknown key {key!r}; it can have {', '.join(_KEYS)}."
            )
        if type(value) is not _KEYS[key]:
            kind = "true or false" if _KEYS[key] is bool else "a text in quotes"
            raise InvalidInput(f"{place}: {key} must be {kind}.")
        if value == "" and key != "token":
            raise InvalidInput(f"{place}: {key} is empty. Name one, or leave the line out.")
    rest = {key: value for key, value in table.items() if key != "token"}
    return Token(_token_digest(table["token"], place), name, **rest)


def _token_digest(token: str, place: str) -> bytes:
    if len(token) < SHORTEST:
        raise InvalidInput(
            f"The token of {place} is shorter than {SHORTEST} characters, so it could be guessed. "
            f"{_MAKE_ONE}"
        )
    if len(token) > LONGEST or not re.fullmatch(r"[\x21-\x7e]+", token):
        raise InvalidInput(
            f"The token of {place} must be plain letters, digits and signs without spaces, "
            f"at most {LONGEST} of them: it has to fit into a header."
        )
    return hashlib.sha256(token.encode()).digest()
