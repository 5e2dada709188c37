"""The paper's experiments, RQ1 to RQ5, as runs that end in tables, plots and one page."""
