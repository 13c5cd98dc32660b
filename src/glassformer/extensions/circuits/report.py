"""The text that `why` prints."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from rich.cells import cell_len

from glassformer.see.habits import tell_habit
from glassformer.see.tokens import name_invisible
from glassformer.see.trace import Trace

from .faithfulness import CircuitEdge
from .methods import CutTrial, MethodTable
from .paths import READINGS, PathTable
from .transfer import Transfer
from .why import FoundCircuit, Why

MOST = 8  # words, neurons
ELSEWHERE = {
    "counterpart": "all other edges carry what they carry in the counterpart",
    "mean": "all other edges carry their mean over {} sentences",
}
KINDS = {
    "self_attention": "self-attention",
    "cross_attention": "cross-attention",
    "feed_forward": "feed-forward network",
    "ssru": "SSRU",
}


def tell_why(why: Why) -> str:
    """Return the answer as text."""
    parts = [_tell_head(why), _tell_sum(why)]
    if why.hidden:
        parts.append(_tell_hidden(why))
    parts += [_tell_circuit(why, each) for each in why.circuits]
    if why.transfer:
        parts.append(_tell_transfer(why.transfer))
    if not why.circuits:
        parts.append(_tell_missing(why))
    return "\n\n".join(parts)


def _tell_missing(why: Why) -> str:
    """Return why there is no circuit."""
    if why.counterpart is None and not why.mean_of:
        return (
            "No circuit: it shows what differs from another sentence, or from the mean of several, "
            "and the folder of this model has no examples. Give one with --counterpart, or several "
            "with --sentences FILE."
        )
    return "No circuit: with all edges replaced the word leads as much as before, or by more."


def _tell_head(why: Why) -> str:
    word, rival = _spell_token(why.asked.word), _spell_token(why.asked.rival)
    return (
        f"{why.trace.text}\n{why.trace.translation}\n"
        f"{word} leads {rival} by {why.lead:+.3f} (ln of how much likelier it is)"
    )


def _tell_sum(why: Why) -> str:
    """Return what the lead is made of, with patterns, norms and gates held."""
    lines = ["What the lead is made of, patterns, norms and gates held as they are:"]
    for side, name in (("source", "source"), ("target", "translation")):
        best = sorted(why.inputs[side], key=lambda each: -abs(each[1]))[:MOST]
        shares = (f"{name_invisible(word)} {value:+.2f}" for word, value in best)
        lines.append(f"  {name}: " + "  ".join(shares))
        rest = sum(value for _, value in why.inputs[side]) - sum(value for _, value in best)
        if len(why.inputs[side]) > MOST:
            lines[-1] += f"  all others {rest:+.2f}"
    lines.append(f"  positions: {why.positions:+.2f}  biases: {why.biases:+.2f}")
    neurons = "  ".join(
        f"{spell_place(why, each.block, each.position)} #{each.number} {each.value:+.2f}"
        for each in why.flow.neurons[:4]
    )
    lines.append(f"  neurons with most: {neurons}")
    lines.append(f"  Each node's edges add up to what it adds to the lead, to {why.gap:.0e}.")
    return "\n".join(lines)


def _tell_hidden(why: Why) -> str:
    """Return what the exact sum cannot see, because it holds something."""
    hidden, whole = why.hidden, why.lead
    change = hidden["as it is"] - whole
    foretold = hidden["held"] - whole
    lines = [
        f"The counterpart, {why.counterpart}: its lead is {hidden['as it is']:+.3f}.",
        f"  Of that change of {change:+.2f} the sum above foretells {foretold:+.2f}; "
        f"its error is {change - foretold:+.2f}, what it holds:",
    ]
    message = (
        f"{kind} alone held: {hidden[kind] - whole:+.2f}" for kind in ("patterns", "norms", "gates")
    )
    return "\n".join([*lines, "  " + "  ".join(message)])


def _tell_circuit(why: Why, circuit: FoundCircuit) -> str:
    elsewhere = ELSEWHERE[circuit.elsewhere].format(why.mean_of)
    size = len(circuit.edges)
    lines = [
        f"Circuit: {size:,} of {circuit.of:,} edges keep {circuit.kept:.1%} of the lead; "
        f"{elsewhere} (counted from the lead without any edge, {circuit.nothing:+.2f})",
        f"  all edges but these keep {circuit.without:.1%}; without the least of these "
        f"{circuit.dearest:.1%} is left",
        f"  {len(circuit.random)} random circuits of {size:,} edges keep "
        f"{_mean(circuit.random):.1%}, at most {max(circuit.random):.1%}; "
        f"random ones that lead to the answer {_mean(circuit.connected):.1%}, "
        f"at most {max(circuit.connected):.1%}",
    ]
    lines.append(f"  where: {_count_places(why, circuit)}")
    groups: dict[str, list[str]] = defaultdict(list)
    for edge in circuit.edges:
        groups[spell_place(why, edge.node, edge.position)].append(name_reader(why, edge))
    lines += [f"  {node} → {', '.join(ends)}" for node, ends in groups.items()]
    return "\n".join(lines)


def _count_places(why: Why, circuit: FoundCircuit) -> str:
    """Return how many edges of a circuit are at each word."""
    counts = Counter(spell_word(why, each.node, each.position) for each in circuit.edges)
    return ", ".join(f"{count} {place}" for place, count in counts.most_common())


def _tell_transfer(transfer: Transfer) -> str:
    left_out = f" ({transfer.left_out} left out)" if transfer.left_out else ""
    return (
        f"On {transfer.sentences} other sentences{left_out}, the first circuit without positions, "
        f"{transfer.size:,} of {transfer.of:,} edges, keeps {transfer.kept:.1%}; the right word "
        f"leads in {transfer.right:.1%}. {len(transfer.random)} random circuits keep "
        f"{_mean(transfer.random):.1%}, at most {max(transfer.random):.1%}."
    )


def tell_methods(table: MethodTable) -> str:
    """Return which word each method names, and what is written with that word cut."""
    word, rival = _spell_token(table.asked.word), _spell_token(table.asked.rival)
    rows = [("", "names", "share", "cut from the decoder", "cut everywhere")]
    for each in table.answers:
        trial = table.trials[each.named]
        cells = (
            _tell_cut(trial.decoder, trial.decoder_changed),
            _tell_cut(trial.everywhere, trial.everywhere_changed),
        )
        rows.append((each.method, trial.word, f"{each.share:.0%}", *cells))
    head = f"{table.trace.text}\n{table.trace.translation}\n"
    place = f" of {table.elsewhere}" if table.elsewhere else ""
    head += f"Which source word do methods name for {word} (rival: {rival}{place})?"
    if table.plain != table.asked.word:
        head += f" Of itself the network writes {_spell_token(table.plain)} there."
    return "\n".join([head, "", *_line_up(rows), "", *_tell_trials(table)])


def tell_paths(table: PathTable) -> str:
    """Return how far each path leads to the counterpart."""
    word, rival = _spell_token(table.asked.word), _spell_token(table.asked.rival)
    rows: list[tuple[str, ...]] = [("from", "to", *READINGS, "together")]
    for each in table.effects:
        shares = (f"{each.kinds[kind]:+.1%}" if kind in each.kinds else "" for kind in READINGS)
        ends = (_add_habit(table.trace, name) for name in (each.sender, each.receiver))
        rows.append((*ends, *shares, f"{each.together:+.1%}"))
    return (
        f"{table.trace.text}\n{table.trace.translation}\n"
        f"{word} leads {rival} by {table.lead:+.3f}; in the counterpart, {table.counterpart}, by "
        f"{table.nothing:+.3f}.\nHow much of that way is gone if a head reads directly of another "
        f"what it writes there ({len(table.effects)} of {table.of:,} pairs of heads):\n\n"
        + "\n".join(_line_up(rows))
    )


def _line_up(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table, whose columns begin below each other."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(
            cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _tell_cut(written: str, is_changed: bool) -> str:
    return _spell_token(written) if is_changed else "no change"


def _spell_token(token: str) -> str:
    return name_invisible(token).strip(" ▁") or "▁"


def _tell_trials(table: MethodTable) -> list[str]:
    """Return which words change the translation, and what methods say beside a word."""
    lines = []
    for name, cut in (("from the decoder", "decoder"), ("everywhere", "everywhere")):
        is_changed = [getattr(each, f"{cut}_changed") for each in table.trials]
        changing = [each for each, changed in zip(table.trials, is_changed, strict=True) if changed]
        right = sum(is_changed[each.named] for each in table.answers)
        lines.append(
            f"Cut {name}, {len(changing)} of {len(table.trials)} words change it: "
            f"{_list_changes(changing, cut)}. {right} of {len(table.answers)} methods name one."
        )
    for each in table.answers:
        if each.from_source is not None:
            lines.append(
                f"{each.method}: {each.from_source:.0%} comes from the source, "
                f"{1 - each.from_source:.0%} from the translation so far."
            )
    layers = table.trace.settings.decoder_layers
    for name, first, stack in (
        ("Logit lens", table.first_layer, f"decoder layer {{}} on (0 to {layers - 1})"),
        ("Tuned lens", table.first_tuned, f"decoder layer {{}} on (0 to {layers - 1})"),
        (
            "Encoder lens",
            table.first_encoder,
            "encoder layer {} on, read by the decoder "
            f"(0 to {table.trace.settings.encoder_layers - 1})",
        ),
    ):
        if first is not None:
            lines.append(f"{name}: the word is likeliest from {stack.format(first)}.")
    return lines + _tell_lens(table)


def _tell_lens(table: MethodTable) -> list[str]:
    """Return how far both lenses are from what the network says at last."""
    if table.lens is None:
        return []
    lens = table.lens
    far = (
        f"{n}: {tuned:.2f} ({logit:.2f})"
        for n, (tuned, logit) in enumerate(zip(lens.tuned[:-1], lens.logit[:-1], strict=True))
    )
    return [
        f"Tuned lens, fitted on {lens.sentences} sentences; on {lens.held_out} others its KL "
        f"divergence from the last layer (logit lens) is in layer {', '.join(far)}."
    ]


def _list_changes(trials: Sequence[CutTrial], cut: str) -> str:
    return (
        ", ".join(f"{each.word} → {_spell_token(getattr(each, cut))}" for each in trials) or "none"
    )


def name_reader(why: Why, edge: CircuitEdge) -> str:
    """Return what an edge ends at; its position is that of the node."""
    return _spell_token(why.asked.word) if edge.reader == "answer" else spell_node(why, edge.reader)


def spell_place(why: Why, node: str, position: int | None) -> str:
    """Return a node's name with the word at which it is."""
    return f"{spell_node(why, node)} {spell_word(why, node, position)}"


def spell_word(why: Why, node: str, position: int | None) -> str:
    """Return the word at which a node is: "at" one of the source, "after" one of the target."""
    is_source = node.startswith(("source", "encoder"))
    tokens = why.trace.source if is_source else why.trace.target
    if position is None:
        return "everywhere"
    text = name_invisible(tokens[position].text).strip(" ▁") or "?"
    return f"at {text}" if is_source else f"after {text}"


def spell_node(why: Why, node: str) -> str:
    """Return a node or a reader: "encoder 2 self-attention, head 3 (previous token), key"."""
    side, _, rest = node.partition(".")
    if side.endswith("_embedding"):
        return {"embedded": "the token", "positions": "the position", "": "the embedding"}[rest]
    layer, _, rest = rest.partition(".")
    kind, *more = rest.split(".")
    kind, dot, residual = kind.partition("_residual")
    if more == ["memory"]:
        return f"what {side} {layer} {KINDS[kind]} reads"
    message = f"{side} {layer} {KINDS[kind]}" + (", normed" if dot or residual else "")
    if more and more[0].isdigit():
        head = more.pop(0)
        name = f"{side}.{layer}.{kind}.{head}"
        message += _add_habit(why.trace, name, f", head {head}")
    return ", ".join([message, *more])


def _add_habit(trace: Trace, name: str, text: str = "") -> str:
    """Return the text, or else the name of a head itself, with its habit if it has one."""
    block, _, head = name.rpartition(".")
    habit = tell_habit(trace.document.habits, block, int(head))
    return (text or name) + (f" ({habit})" if habit else "")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
