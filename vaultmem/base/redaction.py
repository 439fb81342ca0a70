"""Secrets in text: keys, tokens and passwords are replaced by the name of what they were.

Tokens are known by the shapes their services publish: most begin with a word of their own.
Behind them stand assignments like `password=`, where only a value that looks like chance
counts. A rule is tried only where one of its words stands in the text: most texts have none,
and cost next to nothing.
"""

from __future__ import annotations

import functools
import math
import re
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from vaultmem.errors import InvalidInput

_SHORTEST: Final = 8  # characters that a text with a secret in it has at least
_PASSES: Final = 5  # what is left may have become a secret; that ends soon
_MOST_PATTERNS, _LONGEST_PATTERN = 50, 500
_LONGEST_LINE: Final = 2_000  # that a person's own pattern is tried on at once
PATIENCE: Final = 5.0  # seconds for one pattern and one text; usual ones take a few thousandths
OWN_SECRET: Final = "secret"  # what a person's own patterns find
_MARK: Final = re.compile(r"\[redacted: ([\w .-]{1,60})\]")


@dataclass(frozen=True, slots=True)
class FoundSecret:
    kind: str  # "github token"
    line: int
    start: int
    end: int


class SecretRule(NamedTuple):
    kind: str
    pattern: str  # the secret is its first group, or all of it
    words: tuple[str, ...]  # lower case; one of them stands in every text that matches
    accepts: Callable[[str], bool] = bool


def redacted(text: str, more: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
    """The text with `[redacted: github token]` in the place of secrets, and their kinds."""
    kinds: dict[str, None] = {}
    for _ in range(_PASSES):
        found = _secret_spans(text, more)
        if not found:
            break
        pieces, at = [], 0
        for start, end, kind in found:
            kinds[kind] = None
            pieces += [text[at:start], f"[redacted: {kind}]"]
            at = end
        text = "".join([*pieces, text[at:]])
    return text, tuple(kinds)


def find_secrets(text: str, more: Sequence[str] = ()) -> list[FoundSecret]:
    """The secrets in a text, in order. Their values are not told: a report is kept and shared."""
    found = _secret_spans(text, more)
    lines = [match.start() for match in re.finditer("\n", text)] if found else []
    return [
        FoundSecret(kind, bisect_right(lines, start) + 1, start, end) for start, end, kind in found
    ]


def redacted_kinds(before: str, after: str) -> tuple[str, ...]:
    """The kinds of secrets that were taken out on the way from one text to the other."""
    counts = [Counter(mark[1] for mark in _redaction_marks(text)) for text in (after, before)]
    return tuple(counts[0] - counts[1])


def wrong_secret_pattern(pattern: str) -> str:
    """Why a person's own pattern cannot be used; empty when it can."""
    import regex  # type: ignore[import-untyped]

    if len(pattern) > _LONGEST_PATTERN:
        return f"it has more than {_LONGEST_PATTERN} characters"
    try:
        compiled = regex.compile(pattern)
    except (regex.error, OverflowError, RecursionError) as error:
        return f"it is no regular expression: {error}"
    if compiled.search(""):
        return "it matches even an empty text"
    if _REPEATED_REPEAT.search(re.sub(r"\\.|\[\^?\]?[^\]]*\]", "x", pattern)):
        return "it repeats a repetition, like (a+)+, which can take forever"
    return ""


# A group that holds an open repetition and is repeated without end itself.
_REPEATED_REPEAT: Final = re.compile(
    r"\((?:[^()]|\([^()]*\))*(?:[*+]|\{\d*,\})[^()]*\)(?:[*+]|\{\d*,\})"
)


# --- looking ---------------------------------------------------------------------------------


_Span = tuple[int, int, str]


def _secret_spans(text: str, more: Sequence[str]) -> list[_Span]:
    """Spans that do not overlap, in order; of two that do the rule that comes first wins.

    What was redacted before is no secret: were it one, redacting would never end.
    """
    if len(text) < _SHORTEST:
        return []
    spans: list[_Span] = [(*mark.span(), "") for mark in _redaction_marks(text)]
    for found in _secret_matches(text, more):
        spans = sorted([*spans, *(span for span in found if _overlaps_no_secret(spans, span))])
    return [span for span in spans if span[2]]


def _overlaps_no_secret(spans: list[_Span], span: _Span) -> bool:
    at = bisect_left(spans, span)
    after_last = at == 0 or spans[at - 1][1] <= span[0]
    return after_last and (at == len(spans) or span[1] <= spans[at][0])


def _redaction_marks(text: str) -> list[re.Match[str]]:
    return [mark for mark in _MARK.finditer(text) if mark[1] in _secret_kinds()]


def _secret_matches(text: str, more: Sequence[str]) -> Iterator[list[_Span]]:
    """What each rule finds, in order, where it finds something."""
    folded = text.lower()
    for rule in secret_rules():
        if any(word in folded for word in rule.words):
            yield list(_matches_of_secret_rule(rule, text))
    for pattern in more[:_MOST_PATTERNS]:
        yield [(*place, OWN_SECRET) for place in _matches_of_own_pattern(pattern, text)]


def _matches_of_secret_rule(rule: SecretRule, text: str) -> Iterator[_Span]:
    for match in re.finditer(rule.pattern, text):
        group = next((i for i, part in enumerate(match.groups(), 1) if part), 0)
        if rule.accepts(match[group]):
            yield *match.span(group), rule.kind


def _matches_of_own_pattern(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """Each within a line. A pattern that steps back and forth can take forever; this engine can
    be stopped, and lets other threads go on meanwhile."""
    import regex

    compiled, until, at = regex.compile(pattern), time.monotonic() + PATIENCE, 0
    for line in text.splitlines(keepends=True):
        for first in range(0, len(line), _LONGEST_LINE):
            part, left = line[first : first + _LONGEST_LINE], until - time.monotonic()
            try:
                for match in compiled.finditer(part, timeout=max(left, 0.001), concurrent=True):
                    if match[0]:
                        yield at + first + match.start(), at + first + match.end()
            except TimeoutError:
                raise InvalidInput(
                    f"The pattern {pattern!r} of privacy.patterns in the settings did not come to an "
                    f"end within {PATIENCE:g} seconds, so it is not known what is secret in this "
                    "text. Nothing was written. Make the pattern simpler, with one repetition."
                ) from None
        at += len(line)


# --- what looks like chance ------------------------------------------------------------------


def entropy(text: str) -> float:
    """Bits for each character: some 2 for a word, over 4 for a long random token."""
    counts, size = Counter(text).values(), len(text)
    return -sum(n / size * math.log2(n / size) for n in counts)


_PIECES: Final = re.compile(r"[A-Za-z0-9]+")
_LEFT_OUT: Final = re.compile(r"\*{3}|\.{3}|…|x{4}", re.IGNORECASE)
_SIGNS: Final = re.compile(r"\W*")
_NO_SECRET: Final = re.compile(
    r"your|my|example|pbkdf2|sha-?\d|aes"
    r"|(?:change.?me|none|null|true|false|argon2\w*|bcrypt\w*|scrypt\w*|md5|[hre]s\d+)\W*\Z",
    re.IGNORECASE | re.DOTALL,
)


def _stands_for_a_secret(value: str) -> bool:
    """`$TOKEN`, `<token>`, `***`, `your-key`: the place of a secret, or the name of a method."""
    signs = _SIGNS.match(value)
    before = signs[0] if signs else ""
    if any(sign in before for sign in "$%<{") or _LEFT_OUT.search(value):
        return True
    return _NO_SECRET.match(value, len(before)) is not None


def _is_random_secret(value: str) -> bool:
    """A value that nobody would think of: one long piece in which letters and digits mix."""
    pieces = _PIECES.findall(value)
    longest = max(pieces, key=len, default="")
    mixed = any(c.isdigit() for c in longest) and any(c.isalpha() for c in longest)
    return len(longest) >= 12 and mixed and entropy(value) >= 3 and not _stands_for_a_secret(value)


def _is_chosen_password(value: str) -> bool:
    """A value as people choose them: not one word, and no place holder."""
    letters = any(c.isalpha() for c in value)
    others = any(c.isdigit() or c in "!@#$%^&*+=?~" for c in value)
    return letters and others and not _stands_for_a_secret(value)


def _is_url_password(value: str) -> bool:
    return not re.fullmatch(r"\$.*|<.*|\{.*|%.*|\*+|x+|\.{3}|…", value, re.IGNORECASE)


def _has_secret_a_digit(value: str) -> bool:
    return any(c.isdigit() for c in value)


# --- our rules -------------------------------------------------------------------------------

_ASSIGNED: Final = r"""["'`*_]{0,3}[ \t]{0,3}(?::=|=>|==?|:)[*_]{0,2}[ \t]{0,3}["'`]{0,3}"""
_VALUE: Final = r"""[^\s"'`,;<>{}()\[\]|\\]"""

_GITLAB: Final = "pat|ptt|rt|dt|cbt|ft|imt|agent|oas|soat|ffct"

_TOKENS: Final = (
    SecretRule(
        "private key",
        (
            r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[^-]*(?:-{1,4}(?!-)[^-]*)*-----END [A-Z0-9 ]{1,40}-----"
            r"|(?:(?:\s|\\[nr])*[A-Za-z0-9+/]{40,}={0,2})+(?:(?:\s|\\[nr])*[A-Za-z0-9+/]+={1,2})?)"
        ),
        ("private key",),
    ),
    SecretRule(
        "github token",
        r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    ),
    SecretRule(
        "gitlab token",
        rf"(?<![A-Za-z0-9])gl(?:{_GITLAB})-[\w.-]{{19,}}\w",
        tuple(f"gl{kind}-" for kind in _GITLAB.split("|")),
        _has_secret_a_digit,
    ),
    SecretRule(
        "slack token",
        r"(?<![A-Za-z0-9])(?:xox[abeoprs](?:\.xox[bp])?|xapp)-[A-Za-z0-9-]{9,}[A-Za-z0-9]",
        ("xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"),
        _has_secret_a_digit,
    ),
    SecretRule(
        "slack webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/]{20,200})",
        ("hooks.slack.com/",),
    ),
    SecretRule(
        "stripe key",
        (
            r"(?<![A-Za-z0-9])(?:[rsp]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"
            r"|whsec_[A-Za-z0-9+/]{24,})"
        ),
        ("k_live_", "k_test_", "k_prod_", "whsec_"),
    ),
    SecretRule("anthropic key", r"(?<![A-Za-z0-9])sk-ant-[\w-]{15,}\w", ("sk-ant-",)),
    SecretRule(
        "openai key",
        (
            r"(?<![A-Za-z0-9])sk-(?:(?:proj|svcacct|admin|None|or-v\d)-[\w-]{19,}\w"
            r"|[A-Za-z0-9]{20,})"
        ),
        ("sk-",),
        _has_secret_a_digit,
    ),
    SecretRule(
        "google key",
        (
            r"(?<![A-Za-z0-9])(?:AIza[\w-]{35}|ya29\.[\w-]{19,}\w|GOCSPX-[\w-]{28}"
            r"|1//0[\w-]{40,})"
        ),
        ("aiza", "ya29.", "gocspx-", "1//0"),
    ),
    SecretRule(
        "aws key",
        r"\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b",
        ("akia", "asia", "abia", "acca", "a3t"),
        _has_secret_a_digit,
    ),
    SecretRule(
        "aws secret key",
        (
            r"(?i)(?:secret_?access_?key|aws_?secret(?:_?key)?)"
            rf"{_ASSIGNED}([A-Za-z0-9/+]{{40}})(?![A-Za-z0-9/+])"
        ),
        ("secret",),
    ),
    SecretRule("npm token", r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36,}", ("npm_",)),
    SecretRule("pypi token", r"(?<![A-Za-z0-9])pypi-AgE[\w-]{29,}\w", ("pypi-age",)),
    SecretRule("hugging face token", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}", ("hf_",)),
    SecretRule(
        "web token",
        (
            r"(?<![A-Za-z0-9])eyJ[\w-]{8,1000}\.(?:eyJ[\w-]{8,8000}(?:\.[\w-]*)?"
            r"|[\w-]{0,2000}\.[\w-]{0,200}\.[\w-]{0,100000}\.[\w-]{15,})"
        ),
        ("eyj",),
    ),
    SecretRule(
        "password in a url",
        r"(?i)(?<=[a-z0-9]://)[^\s/:@?#'\"`<>\[\]]{0,100}:([^\s/'\"`<>\[\]]{1,200})@(?=[\w\[$<{])",
        ("://",),
        _is_url_password,
    ),
)
# One line each: what it is, the word it begins with (or has in it), and what follows.
_PREFIXED: Final = (
    ("1password token", "ops_eyJ", r"[\w-]{100,}"),
    ("age key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{50,}"),
    ("atlassian token", "ATATT3", r"[\w=-]{50,}"),
    ("azure storage key", "AccountKey=", r"[A-Za-z0-9+/]{80,}={0,2}"),
    ("databricks token", "dapi", r"[0-9a-f]{32}"),
    ("digitalocean token", "dop_v1_", r"[0-9a-f]{64}"),
    ("digitalocean token", "doo_v1_", r"[0-9a-f]{64}"),
    ("digitalocean token", "dor_v1_", r"[0-9a-f]{64}"),
    ("docker token", "dckr_pat_", r"[\w-]{20,}"),
    ("docker token", "dckr_oat_", r"[\w-]{20,}"),
    ("doppler token", "dp.pt.", r"[A-Za-z0-9]{40,}"),
    ("doppler token", "dp.st.", r"[\w.]{40,}"),
    ("dropbox token", "sl.", r"[\w-]{130,}"),
    ("facebook token", "EAA", r"[A-Za-z0-9]{80,}"),
    ("figma token", "figd_", r"[\w-]{36,}"),
    ("fly token", "fm2_", r"[A-Za-z0-9+/=]{40,}"),
    ("grafana token", "glsa_", r"[A-Za-z0-9]{32}_[0-9a-fA-F]{8}"),
    ("grafana token", "glc_eyJ", r"[A-Za-z0-9+/=]{32,}"),
    ("groq key", "gsk_", r"[A-Za-z0-9]{40,}"),
    ("heroku key", "HRKU-", r"[\w-]{36,}"),
    ("linear key", "lin_api_", r"[A-Za-z0-9]{32,}"),
    ("mailgun key", "key-", r"[0-9a-f]{32}"),
    ("mapbox key", "sk.eyJ", r"[\w-]{20,}\.[\w-]{20,}"),
    ("new relic key", "NRAK-", r"[A-Z0-9]{27}"),
    ("notion token", "ntn_", r"[A-Za-z0-9]{40,}"),
    ("notion token", "secret_", r"[A-Za-z0-9]{43}"),
    ("perplexity key", "pplx-", r"[A-Za-z0-9]{40,}"),
    ("planetscale token", "pscale_", r"(?:tkn|pw|oauth)_[\w.=-]{32,}"),
    ("postman key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    ("pulumi token", "pul-", r"[0-9a-f]{40}"),
    ("replicate token", "r8_", r"[A-Za-z0-9]{37}"),
    ("rubygems key", "rubygems_", r"[0-9a-f]{48}"),
    ("sendgrid key", "SG.", r"[\w-]{22}\.[\w-]{43}"),
    ("sentry token", "sntrys_", r"[\w+/=]{40,}"),
    ("sentry token", "sntryu_", r"[0-9a-f]{64}"),
    ("shopify token", "shpat_", r"[0-9a-fA-F]{32}"),
    ("shopify token", "shpca_", r"[0-9a-fA-F]{32}"),
    ("shopify token", "shppa_", r"[0-9a-fA-F]{32}"),
    ("shopify token", "shpss_", r"[0-9a-fA-F]{32}"),
    ("square token", "sq0atp-", r"[\w-]{22,}"),
    ("square token", "sq0csp-", r"[\w-]{40,}"),
    ("supabase token", "sbp_", r"[0-9a-f]{40}"),
    ("telegram token", ":AA", r"[\w-]{33}"),
    ("terraform token", ".atlasv1.", r"[\w-]{60,}"),
    ("twilio key", "SK", r"[0-9a-f]{32}"),
    ("vault token", "hvs.", r"[\w-]{24,}"),
    ("vault token", "hvb.", r"[\w-]{100,}"),
    ("xai key", "xai-", r"[A-Za-z0-9]{60,}"),
    ("discord webhook", "/api/webhooks/", r"\d{15,20}/[\w-]{60,}"),
)
_INSIDE: Final = {":AA": r"\d{8,10}", ".atlasv1.": r"[A-Za-z0-9]{14}"}  # what stands before


def _prefixed_secret_rule(kind: str, word: str, rest: str) -> SecretRule:
    before = _INSIDE.get(word, "")
    edge = r"(?<![A-Za-z0-9])" if word[0].isalnum() or before else ""
    pattern = f"{edge}{before}{re.escape(word)}{rest}(?![A-Za-z0-9])"
    return SecretRule(kind, pattern, (word.lower(),), _has_secret_a_digit)


_ASSIGNMENTS: Final = (  # tried last: other rules know better what it is
    SecretRule(
        "authorization",
        r"(?i)\b(?:bearer|basic|token)[ \t]{1,3}([A-Za-z0-9+/._~-]{16,}={0,2})",
        ("bearer", "basic", "token"),
        _is_random_secret,
    ),
    SecretRule(
        "password",
        rf"(?i)(?:passwor[dt]|passwd|passphrase|pwd){_ASSIGNED}({_VALUE}{{7,}})",
        ("password", "passwort", "passwd", "passphrase", "pwd"),
        _is_chosen_password,
    ),
    SecretRule(
        "secret",
        (
            r"(?i)(?:secret|token|credentials?|(?:api|app|access|account|auth|client|encryption"
            r"|master|private|secret|service|shared|signing)[ _.-]?key)"
            rf"{_ASSIGNED}({_VALUE}{{12,}})"
        ),
        ("secret", "token", "credential", "key"),
        _is_random_secret,
    ),
)


# --- all rules -------------------------------------------------------------------------------


@functools.cache
def secret_rules() -> tuple[SecretRule, ...]:
    return (*_TOKENS, *(_prefixed_secret_rule(*given) for given in _PREFIXED), *_ASSIGNMENTS)


@functools.cache
def _secret_kinds() -> frozenset[str]:
    return frozenset([OWN_SECRET, *(rule.kind for rule in secret_rules())])
