"""Which programs a repository would have git run, and whether a person has allowed that.

A clone brings no settings and no hooks, but a folder that was copied, unpacked or synced
brings its whole `.git`. What stands in a person's own settings of git is theirs; what stands
only in the repository's is not trusted with a program. Looking at a vault runs none, whatever
its settings say. What changes a repository needs some of them to be right (a filter that
encrypts, a hook that forbids), so it is refused until the person has named the folder in
their own settings.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from vaultmem.base import small_files
from vaultmem.errors import InvalidInput

SETTING: Final = "vaultmem.trusted"
NO_HOOKS: Final = "/dev/null"

# For every call: nothing here is a matter of taste for a program that reads git's answers.
LOCKS: Final[Mapping[str, str]] = {
    "core.quotepath": "off",
    "core.fsmonitor": "false",
    "core.hooksPath": NO_HOOKS,
    "safe.bareRepository": "explicit",  # one that lies among the notes is no repository of theirs
    "log.showSignature": "false",
    "submodule.recurse": "false",
    "diff.ignoreSubmodules": "all",  # git would ask it in there, with the settings in there
    "status.submoduleSummary": "false",
}
# Nothing is fetched by a mere look, not even what a partial clone lacks.
LOOKING: Final = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
# Other ways to a remote are programs; a person's own GIT_ALLOW_PROTOCOL comes first.
SHARING: Final = {"GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh", "GIT_PROXY_COMMAND": ""}
# Nobody may be there to answer: what would ask for a name or a password fails instead.
UNASKED: Final = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
}
_SCHEMES: Final = frozenset(("file", "git", "http", "https", "ssh", "git+ssh", "ssh+git"))

# Settings that name a program which git, or a program that git starts, would run while it
# commits, merges, fetches or pushes. Sections and names are in lower case, as git lists them.
_PROGRAMS: Final = re.compile(
    r"""core\.(hookspath|sshcommand|gitproxy|askpass|alternaterefscommand)
      | filter\..*\.(clean|smudge|process)
      | merge\.(?!vaultmem(-base)?\.).*\.driver
      | hook\..*\.command
      | credential\.(.*\.)?helper
      | remote\..*\.(uploadpack|receivepack|vcs)
      | gpg\.(.*\.)?program | gpg\.ssh\.defaultkeycommand
      | gc\.recentobjectshook
      | lfs\.(customtransfer|extension)\..* | lfs\.(.*\.)?standalonetransferagent
    """,
    re.VERBOSE | re.DOTALL,
)
_ADDRESS: Final = re.compile(r"remote\..*\.(push)?url", re.DOTALL)

# The hooks that git runs while a vault is synced, and those of a folder that is pushed to.
HOOKS: Final = (
    *("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-merge-commit"),
    *("post-merge", "pre-push", "reference-transaction", "post-index-change", "pre-auto-gc"),
)
RECEIVING_HOOKS: Final = (
    *("pre-receive", "update", "proc-receive", "post-receive", "post-update"),
    *("push-to-checkout", "reference-transaction", "post-index-change", "pre-auto-gc"),
)


class ConfigLine(NamedTuple):
    """One line of git's settings."""

    scope: str
    name: str
    value: str

    @property
    def is_repositorys(self) -> bool:
        return self.scope not in ("system", "global", "command")


def config_lines(listed: bytes) -> list[ConfigLine]:
    """As git lists them: a scope, then a name and its value, with a NUL behind each."""
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    return [ConfigLine(scope, *line.partition("\n")[::2]) for scope, line in pairs]


@dataclass(frozen=True, slots=True)
class Trust:
    """A repository's folder, all settings that git has for it, and where it keeps its hooks."""

    folder: Path
    settings: Sequence[ConfigLine]
    own_hooks: Path

    @property
    def is_given(self) -> bool:
        """Whether the person named this folder in settings that are not the repository's."""
        places = (
            os.path.realpath(os.path.expanduser(p)) for p in self._trusted_values(SETTING) if p
        )
        return os.path.realpath(self.folder) in places

    @property
    def hooks_path(self) -> str:
        """The person's own folder of hooks; none that lies in the repository."""
        named = self._trusted_hooks_path()
        return str(named) if named and not _is_inside_untrusted(named, self.folder) else NO_HOOKS

    def require_trusted(self, events: Sequence[str] = HOOKS) -> None:
        """Refuse to go on where programs are named and not allowed; say which, and how."""
        found = () if self.is_given else dict.fromkeys(self.repository_programs(events))
        if found:
            raise InvalidInput(
                f"The repository {self.folder} names programs for git to run: {', '.join(found)}. "
                "They may have come with the folder, so vaultmem runs none of them, and changes "
                "nothing without them. If they are yours: "
                f"git config --global --add {SETTING} {shlex.quote(str(self.folder))}"
            )

    def repository_programs(self, events: Sequence[str] = HOOKS) -> Iterator[str]:
        """What the repository itself would have git run."""
        for entry in self.settings:
            if entry.is_repositorys and entry.value:  # an empty one names nothing
                if _PROGRAMS.fullmatch(entry.name) or _names_untrusted_helper(entry):
                    yield entry.name
        named = self._trusted_hooks_path()
        if named is None or _is_inside_untrusted(named, self.folder):
            hooks = named or self.own_hooks
            yield from (f"the hook {event}" for event in events if _is_hook_file(hooks / event))

    def _trusted_hooks_path(self) -> Path | None:
        named = self._trusted_values("core.hookspath")
        return self.folder / os.path.expanduser(named[-1]) if named and named[-1] else None

    def _trusted_values(self, name: str) -> list[str]:
        return [e.value for e in self.settings if e.name == name and not e.is_repositorys]


def _names_untrusted_helper(entry: ConfigLine) -> bool:
    """An address that only a program of its own can reach: ext::sh -c …, gcrypt::…"""
    found = re.match(r"([\w+.-]*)(::|://)", entry.value)
    if not found or not _ADDRESS.fullmatch(entry.name):
        return False
    return found[2] == "::" or found[1].lower() not in _SCHEMES


def _is_hook_file(file: Path) -> bool:
    return file.is_file() and (os.name == "nt" or os.access(file, os.X_OK))


def _is_inside_untrusted(place: Path, folder: Path) -> bool:
    real, top = Path(os.path.realpath(place)), Path(os.path.realpath(folder))
    return real == top or top in real.parents


def require_plain_name(name: str, what: str) -> str:
    """A name from the repository's settings, which git must not take for an option."""
    if name.startswith("-"):
        raise InvalidInput(f"The name of the {what} is {name!r}, which git takes for an option.")
    return name


def local_remote_folder(address: str, top: Path) -> Path | None:
    """The folder behind an address, if it is one: git then runs its other half there itself."""
    if address.startswith("file://"):
        return Path(address.removeprefix("file://")).resolve()
    is_drive = os.name == "nt" and bool(re.match(r"[A-Za-z]:", address))
    host, colon, _ = address.partition(":")
    if "://" in address or (colon and "/" not in host and not is_drive):
        return None
    return (top / os.path.expanduser(address)).resolve()


def git_folder_in(folder: Path) -> Path | None:
    """Where a folder that is pushed to keeps its repository, looked for as git does."""
    for place in (folder / ".git", folder, Path(f"{folder}.git/.git"), Path(f"{folder}.git")):
        found = followed_git_file(place)
        if (found / "HEAD").exists():
            return found
    return None


def followed_git_file(place: Path) -> Path:
    """A `.git` may be a file that names the folder."""
    if not place.is_file():
        return place
    named = small_files.read_small_file(place, follow=True).removeprefix(b"gitdir:").strip()
    return place.parent / os.fsdecode(named)


def hooks_folder(repository: Path) -> Path:
    """The hooks of a repository; a further work tree of one has the hooks of the first."""
    common = repository / "commondir"
    if common.is_file():
        repository /= os.fsdecode(small_files.read_small_file(common, follow=True).strip())
    return repository / "hooks"
