"""The inside of tables of seven bits (`lut.py`): filling, adding and scanning them."""
