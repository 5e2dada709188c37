"""Search in shards: servers that each hold a range of the items, and the front that asks them."""
