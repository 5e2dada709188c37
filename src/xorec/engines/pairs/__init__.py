"""From blocks of read rows, in the order of the data, to `Interactions`: on any engine."""
