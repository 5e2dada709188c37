"""Where blocks of work run: threads of this machine (`core.engine.LocalEngine`), or Spark."""
