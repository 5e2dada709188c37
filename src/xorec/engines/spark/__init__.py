"""Blocks on Spark: it schedules, shuffles and retries; tasks run the same functions as threads."""
