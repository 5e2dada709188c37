"""The loss of SIML and DSIML: its two parts, values and gradients, and the bound that DSIML solves.

`gamma` is everywhere tan(beta), the root of what the formulas square; `docs/method.md` is the
ledger from equation to function to test.
"""
