"""What a job would take, before anything runs: memory by part, disk, shuffles, time (`xorec plan`).

A job is a list of steps and of parts of memory, each a formula of the data's sizes and the model's
settings; what a pair, a row or a byte costs on this machine are constants that `xorec bench engine`
measures.
"""
