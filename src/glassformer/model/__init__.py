"""The Transformer of the paper, in plain PyTorch, its recurrent predecessor, and language models.

Read positions.py, attention.py, residual.py, layers.py and transformer.py, in this order; then, in
rnn/, cells.py, attention.py, layers.py and network.py; then language/. What later work changed in
the Transformer is in variants/.
"""
