"""The machine: its processors, memory and threads, and what to compute on."""
