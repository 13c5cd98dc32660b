"""Measure glassformer and reproduce its results: `python -m benchmarks` lists the programs.

Other engines run in processes and virtual environments of their own.
"""
