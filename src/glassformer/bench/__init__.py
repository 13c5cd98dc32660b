"""Speed and memory, ours beside other engines', on one machine in one run.

Every side is a process of its own, installed into its own virtual environment; they take turns, so
that whatever else the machine does meets all of them.
"""
