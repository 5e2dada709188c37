"""Codes, lists and what ranks them in databases and files: `xorec export`, and asking there."""
