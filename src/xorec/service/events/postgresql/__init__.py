"""The event log in PostgreSQL: one log for the services of several machines."""
