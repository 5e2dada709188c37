"""The event log: SQLite, one writer, group commit; everybody else reads."""
