"""The figure of the one memory from which all decoder layers read (V78)."""

from __future__ import annotations

from .parts import grammar as g
from .parts import style
from .parts.selection import list_shown


@g.figure("memory")
def draw_memory(plan: g.Outline) -> g.Scene:
    """Show the memory and the keys that decoder layers make of it (V78)."""
    trace, count = plan.trace, plan.settings.decoder_layers
    memory = plan.of("memory[m,d]")
    n, d = memory.shape
    panel = g.Panel(memory, width=150, height=min(150.0, max(40.0, 8.0 * n)), edge="memory")
    word = plan.label("memory", style.HEADING, "memory", bold=True)
    size = g.small(f"{n} × {d}")
    left = g.middle(word, panel.named("memory"), size, gap=4, stands_on=1)
    keys = [f"decoder.{n}.cross_attention.key" for n in range(count)]
    unlike = len({trace[key].tobytes() for key in keys}) == count > 1
    shown = list_shown(count, 6)
    rows, links = list[list[g.Part]](), list[g.Link]()
    for layer in reversed(shown):
        result = plan.panel(f"{keys[layer]}[0,m,k]", width=150, height=44, edge="key")
        name = g.Label(plan.say("key", n=layer), style.HEADING, "key")
        rows.append([result.named(f"key {layer}"), name])
        ends: tuple[g.Side, g.Side] = ("right", "left")
        links.append(g.Link("memory", f"key {layer}", "elbow", "memory", 1.6, sides=ends))
    return plan.compose(
        g.Across(left, g.Columns(rows, gap=(12, 12)), gap=90),
        title="title" if unlike else "title_one",
        links=links,
        n=count,
        k=plan.settings.width,
    )
