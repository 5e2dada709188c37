"""Test kits for authors of plug-ins: what every model, index, solver, store and engine must do.

Derive a test class from a kit, say what is tested, and pytest runs every test of the kit on it.
Needs pytest.

- `models`: `ModelTests` for any model; `PersonalModelTests` if users get lists of their own,
  `EpochModelTests` if it learns by epochs. Set `model`.
- `stores`: `StoreTests` for a store. Say its `address`.
- `engines`: `EngineKit` for an engine. Give a fixture `engine`.
- `indexes`: `IndexTests` for any index; `CodeIndexTests` for one of codes, `OffsetIndexTests` if
  items have offsets. Say how the index is made.
- `solvers`: `SolverTests` for a solver of min z'Az + c'z; `BatchSolverTests` if it takes a stack of
  problems. Set `name`.
- `data`: no kit, but data sets whose right answer is known, for tests of your own.

The other files are what the kits and the examples in docstrings need. What only the tests of xorec
itself need is in `tests/support/` of the repository, and is not installed.
"""
