"""A training may follow these ideas of other papers; each hooks into it."""
