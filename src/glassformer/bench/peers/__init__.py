"""Adapters of the other engines: each module runs in a virtual environment of its own.

The folder is copied as a separate package, so nothing here imports glassformer.
"""
