"""How vectors and codes are learned: blocks of pairs, and the loop over epochs."""
