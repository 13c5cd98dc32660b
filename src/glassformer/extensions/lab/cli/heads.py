"""The command `glassformer heads`: what each head of a model reads, and what breaks without it."""

from pathlib import Path

from glassformer.cli.options import AS_JSON, DEVICE, MODEL, arg, opt
from glassformer.cli.terminal import show_progress, to_json


def heads(
    model: Path = MODEL,
    source: Path = arg("SOURCE", "Text in the source language, a sentence a line.", default=...),
    sentences: int = opt("N", "Look at no more than this many lines.", default=300, min=1),
    output: Path | None = opt("FILE", "Write the results here instead.", "--output", "-o"),
    device: str = DEVICE,
    as_json: bool = AS_JSON,
) -> None:
    """Measure what each head reads in many sentences, and what breaks without it.

    The results are kept as heads.json in the model directory: the app's view "Who reads whom?"
    shows them, also in a page, and wherever a head is shown, it is called by what it reads most, as
    "head 3: previous token". The shipped models already have theirs.

    \b
    glassformer heads my-model valid.en
    """
    from glassformer.model.files.directory import HEADS, SHIPPED, locate, write_text
    from glassformer.see.habits import CROSS, OWN, find_habit, tell_habit
    from glassformer.translator import Translator

    from ..heads import measure_portraits
    from .sentences import read_sentences

    translator = Translator.load(model, device=device, precision="fp32")
    texts = read_sentences(source, sentences, translator)
    if output is None and (folder := locate(model)).parent != SHIPPED:
        output = folder / HEADS
    with show_progress("measuring", None) as tell:
        result = measure_portraits(translator, texts, check=lambda: tell(1))
    if output:
        write_text(output, to_json(result) + "\n")
    blocks = result["blocks"]
    if as_json:
        print(to_json({"path": output and str(output), "blocks": blocks}))
        return
    for name, block in blocks.items():
        shares = "  ".join(f"{each['loss']:+.3f}" for each in block["heads"])
        print(f"{name}: a head silenced, -ln p rises by  {shares}")
        kinds = CROSS if "cross" in name else OWN
        habits = [find_habit(each["reads"], block["even"], kinds) for each in block["heads"]]
        for head in range(len(habits)):
            if habit := tell_habit({name: habits}, name, head):
                print(f"  head {head}: {habit}")
