"""The cases, one module for each family."""
