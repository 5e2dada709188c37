"""What xorec finds by the entry points of this package."""
