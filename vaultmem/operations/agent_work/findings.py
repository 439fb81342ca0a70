"""What an agent or a person says in so many words was decided, or found out.

Only sentences that say it plainly, in one of seven languages: what is merely meant takes a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

DECISION: Final = "decision"
DISCOVERY: Final = "discovery"
_READ: Final = 20_000  # characters of a text that are looked at
_MOST: Final = 3  # of one text
_QUOTED: Final = re.compile(r"^ {0,3}>.*$", re.MULTILINE)
_SHORTEST, _LONGEST = 12, 500  # characters of a sentence

_WE: Final = r"\b(?:I|we)(?:['’]ve| have)?(?: also| then| now| therefore| both)?"
_DECIDED: Final = re.compile(
    r"\A(?:decision|decided|entscheidung|beschluss|decisión|decisão|décision)\s*:\s*\S"
    rf"|{_WE} (?:decided|chose|opted|agreed|settled)\b"
    r"|\b(?:it was decided|the decision (?:is|was))\b"
    r"|\b(?:habe mich|haben uns)\b.{0,120}\bentschieden\b|\b(?:habe|haben)\b.{0,120}\bbeschlossen\b"
    r"|\b(?:decidí|decidimos|hemos decidido|elegimos|decidi|escolhi|escolhemos|optei|optamos)\b"
    r"|\b(?:j['’]ai|nous avons) (?:décidé|choisi|opté)\b"
    r"|我们?决定|我們?決定|ことにしました|に決めました",
    re.IGNORECASE,
)
_FOUND_OUT: Final = re.compile(
    r"\A(?:learned|learnt|lesson|finding|gotcha|gelernt|erkenntnis)\s*:\s*\S"
    r"|\broot cause\b|\b(?:it )?turn(?:s|ed) out\b|\b(?:was|were|is|are) caused by\b"
    r"|\bthe (?:real |actual |underlying )?(?:cause|reason|problem|culprit|bug) (?:is|was)\b"
    rf"|{_WE} (?:found(?: out)?|discovered|learned|learnt|noticed|realized|realised) that\b"
    r"|\bdie (?:eigentliche )?ursache (?:ist|war)\b|\bstellte sich heraus\b|\blag daran, dass\b"
    r"|\bla causa (?:es|era|fue)\b|\bresultó que\b|\ba causa (?:é|era|foi)\b"
    r"|\bla cause (?:est|était)\b|\bs['’]avère que\b|原因是|根本原因|原因は",
    re.IGNORECASE,
)
# How a person decides while they talk to an agent.
_AGREED: Final = r"(?:(?:ok(?:ay)?|yes|no|good|fine|right|great|so|and|but|then|please)[,.!]? )*"
_WISHED: Final = re.compile(
    rf"\A{_AGREED}"
    r"(?:let['’]s (?:use|go (?:with|for)|keep|stick|stay|drop|take|not|avoid|store|call|name"
    r"|move to|switch to|make (?:it|this|that|them))\b|(?:go|stick|stay) with\b|go for\b"
    r"|keep (?:the|it|them|this|that)\b|(?:always|never) (?!mind)\w"
    r"|I['’]d (?:rather|prefer)\b|(?:use|make|do|take|put) \S.{0,80} instead\b"
    r"|we(?:['’]ll| will) (?:use|go with|keep|stay with|drop|take)\b"
    r"|(?:wir|ich) (?:nehmen?|bleiben? bei|verwenden?)\b"
    r"|lass uns\b.{0,80}\b(?:nehmen|verwenden)\b)"
    r"|\b(?:from now on|ab (?:jetzt|sofort)|a partir de (?:agora|ahora)|désormais)\b",
    re.IGNORECASE,
)
_DECIDED_OR_WISHED: Final = re.compile(f"{_DECIDED.pattern}|{_WISHED.pattern}", re.IGNORECASE)
_OPEN: Final = re.compile(
    r"[?？]\W*\Z|\b(?:if|unless|whether|should|could|would|might|maybe|perhaps|probably|shall"
    r"|not (?:yet )?(?:decided|clear|sure)|unclear|falls|ob|vielleicht|vermutlich)\b",
    re.IGNORECASE,
)


class SpokenFinding(NamedTuple):
    kind: str
    text: str


def findings_of_answer(text: str) -> list[SpokenFinding]:
    own = _QUOTED.sub("", text[:_READ])  # whoever is quoted may have said it long ago
    return list(islice(_findings(own, _DECIDED), _MOST))


def findings_of_prompt(text: str) -> list[SpokenFinding]:
    """What a person says is so is not found out by them: it may be why they ask."""
    found = _findings(text, _DECIDED_OR_WISHED)
    decided = (each for each in found if each.kind == DECISION)
    return [each._replace(text=_said_alone(each.text)) for each in islice(decided, _MOST)]


def _said_alone(text: str) -> str:
    """Without the words that join it to what was said before."""
    alone = re.sub(rf"\A{_AGREED}", "", text, flags=re.IGNORECASE)
    return alone[:1].upper() + alone[1:]


def _findings(text: str, decided: re.Pattern[str]) -> Iterator[SpokenFinding]:
    from vaultmem.notes.sentences import sentences

    for sentence in sentences(text[:_READ]):
        plain = " ".join(re.sub(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", r"\2", sentence).split())
        if not _SHORTEST <= len(plain) <= _LONGEST or _OPEN.search(plain):
            continue
        if decided.search(plain):
            yield SpokenFinding(DECISION, plain)
        elif _FOUND_OUT.search(plain):
            yield SpokenFinding(DISCOVERY, plain)
