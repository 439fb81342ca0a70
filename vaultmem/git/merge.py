"""One note out of two that grew from one: pure, symmetric, and never worse than git.

Properties are merged one by one and the body by lines, so that git's conflict markers can
stand in the body alone. The two sides are put in an order of their own first (the one with
the older `updated`, then by their bytes): whoever merges gets the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vaultmem.base.line_ends import usual_line_end, with_line_ends, with_unix_line_ends
from vaultmem.errors import NoteMalformed
from vaultmem.git import merge_properties
from vaultmem.notes import line_merge
from vaultmem.notes.frontmatter import PropertyValue
from vaultmem.notes.frontmatter_edit import same_property_value
from vaultmem.notes.line_merge import LineClash, LineUnit, Part
from vaultmem.notes.note import BOM, Note, note_bytes, parse

OURS, THEIRS, BOTH = "ours", "theirs", "both"
_UNREADABLE: Final = frozenset(
    ("malformed-frontmatter", "duplicate-key", "unclosed-frontmatter", "binary", "conflict-markers")
)


@dataclass(frozen=True, slots=True)
class Merged:
    raw: bytes
    clean: bool
    lost: tuple[str, ...] = ()  # what gave way to something newer, for the report
    blended: bool = True  # False: these are two different notes, and `raw` is our own


def merge_notes(
    base: bytes | None,
    ours: bytes,
    theirs: bytes,
    *,
    names: Mapping[str, str] | None = None,
    favour: str = "",
    marker: int = 7,
) -> Merged:
    """`favour` settles clashes: "ours", "theirs" or "both"; without it they get markers."""
    if ours == theirs or theirs == base:
        return Merged(ours, True)
    if ours == base:
        return Merged(theirs, True)
    sides = [parse(raw, names=names) for raw in (ours, theirs)]
    if _have_merge_sides_different_ids(base, *sides):
        return Merged(ours, False, blended=False)
    notes = _MergeSides(base, (ours, theirs), sides, names or {})
    side = {OURS: 1 if notes.swapped else 0, THEIRS: 0 if notes.swapped else 1}.get(favour)
    style = _ClashStyle(
        side, favour == BOTH, marker, _labels_of_merge_sides(notes.first, notes.second)
    )
    for way in () if notes.unreadable else (_merged_head, _head_of_one_merge_side):
        try:
            return _merge_note_sides(notes, style, way(notes, style))
        except NoteMalformed:
            continue
    return _git_merge_file(base, *notes.raw, style) or Merged(ours, False)


def different_notes(base: bytes | None, ours: bytes, theirs: bytes) -> bool:
    """Whether two versions are two memories that only share a name: they are never blended."""
    return _have_merge_sides_different_ids(base, parse(ours), parse(theirs))


def _have_merge_sides_different_ids(base: bytes | None, ours: Note, theirs: Note) -> bool:
    ids = ours.id.upper(), theirs.id.upper()
    return ids[0] != ids[1] and (all(ids) or (base is None and any(ids)))


class _MergeSides:
    """The three versions, with one line ending, the older side first."""

    def __init__(
        self,
        base: bytes | None,
        raw: tuple[bytes, bytes],
        sides: Sequence[Note],
        names: Mapping[str, str],
    ) -> None:
        order = [
            (merge_properties.updated_as_written(side), each)
            for side, each in zip(sides, raw, strict=True)
        ]
        self.swapped = order[1] < order[0]
        self.raw = raw[::-1] if self.swapped else raw
        old = None if base is None else base.decode("utf-8", "surrogateescape")
        texts = [raw.decode("utf-8", "surrogateescape") for raw in self.raw]
        self.newline = _trait_chosen_in_merge(usual_line_end, old, texts, "\n")
        self.bom = _trait_chosen_in_merge(_bom_to_merge, old, texts, "")
        mixed = len({usual_line_end(text) for text in (*texts, old) if text and "\n" in text}) > 1
        self.convert = mixed and self.newline == "\r\n"

        def note(text: str) -> Note:
            text = text.removeprefix(BOM)
            return parse(note_bytes(with_unix_line_ends(text) if mixed else text), names=names)

        self.first, self.second = sides[::-1] if self.swapped else sides
        if mixed or any(map(_bom_to_merge, texts)):
            self.first, self.second = map(note, texts)
        self.base = None if old is None else note(old)
        self.unreadable = any(
            problem.kind in _UNREADABLE
            for side in (self.first, self.second)
            for problem in side.problems
        )

    def finished_bytes(self, text: str) -> bytes:
        return note_bytes(self.bom + (text.replace("\n", "\r\n") if self.convert else text))


def _bom_to_merge(text: str) -> str:
    return BOM if text.startswith(BOM) else ""


def _trait_chosen_in_merge(
    trait: Callable[[str], str], base: str | None, texts: Sequence[str], without: str
) -> str:
    """A trait of the whole text: as the side has it that changed it."""
    one, other = map(trait, texts)
    if one == other:
        return one
    if base is None:
        return without
    return other if one == trait(base) else one


# --- blending -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _ClashStyle:
    """How clashes are written."""

    side: int | None  # the first or the second alone
    both: bool
    marker: int
    labels: tuple[str, str]

    def clash_lines(self, clash: LineClash) -> Iterator[str]:
        sides = [[unit.text for unit in side] for side in (clash.first, clash.second)]
        if self.side is not None:
            yield from sides[self.side]
        elif self.both:
            yield from (line for side in sides for line in side)
        else:
            yield f"{'<' * self.marker} {self.labels[0]}"
            yield from sides[0]
            yield "=" * self.marker
            yield from sides[1]
            yield f"{'>' * self.marker} {self.labels[1]}"

    @property
    def writes_markers(self) -> bool:
        return self.side is None and not self.both


def _labels_of_merge_sides(first: Note, second: Note) -> tuple[str, str]:
    """Names of the sides that are the same on every machine."""
    times = first.string("updated"), second.string("updated")
    if all(times) and times[0] != times[1]:
        return f"updated {times[0]}", f"updated {times[1]}"
    return "one version", "another version"


@dataclass(frozen=True, slots=True)
class _MergedHead:
    """The properties as they are to be."""

    text: str
    values: Mapping[str, PropertyValue]
    lost: tuple[str, ...] = ()
    clean: bool = True


def _merge_note_sides(notes: _MergeSides, style: _ClashStyle, top: _MergedHead) -> Merged:
    head = top.text
    body = line_merge.merge_lines(
        line_merge.line_units(notes.base) if notes.base else None,
        line_merge.line_units(notes.first),
        line_merge.line_units(notes.second),
    )
    text = _body_as_merged(body.parts, style)
    marked = bool(body.clashes) and style.writes_markers
    shown = parse(note_bytes(head + text)).problems if marked else ()
    if marked and not any(problem.kind == "conflict-markers" for problem in shown):
        # They stand in a code block: say it above.
        whole = LineClash((LineUnit(notes.first.body),), (LineUnit(notes.second.body),))
        text = _body_as_merged((whole,), style) + "\n"
    after = parse(note_bytes(head + text), names=notes.first.names)
    if not same_property_value(dict(after.properties), dict(top.values)) or after.body != text:
        raise NoteMalformed("The merged text would be read as something else.")
    clean = not marked and (top.clean or not style.writes_markers)
    return Merged(notes.finished_bytes(head + text), clean, (*top.lost, *body.lost))


def _merged_head(notes: _MergeSides, style: _ClashStyle) -> _MergedHead:
    base, first, second = map(
        merge_properties.property_side, (notes.base, notes.first, notes.second)
    )
    if first.block is None and second.block is None:
        return _MergedHead("", {})
    found = merge_properties.merge_properties(base, first, second, notes.first.names)
    if not found.values:
        return _MergedHead(_empty_frontmatter_in_merge(notes), {}, found.lost)
    newline = "\r\n" if notes.newline == "\r\n" and not notes.convert else "\n"
    text = with_line_ends(found.text, newline)
    return _MergedHead(f"---{newline}{text}---{newline}", found.values, found.lost)


def _head_of_one_merge_side(notes: _MergeSides, style: _ClashStyle) -> _MergedHead:
    """Properties on one line, say, that cannot be taken apart: one side's, whole."""
    sides = (notes.first, notes.second)
    old = dict(notes.base.properties) if notes.base else None
    values = [dict(side.properties) for side in sides]
    changed = [
        side
        for side, own in zip(sides, values, strict=True)
        if old is None or not same_property_value(own, old)
    ]
    agreed = len(changed) < 2 or same_property_value(*values)
    kept = changed[-1] if agreed and changed else sides[1 if style.side is None else style.side]
    lost = () if agreed else ("properties: kept one side's whole, they cannot be merged",)
    return _MergedHead(kept.text[: kept.body_start], kept.properties, lost, agreed)


def _empty_frontmatter_in_merge(notes: _MergeSides) -> str:
    """Fences without properties, if a side has them so."""
    bare = (note for note in (notes.second, notes.first) if not note.properties)
    return next((note.text[: note.body_start] for note in bare), "")


def _body_as_merged(parts: tuple[Part, ...], style: _ClashStyle) -> str:
    found: list[str] = []
    for part in parts:
        found += [part.text] if isinstance(part, LineUnit) else style.clash_lines(part)
    return "\n".join(found)


# --- git's own way --------------------------------------------------------------------------


def merge_by_git(
    base: bytes | None, ours: bytes, theirs: bytes, *, favour: str = "", marker: int = 7
) -> Merged:
    """What git itself makes of any text."""
    if ours == theirs or theirs == base:
        return Merged(ours, True)
    if ours == base:
        return Merged(theirs, True)
    side = {OURS: 0, THEIRS: 1}.get(favour)
    style = _ClashStyle(side, favour == BOTH, marker, ("one version", "another version"))
    if favour or ours < theirs:
        return _git_merge_file(base, ours, theirs, style) or Merged(ours, False)
    return _git_merge_file(base, theirs, ours, style) or Merged(ours, False)


def _git_merge_file(
    base: bytes | None, first: bytes, second: bytes, style: _ClashStyle
) -> Merged | None:
    """None for what is not text: there is nothing to put together."""
    import subprocess  # late: a note that can be read needs none of them
    import tempfile
    from pathlib import Path

    from vaultmem import config

    command = ["merge-file", "-p", f"--marker-size={style.marker}"]
    if style.side is not None:
        command.append("--ours" if style.side == 0 else "--theirs")
    elif style.both:
        command.append("--union")
    for label in (style.labels[0], "before", style.labels[1]):
        command += ["-L", label]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("first", "base", "second")]
        for file, raw in zip(files, (first, base or b"", second), strict=True):
            file.write_bytes(raw)
        # In that folder it finds no repository, and so no settings but the person's own.
        program, env = config.git_program(Path(folder)) or "git", config.git_environment({})
        asked = [program, *command, "--", *map(str, files)]
        done = subprocess.run(asked, cwd=folder, env=env, capture_output=True)
    if done.returncode < 0 or done.returncode > 127:
        return None
    return Merged(done.stdout, done.returncode == 0)
