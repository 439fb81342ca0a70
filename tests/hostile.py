"""Texts that make careless expressions and loops slow, and everything that reads texts.

Each text is one shape repeated to any length: a mark of Markdown, YAML or our own lines alone,
on lines of its own, before text, in pairs, nested, opened and never closed.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

Make = Callable[[int], str]
Read = Callable[[str], object]

MARKS: Final = (
    *(
        "a",
        " ",
        "\t",
        "\n",
        "\r",
        "\r\n",
        "\\",
        "é",
        "日",
        "\u00a0",
        "\u2028",
        "\u3000",
        "😀",
        "\u0301",
    ),
    *(
        "`",
        "``",
        "```",
        "```\n",
        "~~~\n",
        "$$",
        "%%",
        "<!--",
        "-->",
        "<",
        ">",
        "</",
        "<private",
        "/>",
    ),
    *("<private>", "</private>", "<private a='", "<private>a</private>", "`<private>`"),
    *(
        "[",
        "]",
        "(",
        ")",
        "[[",
        "]]",
        "](",
        "[a](",
        "[](",
        '[](a "',
        "[[a|",
        "![[",
        "[[a]]",
        "[a](b)",
    ),
    *("#", "# ", "## a\n", "### ", "#a", "#a ", "#a/", "^", "^a", " ^a\n", "^a "),
    *("-", "- ", "- a\n", "* ", "* * ", "*", "_", "_ _ ", "+ ", "1. ", "1", "- [ ] ", "- [a] b\n"),
    *("=", "==\n", "a\n===\n", "a\n---\n", "---", "---\n", "...", "> ", ">", "|", "| a ", "||\n"),
    *(
        "a:: ",
        "- a:: b\n",
        "- a:: (",
        "- a:: b (1 → 2; ",
        "→",
        "; ",
        ":",
        "::",
        ": ",
        "a: b\n",
        "a:\n",
    ),
    *(
        "- **09:12:04** note: a ^a\n",
        "- **09:12:04** ",
        "  a\n",
        "\n  a",
        "    a\n\n",
        "\n\n    a\n",
    ),
    *(
        "- a b c d [[",
        "- a [[b|",
        "<<<<<<< a\n",
        "=======\n",
        ">>>>>>> a\n",
        "'",
        '"',
        "{",
        "}",
        ",",
    ),
    *(
        ".",
        ". ",
        "!",
        "。",
        "A. ",
        "a.b",
        "a ",
        "ab ",
        "a-",
        "a_",
        "a'",
        "ABC",
        "123 ",
        "0x",
        "&a ",
        "*a ",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "-----",
        "eyJaaaaaaaa.",
        "-eyJ",
        "password=",
        "password: ",
        "://",
    ),
    *(
        "http://a:b@",
        "a://b:",
        "sk-",
        "glpat-",
        "xoxb-",
        "ghp_",
        "secret=a1",
        "token ",
        "key=",
        ".....",
    ),
    *("A" * 40, "A" * 40 + "\n", "$a", "x=", "[redacted: secret]", "password=***", "\x1b[", "a\\n"),
)
_PAIRS: Final = (
    *(
        ("[", "]"),
        ("[[", "]]"),
        ("(", ")"),
        ("`", "`"),
        ("<private>", "</private>"),
        ("<!--", "-->"),
    ),
    *(
        ("%%", "%%"),
        ("$$", "$$"),
        ("{", "}"),
        ('"', '"'),
        ("```\n", "```\n"),
        ("# ", "\n"),
        ("- ", "\n"),
    ),
    *(("[a](", ")"), ("**", "**"), ("<", ">"), ("<private ", ">"), ("'", "'"), ("- a:: (", ")\n")),
)


def texts() -> Mapping[str, Make]:
    """Names of shapes, each with what makes it as long as one likes."""
    found: dict[str, Make] = {}
    for mark in MARKS:
        found[f"{mark!r}"] = _repeated("", mark)
        found[f"{mark!r} on lines"] = _repeated("", mark + "\n")
        found[f"{mark!r} and a"] = _repeated("", mark + "a")
        found[f"{mark!r} once, then a"] = _repeated(mark, "a")
        found[f"{mark!r} once, then blanks"] = _repeated(mark, " ", "x")
        found[f"blanks before {mark!r}"] = _repeated(" \t", " ", mark)
    for opening, closing in _PAIRS:
        found[f"{opening!r} nested {closing!r}"] = _nested(opening, closing)
        found[f"{opening!r} around lines {closing!r}"] = _repeated(
            "", f"{opening}a b{closing}\nb\n"
        )
        found[f"{opening!r} closed the wrong way round"] = _nested(closing, opening)
    for length in (2, 7, 50, 1000):
        found[f"ticks of many lengths up to {length}"] = _staircase("`", length)
        found[f"dashes of many lengths up to {length}"] = _staircase("-", length)
    return found


def pairs() -> Iterator[tuple[str, Make]]:
    """Every two marks side by side: too many for each run of the tests."""
    for one in MARKS:
        for other in MARKS:
            if one != other:
                yield f"{one!r} {other!r}", _repeated("", one + other)


def _repeated(head: str, mark: str, tail: str = "") -> Make:
    def make(size: int) -> str:
        return head + mark * (max(1, size) // len(mark)) + tail

    return make


def _nested(opening: str, closing: str) -> Make:
    def make(size: int) -> str:
        depth = size // (len(opening) + len(closing))
        return opening * depth + closing * depth

    return make


def _staircase(mark: str, length: int) -> Make:
    steps = " a ".join(mark * (1 + n * 7 % length) for n in range(length))
    return _repeated("", steps + " ")


# --- who reads them ---------------------------------------------------------------------------


def readers() -> Mapping[str, Read]:
    """Every function that text from outside reaches, by a name."""
    return {**_of_the_format(), **_of_edits(), **_of_answers(), **_of_others()}


def _of_the_format() -> Mapping[str, Read]:
    from vaultmem.notes import canvas, file_names, links, markdown, masking, passages, tags
    from vaultmem.notes import frontmatter as properties
    from vaultmem.notes.frontmatter import MalformedFrontmatter
    from vaultmem.notes.note import parse

    def note(text: str) -> object:
        read = parse(text.encode(errors="surrogateescape"), "A note.md")
        return read.tags, read.links, read.aliases

    def cut(text: str) -> object:
        read = parse(text.encode(errors="surrogateescape"), "A note.md")
        return passages.passages_in_context(read, passages.passages(read))

    def between_fences(text: str) -> object:
        read = parse(f"---\n{text}\n---\na".encode(errors="surrogateescape"), "A note.md")
        return read.tags, read.links, read.aliases

    def in_a_property(text: str) -> object:
        line = "".join(c for c in text if c.isprintable() and c not in "\"'\\")
        read = parse(f'---\ntags: "{line[:100_000]}"\naliases: "{line[:20_000]}"\n---\n'.encode())
        return read.tags, read.links, read.aliases

    def drawn(text: str) -> object:
        nodes = [{"id": "a", "type": "text", "text": text}, {"type": "file", "file": text}]
        nodes.append({"id": "b", "type": "group", "label": text})
        edges = [{"fromNode": "a", "toNode": "b", "label": text}]
        raw = json.dumps({"nodes": nodes, "edges": edges}).encode()
        read = canvas.canvas_note(canvas.read_canvas(raw), "A canvas.canvas", {})
        return passages.passages_in_context(read, passages.passages(read))

    def under(heading: str) -> Read:
        return lambda text: parse(
            f"## {heading}\n\n{text}\n\n## {heading}\n".encode(errors="replace")
        )

    def tried(read: Read) -> Read:
        def reading(text: str) -> object:
            try:
                return read(text)
            except MalformedFrontmatter:
                return None

        return reading

    return {
        "parse": note,
        "parse between fences": between_fences,
        "parse a property": in_a_property,
        "parse under Log": under("Log"),
        "parse under Facts": under("Facts"),
        "passages": cut,
        "canvas": drawn,
        "passages under Log": lambda text: cut("## Log\n\n" + text),
        "visible": masking.visible_text,
        "shown": masking.text_without_comments,
        "public": masking.mask_private,
        "without_private": masking.without_private,
        "headings": markdown.markdown_headings,
        "properties.read": tried(properties.read_frontmatter),
        "yaml12.read": tried(properties.read_yaml_frontmatter),
        "is_tag": tags.is_tag,
        "safe_name": file_names.safe_name,
        "unique_name": lambda text: file_names.unique_name(
            text, {file_names.name_key(file_names.safe_name(text))}
        ),
        "unsafe": file_names.why_name_is_unsafe,
        "conflict_original": file_names.name_of_conflict_original,
        "copy_rank": file_names.copy_rank_of_name,
        "link_target": links.link_target,
        "link_target in brackets": lambda text: links.link_target(f"[[{text}]]"),
        "relation_key": links.relation_key.__wrapped__,
        "as_link": links.as_link,
    }


_NOW: Final = dt.datetime(2026, 1, 5, 9, 12, 4, tzinfo=dt.UTC)
_BLOCK: Final = "01ke6nz8a0b1c2d3e4f5g6h7jk"
_JOURNAL: Final = f"---\ntype: session\n---\n## Log\n\n- **09:12:04** note: a ^{_BLOCK}\n"


def _of_edits() -> Mapping[str, Read]:
    from vaultmem.errors import VaultmemError
    from vaultmem.notes import edit, fact_lines, journal, yaml_writer
    from vaultmem.notes.markdown import Fact
    from vaultmem.notes.note import Note, parse

    def note(text: str) -> Note:
        return parse(f"---\ntags:\n  - a\n---\n{text}\n".encode(errors="surrogateescape"), "A.md")

    def edited(*changes: Callable[[str], edit.NoteEdit]) -> Read:
        def editing(text: str) -> object:
            done = []
            for change in changes:
                try:
                    done.append(edit.edit_note(note(text), change(text)))
                except VaultmemError as error:
                    done.append(str(error).encode()[:200])
            return done

        return editing

    def tried(read: Read) -> Read:
        def reading(text: str) -> object:
            try:
                return read(text)
            except VaultmemError as error:
                return str(error)[:200]

        return reading

    def line(text: str) -> edit.NoteEdit:
        return edit.ReplaceLine(0, note(text).body.partition("\n")[0].rstrip("\r"), "b")

    def fact(text: str) -> object:
        plain = " ".join(text.split())
        return fact_lines.note_with_fact(parse(b"## Facts\n\n"), Fact("is", plain, "2026-01-01"))

    def ended(text: str) -> object:
        line = " ".join(text.split())
        read = parse(f"## Facts\n\n- a:: {line} ^f-1\n{text}\n".encode(errors="replace"))
        return fact_lines.note_with_ended_facts(
            read, [replace(f, valid_to="2026-02-02") for f in read.facts]
        )

    return {
        "SetProperty": edited(lambda _: edit.SetProperty("tags", ["a", "b"])),
        "SetProperty to the text": edited(lambda text: edit.SetProperty("source", text[:500])),
        "AddItems": edited(lambda text: edit.AddItems("about", tuple(text.split()[:1000]))),
        "ReplaceBody": edited(lambda _: edit.ReplaceBody("b"), edit.ReplaceBody),
        "AppendToSection": edited(
            lambda _: edit.AppendToSection("Log", "- b"),
            lambda text: edit.AppendToSection("Log", text),
        ),
        "ReplaceSection": edited(
            lambda _: edit.ReplaceSection("a", "b"), lambda text: edit.ReplaceSection("a", text)
        ),
        "ReplaceLine": edited(line),
        "new_note": tried(lambda text: edit.new_note_bytes({"source": text[:500]}, text)),
        "render": tried(yaml_writer.render_yaml),
        "with_fact": tried(fact),
        "ended": tried(ended),
        "journal.entry": tried(
            lambda text: journal.journal_entry(_NOW, "note", text, ("a",), _BLOCK)
        ),
        "journal.append": tried(
            lambda text: journal.append_journal_entry(
                parse(_JOURNAL.encode() + text.encode(errors="replace")), "- b"
            )
        ),
        "journal.summed_up": tried(
            lambda text: journal.journal_with_summary(parse(_JOURNAL.encode()), text, _NOW, bool)
        ),
        "journal.summed_up again": tried(
            lambda text: journal.journal_with_summary(
                parse(f"{_JOURNAL}{text}\n\n## Summary\n\n- note: a\n".encode(errors="replace")),
                "",
                _NOW,
                bool,
            )
        ),
        "journal.below_heading": journal.with_smaller_headings,
        "journal.verbatim": journal.verbatim_entry,
    }


def _of_answers() -> Mapping[str, Read]:
    from vaultmem.base import redaction, token_count, words
    from vaultmem.base.differences import text_difference
    from vaultmem.hooks.events import decide, event_of
    from vaultmem.index.embedded.text import documents, stems
    from vaultmem.notes import sentences
    from vaultmem.notes.naming.derived_titles import derived_title
    from vaultmem.notes.naming.title_origin import new_id, shown_title
    from vaultmem.notes.note import parse
    from vaultmem.operations import budget, pages, results
    from vaultmem.operations.agent_work import prompt_words
    from vaultmem.operations.context.block import ContextItem, _line
    from vaultmem.operations.new_memories.remember import entity_name, relation_name
    from vaultmem.recall import snippets
    from vaultmem.surfaces.cli import screen
    from vaultmem.surfaces.page.note_pages import rendering
    from vaultmem.upkeep.consolidation import drafts

    def snippet(text: str) -> object:
        words = snippets.query_words(text[:1000] + " ab")
        return snippets.snippet(text, words), snippets.matches(text, words)

    def cut(text: str) -> object:
        words = snippets.query_words(text[:1000] + " ab")
        end = pages._page_end(text + "\n\nx", 0, 500)
        return (
            snippets.cut_passage(text, words, 50, budget.passage_cost),
            pages._page_outline(text),
            end,
        )

    def hooked(text: str) -> object:
        failed = {"tool_name": "Bash", "tool_input": {"command": text}, "error": text}
        events = [
            {"event": "PostToolUse", **failed},
            {"event": "PostToolUseFailure", **failed},
            {"event": "UserPromptSubmit", "prompt": text},
            {"event": "PostCompact", "summary": text},
            {"event": "Stop", "message": text},
            {"event": text, "session_id": text, "cwd": text},
        ]
        every = {"hooks.keep": ["prompt", "answer", "failure", "compact", "command"]}
        every |= {"hooks.inject": ["prompt"], "hooks.subagents": True}
        return [list(decide(e, every)) for e in map(event_of, events) if e]  # type: ignore[arg-type]

    def entity(text: str) -> object:
        return entity_name(text + "a"), relation_name(text)

    others = stems.OtherStems("English")
    source = drafts.SourceMemory("a", "", "episodic", "user", "", "", "c")
    draft = drafts.MemoryDraft("a", "b", "semantic", "user", (source,), ())
    return {
        "derived_title": derived_title,
        "shown_title": lambda text: shown_title("Older title", new_id("Older title"), text),
        "entity_name": entity,
        "snippet": snippet,
        "cut": cut,
        "entry_text": snippets.entry_text,
        "tokens": token_count.token_count,
        "redacted": redaction.redacted,
        "redacted, own pattern": lambda text: redaction.redacted(text, [r"ACME-\d{5}"]),
        "find secrets": redaction.find_secrets,
        "words": words.topic_words,
        "sentences": sentences.sentences,
        "one_line": lambda text: sentences.first_sentence(text, 200),
        "main_sentences": lambda text: sentences.main_sentences([text, text], 5, 1000),
        "topics": lambda text: sentences.topics_of_texts([], [text, text], 5),
        "in_prose": lambda text: drafts.draft_in_prose(draft, text),
        "content_of": lambda text: results.content_of(parse(text.encode(errors="replace"))),
        "source_value": lambda text: results.source_value("tool=" + text),
        "link names": lambda text: results._result_link_names((f"[[{text}]]", text)),
        "context line": lambda text: _line(ContextItem("a", "b", text)),
        "hooks": hooked,
        "prompt_words": lambda text: (prompt_words.content_words(text), words.word_stem(text)),
        "full text pieces": lambda text: list(documents._fulltext_cjk_pieces(text)),
        "full text words": others.words.analyze,
        "full text tails": others.tails_in_text,
        "full text stems": lambda text: others.stems_in_text(text, "german"),
        "full text stems, by endings": lambda text: others.stems_in_text(text, "hebrew"),
        "the page": rendering.rendered_note,
        "the page's differences": lambda text: list(
            text_difference.text_difference(text + "\nb", "a " + text)
        ),
        "the page's edits": lambda text: text_difference.with_line_ends_of(text, text + "a"),
        "terminal paragraphs": screen.wrapped_paragraphs,
        "terminal line": lambda text: (
            screen.one_screen_line(text)
            and screen._fit_to_screen_column(screen.one_screen_line(text), 80)
        ),
    }


def _of_others() -> Mapping[str, Read]:
    from vaultmem.clients import json_edit, toml_edit
    from vaultmem.git import conflicts, merge
    from vaultmem.notes import line_merge as lines
    from vaultmem.notes.note import parse
    from vaultmem.surfaces.cli.commands import search
    from vaultmem.transfer.sources import detect, mem0

    def raw(text: str) -> bytes:
        return text.encode(errors="replace")

    def units(text: str) -> list[lines.LineUnit]:
        return lines.line_units(parse(raw(text)))

    def merged(text: str) -> object:
        half = text[: len(text) // 2]
        return lines.merge_lines(units(half), units(text), units("b\n" + half))

    def mixed(text: str) -> object:
        """Every line changed on both sides: nothing to hold on to."""
        one, other = text.replace("\n", "1\n"), text.replace("\n", "2\n")
        return lines.merge_lines(units(text), units(one), units(other))

    def properties(text: str) -> object:
        most = min(len(text), 100_000)
        sides = [f"---\n{text[:n]}\n---\nb" for n in (most // 2, most, most // 3)]
        return merge.merge_notes(*map(raw, sides))

    def tried(read: Read) -> Read:
        def reading(text: str) -> object:
            try:
                return read(text)
            except (ValueError, RecursionError) as error:
                return str(error)[:200]

        return reading

    return {
        "git merge": merged,
        "git merge of changed lines": mixed,
        "git merge without a base": lambda text: lines.merge_lines(
            None, units(text), units(text[::-1])
        ),
        "git merge of properties": properties,
        "git conflict, one side": lambda text: conflicts.resolve_markers(text, "ours"),
        "git conflict, difference": lambda text: conflicts._conflict_diff(
            "a", "b", raw(text), raw(text[::-1]), ("", "")
        ),
        "git conflict, distance": lambda text: conflicts._conflict_distance(
            text.split("\n"), text[::-1].split("\n")
        ),
        "json_edit.parse": tried(lambda text: json_edit.parse_jsonc('{"a": ' + text)),
        "json_edit.set_value": tried(
            lambda text: json_edit.set_json_value("{}" + text, ["a"], "b")
        ),
        "tomltext.statements": tried(toml_edit.toml_statements),
        "mem0": lambda text: mem0._BLOCK.findall(text) or detect._MEM0.match(text),
        "marks in the terminal": lambda text: search._MATCH.sub(r"\1", text),
    }
