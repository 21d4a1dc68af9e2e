"""A module that cannot be imported."""

raise RuntimeError("postgres://user:hunter2@db")
