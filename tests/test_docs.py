"""The documents say what is true: links lead somewhere, examples run, names exist."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import pytest

from tests import pages
from tests.conftest import clean_environment
from tests.pages import DOCS, FORMAT, PAGES, README, ROOT, Block
from tests.transfer import exports
from vaultmem import config, errors, limits
from vaultmem.notes import note
from vaultmem.notes.markdown import markdown_outline
from vaultmem.surfaces.cli import COMMANDS, HIDDEN, cli
from vaultmem.surfaces.mcp import tools

# What a block may be. The last row is for reading: servers in the foreground, what a client or a
# terminal shows, drawings.
RUN = ("sh", "python")
READ = ("json", "toml", "markdown")
SHOWN = ("console", "text", "", "diff", "mermaid", "powershell")

# Lines for a machine that has more than a clone of this repository, or takes too long here.
ELSEWHERE = re.compile(
    r"\s*(?:claude|code|codex|gemini|pipx?|uvx?|brew|jq|cd vaultmem\b|git clone https?:"
    r"|\./scripts/(?!vaultmem\b))"
)
FOREGROUND = re.compile(
    r"vaultmem serve [^|\n]*--http|vaultmem sync [^|\n]*--watch|vaultmem look(?! [^\n]*&)"
)
EXITS = re.compile(r"^(.*?)\s+# exits with (\d)\b.*$", re.MULTILINE)

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


# --- links ---------------------------------------------------------------------------------


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for link in markdown_outline(pages.text_of(page)).links:
        target = page.parent / link.target if link.target else page
        assert target.exists(), f"{page.name}: {link.target}"
        if link.anchor and target.suffix == ".md":
            assert link.anchor in pages.anchors(target), f"{link.target}#{link.anchor}"


def test_every_page_is_on_the_map() -> None:
    linked = {link.target for link in markdown_outline(pages.text_of(DOCS / "index.md")).links}
    assert {page.name for page in DOCS.glob("*.md")} - linked == {"index.md"}


# --- examples ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the example vault in it, made once."""
    home = tmp_path_factory.mktemp("home")
    (home / "bin").mkdir()
    (home / "bin" / "vaultmem").symlink_to(ROOT / "scripts" / "vaultmem")
    done = _run(["sh", "-c"], "vaultmem init ~/Demo --examples --quiet", home, home)
    assert done.returncode == 0, done.stderr
    return home


WITH_EXAMPLES = [page for page in PAGES if pages.blocks(page, *RUN)]


@pytest.fixture(scope="module")
def running(
    example: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Path, Future[None]]]:
    """The pages that were asked for, two at a time: most of it is waiting for a process."""
    named = {item.name for item in request.session.items}
    wanted = [page for page in WITH_EXAMPLES if f"test_examples_run[{page.name}]" in named]
    homes = [tmp_path_factory.mktemp(page.stem) / "home" for page in wanted]
    with ThreadPoolExecutor(2) as pool:
        started = [
            pool.submit(_run_page, *each, example) for each in zip(wanted, homes, strict=True)
        ]
        yield dict(zip(wanted, started, strict=True))


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.name)
def test_examples_run(page: Path, running: dict[Path, Future[None]]) -> None:
    running[page].result()


def _run_page(page: Path, home: Path, example: Path) -> None:
    """In the example vault; imports where there is something to import; what the README says
    from a clone, in a home that has nothing but a folder of notes."""
    shutil.copytree(example, home, symlinks=True)
    folder = home / "Demo"
    if page.name == "moving.md":
        _bring_exports(home)
        folder = home
    elif page == README:
        (home / "Demo").rename(home / "MyVault")
        shutil.rmtree(home / "MyVault" / ".vaultmem")
        folder = ROOT
    for block in pages.blocks(page, *RUN):
        _runs(block, home, folder)


def _bring_exports(home: Path) -> None:
    """What other systems left, where the page looks for it."""
    for name in ("Downloads", "Backup", ".claude-mem"):
        (home / name).mkdir()
    with zipfile.ZipFile(home / "Downloads" / "chatgpt-export.zip", "w") as archive:
        archive.write(exports.chatgpt(home / "conversations.json"), "conversations.json")
    exports.claude(home / "Downloads" / "claude-export.zip")
    exports.claude_mem_database(home / ".claude-mem" / "claude-mem.db")
    exports.claude_mem(home / "export.json")
    exports.mem0(home / "memories.json")
    exports.server_memory(home / "memory.jsonl")
    exports.mempalace(home / ".mempalace")
    exports.lines(home / "things.jsonl", [{"id": "1", "content": "Tea, not coffee"}])
    exports.folder(home / "basic-memory", {"Tea.md": b"---\npermalink: tea\n---\nGreen tea\n"})
    exports.folder(home / ".claude/projects/-home-me-atlas/memory", {"MEMORY.md": b"- We use uv\n"})
    for name in ("PATH", "Notes"):
        exports.folder(home / name, {f"{name} note.md": b"A note of mine\n"})
    shutil.copytree(home / "Demo", home / "MyVault")


def test_the_readme_has_commands() -> None:
    assert sum(block.text.count("vaultmem ") for block in pages.blocks(README, "sh")) >= 4


def _runs(block: Block, home: Path, folder: Path) -> None:
    assert not FOREGROUND.search(block.text), f"{block.place} does not end: make it ```console"
    python = block.language == "python"
    file = home / "example"
    file.write_text(block.text if python else _script(block.text), encoding="utf-8")
    done = _run([sys.executable] if python else ["sh", "-e"], str(file), home, folder)
    assert done.returncode == 0, f"{block.place}\n{done.stdout}\n{done.stderr}"


def _script(text: str) -> str:
    """What runs here; a line that says how it ends must end so."""
    here = "".join(line for line in text.splitlines(True) if not ELSEWHERE.match(line))
    return EXITS.sub(r"{ \1; } </dev/null && exit 99 || [ $? -eq \2 ]", here)


def _run(
    program: list[str], given: str, home: Path, folder: Path
) -> subprocess.CompletedProcess[str]:
    """In a clean home, with nothing on stdin."""
    kept = {k: v for k, v in clean_environment(home).items() if not k.startswith(_MEANINGFUL)}
    path = f"{home / 'bin'}{os.pathsep}{kept['PATH']}"
    more = {"PATH": path, "VAULTMEM_TYPING_QUIET_SECONDS": "0"}  # nobody types here
    if folder == home:
        more |= {"VAULTMEM_VAULT": str(home / "Demo")}
    return subprocess.run(
        [*program, given], cwd=folder, env=kept | more, text=True, capture_output=True,
        stdin=subprocess.DEVNULL, timeout=300,
    )  # fmt: skip


_MEANINGFUL = (
    *("CLAUDE", "CODEX", "GEMINI", "XDG_", "MEMORY_", "MCP_", "EDITOR", "VISUAL"),
    "PYTHONDONTWRITEBYTECODE",  # without it the second start is quicker
)


def test_a_wrong_example_is_found(example: Path, tmp_path: Path) -> None:
    shown = Block(README, 1, "sh", "vaultmem search grace period --vault ~/Demo\nfalse\n")
    with pytest.raises(AssertionError):
        _runs(shown, example, tmp_path)
    with pytest.raises(AssertionError):
        _runs(Block(README, 1, "sh", "true   # exits with 1\n"), example, tmp_path)
    _runs(Block(README, 1, "sh", "false   # exits with 1, as it says\ntrue\n"), example, tmp_path)


@each_page
def test_blocks_can_be_read(page: Path) -> None:
    for block in pages.blocks(page):
        assert block.language in (*RUN, *READ, *SHOWN), f"{block.place}: what is this?"
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "toml":
            tomllib.loads(block.text)


@pytest.mark.parametrize("page", [*PAGES, FORMAT], ids=lambda page: page.name)
def test_example_notes_are_read_as_they_are_meant(page: Path) -> None:
    for block in pages.blocks(page, "markdown"):
        read = note.parse(block.text.encode(), "Memories/Example.md")
        assert not read.problems, f"{block.place}: {read.problems}"
        assert len(read.facts) == len(re.findall(r"^- \w+:: ", block.text, re.MULTILINE))
        assert len(read.observations) == block.text.count("\n- **")


def test_there_is_an_example_of_each_kind_of_note() -> None:
    read = [note.parse(block.text.encode()) for block in pages.blocks(DOCS / "note-format.md")]
    assert {"", "semantic", "entity", "session"} <= {each.string("type") for each in read}


def test_token_files_are_accepted(tmp_path: Path) -> None:
    from vaultmem.surfaces.http import tokens

    shown = [b for p in PAGES for b in pages.blocks(p, "toml") if "[tokens." in b.text]
    assert shown
    for block in shown:
        file = tmp_path / "tokens.toml"
        file.write_text(block.text, encoding="utf-8")
        assert tokens.read_tokens(str(file), lambda _: None)


# --- commands ------------------------------------------------------------------------------


@each_page
def test_commands_and_their_options_exist(page: Path) -> None:
    for place, words in pages.commands_of(page):
        command, known = _command(words)
        assert command, f"{place}: vaultmem {' '.join(words)}"
        for word in words:
            if word.startswith("--") and len(word) > 2:
                assert word.partition("=")[0] in known, f"{place}: {command} has no {word}"


def _command(words: list[str]) -> tuple[str, set[str]]:
    """The command that some words call, and its options; options may come before its name."""
    everywhere = {"--vault", "--quiet", "--help", "--version"}
    named = [word for word in words if re.fullmatch(r"[a-z][a-z-]+", word)]
    if not named:  # `vaultmem --version`, `vaultmem COMMAND`
        return "vaultmem", everywhere
    if named[0] not in (*COMMANDS, *HIDDEN):
        return "", set()
    command = cli.get_command(click.Context(cli), named[0])
    if isinstance(command, click.Group):
        command = command.commands.get(named[1], command) if len(named) > 1 else command
    given = command.params if command else []
    return named[0], everywhere.union(*({*each.opts, *each.secondary_opts} for each in given))


@each_page
def test_commands_named_without_the_program_have_their_options(page: Path) -> None:
    for code in pages.code_in(pages.words_of(page)):
        first, _, rest = code.partition(" ")
        if first in COMMANDS:
            known = _command([first, *rest.split()])[1]
            for option in re.findall(r"(?<!\S)--[a-z][a-z-]+", rest):
                assert option in known, f"{page.name}: `{code}`"


# --- security ------------------------------------------------------------------------------


def test_every_promise_names_a_test_that_there_is() -> None:
    named = re.findall(r"`([a-z_/]+/test_[a-z_]+\.py)`", pages.text_of(DOCS / "security.md"))
    assert len(named) > 20
    assert [name for name in named if not (ROOT / "tests" / name).is_file()] == []


# --- troubleshooting -----------------------------------------------------------------------

TROUBLE = DOCS / "troubleshooting.md"


@cache
def said() -> tuple[str, ...]:
    """Every text in the source, with … for what changes."""
    found = [pages.text_of(ROOT / "scripts" / "python")]
    for file in (ROOT / "scripts" / "bootstrap.py", *(ROOT / "vaultmem").rglob("*.py")):
        found += _texts(ast.parse(file.read_text(encoding="utf-8")))
    return tuple(re.sub("…+", "…", text) for text in found)


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(_constant(part) or _command_to_type(part) or "…" for part in node.values)
        elif text := _constant(node):
            yield re.sub(r"%[sd]|\{\d*\}", "…", text)


def _command_to_type(node: Any) -> str:
    """As it is where a shell finds the program by its name."""
    call = node.value if isinstance(node, ast.FormattedValue) else None
    if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "command_to_type":
        return f"vaultmem {''.join(map(_constant, call.args))}".rstrip()
    return ""


def _constant(node: Any) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def messages() -> list[str]:
    lines = [line for line in pages.text_of(TROUBLE).splitlines() if line.startswith("| `")]
    return [code for line in lines for code in pages.code_in(line.split(" | ")[0])]


@pytest.mark.parametrize("message", messages())
def test_messages_exist(message: str) -> None:
    assert any(message in text for text in said())


def test_messages_that_do_not_exist_are_noticed() -> None:
    assert not any("The vault has been lost." in text for text in said())
    assert len(messages()) > 80


def test_every_code_and_kind_is_explained() -> None:
    from vaultmem.surfaces.cli.commands.doctor import HEADINGS

    named = set(pages.code_in(pages.words_of(TROUBLE)))
    codes = {kind.code for kind in errors.VaultmemError.__subclasses__()}
    warnings = {match[1] for text in _of_the_core() if (match := _WARNING.match(text))}
    assert codes <= named
    assert {*HEADINGS, "index-behind"} <= named
    assert warnings and all(any(code.startswith(w) for code in named) for w in warnings)
    assert {"ready", "missing", "damaged", "off"} <= named


_WARNING = re.compile(r"([a-z]+_[a-z]+): ")


def _of_the_core() -> Iterator[str]:
    for file in (ROOT / "vaultmem").glob("*.py"):
        yield from _texts(ast.parse(file.read_text(encoding="utf-8")))


# --- what pages list -----------------------------------------------------------------------


def test_every_setting_is_listed_with_its_default() -> None:
    listed = {row[0].strip("`"): row for row in pages.rows(DOCS / "settings.md", "All settings")}
    assert list(listed) == list(config.DEFAULTS)
    for name, default in config.DEFAULTS.items():
        _, variable, shown, meaning = listed[name]
        assert variable == f"`VAULTMEM_{name.replace('.', '_').upper()}`"
        assert shown.endswith(_written(default)), f"{name}: {shown}"
        assert meaning


def _written(default: Any) -> tuple[str, ...]:
    """How a default may stand there."""
    if default == "":
        return ("",)
    if isinstance(default, str):
        return (f"`{default}`",)
    plain = json.dumps(list(default) if isinstance(default, tuple) else default)
    return f"`{plain}`", f"`{plain.removesuffix('.0')}`"


def test_every_variable_is_explained() -> None:
    source = (ROOT / "vaultmem" / "config.py").read_text(encoding="utf-8")
    read = set(re.findall(r'"(VAULTMEM_[A-Z]+)"', source)) | {"NO_COLOR", "EDITOR", "VISUAL"}
    assert read <= set(pages.code_in(pages.words_of(DOCS / "settings.md")))


def test_the_drawing_is_one_for_light_and_dark() -> None:
    text = (DOCS / "architecture.svg").read_text(encoding="utf-8")
    drawn = ElementTree.fromstring(text)
    assert {child.tag.rpartition("}")[2] for child in drawn} >= {"title", "desc", "style"}
    assert "prefers-color-scheme: dark" in text


def test_agents_are_told_of_every_tool() -> None:
    from vaultmem import Vault
    from vaultmem.surfaces.mcp import tools

    page = DOCS / "agents.md"
    text = pages.words_of(page)
    for toolset in tools.TOOLSETS:
        names = " ".join(f"`{tool.name}`" for tool in tools.TABLE if tool.toolset == toolset)
        assert f"| `{toolset}` | {names} |" in text
    operations = text.partition("The operations: ")[2].partition(". They answer")[0]
    assert all(hasattr(Vault, name) for name in pages.code_in(operations))


def test_every_bound_is_listed() -> None:
    listed: dict[str, str] = {}
    for names, words in pages.rows(DOCS / "agents.md", "Limits"):
        listed |= dict.fromkeys(re.findall(r"`(\w+)`", names), words)
    for name, words in listed.items():
        assert words == limits.TABLE[name].bound_in_words, name
    for tool in tools.TABLE:
        for name, schema in tool.takes.items():
            told = "enum" in schema or schema.get("type") == "boolean" or "properties" in schema
            assert told or name in listed, f"{tool.name} {name}"


def test_what_shows_a_dialect_is_a_test() -> None:
    tests = [p.read_text(encoding="utf-8") for p in (ROOT / "tests" / "surfaces").rglob("*.py")]
    names = set(re.findall(r"def (test_\w+)", "\n".join(tests)))
    for shown in re.findall(r"`(test_[\w…]+)`", pages.text_of(DOCS / "dialects.md")):
        assert any(re.fullmatch(shown.replace("…", r"\w*"), name) for name in names), shown
