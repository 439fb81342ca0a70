"""Where Obsidian keeps daily notes: as its own plugin has it, or Periodic Notes where that is on.

These settings may have come with a clone from anybody. They only say a name; whether that name
is one inside the vault is decided where notes are found and made (`paths.py`).
"""

from __future__ import annotations

import datetime as dt
import time
import unicodedata
from pathlib import Path
from typing import Any, Final, NamedTuple

from vaultmem.base import small_files
from vaultmem.errors import InvalidInput
from vaultmem.notes.daily.moment_format import moment_text
from vaultmem.notes.daily.template import DAY_FORMAT, TIME_FORMAT

_CONFIG: Final = ".obsidian"
_CORE: Final = f"{_CONFIG}/daily-notes.json"
_TEMPLATES: Final = f"{_CONFIG}/templates.json"
_PERIODIC: Final = f"{_CONFIG}/plugins/periodic-notes/data.json"
_PLUGINS: Final = f"{_CONFIG}/community-plugins.json"
_TRIES, _PAUSE = 5, 0.02  # Obsidian empties a file before it fills it
_SPACES: Final = str.maketrans("\u00a0\u202f", "  ")


class DailyNoteSettings(NamedTuple):
    folder: str = ""
    format: str = DAY_FORMAT
    template: str = ""
    origin: str = ""  # the file that says so; empty where nothing does
    date_format: str = DAY_FORMAT  # of {{date}} and {{time}} in a template
    time_format: str = TIME_FORMAT
    other_days: bool = False  # whether templates may speak of other days

    def note_path(self, now: dt.datetime) -> str:
        """The vault path of the day's note, as Obsidian would name it."""
        try:
            name = moment_text(now, self.format)
        except ValueError as error:
            raise InvalidInput(f"The name of daily notes in {self.origin}: {error}.") from None
        path = f"{self.folder}/{name}".translate(_SPACES).replace("\\", "/")
        steps = [step for step in unicodedata.normalize("NFC", path).split("/") if step]
        if not name.strip("/ ") or not steps:
            raise InvalidInput(
                f"The format of daily notes in {self.origin} makes no name. Put it right in the "
                "settings of Obsidian; nothing was written."
            )
        return "/".join(steps) + ".md"


def daily_note_settings(root: Path) -> DailyNoteSettings:
    """Without settings it is as Obsidian without settings: at the vault's top, named YYYY-MM-DD."""
    plugins = _obsidian_json(root, _PLUGINS)
    if isinstance(plugins, list) and "periodic-notes" in plugins:
        if (own := _periodic_day(_obsidian_json(root, _PERIODIC))) is not None:
            given = DailyNoteSettings(
                _text_of(own, "folder"),
                _text_of(own, "format") or DAY_FORMAT,
                _text_of(own, "template") or _text_of(own, "templatePath"),
                _PERIODIC,
                other_days=True,
            )
            return given._replace(date_format=given.format)
    core, dates = _obsidian_json(root, _CORE), _obsidian_json(root, _TEMPLATES)
    return DailyNoteSettings(
        _text_of(core, "folder"),
        _text_of(core, "format") or DAY_FORMAT,
        _text_of(core, "template"),
        _CORE if core is not None else "",
        _text_of(dates, "dateFormat") or DAY_FORMAT,
        _text_of(dates, "timeFormat") or TIME_FORMAT,
    )


def _periodic_day(data: Any) -> dict[str, Any] | None:
    """What Periodic Notes says of days, if it makes their notes; its versions say it in two ways."""
    if not isinstance(data, dict):
        return None
    sets = data.get("calendarSets")
    if isinstance(sets, list):
        wanted = data.get("activeCalendarSet")
        known = [each for each in sets if isinstance(each, dict)]
        chosen = [each for each in known if each.get("id") == wanted] or known[:1]
        day = chosen[0].get("day") if chosen else None
    else:
        day = data.get("daily")
    return day if isinstance(day, dict) and day.get("enabled") is True else None


def _text_of(data: Any, name: str) -> str:
    value = data.get(name) if isinstance(data, dict) else None
    return value.strip() if isinstance(value, str) else ""


def _obsidian_json(root: Path, path: str) -> Any:
    """What a file of Obsidian's settings says; None where there is none.

    One that cannot be read is an error: a guess would put a note where nobody looks for it.
    """
    for last in range(_TRIES):
        try:
            return small_files.parse_json(small_files.read_small_file(root / path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            why = error.strerror or "it is no file"
            break
        except ValueError:
            why = "it is no JSON"
            if last < _TRIES - 1:
                time.sleep(_PAUSE)
    raise InvalidInput(
        f"Where daily notes are kept cannot be read in {path}: {why}. Put it right, or open and "
        "close the settings of Obsidian; nothing was written."
    )
