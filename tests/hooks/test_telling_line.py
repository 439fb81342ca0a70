"""How a command ended: what it was for, and the line of its output that tells."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultmem.operations.agent_work import telling_line
from vaultmem.operations.agent_work.commands import understand_command

PYTEST = "F.\n=== short test summary info ===\nFAILED tests/a.py::test_b - assert 1 == 2\n1 failed, 3 passed in 0.1s"


@pytest.mark.parametrize(
    ("command", "text", "kind"),
    [
        ("cd src && python -m pytest -q 2>&1 | tail -20", "python -m pytest -q", "test"),
        ("cd /a; CI=1 TOKEN='x y' npm run test:unit > /tmp/o 2>&1", "npm run test:unit", "test"),
        ("./scripts/test tests/a.py", "./scripts/test tests/a.py", "test"),
        ("uv run ruff check .", "uv run ruff check .", "check"),
        ("npx tsc --noEmit", "npx tsc --noEmit", "check"),
        ("cargo build --release", "cargo build --release", "build"),
        ("make", "make", "build"),
        ("make deploy STAGE=test", "make deploy STAGE=test", "deploy"),
        ("python manage.py migrate", "python manage.py migrate", "migrate"),
        ("git add -A && git commit -m 'a; b' && git push", "git commit", "commit"),
        ("cd x && git -C y push origin main", "git push", "push"),
        ("curl -s https://x", "curl -s https://x", ""),
        ("echo 'run pytest' > notes.txt", "echo 'run pytest'", ""),
    ],
)
def test_what_a_command_is_for(command: str, text: str, kind: str) -> None:
    known = understand_command(command)
    assert (known.text, known.kind, known.only_looks) == (text, kind, False)


@pytest.mark.parametrize(
    "command",
    [
        *("ls -la", "cat a | grep b", "git status", "git log | head", "sed -n 1,20p f", "pwd"),
        *("rg -n 'pytest|ruff' src", "cd /a && find . -name '*.py'", "which foo || true", "test -f a"),
        *("python --version", "git -C x diff", "echo hi 2>/dev/null", "docker ps", "sleep 5"),
    ],
)  # fmt: skip
def test_what_only_looks_is_noise(command: str) -> None:
    assert understand_command(command).only_looks


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (PYTEST, "FAILED tests/a.py::test_b - assert 1 == 2"),
        ("Traceback (most recent call last):\n  File x\n    raise A\nKeyError: 'a'\n\nDuring …\nValueError: b", "ValueError: b"),
        ("error[E0382]: borrow of moved value: `x`\n --> a.rs:4\nerror: aborting due to 1 previous error", "error[E0382]: borrow of moved value: `x`"),
        ("cc -c a.c\na.c:3:5: error: expected ';'\nb.c:1:1: error: x\nmake: *** [a.o] Error 1", "a.c:3:5: error: expected ';'"),
        ("src/a.ts(3,5): error TS2345: bad", "src/a.ts(3,5): error TS2345: bad"),
        ("./a.go:3:5: undefined: x", "./a.go:3:5: undefined: x"),
        ("--- FAIL: TestX (0.00s)\nFAIL\tpkg\t0.1s", "--- FAIL: TestX (0.00s)"),
        ("npm ERR! code ELIFECYCLE\nnpm ERR! Failed at the x script", "npm ERR! Failed at the x script"),
        ("denied: access to the resource\nmake: *** [push] Error 1", "denied: access to the resource"),
        ("bash: foo: command not found", "bash: foo: command not found"),
        ("\x1b[31mError: \x1b[1mboom\x1b[0m\r\n", "Error: boom"),
        ("10%\r50%\rfatal: no space left", "fatal: no space left"),
        ("the file itself", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_the_line_that_says_why(output: str, line: str) -> None:
    assert telling_line.telling_failure(output) == line


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("....\n===== 41 passed, 2 skipped in 65.31s (0:01:05) =====", "41 passed, 2 skipped in 65.31s"),
        ("test result: ok. 12 passed; 0 failed", "test result: ok. 12 passed; 0 failed"),
        ("Ran 12 tests in 0.3s\n\nOK", "Ran 12 tests in 0.3s"),
        ("Tests:       12 passed, 12 total\nTime: 3 s", "Tests: 12 passed, 12 total"),
        ("All checks passed!", "All checks passed!"),
        ("[main 3f2a1bc] Count it\n 1 file changed", "[main 3f2a1bc] Count it"),
        ("whatever else", ""),
    ],
)  # fmt: skip
def test_the_line_that_says_how_well(output: str, line: str) -> None:
    assert telling_line.telling_result(output) == line
    assert not telling_line.went_wrong(output)


def test_a_pipe_hides_no_failure() -> None:
    assert telling_line.went_wrong(PYTEST)
    assert telling_line.went_wrong("Tests:       1 failed, 3 passed, 4 total")
    assert telling_line.went_wrong("Error: connection refused\nmake: *** [deploy] Error 2")
    assert telling_line.went_wrong("npm ERR! code E401")
    assert not telling_line.went_wrong("test_error_is_told PASSED\n0 errors")


HOSTILE = [
    "x" * 1_000_000 + "\nError: at the end",
    "Error: " + "y" * 1_000_000,
    "\x00\xff\x1b]0;title\x07\x1b[31m" * 50_000,
    "\n" * 1_000_000,
    "a:1:" * 200_000,
    "1 passed, " * 100_000,
    "=" * 500_000,
    "FAILED " * 100_000,
    "\ud800error\udfff\n" * 1_000,
    "A" * 100_000 + "Error",
    "Aa." * 100_000 + ": x",
]


@pytest.mark.parametrize("output", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_outputs_are_read_quickly_and_quoted_short(output: str) -> None:
    began = time.process_time()
    for line in (telling_line.telling_failure(output), telling_line.telling_result(output)):
        assert len(line) <= 1_000 and "\n" not in line and "\x1b" not in line
        line.encode()
    telling_line.went_wrong(output)
    understand_command(output)
    assert time.process_time() - began < 2


@given(st.text(max_size=300))
def test_any_text_is_a_command_and_an_output(text: str) -> None:
    known = understand_command(text)
    assert len(known.text) <= len(text) and "\n" not in known.text
    for line in (telling_line.telling_failure(text), telling_line.telling_result(text)):
        assert line == " ".join(line.split())
