"""Codes, lists and scores in databases and files: `xorec export`, and queries there."""
