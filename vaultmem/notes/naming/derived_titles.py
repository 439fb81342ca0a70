"""Titles taken from texts: the first thing that a text says, as a file's name.

The same text always gives the same title.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Final

from vaultmem.base.function_words import FUNCTION_WORDS
from vaultmem.notes.file_names import name_key, safe_name

UNTITLED: Final = "Memory"
_BYTES: Final = 80
_READ: Final = 4_000  # characters in which a title is looked for
_LINE: Final = 600  # characters of one line
_MOST_SENTENCES: Final = 40  # in which an older title is looked for
_SHORT_LINE: Final = 50  # characters; a longer one may go on in the next line

_FRONTMATTER: Final = re.compile(r"\A---[ \t]*\n(?:[^\n]*\n){0,60}?---[ \t]*(?:\n|\Z)")
_FENCE: Final = re.compile(r"\s*(?:>\s?)*\s*(`{3,}|~{3,})")
_COMMENT: Final = re.compile(r"%%.*?(?:%%|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
_LEADING: Final = re.compile(
    r"(?:\s|#{1,6}\s|>|[-*+•]\s|\d{1,3}[.)]\s|\[[ xX/-]\]\s|\[![\w-]+\][+-]?)+"
)
_BEGINS_BLOCK: Final = re.compile(r"\s*(?:#{1,6}\s|>|[-*+•]\s|\d{1,3}[.)]\s|`{3}|~{3}|\||$)")
_HEADING: Final = re.compile(r"\s*(?:>\s*)*#{1,6}\s")
_TABLE_RULE: Final = re.compile(r"[\s|:-]*-[\s|:-]*")
_LONE_WORD: Final = re.compile(r"[^\s:：]+[:：]")
_PROMPT: Final = re.compile(r"\s*(?:[$>%#]|//|--)\s+")

_EMBED: Final = re.compile(r"!\[\[[^\[\]]*\]\]")
_WIKILINK: Final = re.compile(r"\[\[([^\[\]]*)\]\]")
_IMAGE_OR_LINK: Final = re.compile(
    r"!?\[([^\[\]]*)\]\((?:<[^<>]*>|[^\s()]*(?:\([^()]*\))?[^()]*)\)"
)
_FOOTNOTE: Final = re.compile(r"\[\^[^\[\]\s]+\]")
_TAG_OF_HTML: Final = re.compile(r"</?[a-zA-Z][^<>]*>")
_URL: Final = re.compile(
    r"<?\b(?:https?|ftp|file|obsidian)://([^\s<>]*[^\s<>.,;:!?)\]'\"])>?", re.IGNORECASE
)
_CODE: Final = re.compile(r"(`+)(.+?)\1")
_EMPHASIS: Final = re.compile(r"(\*{1,3}|(?<!\w)_{1,3}|~~|==)(?=\S)(.+?)(?<=\S)\1(?!\w)")
_LAST_TAGS: Final = re.compile(r"(?:\s+#[^\s#]+)*(?:\s+\^[\w-]+)?\s*\Z")
_TAGS_ALONE: Final = re.compile(r"\s*(?:#[^\s#]+\s*)+")
_TAG: Final = re.compile(r"(?<!\S)#(?=[^\s#\d])")
_MARKS: Final = re.compile(r"\\(?=[^\w\s])|[*~`=]{2,}|(?<!\S)[*`]+(?=\S)|(?<=\S)[*`]+(?!\S)")

_SENTENCE_END: Final = re.compile(r"(?:[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？]+[」』”’）]*)")
_ABBREVIATED: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|nr|dr|mr|mrs|ms|prof|st|inc|ltd|fig|al|ca|bzw|ggf|usw|"
    r"evtl|inkl|z\.\s?b|d\.\s?h|u\.\s?a|s\.\s?o|str|tel|max|min|abs|art|bspw|jan|feb|apr|aug|sept?|"
    r"okt|oct|nov|dez|dec)|(?<![\w'’])\w|(?<!\w)\d{1,2})\.\Z",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(r";\s|\s[–—-]\s|:\s|,\s|[；：，、]")
_STRONG_CLAUSE_END: Final = re.compile(r";\s|\s[–—-]\s|；")
_KEPT_TOGETHER: Final = "\u0001"  # a blank inside of code or a link, while a title is cut
_CJK: Final = re.compile("[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_END: Final = " .,;:、。，；：·–—-/\\|+&<=„“‘«¿¡\u200d"
_PAIRS: Final = {
    "(": ")",
    "[": "]",
    "{": "}",
    "（": "）",
    "「": "」",
    "『": "』",
    "“": "”",
    "《": "》",
}
_JOINERS: Final = "\u200d\ufe0e\ufe0f"


def derived_title(text: str) -> str:
    """The first sentence or line, without its Markdown, short enough for a file's name."""
    for line in plain_lines(text):
        if title := short_title(first_sentence(line)):
            return f"About {title}" if _is_linked(title, text) else title
    return UNTITLED


def _is_linked(title: str, text: str) -> bool:
    """A note must not take the name of another that it links to: links would lead to it."""
    links = map(_link_words, _WIKILINK.finditer(text[:_READ]))
    return "[[" in text and _letters(title) in map(_letters, links)


def is_title_of(title: str, text: str) -> bool:
    """Whether the title is what some sentence near the beginning of the text gives."""
    wanted = _letters(title)
    if wanted == _letters(derived_title(text)):
        return True
    for sentence in itertools.islice(_sentences(text), _MOST_SENTENCES):
        said = _letters(sentence)
        if wanted in (said, _letters(safe_name(short_title(sentence)))):
            return True
        if said.startswith(wanted) and len(title.encode()) > _BYTES // 2:
            return True  # cut elsewhere, by whoever made it
    return False


def _letters(text: str) -> str:
    """What two titles are compared by: how they are written, and with what signs, is left out."""
    return "".join(filter(str.isalnum, name_key(unicodedata.normalize("NFC", text))))


# --- lines -----------------------------------------------------------------------------------


def plain_lines(text: str) -> Iterator[str]:
    """The lines that say something, without their marks; those of code come last."""
    text = _FRONTMATTER.sub("", text.lstrip("\ufeff\n").replace("\r\n", "\n"), count=1)
    text = _COMMENT.sub(" ", text[: _READ * 2])[:_READ]
    prose, code = _prose_and_code([line[:_LINE] for line in text.splitlines()])
    for number, line in enumerate(prose):
        if (plain := _without_marks(line)) and not _TAGS_ALONE.fullmatch(line):
            yield _joined(line, plain, prose[number + 1 : number + 4])
    for line in filter(_TAGS_ALONE.fullmatch, prose):
        yield _without_marks(line)
    for line in code:
        if plain := " ".join(_PROMPT.sub("", line, count=1).split()):
            yield plain


def _prose_and_code(lines: list[str]) -> tuple[list[str], list[str]]:
    prose: list[str] = []
    code: list[str] = []
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            closed = mark and mark[1].startswith(fence) and not line[mark.end() :].strip()
            if closed:
                fence = ""
            else:
                code.append(line)
        elif mark:
            fence = mark[1]
            prose.append("")
        else:
            prose.append(line)
    return prose, code


def _joined(line: str, plain: str, following: list[str]) -> str:
    """A line that was wrapped goes on in the next one; a day or a lone word needs what follows."""
    if following and (not any(map(str.isalpha, plain)) or _LONE_WORD.fullmatch(plain)):
        return f"{plain} {next(filter(None, map(_without_marks, following)), '')}".strip()
    for after in following[:2]:
        if _HEADING.match(line) or _BEGINS_BLOCK.match(after) or plain[-1:] in ".!?。！？:：":
            return plain
        goes_on = after.lstrip()[:1].islower() or _ends_openly(plain)
        if len(plain) < _SHORT_LINE and not goes_on:
            return plain
        between = "" if _CJK.match(plain[-1:]) else " "
        plain = f"{plain}{between}{_without_marks(after)}"
    return plain


def _ends_openly(plain: str) -> bool:
    return plain[-1:] in ",;，、" or plain.rpartition(" ")[2].casefold() in _function_words()


def _without_marks(line: str) -> str:
    line = _COMMENT.sub("", line)
    if _TABLE_RULE.fullmatch(line) or not line.strip("-=*_ \t"):
        return ""
    if found := _LEADING.match(line):
        line = line[found.end() :]
    if line.startswith("|"):
        line = ", ".join(
            filter(None, (cell.strip() for cell in line.strip().strip("|").split("|")))
        )
    line = _LAST_TAGS.sub("", _FOOTNOTE.sub("", line)) if line[:1] != "#" else line
    line = _CODE.sub(lambda m: _together(m[2].strip()), line)
    line = _WIKILINK.sub(_link_words, _EMBED.sub("", line))
    line = _IMAGE_OR_LINK.sub(lambda m: _together(m[1]), line)
    line = _URL.sub(lambda m: _short_address(m[1]), line)
    line = _TAG.sub("", _TAG_OF_HTML.sub("", line))
    for _ in range(3):
        line = _EMPHASIS.sub(r"\2", line)
    line = " ".join(_MARKS.sub("", line).split())
    return line if any(map(_says_something, line)) else ""


def _says_something(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "LNS" and sign not in "-=|+<>~`^$"


def _together(text: str) -> str:
    return text.replace(" ", _KEPT_TOGETHER)


def _link_words(link: re.Match[str]) -> str:
    target, bar, display = link[1].partition("|")
    name = target.rstrip("\\").partition("#")[0].rpartition("/")[2].removesuffix(".md")
    return _together((display if bar else name or target.lstrip("#^")).strip())


def _short_address(address: str) -> str:
    """Whose page it is, and the last word of where on it."""
    host, _, rest = address.partition("/")
    parts = [part for part in re.split(r"[?#]", rest)[0].split("/") if part]
    last = parts[-2:] if parts and len(parts[-1]) < 6 else parts[-1:]
    where = " ".join(last).removesuffix(".html")
    host = host.rpartition("@")[2].removeprefix("www.")
    return _together(f"{host} {where}" if where and len(where) <= 40 else host)


# --- sentences -------------------------------------------------------------------------------


def _sentences(text: str) -> Iterator[str]:
    for line in plain_lines(text):
        yield first_sentence(line)
        start = 0
        for end in (*_sentence_ends(line), len(line)):
            if sentence := line[start:end].strip():
                yield sentence
            start = end


def first_sentence(line: str) -> str:
    for end in _sentence_ends(line):
        if len(line[:end].split()) > 1 or _CJK.search(line[:end]) or len(line) - end < 3:
            return line[:end]
    return line


def _sentence_ends(line: str) -> Iterator[int]:
    for found in _SENTENCE_END.finditer(line):
        before, after = line[: found.end()], line[found.end() :].lstrip()
        if after[:1].islower() or _ABBREVIATED.search(before):
            continue
        yield found.end()


# --- short enough ----------------------------------------------------------------------------


def short_title(sentence: str) -> str:
    """As much of it as a file's name should have: it ends with a clause, or with a word that says
    something."""
    short = _cut(sentence)
    if short != sentence:
        short = _without_loose_end(short)
    short = _without_open_bracket(short.rstrip(_END).replace(_KEPT_TOGETHER, " "))
    return " ".join(short.split()).rstrip(_END).lstrip(" .,;:、。，；：-–—")


def _cut(sentence: str) -> str:
    """At most so many bytes of it: a clause where one ends well, else whole words."""
    if len(sentence.encode()) <= _BYTES:
        return sentence
    short = sentence.encode()[:_BYTES].decode(errors="ignore")
    for mark, least in ((_STRONG_CLAUSE_END, _BYTES // 4), (_CLAUSE_END, _BYTES // 2)):
        ends = [m.start() for m in mark.finditer(short + " ")]
        if ends and len(short[: ends[-1]].encode()) >= least:
            return short[: ends[-1]]
    words = short.rpartition(" ")[0]
    if len(words.encode()) > len(short.encode()) * 2 // 3 or not _CJK.search(short):
        if words and len(words.encode()) >= _BYTES // 4:
            return words
    return _cut_in_word(sentence, len(short))


def _cut_in_word(sentence: str, at: int) -> str:
    """Not inside of what is one sign to the eye, nor inside a number or name among CJK signs."""
    while at > 1 and _belongs_together(sentence[at - 1], sentence[at]):
        at -= 1
    flags = re.search("[\U0001f1e6-\U0001f1ff]+\\Z", sentence[:at])
    if flags and len(flags[0]) % 2 and "\U0001f1e6" <= sentence[at] <= "\U0001f1ff":
        at -= 1
    run = re.search(r"[A-Za-z0-9_.]+\Z", sentence[:at])
    if run and run.start() > at // 2 and re.match(r"[A-Za-z0-9_]", sentence[at]):
        at = run.start()
    return sentence[:at]


def _belongs_together(before: str, after: str) -> bool:
    return bool(
        unicodedata.combining(after)
        or after in _JOINERS
        or before == "\u200d"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
    )


def _without_loose_end(short: str) -> str:
    """Without the words at its end that only lead to what was cut off."""
    words = short.rstrip(_END).split(" ")
    while len(words) > 2:
        last = words[-1].strip(_END + "([{\"'").casefold()
        if last and last not in _function_words() and not re.fullmatch(r"[\d.,]+", last):
            break
        words.pop()
    return " ".join(words)


def _without_open_bracket(short: str) -> str:
    """A bracket that is never closed goes, with what stands in it where that is not too much."""
    waiting: list[int] = []
    for at, sign in enumerate(short):
        if sign in _PAIRS:
            waiting.append(at)
        elif waiting and sign == _PAIRS[short[waiting[-1]]]:
            waiting.pop()
    for at in reversed(waiting):
        enough = len(short[:at].strip()) >= len(short) // 3
        short = short[:at].rstrip(_END) if enough else short[:at] + short[at + 1 :]
    return short


@cache
def _function_words() -> frozenset[str]:
    """Of the two languages whose words are told from names least often wrongly."""
    return FUNCTION_WORDS["english"] | FUNCTION_WORDS["german"]
