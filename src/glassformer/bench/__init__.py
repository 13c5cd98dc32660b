"""A benchmark of speed and memory against other engines, on one machine in one run.

Every engine runs in a process and a virtual environment of its own. The processes take turns, so
that other load on the machine affects all of them.
"""
