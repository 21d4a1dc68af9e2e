"""The conformance corpus: small graphs, scripted models, and the event streams that must come of them."""
