"""The notes that everyone is measured on, and the questions asked about them."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from measure.generated_vaults import make_vault

QUESTIONS = 102
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_MARKUP = re.compile(r"\[\[[^\]]*\]\]|\]\([^)]*\)|#\S+|`[^`]*`|\{\{.*?\}\}|<[^>]*>|[*\[\]]")


@dataclass(frozen=True)
class Question:
    text: str
    kind: str  # "title", "phrase" or "question"
    note: str  # the path of the note it was made from: the one right answer


@dataclass(frozen=True)
class Notes:
    """A vault as laid out, never touched again: whoever is measured works on a copy."""

    folder: Path
    count: int
    bytes: int
    questions: tuple[Question, ...]

    @property
    def paths(self) -> list[str]:
        return [file.relative_to(self.folder).as_posix() for file in markdown(self.folder)]

    def copy(self, to: Path) -> Path:
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.folder, to)
        return to


def markdown(folder: Path) -> list[Path]:
    files = (f for f in folder.rglob("*.md") if f.is_file())
    return sorted(f for f in files if not _is_hidden(f.relative_to(folder)))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def lay_out(work: Path, size: int, corpus: Path | None) -> Notes:
    """The vault of this size, made or taken up from an earlier run."""
    name = f"{corpus.name}-{size}" if corpus else str(size)
    base = work / "vaults" / name
    if not (base / "questions.json").exists():
        shutil.rmtree(base, ignore_errors=True)
        (base / "notes").mkdir(parents=True)
        if corpus:
            _take(corpus, base / "notes", size)
        else:
            make_vault(base / "notes", size)
            for file in markdown(base / "notes"):
                _give_heading(file)
        asked = [asdict(question) for question in make_questions(base / "notes")]
        (base / "questions.json").write_text(json.dumps(asked, indent=1), encoding="utf-8")
    asked = json.loads((base / "questions.json").read_text(encoding="utf-8"))
    files = markdown(base / "notes")
    total = sum(file.stat().st_size for file in files)
    return Notes(base / "notes", len(files), total, tuple(Question(**each) for each in asked))


def _give_heading(file: Path) -> None:
    """Its title as a heading too: some systems see the text alone, without the file's name."""
    head, rule, body = file.read_text(encoding="utf-8").partition("\n---\n")
    file.write_text(f"{head}{rule}# {file.stem}\n\n{body}", encoding="utf-8", newline="\n")


def _place(path: Path) -> bytes:
    return hashlib.sha256(path.as_posix().encode()).digest()


def _take(corpus: Path, folder: Path, size: int) -> None:
    """As many notes of a real vault, by the hash of their names: any part of it, always the same."""
    files = sorted(markdown(corpus), key=lambda f: _place(f.relative_to(corpus)))
    for file in files[:size]:
        target = folder / file.relative_to(corpus)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def describe(vault: Notes) -> dict[str, int]:
    sizes = sorted(file.stat().st_size for file in markdown(vault.folder))
    return {"notes": vault.count, "bytes": vault.bytes, "median": sizes[len(sizes) // 2]}


# --- questions ------------------------------------------------------------------------------


def make_questions(folder: Path, count: int = QUESTIONS) -> Iterator[Question]:
    """In turns the words of a title, a phrase as it stands, and a question about a paragraph."""
    chance = random.Random(11)
    files = markdown(folder)
    chance.shuffle(files)
    kinds = ("title", "phrase", "question")
    made = 0
    for file in files:
        if made == count:
            return
        text = _asked(file, kinds[made % 3], chance)
        if text:
            yield Question(text, kinds[made % 3], file.relative_to(folder).as_posix())
            made += 1


def _asked(file: Path, kind: str, chance: random.Random) -> str:
    text = file.read_text(encoding="utf-8", errors="replace")
    if kind == "title":
        return _title_words(file, text)
    paragraphs = [words for line in _prose(text) if len(words := _WORD.findall(line)) >= 12]
    if not paragraphs:
        return ""
    words = chance.choice(paragraphs)
    if kind == "phrase":
        start = chance.randrange(len(words) - 6)
        return " ".join(words[start : start + 6])
    telling = sorted({word.lower() for word in words}, key=lambda word: (-len(word), word))[:4]
    chance.shuffle(telling)
    return "What did we note about {} and {}, and how do {} and {} come in?".format(*telling)


def _title_words(file: Path, text: str) -> str:
    named = re.search(r"^title:\s*[\"']?(.+?)[\"']?\s*$", text[:2000], re.MULTILINE)
    title = named.group(1) if named else re.sub(r"\s\d+$", "", file.stem)
    return title.lower()


def _prose(text: str) -> Iterator[str]:
    """Lines of running text: no properties, headings, lists, tables or code."""
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    body = re.sub(r"^```.*?^```", "", body, flags=re.DOTALL | re.MULTILINE)
    for line in body.splitlines():
        if line[:1].isalpha():
            yield _MARKUP.sub(" ", line)
