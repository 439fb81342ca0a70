"""Everything that a note can be: names, times, kinds of file and contents that no one expects."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

ORDINARY: Final = 5
WORD: Final = "zebra"  # in every odd note that can hold it

NAMES: Final = (
    b"caf\xe9.md", b"fold\xe9r/inside.md", b"\xff.md", b"two\nlines.md", b"\n.md", b"tab\there.md",
    b"bell\x07esc\x1b[31m.md", "rtl\u202ecod.md".encode(), "sep\u2028x\u0085y.md".encode(),
    b"l" * 252 + b".md", "é.md".encode(), "e\u0301.md".encode(), b"Case.md", b"case.md",
    b"trailing .md", b" leading.md", b"dots...md", b"con.md", b"nul.md", b"-rf.md", b"--help.md",
    "🦓.md".encode(), b"back\\slash.md", b"C:\\x.md", b"c:/y.md", b"\\server.md", b"a:b.md",
    b"quote'\".md", b"$(x) `y`.md", b"%s%n.md", b"[x] #y ^z |.md", b"*?.md", b"x.MD", b".md.md",
    b"a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z.md", b"dir.md/inside.md", b"#.md",
)  # fmt: skip

SECONDS: Final = (
    *(-62135596801, -(2**31) - 1, -1, 0, 1, 2**31, 2**32, 2**33, 2**34),
    *(9223372036, 9223372037, 253402300800, 2**40),
)

_PROPERTIES: Final = (
    "created: 99999-12-31", "created: 0000-00-00", "created: 1e400", "created: 2026-02-30",
    "created: 0001-01-01T00:00:00+14:00", "created: 9999-12-31T23:59:59-14:00", "updated: 0001-01-01",
    "importance: .nan", "importance: .inf", "importance: -.inf", "importance: 1e308",
    "importance: 1e999", f"importance: {'9' * 5000}", "importance: high", "confidence: 1e999",
    "id: no ulid", f"id: {'x' * 1_000_000}", "id: [a, b]", 'id: "\\0"', 'id: "a\\nb"', "id: 5",
    "id: 7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "id: ZZZZZZZZZZZZZZZZZZZZZZZZZZ", "id: 0",
    "tags: {a: {b: c}}", "tags: [[a, [b]], {c: d}]", 'tags: ["a\\0b", "a\\nb"]', f"tags: {'t' * 9000}",
    f"tags: [{','.join(f't{n}' for n in range(9_000))}]", "tags: 5", "aliases: [1, 2.5, true, null]",
    "aliases: {a: b}", f"aliases: [{','.join(f'alias{n}' for n in range(9_000))}]",
    "type: [x]", "scope: 5", "session: {a: b}", "user: [a]", f"project: {'p' * 100_000}", "project: .",
    'key: "a\\0b"', f"key: {'k' * 100_000}", "kind: !!binary abc", "? [a]\n: b", "a: &a [*a]", "- a",
    'x: "\\ud800"', '"', "{", "[", ": : :", "\t", "forgotten: maybe", "superseded_by: 5", "about: {a: b}",
    "about: ['[[x]]', 5, null, [y]]", "derived_from: '[[" + "x" * 9000 + "]]'",
)  # fmt: skip

CONTENTS: Final[Mapping[str, bytes]] = {
    **{f"property {n}": f"---\n{line}\n---\nzebra\n".encode() for n, line in enumerate(_PROPERTIES)},
    "empty": b"",
    "a line end": b"\n",
    "NUL": b"zebra\0",
    "UTF-16": "zebra".encode("utf-16"),
    "UTF-32": "zebra".encode("utf-32"),
    "not UTF-8": b"zebra \xff\xfe \x80",
    "two BOMs": b"\xef\xbb\xbf\xef\xbb\xbf---\nid: x\n---\nzebra",
    "only a BOM": b"\xef\xbb\xbf",
    "bytes": bytes(range(1, 256)) * 40,
    "bytes in properties": b"---\nid: a\xff\nkey: b\xff\ntags: [c\xff]\nd\xff: '[[e\xff]]'\n---\nzebra",
    "bytes in Markdown": b"# a\xff\n\n#b\xff [[c\xff]] [d](e\xff.md) zebra\n\n- rel\xff [[f\xff]]\n"
    b"- [g\xff] h #i\xff (j\xff)\n\n## Facts\n\n- k\xff:: [[l\xff]] (2026 \xe2\x86\x92 ; m\xff) ^f-n\xff\n\n"
    b"## Log\n\n- **09:00:00** o\xff: p\xff ^01k\xff\n",
    "facts out of time": "---\ntype: entity\n---\nzebra\n\n## Facts\n\n"
    "- is:: x (99999-01-01 → ; 1e999; y) ^f-1\n- is:: x (0000-00-00 → 10000-01-01; nan) ^f-2\n".encode(),
    "a log out of time": b"---\ntype: session\nsession: s\n---\nzebra\n\n## Log\n\n- **99:99:99** note: a ^01k\n"
    b"- **09:00:00** note: b ^7ZZZZZZZZZZZZZZZZZZZZZZZZZ\n- **09:00:00** note: c ^ZZZZZZZZZZZZZZZZZZZZZZZZZZ\n",
    "conflict markers": b"<<<<<<< a\nzebra\n=======\nx\n>>>>>>> b\n",
    "only fences": b"---\n" * 2000,
    "open brackets": b"[" * 20_000,
    "open code": b"```\n" * 3001,
    "open comments": b"%%" * 3001 + b"<!--" * 3001 + b"<private>" * 1001,
    "many line ends": b"\r\n" * 50_000 + b"\r" * 50_000 + b"\x0c\x0b" * 5000,
    "a deep tag": b"zebra #" + b"a/" * 20_000,
    "no blanks": b"zebra " + b"x" * 300_000,
    "accents": ("zebra a" + "\u0301" * 20_000).encode(),
}  # fmt: skip


def _links(root: Path) -> None:
    (root / "loop.md").symlink_to("loop.md")
    (root / "nowhere.md").symlink_to("missing.md")
    (root / "around").symlink_to(".")


def _socket(root: Path) -> None:
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as made:
        here = os.getcwd()
        os.chdir(root)  # the name of a socket must be short
        try:
            made.bind("socket.md")
        finally:
            os.chdir(here)


def _sparse(root: Path) -> None:
    with (root / "sparse.md").open("wb") as file:
        file.truncate(2_000_000_000)


def _deep(root: Path) -> None:
    """Folders below one another until no path can name the last of them."""
    folder = os.open(root, os.O_RDONLY)
    for level in range(300):
        os.mkdir(f"level {level:03} of many", dir_fd=folder)
        below = os.open(f"level {level:03} of many", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
        if level in (20, 100, 290):
            file = os.open("deep.md", os.O_WRONLY | os.O_CREAT, dir_fd=folder)
            os.write(file, b"zebra")
            os.close(file)
    os.close(folder)


KINDS: Final[Mapping[str, Callable[[Path], None]]] = {
    "folder": lambda root: (root / "folder.md").mkdir(),
    "pipe": lambda root: os.mkfifo(root / "pipe.md"),
    "socket": _socket,
    "links": _links,
    "sparse": _sparse,
    "deep": _deep,
    "hard link": lambda root: os.link(root / "ordinary 0.md", root / "hard link.md"),
}


def ordinary(root: Path) -> None:
    for number in range(ORDINARY):
        text = f"---\ntags: [fruit]\n---\napple number{number} of [[ordinary 0]]\n"
        (root / f"ordinary {number}.md").write_text(text)


def put(root: Path, name: bytes, content: bytes, seconds: int | None = None) -> None:
    """A note of any name; one that this system does not allow is left out."""
    file = os.path.join(os.fsencode(root), name)
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "xb") as made:
            made.write(content)
        if seconds is not None:
            os.utime(file, ns=(seconds * 10**9, seconds * 10**9))


def everything(root: Path) -> None:
    ordinary(root)
    for number, name in enumerate(NAMES):
        put(root, name, f"zebra name{number}".encode())
    for seconds in SECONDS:
        put(root, f"at {seconds}.md".encode(), b"zebra", seconds)
    for number, content in enumerate(CONTENTS.values()):
        put(root, f"content {number}.md".encode(), content)
    for make in KINDS.values():
        make(root)
