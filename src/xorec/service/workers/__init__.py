"""Processes: start, supervise, fork, hand writes on, end."""
