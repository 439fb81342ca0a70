"""Turn gitleaks' rules into the ones we use: python scripts/secret_rules.py gitleaks.toml LICENSE

gitleaks looks through source code and stops a token at a quote, a blank or a semicolon; notes
are prose, where one may also end with a full stop or a bracket. What only makes sense for files
of a certain name, and what `vaultmem.secrets` has rules of its own for, is left out.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "vaultmem" / "secret_rules.json"
OURS = {"curl-auth-header", "curl-auth-user", "generic-api-key", "jwt", "private-key"}
# These match any hash, if only the service's name stands somewhere in the text.
LOOSE = {
    "sourcegraph-access-token",
    "cohere-api-token",
    "kubernetes-secret-yaml",
    "okta-access-token",
}
ENDS = (r"""(?:[\x60'"\s;]|\\[nr]|$)""", r"(?:[^\w-]|\z)")
NAME_BEFORE = r"[\w.-]{0,50}?"  # matches what does not matter, and slowly


def main(rules: str, licence: str) -> None:
    found = tomllib.loads(Path(rules).read_text("utf-8"))["rules"]
    kept = [rule for rule in found if _is_wanted(rule)]
    notice = " ".join(Path(licence).read_text("utf-8").split())
    made = [_converted(rule) for rule in kept]
    lines = ",\n".join(json.dumps(rule) for rule in made)
    TARGET.write_text(
        f'{{"notice": {json.dumps("gitleaks: " + notice)},\n"rules": [\n{lines}\n]}}\n'
    )
    print(f"{len(made)} of {len(found)} rules")


def _is_wanted(rule: dict[str, Any]) -> bool:
    return "regex" in rule and "path" not in rule and rule["id"] not in OURS | LOOSE


def _converted(rule: dict[str, Any]) -> dict[str, Any]:
    pattern = python_pattern(rule["regex"])
    re.compile(pattern)
    return {
        "kind": rule["id"].replace("-", " "),
        "pattern": pattern,
        "words": rule["keywords"],
        "entropy": rule.get("entropy", 0),
    }


def python_pattern(pattern: str) -> str:
    for end in ENDS:
        pattern = pattern.replace(end, r"(?![A-Za-z0-9_])")
    pattern = pattern.replace(r"\z", r"\Z").replace("[[:alnum:]]", "[a-zA-Z0-9]")
    pattern = pattern.replace(NAME_BEFORE, "")
    while (at := pattern.find("(?i)", 1)) > 0:
        end = _group_end(pattern, at + 4)
        pattern = f"{pattern[:at]}(?i:{pattern[at + 4 : end]}){pattern[end:]}"
    return pattern


def _group_end(pattern: str, at: int) -> int:
    """Where the group ends in which this place stands."""
    depth, in_class = 0, False
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 1
        elif in_class:
            in_class = sign != "]"
        elif sign == "[":
            in_class = True
        elif sign == "(":
            depth += 1
        elif sign == ")":
            if depth == 0:
                return at
            depth -= 1
        at += 1
    return at


if __name__ == "__main__":
    main(*sys.argv[1:])
