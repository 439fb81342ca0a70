"""Asking a system: all questions, or one word until it is found."""

from __future__ import annotations

import itertools
import re
import statistics
import time
from typing import Any

from peers import Peer, Place
from report.results import spread

_SENTENCE = "Refresh tokens rotate every 24 hours and the old one stays valid for five minutes. "
_NUMBERS = itertools.count(1)


def ask(
    peer: Peer, server: Any, place: Place, mode: str, most: float = 300, **filters: Any
) -> dict[str, Any]:
    """All questions, ten hits each: how long, how much text, and whether the right note is there."""
    questions = place.vault.questions
    for question in questions[:3]:
        peer.search(server, question.text, mode, **filters)
    deadline = time.monotonic() + most
    seconds, characters, ranks, failed = [], [], [], 0
    for question in questions:
        if time.monotonic() > deadline and len(seconds) >= 10:
            break
        hits = peer.search(server, question.text, mode, **filters)
        seconds.append(hits.seconds)
        characters.append(hits.characters)
        failed += hits.failed
        ranks.append(hits.notes.index(question.note) if question.note in hits.notes else 99)
    return {
        **spread(seconds),
        "characters": round(statistics.mean(characters)),
        "at_5": round(sum(rank < 5 for rank in ranks) / len(ranks), 3),
        "at_10": round(sum(rank < 10 for rank in ranks) / len(ranks), 3),
        "failed": failed,
    }


def fresh(what: str) -> tuple[str, str, str]:
    """A title, a word and a text that nothing in the vault has yet."""
    number = f"{next(_NUMBERS)}x{time.time_ns() % 10**9}"
    word = f"{what}{number}"
    return f"Bench {what} {number}", word, f"{_SENTENCE * 3}\n\nIts name is {word}."


def until_found(peer: Peer, server: Any, word: str, note: str, most: float) -> float | None:
    """Seconds until a search for the word finds the note; None: not in the time allowed."""
    started = time.perf_counter()
    wanted = _folded(note)
    while time.perf_counter() - started < most:
        hits = peer.search(server, word, peer.word_mode or peer.modes[0])
        if any(wanted in _folded(each) for each in hits.notes):
            return time.perf_counter() - started
        time.sleep(0.005)
    return None


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", "-", name.lower().removesuffix(".md"))
