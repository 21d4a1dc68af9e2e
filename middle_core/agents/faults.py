"""What an exception of a team's code tells the operator who starts the server: its words, and the team's line that raised it.

Nothing of a value is shown beyond the exception's own words, and those pass `masking.mask`.
"""

from __future__ import annotations

import importlib.util
import traceback
from pathlib import Path

from pydantic import ValidationError

from middle_core.masking import mask

MAX_WORDS = 500


def explained(error: BaseException, module: str) -> str:
    """One line such as `ValueError: MY_CRM_URL is not set (graphs.py, line 12, in build)`.

    Args:
        error: the exception, with its traceback.
        module: the dotted name of the team's module. Of the traceback, the innermost line within that package is named.
    """
    words = " ".join(_words(error).split())
    said = f"{type(error).__name__}: {words}" if words else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    folder = _folder(module)
    theirs = [frame for frame in frames if folder and Path(frame.filename).is_relative_to(folder)] or frames[-1:]
    where = [f" ({_short(frame.filename, folder)}, line {frame.lineno}, in {frame.name})" for frame in theirs[-1:]]
    return mask(said[:MAX_WORDS]) + "".join(where)


def _words(error: BaseException) -> str:
    if isinstance(error, ValidationError):  # its own text repeats the values, and a value may be a secret
        return "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_input=False, include_url=False)
        )
    return str(error)


def _folder(module: str) -> Path | None:
    """Where the top-level package of the module is; the file itself for a module without a package."""
    try:
        spec = importlib.util.find_spec(module.partition(".")[0])
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    places = list(spec.submodule_search_locations or ())
    found = places[0] if places else spec.origin
    return Path(found) if found else None


def _short(filename: str, folder: Path | None) -> str:
    path = Path(filename)
    if folder and path.is_relative_to(folder):
        return path.relative_to(folder.parent).as_posix()
    return path.name
