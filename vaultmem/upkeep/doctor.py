"""What is wrong with a vault, and what to do about each thing. Looking changes nothing."""

from __future__ import annotations

import os
import posixpath
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vaultmem.base import small_files
from vaultmem.base.file_stamps import UNSETTLED_STAMP
from vaultmem.base.own_program import command_to_add, command_to_type
from vaultmem.config import Settings
from vaultmem.errors import InvalidInput, NoteMalformed, VaultmemError
from vaultmem.indexing import changes
from vaultmem.notes import file_names
from vaultmem.notes.links import LinkMap
from vaultmem.notes.masking import mask_private
from vaultmem.notes.note import Note
from vaultmem.storage.listing import Listing, original_of_copies
from vaultmem.storage.pdf import pdf_texts
from vaultmem.storage.store import Store

if TYPE_CHECKING:
    from vaultmem.index import Index


@dataclass(frozen=True, slots=True)
class Finding:
    path: str
    problem: str
    message: str
    fix: str

    @property
    def is_information(self) -> bool:
        """Nothing wrong: a link to what is not written yet, a note that was changed just now, or
        whose name could be better."""
        return self.problem in INFORMATION


INFORMATION: Final = frozenset(
    ("index-behind", "dead-link", "outdated-title", "unread-pdf", "pdf-library")
)

# What to do about a problem that reading a note brought to light.
_FIXES = {
    "malformed-frontmatter": "Correct the properties at the top of the note.",
    "duplicate-key": "Keep one of the two lines.",
    "unclosed-frontmatter": "Put a line with --- below the properties.",
    "conflict-markers": "{resolve}, or remove the lines with <<<<<<<, ======= and >>>>>>>.",
    "not-utf8": "Save the note as UTF-8.",
    "binary": "Move the file out of the vault, or give it another ending.",
    "too-many-tags": "Tag the note with what it is about.",
    "too-long": "Split the note, or keep the text as an attachment.",
    "malformed-canvas": "Draw it anew in Obsidian, or bring back an older version of the file.",
    "large-canvas": "Make several canvases of it.",
    "unread-pdf": "Nothing has to be done. What is to be found of it can be said in a note.",
}


def _fix_of_problem(kind: str) -> str:
    return _FIXES[kind].format(resolve=command_to_type("resolve"))


def examine_vault(store: Store, *, secrets: bool = False) -> list[Finding]:
    listing = store.walk()
    notes, unreadable = _notes_to_examine(store, listing)
    return [
        *(_secret_findings(notes, store.settings) if secrets else ()),
        *(
            Finding(wrong.place, "settings", wrong.message, wrong.advice)
            for wrong in store.settings.problems
        ),
        *(Finding(p.place, "obsidian", p.message, p.cure) for p in store.paths.obsidian.problems),
        *_unread_findings(listing),
        *_own_link_findings(store),
        *unreadable,
        *(
            Finding(note.path, problem.kind, problem.message, _fix_of_problem(problem.kind))
            for note in notes
            for problem in note.problems
        ),
        *_id_findings(notes, listing),
        *_name_findings(listing),
        *_title_findings(notes),
        *_link_findings(notes, listing),
        *_leftover_findings(listing),
        *_pdf_findings(listing),
        *_merge_driver_findings(store),
        *_git_program_findings(store),
        *_git_identity_findings(store),
        *_namesake_findings(),
    ]


def examine_index(store: Store, index: Index) -> list[Finding]:
    """Where the index says something else than the files."""
    listing = store.walk()
    known, skips = index.inventory.known(), index.inventory.skips()
    unseen = [path for path, _ in listing.unread]
    look = changes.compare_stamps(changes.known_stamps(known, skips), listing.notes, unseen)
    # What could not be read is tried again at every look, and no news.
    behind = [p for p in look.suspects if p not in skips or skips[p].stat != UNSETTLED_STAMP]
    gone = [path for path in look.missing if path in known]
    message, cure = (
        "The index does not know this note as it is now.",
        command_to_type("doctor --fix"),
    )
    found = [Finding(path, "index-behind", message, cure) for path in behind]
    message = "The index has this note, but it is gone."
    return [*found, *(Finding(path, "index-behind", message, cure) for path in gone)]


def unindexed_notes(store: Store, index: Index, findings: Iterable[Finding]) -> list[Finding]:
    """Notes that the index has left out for a reason that nobody has named yet."""
    named = {found.path for found in findings}
    cure = f"Change the note, then: {command_to_type('index')}"
    return [
        Finding(path, "not-indexed", skip.reason, cure)
        for path, skip in index.inventory.skips().items()
        if path not in named and store.stat(path) is not None
    ]


def fix_findings(store: Store, findings: Iterable[Finding]) -> list[Finding]:
    """Put right what can be put right without touching a note; returns what was."""
    return [f for f in findings if _is_finding_fixed(store, f)]


def _is_finding_fixed(store: Store, found: Finding) -> bool:
    if found.problem == "merge-driver":
        from vaultmem.git import repo

        repo.register_merge_driver(store.root)
        return True
    return found.problem == "leftover-file" and store.sweep(found.path)


def _notes_to_examine(store: Store, listing: Listing) -> tuple[list[Note], list[Finding]]:
    notes, failed = [], []
    for path in listing.notes:
        try:
            notes.append(store.note(path))
        except NoteMalformed as error:
            failed.append(Finding(path, "not-indexed", str(error), _fix_of_problem("too-long")))
        except VaultmemError as error:
            failed.append(Finding(path, "unreadable", str(error), "Check the file's permissions."))
    return notes, failed


def _own_link_findings(store: Store) -> Iterator[Finding]:
    """Links among our own files; whatever needs one of them is refused until they are gone."""
    top = store.state.path
    found = [str(top)] if top.is_symlink() else []
    for folder, folders, files in os.walk(top):
        here = (os.path.join(folder, name) for name in (*folders, *files))
        found += filter(os.path.islink, here)
    message = "A link among vaultmem's own files, where none is followed."
    cure = "Remove it; to keep index and local state elsewhere, set $VAULTMEM_STATE_DIR."
    for path in sorted(found)[:20] if not top.is_symlink() else found[:1]:
        shown = os.path.relpath(path, store.root) if path.startswith(f"{store.root}/") else path
        yield Finding(shown, "symlink", message, cure)


def _unread_findings(listing: Listing) -> Iterator[Finding]:
    cure = "Check that you may read it, and that its path is not too long."
    for path, reason in listing.unread:
        message = f"This could not be looked at: {reason}."
        yield Finding(file_names.escaped_name(path) or ".", "unreadable", message, cure)
    for path, refusal in listing.refused.items():
        if path not in listing.symlinks:
            yield Finding(path, "no-note", refusal.reason, refusal.cure)
    for path in listing.symlinks:
        message = "A symbolic link; vaultmem does not follow it, and Obsidian does not watch it."
        yield Finding(path, "symlink", message, "Move the files themselves into the vault.")


def _secret_findings(notes: list[Note], settings: Settings) -> Iterator[Finding]:
    """What stands between <private> marks is known to be one, and stays out of the index."""
    from vaultmem.base import redaction as secrets

    for note in notes:
        for found in secrets.find_secrets(mask_private(note.text), settings["privacy.patterns"]):
            message = f"Line {found.line} looks like it holds a secret: {found.kind}."
            fix = "Take it out, or put it between <private> and </private>; if others may have it, make a new one."
            yield Finding(note.path, "secret", message, fix)


def _id_findings(notes: list[Note], listing: Listing) -> Iterator[Finding]:
    by_id: dict[str, list[Note]] = defaultdict(list)
    for note in notes:
        if note.id:
            by_id[note.id.upper()].append(note)
    copies = {note.path for note in notes if _name_of_copied_original(note.path)}
    for same in by_id.values():
        if len(same) > 1:
            original = original_of_copies(same, listing)
            for note in same:
                if note is not original and note.path not in copies:
                    message = f"The same id as {original.path}."
                    fix = "Keep one of the two, or remove the id line from the copy."
                    yield Finding(note.path, "duplicate-id", message, fix)
    for path in sorted(copies):
        message = f"A sync service's conflict copy of {_name_of_copied_original(path)!r}."
        cure = f"{command_to_type('conflicts')} shows both; {command_to_type('resolve')}."
        if file_names.is_canvas(path):
            cure = "Look at both in Obsidian, and delete one."
        yield Finding(path, "conflict-copy", message, cure)


def _name_of_copied_original(path: str) -> str | None:
    return file_names.name_of_conflict_original(posixpath.splitext(posixpath.basename(path))[0])


def _name_findings(listing: Listing) -> Iterator[Finding]:
    by_key: dict[str, list[str]] = defaultdict(list)
    for path in listing.files:
        by_key[file_names.name_key(path)].append(path)
        name = posixpath.basename(path)
        stem = name[: -len(".md")] if name.lower().endswith(".md") else name
        if path in listing.notes and (reason := file_names.why_name_is_unsafe(stem)):
            message = f"A name to avoid: {reason}."
            yield Finding(path, "unsafe-name", message, "Rename it in Obsidian.")
    for same in by_key.values():
        for path in same[1:]:
            message = f"On other systems this is the same file as {same[0]}."
            yield Finding(path, "name-clash", message, "Rename one of the two in Obsidian.")


def _title_findings(notes: list[Note]) -> Iterator[Finding]:
    """Titles that were taken from a text that was corrected since."""
    for note in notes:
        if note.shown_title != note.title:
            message = f"Its text says now: {note.shown_title}"
            cure = command_to_type(f"rename {shlex.quote(note.path)}")
            yield Finding(note.path, "outdated-title", message, cure)


def _link_findings(notes: list[Note], listing: Listing) -> Iterator[Finding]:
    links = LinkMap(listing.files)
    for note in notes:
        facts = {fact.object for fact in note.facts}
        for link in dict.fromkeys(note.links):
            found = links.resolve(link.target, note.path).paths
            if len(found) > 1:
                message = f"[[{link.target}]] could be {' or '.join(found)}."
                fix = f"Write the path: [[{found[0].removesuffix('.md')}]]."
                yield Finding(note.path, "ambiguous-link", message, fix)
            elif not found and not link.place and f"[[{link.target}]]" not in facts:
                # A property or a fact may name an entity that has no note yet.
                message = f"[[{link.target}]] leads to no note yet."
                fix = "Nothing has to be done. Follow the link in Obsidian to make the note."
                yield Finding(note.path, "dead-link", message, fix)


def _merge_driver_findings(store: Store) -> Iterator[Finding]:
    """Whether this clone knows how notes are merged: git keeps that in no commit."""
    from vaultmem.git import repo

    try:
        wanted = b"merge=vaultmem" in small_files.read_small_file(store.root / ".gitattributes")
    except OSError:
        return
    cloned = wanted and (store.root / ".git").exists()
    if cloned and not repo.is_merge_driver_registered(store.root):
        message = (
            "In this clone git does not know how to merge notes, so it would break properties."
        )
        yield Finding(".git/config", "merge-driver", message, command_to_type("doctor --fix"))


def _git_program_findings(store: Store) -> Iterator[Finding]:
    """Whether the repository has programs to run, for which sync would have to be trusted."""
    from vaultmem.git import repo

    if (store.root / ".git").exists():
        try:
            repo.Repo(store.root).trust.require_trusted()
        except InvalidInput as error:
            what, _, cure = error.message.partition(" If they are yours: ")
            yield Finding(".git", "git-programs", what, cure or "Look at .git.")
        except VaultmemError:
            return  # without git nothing runs


def _git_identity_findings(store: Store) -> Iterator[Finding]:
    """Whether a vault that is to be shared waits for a name to commit under."""
    from vaultmem.git import repo

    if (store.root / ".git").exists() and repo.is_merge_driver_registered(store.root):
        try:
            repo.Repo(store.root).require_identity()
        except repo.NoGitIdentity as error:
            what, _, cure = error.message.partition(". ")
            yield Finding(".git", "git-identity", f"{what}, so nothing is committed.", cure)
        except VaultmemError:
            return


def _leftover_findings(listing: Listing) -> Iterator[Finding]:
    for path in listing.temporaries:
        message = "A temporary file that a stopped process may have left."
        cure = f"{command_to_type('doctor')} --fix removes it after an hour."
        yield Finding(path, "leftover-file", message, cure)


def _pdf_findings(listing: Listing) -> Iterator[Finding]:
    """One for all: a vault of papers is nothing wrong."""
    number = 0 if pdf_texts.can_read_pdfs() else sum(map(file_names.is_pdf, listing.files))
    if number:
        some = "1 PDF is" if number == 1 else f"{number:,} PDFs are"
        message = f"{some} not searched, because the library that reads them is not installed."
        yield Finding(".", "pdf-library", message, command_to_add(pdf_texts.PDF_LIBRARY))


def _namesake_findings() -> Iterator[Finding]:
    """Another library has our name on the package index, and the same place for its files."""
    from importlib import metadata

    try:
        found = metadata.distribution("vaultmem")
    except metadata.PackageNotFoundError:
        return
    message = f"Another library named vaultmem ({found.version}) is installed in the same place."
    cure = (
        "pip uninstall vaultmem, with the pip of this environment; then install vaultmem-mcp "
        "anew with --force-reinstall."
    )
    place = str(found.locate_file("vaultmem"))
    yield Finding(place, "other-library", message, cure)
