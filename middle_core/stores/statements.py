"""Named SQL: `-- name: x` begins a statement in <dialect>/sql/queries.sql, the next name ends it.

SQL stands in .sql files so that it can be read, linted and explained as SQL. This module knows no database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_FILE = re.compile(r"^(\d{4})_(\w+)\.sql$")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema. Versions are dense, from 1."""

    version: int
    name: str
    sql: str


def load_statements(dialect: str) -> dict[str, str]:
    """Every statement of `<dialect>/sql/queries.sql` by its name. Raises ValueError for a name used twice."""
    text = (files(__package__) / dialect / "sql" / "queries.sql").read_text("utf-8")
    _, *parts = _NAME.split(text)
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) != len(names):
        raise ValueError(f"A name is used twice in {dialect}/sql/queries.sql.")
    return {name: body.strip().rstrip(";") for name, body in zip(names, bodies, strict=True)}


def load_migrations(dialect: str) -> list[Migration]:
    """The steps of `<dialect>/sql/migrations` in order. Raises ValueError for a gap or a stray file."""
    migrations = []
    for entry in sorted((files(__package__) / dialect / "sql" / "migrations").iterdir(), key=lambda entry: entry.name):
        match = _FILE.match(entry.name)
        if match is None:
            raise ValueError(f"{entry.name} is not named like 0001_what_it_does.sql.")
        migrations.append(Migration(int(match[1]), match[2], entry.read_text("utf-8")))
    if [migration.version for migration in migrations] != list(range(1, len(migrations) + 1)):
        raise ValueError(f"The migrations of {dialect} are not numbered 1, 2, 3, ...")
    return migrations
