"""apt-get for what the tests need of Debian (Chromium, nginx, HAProxy), beside whoever else uses apt on this machine.

Its lists and archives are in a folder of its own: at another's lock on those apt gives up at once. What is left is dpkg's lock, which
apt waits for if it is told how long. Needs root only where something is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

LOCK_S: Final = 900
"""Another's installation, with its downloads."""


def apt_get(folder: Path, settings: Mapping[str, object] = MappingProxyType({})) -> list[str]:
    """The beginning of an apt-get command.

    Args:
        folder: where its lists and archives are kept; made if need be.
        settings: more of apt's own (`man apt.conf`), by name.
    """
    lists, archives = folder / "lists", folder / "archives"
    for one in (lists, archives):
        (one / "partial").mkdir(parents=True, exist_ok=True)
    given = {
        "Dir::State::lists": lists,
        "Dir::Cache": archives,
        "Dir::Cache::archives": archives,
        "DPkg::Lock::Timeout": LOCK_S,
        "APT::Sandbox::User": "root",  # apt's own user may not write into the folder
        **settings,
    }
    return ["apt-get", "--quiet", "--yes", *(f"--option={name}={value}" for name, value in given.items())]
