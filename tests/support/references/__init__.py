"""The formulas in plain NumPy and float64, slow and obvious: what kernels are held against."""
