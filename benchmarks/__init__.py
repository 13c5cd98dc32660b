"""Programs that measure glassformer and reproduce its results: `python -m benchmarks`.

Other engines run in processes and virtual environments of their own.
"""
