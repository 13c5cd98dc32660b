"""All that `probe` measures of a model and pairs, as numbers and as text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from glassformer.translator import Translator

from .contrastive import ContrastiveItem, Share
from .probe_pairs import REST, find_donors, read_probe_pairs
from .probing import (
    STEP,
    TARGET,
    Look,
    Probe,
    Progress,
    cut_edges,
    list_cuts,
    measure_attention,
    parse_cut,
    prefer_roles,
    share_right,
    silence_blocks,
    swap_vectors,
)

COMPARED = ("right", "wrong")  # the roles whose attention is compared, where both are marked
FEWEST = 20  # pairs with a donor: fewer say little
LISTED = 3  # heads that are named


def probe_pairs(
    translator: Translator,
    items: Sequence[ContrastiveItem],
    cuts: Sequence[str] = (),
    progress: Progress = lambda done: None,
) -> dict[str, Any]:
    """Return where an answer is settled, as numbers for `json.dumps`.

    right, odds: the share of pairs in which the right token is likelier, and the median of ln p of
    the right one over the wrong one. cut: both, for each of `cuts` (none: those of `list_cuts`),
    where no head may attend so; layers: the share if only one layer may not. silence: the share
    without each head and block. attention: how much the step attends to each role, by layer and
    head. look: how often to "right" more than to "wrong", if such words are marked. swap: which
    vectors carry the answer, where pairs differ in one word only. ValueError for a wrong cut, or if
    no pair can be asked.
    """
    pairs, skipped = read_probe_pairs(translator, items)
    probe = Probe(translator, pairs, progress)
    named = {written: parse_cut(written, pairs[0]) for written in cuts or list_cuts(pairs[0])}
    named = {
        written: edges
        for written, edges in named.items()
        if all(probe.name_blocks(edge.kind) for edge in edges)
    }
    odds = probe.ask()
    results: dict[str, Any] = {
        "pairs": len(pairs),
        "skipped": skipped,
        "right": share_right(odds),
        "odds": odds.median().item(),
        "cut": [],
        "layers": {},
    }
    for written, edges in named.items():
        left = cut_edges(probe, edges)
        results["cut"].append(
            {"cut": written, "right": share_right(left), "odds": left.median().item()}
        )
        if written.startswith(STEP):
            count = max(len(probe.name_blocks(edge.kind)) for edge in edges)
            results["layers"][written] = [
                share_right(cut_edges(probe, edges, layer)) for layer in range(count)
            ]
    results["silence"] = silence_blocks(probe)
    results["attention"] = dict(_attend_from_step(probe))
    results["look"] = _compare(probe) if {*COMPARED} <= pairs[0].words.keys() else {}
    results["swap"] = dict(_swap(probe)) if probe.name_blocks("encoder self") else {}
    return results


def _attend_from_step(probe: Probe) -> Iterator[tuple[str, list[list[float]]]]:
    first = probe.pairs[0]
    for kind, roles in (("decoder cross", first.words), ("decoder self", first.rows)):
        for role in roles if probe.name_blocks(kind) else ():
            name = role if kind == "decoder cross" else TARGET + role
            yield name, measure_attention(probe, kind, STEP, role)


def _compare(probe: Probe) -> dict[str, Any]:
    """Return how often each query attends more to the right word, in each network that it is in."""
    others = [role for role in probe.pairs[0].words if role not in (*COMPARED, REST)]
    looks = {f"{role} reads the source": Look("encoder self", role) for role in others}
    looks[f"{STEP} reads the source"] = Look("decoder cross", STEP)
    if {*COMPARED} <= probe.pairs[0].rows.keys():
        looks[f"{STEP} reads the translation"] = Look("decoder self", STEP)
    there = {name: look for name, look in looks.items() if probe.name_blocks(look.kind)}
    return prefer_roles(probe, there, COMPARED)


def _swap(probe: Probe) -> Iterator[tuple[str, Any]]:
    """Yield what carries the answer, by the role in whose word pairs differ, if enough do."""
    roles = [*probe.pairs[0].words]
    for role in roles:
        both = find_donors(probe.pairs, role) if role != REST else []
        if len(both) >= FEWEST:
            own = Probe(probe.translator, [pair for pair, _ in both], probe.progress)
            yield role, swap_vectors(own, [donor for _, donor in both], roles)


def tell_probe(fields: Mapping[str, Any]) -> str:
    """Return the measurements as text: shares in percent of right answers."""
    total = Share(round(fields["right"] * fields["pairs"]), fields["pairs"])
    lines = [f"right  {total}", f"ln odds of the middle pair {fields['odds']:+.2f}"]
    lines += [f"left out: {times} ({why})" for why, times in fields["skipped"].items()]
    width = max(map(len, ("where it may not attend", *(each["cut"] for each in fields["cut"]))))
    lines.append(f"\n{'where it may not attend':{width}}  right %  ln odds  in one layer alone")
    for each in fields["cut"]:
        layers = " ".join(f"{100 * share:.0f}" for share in fields["layers"].get(each["cut"], ()))
        row = f"{each['cut']:{width}}  {100 * each['right']:7.1f}  {each['odds']:+7.2f}  {layers}"
        lines.append(row.rstrip())
    lines.append("\nright % without each head | without the block")
    for kind, rows in fields["silence"].items():
        for layer, row in enumerate(rows):
            *heads, block = (f"{100 * share:5.1f}" for share in row)
            lines.append(f"{f'{kind} {layer}':16} {' '.join([*heads, '|', block])}")
    lines.append("\nthe step attends most to")
    lines += [f"  {role}: {_name_best(rows)}" for role, rows in fields["attention"].items()]
    for name, rows in fields["look"].items():
        lines.append(f"{name}, more to right than to wrong: {_name_best(rows)}")
    for role, swap in fields["swap"].items():
        lines.append(f"\nanswers that turn, of {swap['pairs']}, with another {role}'s vectors")
        for side in ("encoder", "decoder"):
            for who, shares in swap[side].items():
                text = " ".join(f"{100 * share:3.0f}" for share in shares)
                lines.append(f"  {side} {who:12} {text}")
    return "\n".join(lines)


def _name_best(rows: Sequence[Sequence[float]]) -> str:
    values = np.array(rows)
    best = np.argsort(-values, axis=None)[:LISTED]
    places = zip(*np.unravel_index(best, values.shape), strict=True)
    named = (f"layer {n}, head {h}: {100 * values[n, h]:.0f} %" for n, h in places)
    return "; ".join(named)
