"""The conformance corpus: small graphs and scripted models, with the event streams they must make.

`cases.py` holds the cases, `golden/` a stream for each. `python -m tests.corpus.update` writes the golden files anew:
look at the difference before you commit it. A case says how the SDK's own stream compares: `same` makes it the oracle, a
text says what it does wrong. Both are checked, so that an upgrade of the SDK shows what changed.
"""
