"""Secrets never stay in a text, and ordinary text is left alone."""

from __future__ import annotations

import base64
import re
import string
import threading
import time
import uuid
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT, TEMPLATE
from vaultmem.base import redaction
from vaultmem.errors import InvalidInput

PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *TEMPLATE.rglob("*.md")]
ALNUM = string.ascii_letters + string.digits


def made(kind: str) -> str:
    """A token of this shape; put together here, so that no scanner takes this file for a leak."""
    body = "aB3dE5gH7jK9mN1pQ2sT4vW6xY8zA0cD2fG4hJ6kL8nP1rS3tV5wX7yZ9bC1eF3gH5jK7mN9pQ2s"
    upper = "ABCDEFGH12345678"
    key = "-----BEGIN {0}PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END {0}PRIVATE KEY-----"
    return {
        "github token": "ghp_" + body[:36],
        "github token, new": "github_pat_" + body[:22] + "_" + body[:59],
        "gitlab token": "glpat-" + body[:20],
        "slack token": "xoxb-" + "1234567890-1234567890-" + body[:24],
        "slack webhook": "https://hooks.slack.com/services/T0AAAAAAA/B0AAAAAAA/" + body[:24],
        "stripe key": "sk_live_" + body[:24],
        "anthropic key": "sk-ant-api03-" + body[:60] + "-" + body[:32] + "AA",
        "openai key": "sk-proj-" + body[:48],
        "openai key, old": "sk-" + body[:48],
        "google key": "AIza" + body[:35],
        "aws key": "AKIA" + upper,
        "npm token": "npm_" + body[:36],
        "pypi token": "pypi-AgEIcHlwaS5vcmc" + body[:60],
        "hugging face token": "hf_" + body[:34],
        "web token": f"eyJ{body[:20]}.eyJ{body[:40]}.{body[:43]}",
        "private key": key.format("RSA "),
        "digitalocean token": "dop_v1_" + "0a1b2c3d" * 8,
        "twilio key": "SK" + "0a1b2c3d" * 4,
    }[kind]


KINDS = [
    *("github token", "github token, new", "gitlab token", "slack token", "slack webhook"),
    *("stripe key", "anthropic key", "openai key", "openai key, old", "google key", "aws key"),
    *("npm token", "pypi token", "hugging face token", "web token", "private key"),
    *("digitalocean token", "twilio key"),
]
SENTENCES = [
    "{}",
    "The token is {}.",
    "Use `{}` (it expires), then go on.",
    "export TOKEN={}\necho done",
    '{{"key": "{}"}}',
    "Gespeichert als „{}“, bitte löschen!",
    "a\r\nb {}\r\nc",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sentence", SENTENCES)
def test_well_known_tokens_are_taken_out_of_prose(kind: str, sentence: str) -> None:
    token, name = made(kind), kind.partition(",")[0]
    said, kinds = redaction.redacted(sentence.format(token))
    assert token not in said and token[12:] not in said
    assert name in kinds
    secret = f"[redacted: {name}]"
    if kind != "slack webhook":
        assert said == sentence.format(secret)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://me:hunter2@example.com/x", "https://me:[redacted: password in a url]@example.com/x"),
        ("postgres://app:p@ss@db:5432/x", "postgres://app:[redacted: password in a url]@db:5432/x"),
        ("redis://:s3cret@cache", "redis://:[redacted: password in a url]@cache"),
        ("password=hunter2!", "password=[redacted: password]"),
        ("DB_PASSWORD: 'Tr0ub4dor&3'", "DB_PASSWORD: '[redacted: password]'"),
        ("**Password:** abc12345", "**Password:** [redacted: password]"),
        ("api_key = 9f8e7d6c5b4a39281706", "api_key = [redacted: secret]"),
        ('"access_token": "a1b2c3d4e5f6g7h8"', '"access_token": "[redacted: secret]"'),
        ("Authorization: Bearer a1b2c3d4e5f6g7h8i9", "Authorization: Bearer [redacted: authorization]"),
        ("curl -u x -H 'authorization: basic dXNlcjpwYXNzd29yZDEyMw=='",
         "curl -u x -H 'authorization: basic [redacted: authorization]'"),
        ("aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
         "aws_secret_access_key=[redacted: aws secret key]"),
    ],
)  # fmt: skip
def test_passwords_and_assignments(text: str, expected: str) -> None:
    assert redaction.redacted(text)[0] == expected


@pytest.mark.parametrize(
    "text",
    [
        "Refresh tokens rotate every 24 hours; the password is in the Keychain.",
        "token: RS256, signed by the gateway",
        "password: $DB_PASSWORD or ${DB_PASSWORD} or <password> or ********",
        "password: argon2id with 64 MB; api_key: your-api-key-here-12345678",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixes the token refresh",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "id: 01KE6Q8Z4R9M2N4P6R7S8T9VWX and ^01ke6nz8a0b1c2d3e4f5g6h7jk",
        "https://user@example.com/a:b@c http://localhost:8080/@me ssh://git@host:22/x",
        "postgres://app:$PASSWORD@db/x and https://me:<token>@host",
        "max_tokens=2000, tokens_used: 123456789012, next_token: none",
        "The css class sk-loading-indicator-container and the task-runner",
        "Basic authentication-and-authorization is described in basic-authentication.md",
        "-----BEGIN PRIVATE KEY----- is how such a file starts, and this is only prose about it.",
        "the key: AuthServiceKeychain, the secret: nobody knows",
        "![](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk)",
        "[redacted: github token] stays, and so does [redacted: password].",
        "Asia and Acca are names; so is AKIA.",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redaction.redacted(text) == (text, ())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_notes_and_documents_hold_nothing_to_redact(page: Path) -> None:
    assert redaction.find_secrets(page.read_text("utf-8")) == []


@given(st.uuids())
def test_ids_are_no_secrets(id: uuid.UUID) -> None:
    text = f"note {id} and {id.hex}, see [[{id}]] ^{id.hex[:26]}"
    assert redaction.redacted(text) == (text, ())


@given(st.binary(min_size=40, max_size=3000))
def test_pictures_in_base64_are_no_secrets(data: bytes) -> None:
    text = f"![](data:image/png;base64,{base64.b64encode(data).decode()})"
    assume(not re.search("sk_|AKIA|ASIA|eyJ|AIza|hf_|SK|s[.]|1//0", text))  # chance can write one
    assert redaction.redacted(text)[0] == text


@given(st.text(max_size=300), st.sampled_from(KINDS), st.text(max_size=300))
def test_redacting_is_idempotent_and_leaves_no_token(before: str, kind: str, after: str) -> None:
    token = made(kind)
    once, kinds = redaction.redacted(f"{before} {token} {after}")
    assert token not in once
    assert kinds
    assert redaction.redacted(once) == (once, ())
    assert redaction.find_secrets(once) == []


@given(st.data())
def test_whatever_a_rule_of_ours_matches_is_gone_and_had_one_of_its_words(
    data: st.DataObject,
) -> None:
    """The words decide whether a rule is tried at all, so each match must have one."""
    rules = redaction.secret_rules()
    rule = data.draw(st.sampled_from([*rules[1:16], *rules[-3:]]))
    alphabet = st.characters(codec="ascii", exclude_categories=["Cc"])
    pattern = re.sub(r"\(\?[=!<][^()]*\)", "", rule.pattern)  # the strategy knows none
    pattern = re.sub(r"([*+}])\+", r"\1", pattern)
    match = data.draw(st.from_regex(pattern, fullmatch=True, alphabet=alphabet))
    if not (found := re.search(rule.pattern, f" {match} ")):
        return
    assert any(word in match.lower() for word in rule.words)
    group = next((i for i, part in enumerate(found.groups(), 1) if part), 0)
    if rule.accepts(found[group]) and "[redacted: " not in match:
        assert redaction.redacted(f" {match} ")[1]


@pytest.mark.parametrize("rule", redaction.secret_rules(), ids=lambda rule: str(rule.kind))
def test_rules_are_tried_only_where_they_can_match(rule: redaction.SecretRule) -> None:
    assert rule.words and all(word == word.lower() and len(word) > 1 for word in rule.words)
    assert not re.search(rule.pattern, "")


def test_findings_name_lines_and_never_the_secret() -> None:
    text = f"one\ntwo {made('github token')}\n\nfour {made('aws key')} password=abc12345\n"
    found = redaction.find_secrets(text)
    assert [(f.kind, f.line) for f in found] == [
        ("github token", 2),
        ("aws key", 4),
        ("password", 4),
    ]
    assert text[found[0].start : found[0].end] == made("github token")
    assert "ghp_" not in repr(found)


def test_nothing_is_left_of_a_long_secret() -> None:
    for start in ("api_key=", "password=", "sk-ant-", "xoxb-", "token: "):
        assert "7" not in redaction.redacted(start + ALNUM * 200)[0]


def test_what_was_replaced_is_told() -> None:
    before = f"[redacted: aws key] and {made('aws key')}, {made('npm token')}"
    after, _ = redaction.redacted(before)
    assert redaction.redacted_kinds(before, after) == ("aws key", "npm token")
    assert redaction.redacted_kinds(after, after) == ()


def test_a_made_up_mark_hides_nothing() -> None:
    said, kinds = redaction.redacted(f"[redacted: {made('github token')}]")
    assert kinds == ("github token",)
    assert "ghp_" not in said


# --- a person's own patterns --------------------------------------------------------------


def test_own_patterns() -> None:
    said, kinds = redaction.redacted("Ticket ACME-12345 and acme-1.", [r"ACME-\d{5}"])
    assert (said, kinds) == ("Ticket [redacted: secret] and acme-1.", ("secret",))


@given(st.sampled_from([r"\w+", "redacted", "secret", ".", r"[^ ]", "a|red"]), st.text(max_size=80))
def test_a_greedy_pattern_ends_too(pattern: str, text: str) -> None:
    once, _ = redaction.redacted(text, [pattern])
    assert len(once) <= len(text) * 20
    assert redaction.redacted(once, [pattern])[0] == once


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "no regular expression"),
        ("a*", "empty"),
        ("x" * 501, "500"),
        (r"(a+)+b", "repeats a repetition"),
        (r"(?:\w+\s*)*$x", "repeats a repetition"),
        (r"(a|b*){2,}c", "repeats a repetition"),
    ],
)
def test_patterns_that_cannot_be_used(pattern: str, why: str) -> None:
    assert why in redaction.wrong_secret_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", [r"ACME-\d{5}", r"\(a+\)+", "[(+)+]x", r"(ab)+c", r"(a{2,3})x+"]
)
def test_patterns_that_can_be_used(pattern: str) -> None:
    assert redaction.wrong_secret_pattern(pattern) == ""


# --- hostile text ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PRIVATE KEY-----" * 8_000,
        "-----BEGIN PRIVATE KEY-----\n" + "A" * 200_000,
        "eyJ" * 70_000,
        "eyJaaaaaaaa." * 20_000,
        "eyJaaaaaaaa-" * 20_000,
        "sk-ant-" * 30_000,
        "://" + ":" * 200_000,
        "https://" * 30_000,
        "://a:b@" * 30_000,
        "password=" * 25_000,
        "password" + " " * 200_000,
        "secret: token: key: " * 10_000,
        "api_key=" + "a1" * 100_000,
        "bearer " * 30_000,
        "xoxb-" * 40_000,
        "sk-" + "-" * 200_000,
        "ghp_" * 50_000,
        "facebook adobe dropbox sk s. q~ meraki " * 6_000,
    ],
    ids=lambda text: text[:20],
)
def test_hostile_text_ends(text: str) -> None:
    once, _ = redaction.redacted(text)
    assert redaction.redacted(once)[0] == once


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:a|aa)+b", r"(\w+\s?)*z", r"a*a*a*a*a*b", r"(a|b|a?a)*c", r"(.*)(.*)(.*)x\1",
        "a?" * 30 + "a" * 30 + "b", r"(a+)+b",
    ],
)  # fmt: skip
def test_a_pattern_that_could_explode_comes_to_an_end(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the settings refuse it or not: soon, or by being stopped and named."""
    monkeypatch.setattr(redaction, "PATIENCE", 1.0)
    begun = time.monotonic()
    try:
        redaction.redacted("aab" * 3 + "a" * 1900 + "!\n" * 2, [pattern])
    except InvalidInput as told:
        assert "did not come to an end" in str(told) and repr(pattern) in str(told)
    assert time.monotonic() - begun < 10


def test_a_pattern_that_explodes_is_stopped_while_other_threads_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redaction, "PATIENCE", 1.0)
    turns: list[float] = []
    done = threading.Event()

    def others() -> None:
        while not done.wait(0.01):
            turns.append(time.monotonic())

    thread = threading.Thread(target=others)
    thread.start()
    try:
        with pytest.raises(InvalidInput, match="did not come to an end"):
            redaction.redacted("aab" * 3 + "a" * 1900 + "!\n" * 2, [r"(?:a|aa)+b"])
        assert len(turns) > 5
    finally:
        done.set()
        thread.join()
    assert redaction.redacted("ACME-12345 is it", [r"(ACME)-(\d+)+\d"])[1] == ("secret",)


@pytest.mark.parametrize(
    "pattern",
    [
        r"ACME-\d{5}", r"internal\.example\.com", r"key-\w+", r"(?i)acme\d{2,9}", r"a+b+",
        r"(a)\1", r"(?:a|b)+", r"(?:a{1,200}){2}", r"x(?=a*)", r"(?:a|aa)+", r"(?:foo|bar)-\d+",
        r"\bACME\w*\b", r"a+b*x?",
    ],
)  # fmt: skip
@settings(max_examples=20)
@given(text=st.text("abxkeyACME-1. \n", max_size=60))
def test_an_own_pattern_finds_what_python_finds_in_each_line(pattern: str, text: str) -> None:
    expected, at = [], 0
    for line in text.splitlines(keepends=True):
        expected += [(at + m.start(), at + m.end()) for m in re.finditer(pattern, line) if m[0]]
        at += len(line)
    assert list(redaction._matches_of_own_pattern(pattern, text)) == expected
