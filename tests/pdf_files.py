"""PDFs made by hand: small real ones, and some that were made to do harm."""

from __future__ import annotations

import zlib
from collections.abc import Sequence


def pdf(*pages: str, compress: bool = False) -> bytes:
    """One page for each text, a line of it for each line."""
    streams = []
    for text in pages:
        lines = "".join(f"({_escaped(line)}) Tj 0 -14 Td " for line in text.split("\n"))
        streams.append(f"BT /F1 12 Tf 72 720 Td {lines}ET".encode("latin-1"))
    return pdf_of_streams(streams, compress=compress)


def pdf_of_streams(streams: Sequence[bytes], *, compress: bool = False) -> bytes:
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(streams)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(streams)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, stream in enumerate(streams):
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * i} 0 R "
        objects.append(f"{page}/Resources << /Font << /F1 3 0 R >> >> >>".encode())
        kind = b""
        if compress:
            stream, kind = zlib.compress(stream, 9), b" /Filter /FlateDecode"
        head = b"<< /Length %d%b >>\nstream\n" % (len(stream), kind)
        objects.append(head + stream + b"\nendstream")
    return _file_of(objects)


def _file_of(objects: Sequence[bytes]) -> bytes:
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, each in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, each)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % table)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def hostile() -> dict[str, bytes]:
    bomb = pdf_of_streams([b"(x) Tj " * 40_000_000], compress=True)
    operators = pdf_of_streams([b"BT /F1 12 Tf " + b"(x) Tj " * 5_000_000 + b"ET"], compress=True)
    loop = _file_of(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [2 0 R 2 0 R 2 0 R] /Count 3 /Parent 2 0 R >>",
        ]
    )
    return {
        "empty": b"",
        "no pdf": b"hello\n" * 100,
        "cut": pdf("one", "two")[:300],
        "bomb": bomb,
        "operators": operators,
        "loop": loop,
        "deep": b"%PDF-1.4\n1 0 obj\n" + b"[" * 200_000,
        "length": pdf("one").replace(b"/Length ", b"/Length 99999999"),
        "pages": pdf(*["x"] * 3_000),
    }
