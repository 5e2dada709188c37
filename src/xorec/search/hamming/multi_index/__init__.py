"""The inside of multi-index hashing (`mih.py`): tables, probing, and their expected cost."""
