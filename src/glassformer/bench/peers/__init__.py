"""Other engines' side of a comparison: each module runs in a virtual environment of its own.

The folder is copied there as a package of its own, so nothing here imports glassformer.
"""
