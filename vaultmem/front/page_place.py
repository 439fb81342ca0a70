"""Where the web page of a vault is served now, for who asks for it again.

The link has the token in it, so it lies where the engine's socket does: in the folder that is the
user's alone, and that is cleared with the session. Nothing of it is in the vault.
"""

from __future__ import annotations

import os

from vaultmem.front import plain_json
from vaultmem.front.engine_place import NoPlace, engine_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class PagePlace:
    def __init__(self, file: str) -> None:
        self._file = file

    def found(self) -> tuple[str, str] | None:
        """The address and the token of a server that is still there, as far as the file tells."""
        try:
            with open(self._file, "rb") as file:
                told = plain_json.parsed(file.read(10_000).decode())
            if not isinstance(told, dict):
                return None
            address, token, process = told["address"], told["token"], told["process"]
            os.kill(int(process), 0)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return str(address), str(token)

    def keep(self, address: str, token: str) -> None:
        told = {"address": address, "token": token, "process": os.getpid()}
        scratch = f"{self._file}.{os.getpid()}"
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(plain_json.written(told).encode())
        os.replace(scratch, self._file)

    def clear(self, token: str) -> None:
        """Where it is still ours."""
        found = self.found()
        if found and found[1] == token:
            os.unlink(self._file)


def page_place(vault: str, environment: Mapping[str, str]) -> PagePlace | None:
    """None where there is no folder that is the user's alone."""
    try:
        place = engine_place(vault, "", environment)
        place.make_folder()
    except (NoPlace, OSError):
        return None
    return PagePlace(os.path.join(place.folder, f"{place.name}.page"))
