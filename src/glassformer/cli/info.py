"""glassformer info"""

from __future__ import annotations

from .options import AsJson, Model
from .terminal import to_json


def info(model: Model, as_json: AsJson = False) -> None:
    """Show what a model is: its size, its languages and every setting.

    \b
    glassformer info my-model
    """
    from ..translator import Translator

    translator = Translator.load(model)
    facts = translator.describe()
    if as_json:
        print(to_json(facts))
        return
    for name, value in facts.items():
        if name != "settings":
            shown = f"{value:,}" if isinstance(value, int) else value
            print(f"{name.replace('_', ' '):<18}  {shown}")
    print(f"\n{translator.config.to_toml()}", end="")
