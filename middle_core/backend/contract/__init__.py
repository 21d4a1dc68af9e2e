"""backend-core's REST contract, as far as middle-core calls it.

`openapi.json` is the source; `models.py` is made from it by `datamodel-codegen` (configured in
pyproject.toml) and never edited by hand.
"""
