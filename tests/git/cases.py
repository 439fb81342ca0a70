"""Two machines change one note: the 23 cases of the experiments, and as many more.

A case gives the note before, what each side makes of it, and a check of the values that the
merged note must have. `clash` says that a person has to choose: markers in the body.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vaultmem.notes.note import Note

ID = "01KE6Q8Z4R9M2N4P6R7S8T9VWX"
NOTE = f"""---
id: {ID}
type: semantic
scope: project
project: Atlas
importance: 0.5
tags:
  - auth
  - tokens
source: claude-code
created: 2026-01-05T09:40:00
updated: 2026-01-05T09:40:00
---
Refresh tokens rotate every 24 hours.

The old token stays valid for five minutes.

## Log

- first entry
"""
ENTITY = f"""---
id: {ID}
type: entity
kind: component
---
## Facts

- depends_on:: [[Keychain]] (2026-01-28 → ; 0.9; deploy-log) ^f-7k2m
- deployed_version:: 2.4.1 (2026-05-10 → ; 0.95) ^f-3p9x

## Notes

About the service.
"""
PLAIN_FACTS = ENTITY.replace(" ^f-7k2m", "").replace(" ^f-3p9x", "")
LATER, LATEST = "updated: 2026-02-01T10:00:00", "updated: 2026-03-01T10:00:00"
UPDATED = "updated: 2026-01-05T09:40:00"


@dataclass(frozen=True)
class Case:
    name: str
    base: str
    ours: str
    theirs: str
    check: Callable[[Note], bool] = lambda note: True
    clash: bool = False


def changed(text: str, *pairs: str) -> str:
    """The text with each first string, which must be there, replaced by the one behind it."""
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def tags(*wanted: str) -> Callable[[Note], bool]:
    return lambda note: list(note.strings("tags")) == list(wanted)


def values(**wanted: object) -> Callable[[Note], bool]:
    return lambda note: all(note.get(name) == value for name, value in wanted.items())


def says(*texts: str) -> Callable[[Note], bool]:
    """Each of these once, in this order."""

    def check(note: Note) -> bool:
        places = [note.body.find(text) for text in texts]
        once = all(note.body.count(text) == 1 for text in texts)
        return once and places == sorted(places)

    return check


def also(*checks: Callable[[Note], bool]) -> Callable[[Note], bool]:
    return lambda note: all(check(note) for check in checks)


DUMPED = f"""---
created: '2026-01-05T09:40:00'
id: {ID}
importance: 0.5
project: Atlas
scope: project
source: claude-code
tags: [auth, tokens]
type: semantic
updated: '2026-01-05T09:40:00'
---
""" + NOTE.split("---\n", 2)[2]
LONG = NOTE + "\n" + "\n".join(f"Line {i} of a long note.\n" for i in range(1000))
JOURNAL = f"""---
id: {ID}
type: session
---
## Log

- **09:12:04** decision: Sign with RS256 #auth ^01ke6nz8a0b1c2d3e4f5g6h7jk
  Because the gateway must verify without the private key.
- **09:20:00** note: Second ^01ke6nz8a0b1c2d3e4f5g6h7jm

## Summary

Nothing yet.
"""
CJK = NOTE.replace("Refresh tokens rotate every 24 hours.", "刷新令牌每二十四小时轮换一次。")

CASES = [
    Case(
        "0 each side adds one tag",
        NOTE,
        changed(NOTE, "  - tokens\n", "  - tokens\n  - ours\n"),
        changed(NOTE, "  - tokens\n", "  - tokens\n  - theirs\n"),
        lambda n: set(n.strings("tags")) == {"auth", "tokens", "ours", "theirs"},
    ),
    Case(
        "1 one adds a tag, the other removes its neighbour",
        NOTE,
        changed(NOTE, "  - tokens\n", "  - tokens\n  - new\n"),
        changed(NOTE, "  - tokens\n", ""),
        tags("auth", "new"),
    ),
    Case(
        "2 Obsidian makes a flow list a block list, an agent adds",
        changed(NOTE, "tags:\n  - auth\n  - tokens\n", "tags: [auth, tokens]\n"),
        NOTE,
        changed(NOTE, "tags:\n  - auth\n  - tokens\n", "tags: [auth, tokens, new]\n"),
        tags("auth", "tokens", "new"),
    ),
    Case(
        "3 different scalars, both bump updated",
        NOTE,
        changed(NOTE, "importance: 0.5", "importance: 0.9", UPDATED, LATER),
        changed(NOTE, "source: claude-code", "source: cursor", UPDATED, LATEST),
        values(importance=0.9, source="cursor", updated=LATEST[9:]),
    ),
    Case(
        "4 adjacent scalars",
        NOTE,
        changed(NOTE, "scope: project", "scope: user"),
        changed(NOTE, "project: Atlas", "project: Borealis"),
        values(scope="user", project="Borealis"),
    ),
    Case(
        "5 property and body",
        NOTE,
        changed(NOTE, "importance: 0.5", "importance: 0.9"),
        changed(NOTE, "five minutes", "ten minutes"),
        also(values(importance=0.9), says("ten minutes")),
    ),
    Case(
        "6 property and body, both bump updated",
        NOTE,
        changed(NOTE, "importance: 0.5", "importance: 0.9", UPDATED, LATER),
        changed(NOTE, "five minutes", "ten minutes", UPDATED, LATEST),
        also(values(importance=0.9, updated=LATEST[9:]), says("ten minutes")),
    ),
    Case(
        "7 each adds a new key at the end",
        NOTE,
        changed(NOTE, f"{UPDATED}\n", f"{UPDATED}\nmood: calm\n"),
        changed(NOTE, f"{UPDATED}\n", f"{UPDATED}\nweather: rain\n"),
        values(mood="calm", weather="rain"),
    ),
    Case(
        "8 the same scalar, different values: the newest counts",
        NOTE,
        changed(NOTE, "importance: 0.5", "importance: 0.7", UPDATED, LATEST),
        changed(NOTE, "importance: 0.5", "importance: 0.9", UPDATED, LATER),
        values(importance=0.7),
    ),
    Case(
        "9 one forgets, the other edits the body",
        NOTE,
        changed(
            NOTE,
            "created:",
            "forgotten: true\nforgotten_at: 2026-02-01T10:00:00\nforgotten_reason: old\ncreated:",
        ),
        changed(NOTE, "five minutes", "ten minutes", UPDATED, LATEST),
        also(values(forgotten=True, forgotten_reason="old"), says("ten minutes")),
    ),
    Case(
        "10 both append a bullet",
        NOTE,
        NOTE + "- ours\n",
        NOTE + "- theirs\n",
        lambda n: n.body.endswith(
            ("- first entry\n- ours\n- theirs\n", "- first entry\n- theirs\n- ours\n")
        ),
    ),
    Case(
        "11 one closes a fact, the other adds one on the next line, without ids",
        PLAIN_FACTS,
        changed(PLAIN_FACTS, "2.4.1 (2026-05-10 → ;", "2.4.1 (2026-05-10 → 2026-06-01;"),
        changed(PLAIN_FACTS, "0.95)\n", "0.95)\n- uses:: [[Redis]] (2026-06-02 → )\n"),
        says("→ 2026-06-01; 0.95", "uses:: [[Redis]]"),
    ),
    Case(
        "12 the same with ids",
        ENTITY,
        changed(ENTITY, "2.4.1 (2026-05-10 → ;", "2.4.1 (2026-05-10 → 2026-06-01;"),
        changed(ENTITY, "^f-3p9x\n", "^f-3p9x\n- uses:: [[Redis]] (2026-06-02 → ) ^f-aaaa\n"),
        says("→ 2026-06-01; 0.95) ^f-3p9x", "uses:: [[Redis]]"),
    ),
    Case(
        "13 the same line, different edits",
        NOTE,
        changed(NOTE, "every 24 hours", "every 12 hours"),
        changed(NOTE, "every 24 hours", "every 48 hours"),
        says("<<<<<<<", "=======", ">>>>>>>"),
        clash=True,
    ),
    Case(
        "14 neighbouring paragraphs",
        NOTE,
        changed(NOTE, "24 hours", "12 hours"),
        changed(NOTE, "five minutes", "ten minutes"),
        says("12 hours", "ten minutes"),
    ),
    Case(
        "15 a counter bumped on both (no note of ours has one)",
        changed(NOTE, "importance: 0.5", "importance: 0.5\naccess_count: 1"),
        changed(NOTE, "importance: 0.5", "importance: 0.5\naccess_count: 2"),
        changed(NOTE, "importance: 0.5", "importance: 0.5\naccess_count: 3"),
        values(access_count=3),
    ),
    Case(
        "16 one side saved with Windows line ends",
        NOTE,
        NOTE.replace("\n", "\r\n"),
        changed(NOTE, "importance: 0.5", "importance: 0.9"),
        values(importance=0.9),
    ),
    Case(
        "17 Windows line ends and an edit on one side, an edit on the other",
        NOTE,
        changed(NOTE, "importance: 0.5", "importance: 0.7").replace("\n", "\r\n"),
        changed(NOTE, "five minutes", "ten minutes"),
        also(values(importance=0.7), says("ten minutes")),
    ),
    Case(
        "18 a YAML dumper rewrote the block, an agent adds a tag",
        NOTE,
        DUMPED,
        changed(NOTE, "  - tokens\n", "  - tokens\n  - new\n"),
        also(tags("auth", "tokens", "new"), values(importance=0.5, source="claude-code")),
    ),
    Case(
        "21 a property and the same property reformatted",
        NOTE,
        changed(NOTE, "project: Atlas", 'project: "Atlas"'),
        changed(NOTE, "project: Atlas", "project: Borealis"),
        values(project="Borealis"),
    ),
    # --- as many again -----------------------------------------------------------------
    Case(
        "a fact is closed on one side and its provenance extended on the other",
        ENTITY,
        changed(
            ENTITY, "(2026-01-28 → ; 0.9; deploy-log)", "(2026-01-28 → 2026-06-01; 0.9; deploy-log)"
        ),
        changed(
            ENTITY,
            "(2026-01-28 → ; 0.9; deploy-log)",
            "(2026-01-28 → ; 0.8; deploy-log and a check)",
        ),
        lambda n: (
            next((f.valid_to, f.confidence, f.provenance) for f in n.facts)
            == ("2026-06-01", 0.8, "deploy-log and a check")
        ),
    ),
    Case(
        "a fact is closed on both sides, at different times",
        ENTITY,
        changed(ENTITY, "2.4.1 (2026-05-10 → ;", "2.4.1 (2026-05-10 → 2026-06-01;"),
        changed(ENTITY, "2.4.1 (2026-05-10 → ;", "2.4.1 (2026-05-10 → 2026-06-02;"),
        lambda n: n.facts[1].valid_to in ("2026-06-01", "2026-06-02") and len(n.facts) == 2,
    ),
    Case(
        "a fact is deleted on one side and closed on the other: closed",
        ENTITY,
        changed(ENTITY, "- deployed_version:: 2.4.1 (2026-05-10 → ; 0.95) ^f-3p9x\n", ""),
        changed(ENTITY, "2.4.1 (2026-05-10 → ;", "2.4.1 (2026-05-10 → 2026-06-01;"),
        says("^f-7k2m", "→ 2026-06-01; 0.95) ^f-3p9x"),
    ),
    Case(
        "a fact is deleted on one side and left alone on the other: deleted",
        ENTITY,
        changed(ENTITY, "- deployed_version:: 2.4.1 (2026-05-10 → ; 0.95) ^f-3p9x\n", ""),
        changed(ENTITY, "About", "Much about"),
        lambda n: "f-3p9x" not in n.body and "Much about" in n.body,
    ),
    Case(
        "the object of a fact is changed on both sides",
        ENTITY,
        changed(ENTITY, "2.4.1", "2.4.2"),
        changed(ENTITY, "2.4.1", "2.5.0"),
        says("<<<<<<<", "=======", ">>>>>>>"),
        clash=True,
    ),
    Case(
        "facts are moved on one side and closed on the other",
        ENTITY,
        changed(
            ENTITY,
            "- depends_on:: [[Keychain]] (2026-01-28 → ; 0.9; deploy-log) ^f-7k2m\n",
            "",
            "^f-3p9x\n",
            "^f-3p9x\n- depends_on:: [[Keychain]] (2026-01-28 → ; 0.9; deploy-log) ^f-7k2m\n",
        ),
        changed(ENTITY, "(2026-01-28 → ; 0.9", "(2026-01-28 → 2026-06-01; 0.9"),
        says("^f-3p9x", "→ 2026-06-01; 0.9; deploy-log) ^f-7k2m"),
    ),
    Case(
        "both make the section of facts",
        NOTE,
        NOTE + "\n## Facts\n\n- a:: b (2026-01-01 → ) ^f-aaaa\n",
        NOTE + "\n## Facts\n\n- c:: d (2026-01-01 → ) ^f-bbbb\n",
        lambda n: len(n.facts) == 2 and n.body.count("## Facts") == 1,
    ),
    Case(
        "both log observations, one writes the summary",
        JOURNAL,
        changed(
            JOURNAL, "6h7jm\n", "6h7jm\n- **09:30:00** note: Third ^01ke6nz8a0b1c2d3e4f5g6h7jn\n"
        ),
        changed(
            JOURNAL,
            "6h7jm\n",
            "6h7jm\n- **09:31:00** note: Fourth ^01ke6nz8a0b1c2d3e4f5g6h7jp\n  with a line\n",
            "Nothing yet.",
            "All done.",
        ),
        lambda n: (
            len(n.observations) == 4
            and "Fourth ^01ke6nz8a0b1c2d3e4f5g6h7jp\n  with a line\n" in n.body
            and "All done." in n.body
        ),
    ),
    Case(
        "an observation's text and its further line",
        JOURNAL,
        changed(JOURNAL, "Sign with RS256", "Sign with ES256"),
        changed(JOURNAL, "the private key.", "any private key."),
        says("Sign with ES256", "any private key."),
    ),
    Case(
        "a forgotten note is edited and tagged elsewhere",
        NOTE,
        changed(NOTE, "created:", "forgotten: true\ncreated:", UPDATED, LATEST),
        changed(NOTE, "  - tokens\n", "  - tokens\n  - new\n", "24", "12", UPDATED, LATER),
        also(values(forgotten=True), tags("auth", "tokens", "new"), says("12 hours")),
    ),
    Case(
        "forgotten on one side, restored and forgotten again on the other",
        changed(NOTE, "created:", "forgotten: true\ncreated:"),
        changed(NOTE, "created:", "forgotten: false\ncreated:", UPDATED, LATER),
        changed(NOTE, "created:", "forgotten: true\nforgotten_reason: old\ncreated:"),
        values(forgotten=False, forgotten_reason="old"),
    ),
    Case(
        "nested lists",
        changed(NOTE, "source:", "matrix:\n  - [1, 2]\n  - [3, 4]\nsource:"),
        changed(NOTE, "source:", "matrix:\n  - [1, 2]\n  - [3, 4]\n  - [5, 6]\nsource:"),
        changed(NOTE, "source:", "matrix:\n  - [3, 4]\n  - [7, 8]\nsource:"),
        lambda n: (
            [3, 4] in n.get("matrix")
            and [1, 2] not in n.get("matrix")
            and len(n.get("matrix")) == 3
        ),
    ),
    Case(
        "items keep their spelling: leading zeros, comments, a map",
        changed(NOTE, "source:", "codes:\n  - 00123 # old\n  - yes\nsource:"),
        changed(NOTE, "source:", "codes:\n  - 00123 # old\n  - yes\n  - 007\nsource:"),
        changed(NOTE, "source:", "codes:\n  - 00123 # old\n  - yes\n  - a: 1\n    b: 2\nsource:"),
        lambda n: (
            "  - 00123 # old\n" in n.text
            and "  - 007\n" in n.text
            and {"a": 1, "b": 2} in n.get("codes")
        ),
    ),
    Case(
        "tags: one side removes all, the other adds one",
        NOTE,
        changed(NOTE, "tags:\n  - auth\n  - tokens\n", ""),
        changed(NOTE, "  - tokens\n", "  - tokens\n  - new\n"),
        tags("new"),
    ),
    Case(
        "tags: a single word becomes a list on one side, gets a second word on the other",
        changed(NOTE, "tags:\n  - auth\n  - tokens\n", "tags: auth\n"),
        changed(NOTE, "tags:\n  - auth\n  - tokens\n", "tags:\n  - auth\n  - ours\n"),
        changed(NOTE, "tags:\n  - auth\n  - tokens\n", "tags: auth theirs\n"),
        lambda n: set(n.strings("tags")) == {"auth", "ours", "theirs"},
    ),
    Case(
        "a list is put in another order on one side, extended on the other",
        changed(NOTE, "  - tokens\n", "  - tokens\n  - last\n"),
        changed(NOTE, "  - auth\n  - tokens\n", "  - last\n  - tokens\n  - auth\n"),
        changed(NOTE, "  - tokens\n", "  - tokens\n  - last\n  - new\n"),
        lambda n: [t for t in n.strings("tags") if t != "new"] == ["last", "tokens", "auth"],
    ),
    Case(
        "comments in the properties stay",
        changed(NOTE, "importance: 0.5", "# how much it matters\nimportance: 0.5 # for now"),
        changed(NOTE, "importance: 0.5", "# how much it matters\nimportance: 0.9 # for now"),
        changed(
            NOTE,
            "importance: 0.5",
            "# how much it matters\nimportance: 0.5 # for now",
            "Atlas",
            "B",
        ),
        also(
            values(importance=0.9, project="B"),
            lambda n: "# how much" in n.text and "# for now" in n.text,
        ),
    ),
    Case(
        "a property is removed on one side and changed on the other: it stays",
        NOTE,
        changed(NOTE, "source: claude-code\n", ""),
        changed(NOTE, "source: claude-code", "source: cursor"),
        values(source="cursor"),
    ),
    Case(
        "a property is spelled in another case",
        NOTE,
        changed(NOTE, "importance: 0.5", "Importance: 0.5"),
        changed(NOTE, "importance: 0.5", "importance: 0.9"),
        lambda n: n.get("importance") == 0.9 and n.text.lower().count("importance") == 1,
    ),
    Case(
        "Chinese text",
        CJK,
        changed(CJK, "每二十四小时", "每十二小时", "Atlas", "图集"),
        changed(
            CJK,
            "  - tokens\n",
            "  - tokens\n  - 令牌\n",
            "first entry\n",
            "first entry\n- 第二条\n",
        ),
        also(tags("auth", "tokens", "令牌"), values(project="图集"), says("每十二小时", "第二条")),
    ),
    Case(
        "a byte order mark on one side",
        NOTE,
        "\ufeff" + NOTE,
        changed(NOTE, "24", "12"),
        also(says("12 hours"), lambda n: n.text.startswith("\ufeff") and n.id == ID),
    ),
    Case(
        "a note of 2,000 lines",
        LONG,
        changed(LONG, "Line 17 of", "Line seventeen of", "Line 900 of a long note.\n\n", ""),
        changed(LONG, "Line 18 of", "Line eighteen of", "Line 500 of", "Inserted.\n\nLine 500 of"),
        says("Line seventeen", "Line eighteen", "Inserted.", "Line 999"),
    ),
    Case(
        "both append a paragraph",
        NOTE,
        NOTE + "\nOur thought.\n",
        NOTE + "\nTheir thought.\n",
        lambda n: "Our thought.\n\nTheir" in n.body or "Their thought.\n\nOur" in n.body,
    ),
    Case(
        "a human's note without properties, one side adds some",
        "Milk\nBread\n",
        "---\ntags:\n  - list\n---\nMilk\nBread\n",
        "Milk\nBread\nEggs\n",
        also(tags("list"), says("Milk", "Bread", "Eggs")),
    ),
    Case(
        "both give a note its first properties",
        "Milk\n",
        "---\ntags:\n  - list\n---\nMilk\n",
        "---\ntags:\n  - shop\nmood: calm\n---\nMilk\n",
        lambda n: set(n.strings("tags")) == {"list", "shop"} and n.get("mood") == "calm",
    ),
    Case(
        "a clash inside a code block is flagged all the same",
        NOTE + "\n```sh\nrun one\n```\n",
        NOTE + "\n```sh\nrun two\n```\n",
        NOTE + "\n```sh\nrun three\n```\n",
        lambda n: any(p.kind == "conflict-markers" for p in n.problems),
        clash=True,
    ),
    Case(
        "trailing blanks are stripped by a program, the text is edited elsewhere",
        changed(NOTE, "24 hours.", "24 hours.  "),
        NOTE,
        changed(NOTE, "24 hours.", "12 hours.  "),
        says("12 hours."),
    ),
    Case(
        "the last line has no line break on either side",
        NOTE.rstrip("\n"),
        NOTE + "- ours",
        NOTE + "- theirs",
        says("- first entry\n- "),
    ),
]
