"""The token file: what it may hold, and that no message shows a token."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.surfaces.http.site import LAPTOP, PHONE, token_file
from vaultmem.errors import InvalidInput
from vaultmem.operations.caller import Caller
from vaultmem.surfaces.http import tokens


def read(file: Path) -> tuple[tokens.Token, ...]:
    return tokens.read_tokens(str(file), pytest.fail)


def test_one_line_is_one_token_with_every_right(tmp_path: Path) -> None:
    (only,) = read(token_file(tmp_path, f"# mine\n\n  {LAPTOP}\n", "token"))
    assert (only.user, only.project, only.read_only) == ("", "", False)
    assert tokens.token_of_bearer([only], LAPTOP.encode()) is only
    assert tokens.token_of_bearer([only], LAPTOP[:-1].encode()) is None


def test_named_tokens_are_pinned(tmp_path: Path) -> None:
    text = (
        f'[tokens.laptop]\ntoken = "{LAPTOP}"\n'
        f'[tokens.phone]\ntoken = "{PHONE}"\nuser = "me"\nproject = "Atlas"\nread_only = true\n'
    )
    laptop, phone = read(token_file(tmp_path, text))
    assert tokens.pinned_caller(Caller(), laptop) == Caller(client="laptop")
    mine = Caller(user="me", project="Atlas", client="phone", read_only=True)
    assert tokens.pinned_caller(Caller(), phone) == mine
    assert tokens.token_of_bearer([laptop, phone], PHONE.encode()) is phone


def test_a_token_narrows_what_the_server_was_started_for() -> None:
    token = tokens.Token(b"", "phone", user="Me")
    assert tokens.pinned_caller(Caller(user="me", read_only=True), token) == Caller(
        user="me", read_only=True, client="phone"
    )
    with pytest.raises(InvalidInput, match="--user"):
        tokens.pinned_caller(Caller(user="someone"), token)
    with pytest.raises(InvalidInput, match="--project"):
        tokens.pinned_caller(Caller(project="Zeus"), tokens.Token(b"", "phone", project="Atlas"))


def test_every_token_is_compared_whichever_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    compare = tokens.hmac.compare_digest

    def counting(a: bytes, b: bytes) -> bool:
        compared.append(a)
        return compare(a, b)

    monkeypatch.setattr(tokens.hmac, "compare_digest", counting)
    known = [
        tokens.Token(tokens._token_digest(f"token-number-{n:010}", "x"), str(n)) for n in range(5)
    ]
    for presented in (b"token-number-0000000000", b"token-number-0000000004", b"", b"wrong"):
        compared.clear()
        tokens.token_of_bearer(known, presented)
        assert len(compared) == 5


SECRET = "a-secret-of-many-characters"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("token", "", "is empty"),
        ("token", "# only a comment\n", "one token on one line"),
        ("token", "short\n", "shorter than 16"),
        ("token", f"{SECRET}\n{SECRET}2\n", r"\[tokens.NAME\]"),
        ("token", f"{SECRET} with spaces\n", "without spaces"),
        ("token", f"{SECRET}ü\n", "fit into a header"),
        ("token", f"{SECRET * 100}\n", "at most 1000"),
        ("token", f'token = "{SECRET}"\n', r"\[tokens.NAME\]"),
        ("t.toml", f'[tokens.a]\ntoken = "{SECRET}\n', "line 2"),
        ("t.toml", f'[tokens.a]\ntoken = "{SECRET}"\n[tokens.b]\ntoken = "{SECRET}"', "two names"),
        ("t.toml", f'[tokens.a]\ntoken = "{SECRET}"\nusr = "me"\n', "unknown key 'usr'"),
        ("t.toml", f'[tokens.a]\ntoken = "{SECRET}"\nread_only = "yes"\n', "true or false"),
        ("t.toml", f'[tokens.a]\ntoken = "{SECRET}"\nuser = ""\n', "user is empty"),
        ("t.toml", '[tokens.a]\nuser = "me"\n', "has no token"),
        ("t.toml", "[tokens.a]\ntoken = 12345678901234567890\n", "text in quotes"),
        ("t.toml", f'[token.a]\ntoken = "{SECRET}"\n', r"\[tokens.NAME\]"),
        ("t.toml", '[tokens.a]\ntoken = "short"\n', "shorter than 16"),
        ("t.toml", "[tokens]\n", r"\[tokens.NAME\]"),
    ],
)
def test_a_wrong_file_is_refused_without_showing_it(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    with pytest.raises(InvalidInput, match=says) as refused:
        read(token_file(tmp_path, text, name))
    assert SECRET not in str(refused.value)
    assert SECRET not in repr(refused.value.__cause__)


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        read(tmp_path / "missing")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read(tmp_path)
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00\x01" * 10)
    binary.chmod(0o600)
    with pytest.raises(InvalidInput, match="not a text file"):
        read(binary)


@pytest.mark.skipif(sys.platform == "win32", reason="mode bits")
def test_a_file_that_everyone_can_read_is_warned_about(tmp_path: Path) -> None:
    file = token_file(tmp_path, LAPTOP, "token")
    said: list[str] = []
    os.chmod(file, 0o644)
    tokens.read_tokens(str(file), said.append)
    assert "chmod 600" in said[0]
    assert LAPTOP not in said[0]


def test_a_token_is_not_in_what_a_program_prints(tmp_path: Path) -> None:
    (only,) = read(token_file(tmp_path, LAPTOP, "token"))
    assert LAPTOP not in repr(only)
    assert only.digest.hex() not in repr(only)
