"""Who calls and what they may see: `verify` checks a token, `principal` is its owner, `access` decides about runs and threads."""
