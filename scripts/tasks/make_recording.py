"""Write docs/recording.svg anew: `vaultmem demo` as a terminal showed it, with its colours and its pace.

The tour runs on a pseudo-terminal. What it writes is drawn as text, and each part of it
appears when it was written; where the screen is full, the text moves up. A viewer that
wants no motion, or knows none, shows the first screen.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]
SVG = ROOT / "docs" / "recording.svg"

COLUMNS, ROWS = 82, 26
WIDE, HIGH, EDGE = 8.43, 19, 16  # of a letter, a line, and around them
LONGEST_WAIT = 1.6  # seconds without anything new
LAST_SCREEN = 5.0  # before it begins again

# By the numbers of a terminal's codes, on light and on dark.
STYLES = {
    "1": ("b", "font-weight:600", ""),
    "2": ("d", "fill:#6e7781", "fill:#8b949e"),
    "31": ("r", "fill:#cf222e", "fill:#ff7b72"),
    "32": ("g", "fill:#1a7f37", "fill:#3fb950"),
    "33": ("y", "fill:#9a6700", "fill:#d29922"),
    "35": ("m", "fill:#8250df", "fill:#bc8cff"),
    "36": ("c", "fill:#0969da", "fill:#58a6ff"),
}
_CODES = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


@dataclass
class Line:
    at: float  # when its first letter came
    letters: list[tuple[str, str]] = field(default_factory=list)  # with the classes of its style

    def __bool__(self) -> bool:
        return any(letter != " " for letter, _ in self.letters)


class Screen:
    """As much of a terminal as a command needs that writes from top to bottom."""

    def __init__(self) -> None:
        self.lines = [Line(0.0)]
        self._column = 0
        self._style: list[str] = []

    def write(self, text: str, at: float) -> None:
        for codes, what, move, letters in _CODES.findall(text):
            if what == "m":
                self._restyle(codes.split(";"))
            elif move == "\n":
                self.lines.append(Line(at))
                self._column = 0
            elif move == "\r":
                self._column = 0
            for letter in letters:
                self._put(letter, at)

    def _restyle(self, codes: list[str]) -> None:
        for code in codes:
            if code in ("", "0"):
                self._style = []
            elif code in STYLES:
                self._style.append(STYLES[code][0])

    def _put(self, letter: str, at: float) -> None:
        if self._column >= COLUMNS:  # a terminal goes on below
            self.lines.append(Line(at))
            self._column = 0
        line = self.lines[-1]
        if not line:
            line.at = at
        line.letters[self._column : self._column + 1] = [(letter, " ".join(self._style))]
        self._column += 1


def recorded() -> list[Line]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    gone = ("COLUMNS", "LINES", "NO_COLOR")
    environment = {k: v for k, v in os.environ.items() if k not in gone}
    process = subprocess.Popen(
        [sys.executable, "-m", "vaultmem", "demo"],
        stdin=theirs, stdout=theirs, stderr=theirs,
        env=environment | {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    os.close(theirs)
    screen, began = Screen(), time.monotonic()
    for part in _parts(ours):
        screen.write(part, time.monotonic() - began)
    if process.wait():
        raise SystemExit("The tour failed; there is nothing to record.")
    while not screen.lines[-1]:
        screen.lines.pop()
    return [_typed("$ vaultmem demo"), *screen.lines]


def _typed(text: str) -> Line:
    return Line(0.0, [(letter, "d" if n < 2 else "c") for n, letter in enumerate(text)])


def _parts(terminal: int) -> Iterator[str]:
    """What comes, letter by letter whole: an accent may arrive in two pieces."""
    kept = b""
    while True:
        try:
            new = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            return
        kept += new
        text = kept.decode("utf-8", "ignore")
        kept = kept[len(text.encode()) :]
        yield text
        if not new:
            return


# --- drawing ---------------------------------------------------------------------------------


def drawn(lines: list[Line]) -> str:
    moments, length = _paced([line.at for line in lines])
    width, height = COLUMNS * WIDE + 2 * EDGE, ROWS * HIGH + 2 * EDGE
    groups, shows = [], []
    for number, moment in enumerate(sorted(set(moments))):
        of_it = [(row, lines[row]) for row in range(len(lines)) if moments[row] == moment]
        groups.append(f'<g class="s s{number}">{"".join(_line(*each) for each in of_it)}</g>')
        if moment > 0:
            start = 100 * moment / length
            shows.append(
                f"@keyframes k{number}{{0%,{start:.2f}%{{opacity:0}}"
                f"{start + 0.01:.2f}%,100%{{opacity:1}}}}"
                f".s{number}{{animation:k{number} {length:.1f}s step-end infinite}}"
            )
    lift = _lift(moments, length)
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 {width:.0f} {height}" role="img"\
 aria-label="A terminal shows the tour of vaultmem">
<title>vaultmem demo</title>
<style>
{_theme()}
{"".join(shows)}
{lift}
@media (prefers-reduced-motion:reduce){{.s,.l{{animation:none!important}}}}
</style>
<rect class="w" x=".5" y=".5" width="{width - 1:.0f}" height="{height - 1}" rx="10"/>
<clipPath id="p"><rect x="0" y="{EDGE}" width="{width:.0f}" height="{ROWS * HIGH}"/></clipPath>
<g clip-path="url(#p)"><g class="l">
{chr(10).join(groups)}
</g></g>
</svg>
"""


def _paced(moments: list[float]) -> tuple[list[float], float]:
    """The same moments in the same order, without long waits; and how long it all takes."""
    paced, now, before = [], 0.0, 0.0
    for moment in moments:
        now += min(LONGEST_WAIT, max(0.0, moment - before))
        before = max(before, moment)
        paced.append(round(now, 1))
    return paced, now + LAST_SCREEN


def _theme() -> str:
    font = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
    light = "".join(f".{name}{{{style}}}" for name, style, _ in STYLES.values())
    dark = "".join(f".{name}{{{style}}}" for name, _, style in STYLES.values() if style)
    return (
        f"text{{font:14px {font};white-space:pre;fill:#1f2328}}"
        f".w{{fill:#fff;stroke:#d0d7de}}{light}\n"
        f"@media (prefers-color-scheme:dark){{text{{fill:#e6edf3}}"
        f".w{{fill:#0d1117;stroke:#30363d}}{dark}}}"
    )


def _lift(moments: list[float], length: float) -> str:
    """How far the text has moved up, whenever a line came below the last row."""
    steps = {0.0: 0}
    for row, moment in enumerate(moments):
        steps[100 * moment / length] = max(0, row + 1 - ROWS) * HIGH
    frames = "".join(f"{at:.2f}%{{transform:translateY(-{by}px)}}" for at, by in steps.items())
    return f"@keyframes lift{{{frames}}}.l{{animation:lift {length:.1f}s step-end infinite}}"


def _line(row: int, line: Line) -> str:
    if not line:
        return ""
    y = EDGE + row * HIGH + HIGH - 5
    return f'<text x="{EDGE}" y="{y}">{"".join(_spans(line.letters))}</text>'


def _spans(letters: Iterable[tuple[str, str]]) -> Iterator[str]:
    text, style = "", ""
    for letter, look in [*letters, ("", "\0")]:
        if look != style:
            shown = escape(text)
            yield f'<tspan class="{style}">{shown}</tspan>' if style and text.strip() else shown
            text, style = "", look
        text += letter


if __name__ == "__main__":
    SVG.write_text(drawn(recorded()), encoding="utf-8", newline="\n")
    print(f"Wrote {SVG.relative_to(ROOT)}, {SVG.stat().st_size:,} bytes", file=sys.stderr)
