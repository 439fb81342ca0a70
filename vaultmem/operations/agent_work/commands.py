"""What a shell command is for: a test run, a build, a commit, or nothing but a look around."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_READ: Final = 4_000  # characters of a command that are looked at
_WORDS: Final = 40  # of one of its parts

# What a part of a command line does, by the program and, where it is one of many things, the
# first word after it. The order says what a line of several parts is called.
_KINDS: Final = {
    "test": r"(?:pytest|py\.test|tox|nox|unittest|nosetests|jest|vitest|mocha|ava|karma|rspec"
    r"|phpunit|ctest|bats|behave|ginkgo|gotestsum|cypress|playwright|(?:\S+[-_.])?(?:run[-_])?"
    r"tests?(?:[-_.]\S+)?)(?: |\Z)"
    r"|(?:npm|pnpm|yarn|bun|cargo|go|mvn|mvnw|gradle|gradlew|dotnet|swift|mix|deno|zig|flutter"
    r"|dart|make|just|task|bazel|rake|rails|composer|sbt|stack|cabal|lein)"
    r" (?:t\b|\S*tests?\b|nextest\b|verify\b|specs?\b)",
    "check": r"(?:ruff|mypy|pyright|flake8|pylint|eslint|tsc|biome|shellcheck|golangci-lint"
    r"|hadolint|rubocop|phpstan|staticcheck|vulture|bandit|pre-commit|(?:\S+[-_.])?(?:lint|check)"
    r"(?:\.\S+)?)(?: |\Z)"
    r"|(?:npm|pnpm|yarn|bun|cargo|go|make|just|task|rake|composer|mix|deno|gradle|gradlew)"
    r" (?:\S*(?:lint|check|types?|format|fmt)\b|clippy\b|vet\b)",
    "build": r"(?:cmake|ninja|webpack|rollup|gcc|g\+\+|cc|clang|clang\+\+|rustc|javac|meson"
    r"|(?:\S+[-_.])?build(?:\.\S+)?)(?: |\Z)|make(?:\Z| -|(?= (?:all|build|dist|install)\b))"
    r"|(?:npm|pnpm|yarn|bun|cargo|go|mvn|mvnw|gradle|gradlew|dotnet|swift|docker|podman|vite"
    r"|next|zig|flutter|just|task|bazel|mix|sbt|stack|cabal|python-build)"
    r" (?:\S*(?:build|compile|package|assemble|bundle)\b)",
    "migrate": r"(?:alembic (?:up|down)grade|flyway migrate|prisma migrate|(?:\S+ )?(?:db:)?migrate)\b",
    "deploy": r"(?:\S*[-_/])?(?:deploy|release|publish)(?:[-_.]\S+)?(?: |\Z)"
    r"|(?:terraform|tofu|pulumi|kubectl) (?:apply|up|rollout)\b|helm (?:upgrade|install)\b"
    r"|ansible-playbook\b|twine upload\b|(?:docker|podman) push\b"
    r"|(?:npm|pnpm|yarn|bun|cargo|make|just|task|fly|flyctl|vercel|netlify|firebase|serverless|gh|rake)"
    r" \S*(?:deploy|release|publish)\b",
    "commit": r"git (?:commit|cherry-pick|revert)\b",
    "push": r"git (?:push|merge|rebase)\b|gh pr (?:create|merge)\b",
}
_KIND: Final = {kind: re.compile(pattern) for kind, pattern in _KINDS.items()}
# What only looks: nothing comes of it, and failing it says nothing either.
_LOOK: Final = re.compile(
    r"(?:ls|ll|cat|bat|head|tail|less|more|grep|egrep|fgrep|rg|ag|fd|wc|stat|file|tree|pwd|cd"
    r"|echo|printf|which|type|whoami|hostname|uname|date|env|printenv|ps|pgrep|df|du|diff|cmp"
    r"|sort|uniq|cut|tr|awk|jq|yq|true|false|test|\[|\[\[|sleep|man|history|export|set|source|\."
    r"|realpath|readlink|basename|dirname|md5sum|sha256sum|id|tput|clear|wait|jobs|column|nl|xxd"
    r"|od|strings|command|hash|read|lsof|ss|free|top|uptime)(?: |\Z)"
    r"|find (?!.* -(?:delete|exec))|sed (?!(?:.* )?(?:-\w*i|--in-place))"
    r"|git (?:-\S+ )*(?:status|diff|log|show|branch|blame|remote|rev-parse|rev-list|ls-files|ls-tree"
    r"|stash list|describe|config|fetch|grep|shortlog|reflog|cat-file|merge-base|help)\b"
    r"|(?:docker|podman|kubectl|gh|npm|pip|pip3|cargo|brew|apt|systemctl|poetry|uv pip)"
    r" (?:ps|logs|images|get|describe|list|ls|view|status|show|freeze|outdated|search|info|tree)\b"
    r"|gh (?:pr|issue|run|repo) (?:list|view|status|checks|diff)\b"
    r"|\S+ (?:--version|--help|-V|-h|version|help)\Z"
)
_WRITES: Final = re.compile(r"(?<![0-9&<>])>{1,2}(?!&|\s*/dev/)|\btee\b")
_WRAPPERS: Final = re.compile(
    r"(?:sudo|time|nice|nohup|env|exec|then|do|else|if|!|\(|\{|npx|bunx|xvfb-run|stdbuf)\Z"
    r"|[A-Za-z_]\w*=\S*\Z"
)
_ASSIGNMENTS: Final = re.compile(r"\A(?:[A-Za-z_]\w*=(?:'[^']*'|\"[^\"]*\"|[^\s'\"]*)\s+)+(?=\S)")
_RUNNERS: Final = {
    **dict.fromkeys(("uv", "poetry", "pipenv", "hatch", "pdm", "rye", "conda"), ("run",)),
    **dict.fromkeys(("pnpm", "yarn"), ("exec", "dlx")),
    "bundle": ("exec",),
    "npm": ("exec",),
}
_PYTHON: Final = re.compile(r"python[\d.]*\Z|py\Z")
_SCRIPTS: Final = re.compile(r"((?:npm|pnpm|yarn|bun|composer)) (?:run|run-script) ")


class Command(NamedTuple):
    text: str  # as a person would say it: on one line, without where its output went
    kind: str = ""  # "test", "build" …; empty for what may be anything
    only_looks: bool = False


def understand_command(written: str) -> Command:
    written = written.strip()[:_READ]
    line = written.partition("\n")[0]
    first = line.partition("<<")[0] if "<<" in line else written  # not the text that follows
    parts = list(_command_parts(first))
    programs = [_program_of(part) for part in parts]
    named = [each for each in programs if each]
    looks = bool(named) and all(map(_LOOK.match, named)) and not _WRITES.search(line)
    kind = next((k for k, p in _KIND.items() if any(map(p.match, named))), "")
    if kind in ("commit", "push"):
        did = next(each for each in named if _KIND[kind].match(each)).split()
        return Command(" ".join(did[: 2 if did[0] == "git" else 3]), kind)
    return Command(_plain_command(written, parts, programs), "" if looks else kind, looks)


def _plain_command(written: str, parts: list[str], programs: list[str]) -> str:
    """Without a change of folder before it, and without what its output was led through."""
    line = written.partition("\n")[0]
    kept = [(part, p) for part, p in zip(parts, programs, strict=True) if p]
    while len(kept) > 1 and re.match(r"(?:cd|source|export|set|\.)(?: |\Z)", kept[0][1]):
        del kept[0]
    while len(kept) > 1 and re.match(r"(?:tail|head|cat|tee|echo|true)(?: |\Z)", kept[-1][1]):
        del kept[-1]
    if len(kept) != 1 or "<<" in line:
        return line.strip()
    plain = re.sub(r"\s+(?:[12&]?>{1,2}\s*(?:&\d|[^\s&]+)|<\s*/dev/null)(?=\s|\Z)", "", kept[0][0])
    plain = _ASSIGNMENTS.sub("", plain.strip())
    return plain or line.strip()


def _program_of(part: str) -> str:
    """A part from its program on, without what only starts it: `uv run python -m pytest -q`."""
    words = _ASSIGNMENTS.sub("", part).split()[:_WORDS]
    while words:
        name = words[0].rpartition("/")[2] if "=" not in words[0] else words[0]
        if name in ("test", "check", "build") and "/" in words[0]:  # a script, not the shell's own
            name = f"run-{name}"
        if _WRAPPERS.match(name) or not name:
            words = words[1:]
        elif (
            (name == "timeout" and len(words) > 1)
            or (len(words) > 2 and words[1] in _RUNNERS.get(name, ()))
            or (_PYTHON.match(name) and words[1:2] == ["-m"])
        ):
            words = words[2:]
        elif (_PYTHON.match(name) and len(words) > 1 and words[1].endswith(".py")) or (
            name in ("bash", "sh", "zsh") and len(words) > 1 and words[1][0] != "-"
        ):
            words = words[1:]
        elif name == "git" and words[1:2] == ["-C"]:
            words = ["git", *words[3:]]
        elif words[0].startswith("-"):  # options of a wrapper
            words = words[1:]
        else:
            return _SCRIPTS.sub(r"\1 ", " ".join([name, *words[1:]]))
    return ""


def _command_parts(line: str) -> Iterator[str]:
    """What stands between `&&`, `||`, `|`, `;`, `&` and line ends, outside of quotes."""
    start, quote, at = 0, "", 0
    while at < len(line):
        sign = line[at]
        if sign == "\\" and quote != "'":
            at += 2
            continue
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in ";|\n" or (sign == "&" and _is_and(line, at)):
            yield line[start:at].strip()
            start = at + 1
        at += 1
    yield line[start:].strip()


def _is_and(line: str, at: int) -> bool:
    """Not the `&` of `2>&1` and `&>`."""
    return line[at - 1 : at] not in ("<", ">") and line[at + 1 : at + 2] != ">"
