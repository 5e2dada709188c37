"""Experiments: models fitted and evaluated side by side on one split."""
