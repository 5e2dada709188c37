"""The laboratory: the paper's questions and the benches. Only their commands import it."""
