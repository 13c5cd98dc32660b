"""A regular expression of Python in the notation of JavaScript, with the flag `u`.

JavaScript has no possessive quantifiers and no verbose names of groups, and its `\\w`, `\\d`, `\\s`
and `\\b` know ASCII alone. A possessive quantifier becomes a lookahead that captures, and a
reference to the capture: neither gives anything back.
"""

import re
from itertools import count

_LETTERS = r"\p{L}\p{N}_"
# Inside square brackets; Python's white space is that of str.isspace.
_CLASSES = {"w": _LETTERS, "d": r"\p{Nd}"}
_CLASSES["s"] = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_EDGE = rf"(?:(?<=[{_LETTERS}])(?![{_LETTERS}])|(?<![{_LETTERS}])(?=[{_LETTERS}]))"
_OUTSIDE = {name: f"[{inside}]" for name, inside in _CLASSES.items()}
_OUTSIDE |= {name.upper(): f"[^{inside}]" for name, inside in _CLASSES.items()}
_OUTSIDE |= {"b": _EDGE, "Z": "$"}
_LAST = r"(?=\n?(?![^]))"  # the end, or the line break there
_NEGATED = {r"[^\W\d_]": r"[\p{L}\p{Nl}\p{No}]", r"[^\W\d]": r"[\p{L}\p{Nl}\p{No}_]"}
_NEGATED[r"[^\W_]"] = r"[\p{L}\p{N}]"
_SAME = re.compile(r"\\(?:[nrtfv]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})")  # in both notations
_ASTRAL = re.compile(r"\\U([0-9a-fA-F]{8})")
_SYNTAX = frozenset("^$\\.*+?()[]{}|/")
_QUANTIFIER = re.compile(r"(?:[*+?]|\{\d*,?\d*\})")
_OPENING = re.compile(r"\(\?P<(?P<name>\w+)>|\((?:\?(?:[:=!]|<[=!]))?")


def write_for_javascript(pattern: str) -> str:
    """Return the source of a RegExp that matches what a pattern of `re` does.

    ValueError for what it does not translate: flags, conditions, named references.
    """
    writer = _Writer(_ASTRAL.sub(lambda code: chr(int(code[1], 16)), pattern))
    written = writer.write_branch()
    if writer.at < len(writer.pattern):
        raise ValueError(f"unbalanced bracket at {writer.at} of {pattern!r}")
    return written


class _Writer:
    """A reader of a pattern from left to right, which writes it as it goes."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at, self.numbers = pattern, 0, count()

    def write_branch(self) -> str:
        """Return what stands up to the end of a group, alternatives included."""
        written = ""
        while self.at < len(self.pattern) and self.pattern[self.at] != ")":
            if self.pattern[self.at] == "|":
                written += "|"
                self.at += 1
            else:
                written += self._quantify(self._write_atom())
        return written

    def _quantify(self, atom: str) -> str:
        match = _QUANTIFIER.match(self.pattern, self.at)
        if not match:
            return atom
        self.at = match.end()
        quantifier = match[0]
        if self.pattern[self.at : self.at + 1] == "+":
            self.at += 1
            name = f"_{next(self.numbers)}"
            return rf"(?=(?<{name}>{atom}{quantifier}))\k<{name}>"
        if self.pattern[self.at : self.at + 1] == "?":
            self.at += 1
            quantifier += "?"
        return atom + quantifier

    def _write_atom(self) -> str:
        first = self.pattern[self.at]
        if first == "(":
            return self._write_group()
        if first == "[":
            return self._write_class()
        if first == "\\":
            return self._write_escape()
        self.at += 1
        if first == "$":
            return _LAST
        return rf"\{first}" if first in "]}/" else first

    def _write_group(self) -> str:
        match = _OPENING.match(self.pattern, self.at)
        if not match or self.pattern[match.end() : match.end() + 1] == "?":
            raise ValueError(f"no such group in JavaScript: {self.pattern[self.at :]!r}")
        self.at = match.end()
        opening = f"(?<{match['name']}>" if match["name"] else match[0]
        inner = self.write_branch()
        if self.at == len(self.pattern):
            raise ValueError(f"a bracket is not closed in {self.pattern!r}")
        self.at += 1
        return f"{opening}{inner})"

    def _write_escape(self) -> str:
        if same := _SAME.match(self.pattern, self.at):
            self.at = same.end()
            return same[0]
        name = self.pattern[self.at + 1]
        self.at += 2
        if name in _OUTSIDE:
            return _OUTSIDE[name]
        if name.isalnum():
            raise ValueError(f"no such escape in JavaScript: \\{name}")
        return rf"\{name}" if name in _SYNTAX else name

    def _write_class(self) -> str:
        for own, written in _NEGATED.items():
            if self.pattern.startswith(own, self.at):
                self.at += len(own)
                return written
        end = self.at + 1 + (self.pattern[self.at + 1] == "^")
        end += self.pattern[end] == "]"  # which is itself, in front
        while self.pattern[end] != "]":
            end += 1 + (self.pattern[end] == "\\")
        inside, self.at = self.pattern[self.at + 1 : end], end + 1
        if inside.startswith(r"^\W"):  # letters, but for some
            return f"(?:(?![{_write_members(inside[3:])}])[{_LETTERS}])"
        return f"[{_write_members(inside)}]"


def _write_members(inside: str) -> str:
    """Return what stands between square brackets."""
    negation, written = "^" * inside.startswith("^"), ""
    at = len(negation)
    while at < len(inside):
        each = inside[at]
        if same := _SAME.match(inside, at):
            written, at = written + same[0], same.end()
            continue
        if each == "\\":
            name = inside[at + 1]
            if name.isalnum() and name not in _CLASSES:
                raise ValueError(f"no such escape in JavaScript: \\{name}")
            written += _CLASSES.get(name) or _escape(name)
            at += 2
            continue
        is_edge = at in (len(negation), len(inside) - 1)
        written += each if each == "-" and not is_edge else _escape(each)
        at += 1
    return negation + written


def _escape(member: str) -> str:
    return rf"\{member}" if member in "^]\\-[(){}/|" else member
