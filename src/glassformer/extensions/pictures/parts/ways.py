"""The ways of what moves: a thing slides only where it covers nothing, and fades in otherwise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from .quantity import Array
from .scene import Area, BoxMark, Mark, PathMark, Point, bound

STRIDE, TOUCHING = 2.0, 0.5  # points between two places on the way; an overlap that is none
SHORTEST = 4.0  # points; a shorter way is none
SEGMENT = 8.0  # points of a line that are one rectangle of its outline


def clear_ways(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Return the marks, each coming from no further away than its way covers nothing.

    What comes to the same step by the same way moves as one. What it covers where it rests, such
    as the card on which it stands, it may cover on its way.
    """
    groups: dict[tuple[int, Point], list[int]] = defaultdict(list)
    for n, mark in enumerate(marks):
        if mark.start:
            groups[mark.step, mark.start].append(n)
    outlines = [_outline(mark) for mark in marks]
    result = list(marks)
    for (step, start), moving in groups.items():
        there = [n for n, mark in enumerate(marks) if _is_there(mark, step) and n not in moving]
        share = _find_free(start, [outlines[n] for n in moving], [outlines[n] for n in there])
        near = (start[0] * share, start[1] * share) if share else None
        for n in moving:
            result[n] = replace(result[n], start=near)
    return tuple(result)


def _is_there(mark: Mark, step: int) -> bool:
    """Return whether a mark can be in the way at a step: what does not move comes afterwards."""
    if mark.id in ("note", "foot") or 0 < mark.until <= step:
        return False
    return mark.step < step or (mark.step == step and mark.start is not None)


def _find_free(start: Point, moving: Sequence[list[Area]], there: Sequence[list[Area]]) -> float:
    """Return the share of the way, counted from its end, on which nothing is covered."""
    if not there:
        return 1.0
    ones = _as_array([area.grow(-TOUCHING) for areas in moving for area in areas])
    others = _as_array([area for areas in there for area in areas])
    rests = _meet(ones, others)
    way = float(np.hypot(*start))
    count = max(1, round(way / STRIDE))
    for n in range(1, count + 1):
        shift = np.array([*start, *start]) * n / count
        if (_meet(ones + shift, others) & ~rests).any():
            return (n - 1) / count if (n - 1) / count * way >= SHORTEST else 0.0
    return 1.0


def _as_array(areas: Sequence[Area]) -> Array:
    return np.array([(each.x, each.y, each.right, each.bottom) for each in areas])


def _meet(ones: Array, others: Array) -> Array:
    """Return which of some rectangles (left, top, right, bottom) overlap which of others."""
    a, b = ones[:, None], others[None]
    array: Array = np.all((a[..., :2] < b[..., 2:]) & (b[..., :2] < a[..., 2:]), axis=-1)
    return array


def _outline(mark: Mark) -> list[Area]:
    """Return rectangles that a mark fills; of a line, or an unfilled frame, of its segments."""
    if isinstance(mark, BoxMark) and not mark.fill:
        (x, y), (a, b) = (mark.x, mark.y), (mark.area.right, mark.area.bottom)
        corners = ((x, y), (a, y), (a, b), (x, b), (x, y))
        return [_span(one, two) for one, two in pairwise(corners)]
    if not isinstance(mark, PathMark) or mark.fill:
        return [mark.area]
    points = np.array(mark.points)
    if mark.curved:
        t = np.linspace(0, 1, 13)[:, None]
        bends = [points[n : n + 4] for n in range(0, len(points) - 3, 3)]
        weights = np.hstack([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3])
        points = np.vstack([weights @ bend for bend in bends])
    results = []
    for one, two in pairwise(points):
        count = max(1, round(float(np.hypot(*(two - one))) / SEGMENT))
        stops = one + (two - one) * np.linspace(0, 1, count + 1)[:, None]
        results += [_span(a, b) for a, b in pairwise(stops.tolist())]
    return results


def _span(one: Sequence[float], two: Sequence[float]) -> Area:
    """Return the rectangle between two corners."""
    return bound([Area(one[0], one[1], 0.0, 0.0), Area(two[0], two[1], 0.0, 0.0)])
