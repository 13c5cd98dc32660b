"""The processes that are compared: each module runs in the virtual environment of its engine.

`train_*` are called with TASK PRECISION, `translate_*` with MODEL SENTENCES PRECISION. Only our own
import glassformer. `turns` is this end of the protocol; `processes` has the other.
"""
