"""The conformance corpus: small graphs with scripted models, and the event streams that they must produce.

A case (`tests.corpus.families.*`, one module for each family) is a graph and what a browser sends to it, turn by turn.
Each is played three ways, always with a fresh graph:

- ours: RunAgentInput -> `runs.intake.turn.rebuild` -> GraphSource -> Gate. The streams are the golden file
  `golden/<family>/<case>.json`: ids made stable by order of appearance, times removed, neighbouring deltas joined.
- the SDK's own `LangGraphAGUIAgent`, without raw events: the oracle. `"oracle": "sdk"` in a golden's header says that
  both streams have the same `essence` (texts, reasoning, calls with arguments, results, questions, end, final messages,
  what the models saw and what the graph did). `"oracle": "ours"` says that they differ. Then `why` says what the SDK
  does wrong, and `sdk` holds the parts in which its stream differs. Each run of the test checks this claim again, so
  it fails when the SDK repairs a fault or makes a new one.
- over HTTP, for some cases: the whole server must send the same streams.

Every stream also goes to the real @ag-ui/client and to ag-ui-validate, in one batch.

`python -m tests.corpus.regold [case or family ...]` writes the golden files again and says what changed: read the diff.
`python -m tests.corpus.drift`, or `make drift`, plays the corpus with other versions of the SDK: see docs/drift.md.
"""
