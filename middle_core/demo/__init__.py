"""What stands in for a team's own world: a token issuer and a backend-core. Imported by `__main__` only."""
