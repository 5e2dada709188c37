"""Settings: their shapes, where they come from, how they are printed."""
