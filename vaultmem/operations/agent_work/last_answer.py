"""What an agent's last answer says: how it ended, and what is left to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from vaultmem.notes.journal_text.plain_line import shortened
from vaultmem.notes.journal_text.work_lines import question_left
from vaultmem.operations.agent_work.prompt_words import content_words

_READ: Final = 40_000  # characters of an answer that are looked at
_MOST: Final = 300  # characters of how it ended
_SENTENCES: Final = 3
_STEPS: Final = 5
_STEP: Final = 160
_HEADING: Final = re.compile(
    r"\A\s{0,3}#{1,6}\s|\A\s*\*\*[^*]{1,60}\*\*:?\s*\Z|\A\s*[-=*_]{3,}\s*\Z"
)
_LEFT: Final = re.compile(
    r"\A[\s#>*_-]*(?:(?:suggested |possible )?next steps?|remaining|(?:still )?(?:open|left)"
    r"|to[- ]?dos?|follow[- ]?ups?|not (?:yet )?done|what(?:'s| is) left|outstanding"
    r"|nächste schritte|offen|próximos pasos|próximos passos|prochaines étapes|下一步|待办)"
    r"[^\n.!?]{0,40}?[:：*_\s]*\Z",
    re.IGNORECASE,
)
_BULLET: Final = re.compile(r"\A\s{0,6}(?:[-*+•]|\d{1,2}[.)])\s+(?:\[ \]\s+)?(?!\[[xX]\])(\S.*)\Z")
_ITEM: Final = re.compile(r"\A\s{0,6}(?:[-*+•]|\d{1,2}[.)])\s")
_MARKS: Final = re.compile(r"(\*\*|__)(?=\S)(.{1,300}?)(?<=\S)\1")
_SMALL_TALK: Final = re.compile(
    r"\A(?:done|perfect|great|excellent|sure|ok(?:ay)?|of course|you're (?:right|welcome)|all set"
    r"|got it|good|fertig|erledigt|listo|feito|voilà)\b[^.!?]{0,25}[.!]?\Z",
    re.IGNORECASE,
)


def ending_of(answer: str, told: Sequence[str] = ()) -> str:
    """The first sentences that say something; empty where none does. Behind the first one, what
    has a line of its own already is not said again."""
    from vaultmem.notes.sentences import sentences

    found = [_plain(sentence) for sentence in sentences("\n".join(_prose(answer[:_READ])))]
    while found and (_SMALL_TALK.match(found[0]) or not content_words(found[0])):
        del found[0]
    found[1:] = [sentence for sentence in found[1:] if sentence not in told]
    while len(found) > 1 and found[min(len(found), _SENTENCES) - 1].endswith(("?", "？")):
        del found[min(len(found), _SENTENCES) - 1 :]  # a question is not how it ended
    kept: list[str] = []
    length = 0
    for sentence in found[:_SENTENCES]:
        length += len(sentence) + 1
        if kept and length > _MOST:
            break
        kept.append(sentence if sentence[-1] in ".!?:。！？…" else f"{sentence}.")
    return shortened(" ".join(kept).rstrip(":"), _MOST)


def left_to_do(answer: str) -> list[str]:
    """What stands under "Next steps" or the like, and a question at the end that waits for its
    answer."""
    lines = answer[-_READ:].split("\n")
    found = list(_steps(lines))[:_STEPS]
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    question = re.split(r"(?<=[.!?:。！？])\s+", _plain(last))[-1]
    if question.endswith(("?", "？")) and content_words(question):
        found.append(question_left(shortened(question, _STEP)))
    return found


def _prose(answer: str) -> Iterator[str]:
    """Up to the first list or heading behind what says something; a list that is announced by
    a colon belongs to it."""
    said = ""
    for line in answer.split("\n"):
        heading, item = _HEADING.match(line), _ITEM.match(line)
        if said and not said.endswith((":", "：")) and (heading or item):
            return
        if not heading:
            yield line
            said = said if item else line.strip() or said
            said = "" if _SMALL_TALK.match(said) else said


def _steps(lines: list[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        if bullet := _BULLET.match(line):
            if inside:
                step = _plain(bullet[1])
                yield shortened(re.split(r"(?<=[.!?。！？])\s", step)[0].rstrip("."), _STEP)
        elif line.strip():
            inside = _LEFT.match(line) is not None


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub(r"\2", text).split())
