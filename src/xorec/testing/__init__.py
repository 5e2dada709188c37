"""The shipped test kit: behaviours that every model, solver and index must have.

Derive a test class from `xorec.testing.models.ModelTests`, say which model it is, and pytest
runs every behaviour on it. Needs pytest (`pip install xorec[dev]`).
"""
