"""Line ends: which ones a text has, and the same text with others."""

from __future__ import annotations


def usual_line_end(text: str) -> str:
    """The one that most of its lines have."""
    crlf = text.count("\r\n")
    return "\r\n" if crlf * 2 > text.count("\n") else "\n"


def with_unix_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n")


def with_line_ends(text: str, newline: str) -> str:
    text = with_unix_line_ends(text)
    return text.replace("\n", newline) if newline != "\n" else text


def end_of_line(text: str, at: int) -> int:
    """The end of the line, in front of its line break."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if end > at and text[end - 1] == "\r" else end
