"""How the built page is started on this machine: Next's standalone server, as its image starts it.

Knows no other part of the product; `make frontend_core/.next/.done` builds the page.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

SERVER: Final = Path("frontend_core/.next/standalone/frontend_core/server.js")
"""From the root of the repository. Its static files lie beside it (`build` in package.json)."""


def page_command(root: Path) -> list[str]:
    """The command, without its environment.

    Args:
        root: the root of the repository.

    Raises:
        FileNotFoundError: the text says what is missing: the repository, Node or the built page.
    """
    server, node = root / SERVER, shutil.which("node")
    if not (root / "package.json").is_file():
        raise FileNotFoundError(
            "`dev` starts the page too, and the page is in the repository, not in this package. Run `make run` in the repository, "
            "or start the service alone: MIDDLE_CORE_ENV=dev python -m middle_core serve"
        )
    if node is None:
        raise FileNotFoundError("There is no `node` on the PATH. Install Node.js 20 or newer.")
    if not (server.is_file() and (server.parent / ".next" / "static").is_dir()):
        raise FileNotFoundError("The page is not built. Build it: make frontend_core/.next/.done")
    return [node, str(server)]


def page_env(*, port: int, middle_core: str) -> dict[str, str]:
    """What the page's server reads from its environment. middle_core: where it finds middle-core, as a URL."""
    return {"HOSTNAME": "127.0.0.1", "PORT": str(port), "MIDDLE_CORE_URL": middle_core, "NEXT_TELEMETRY_DISABLED": "1"}
