"""Faster versions of some operations; each has a plain twin, which defines what it computes.

Training computes with the view of a network that `fast.py` makes. What computes attention there:

on a GPU                                  PyTorch's fused kernel, called in attend.py
on a CPU with AMX tiles, in bf16          the whole sub-layer: sublayers.py and native/*.c
on another CPU, or in fp32                each head in C: heads.py and native/train_attend.c
on a CPU without our libraries in C       products and exponentials of PyTorch: attend.py
a variant, or a class without a twin      what is written in model/
"""
