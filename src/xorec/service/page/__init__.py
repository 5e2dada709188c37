"""The page for people: static files that use only the public API."""
