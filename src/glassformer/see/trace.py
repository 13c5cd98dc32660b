"""A recorded translation, and what can be done with it. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..foundation.extensions import need_addition
from .recorded import RecordedTensors

if TYPE_CHECKING:
    from .explain import Explanation


class Trace(RecordedTensors):
    """A recording. `trace["decoder.2.cross_attention.weights"]` is an array, H T S.

    Derived tensors, such as `trace["probabilities"]`, are computed at their first use. Parameters
    have their names in the model, if the trace has them. An unknown name raises ValueError.
    """

    def explain(self, name: str, index: Sequence[int] = ()) -> Explanation:
        """Return how one number was computed: `trace.explain("memory", (3, 0))`; -1 is the last.

        Raises ValueError for an unknown name or an index out of range.
        """
        from .explain import explain

        return explain(self, self.resolve(name), index)

    def why(self, word: str, rival: str | None = None, **options: Any) -> Any:
        """Return why the translation has a word and not its rival: an exact sum, and a circuit.

        rival: None is the likeliest other token there. options: those of `explain_word`.
        """
        return need_addition("explain_word", "why")(self, word, rival, **options)

    def picture(self, id: str, **options: Any) -> Any:
        """Draw one of the pictures: `trace.picture("V49", layer=-1, query="it").save("it.svg")`.

        A notebook displays it. options: those of its function, such as layer, head, lang, ax.
        """
        return need_addition("draw_picture", "a picture")(self, id, **options)

    def _repr_html_(self) -> str:
        from .summary import tell_in_html

        return tell_in_html(self)

    def to_json(self) -> dict[str, Any]:
        """Return the recording without its tensors, as JSON."""
        return self.document.model_dump(mode="json", exclude={"tensors"})

    def save(self, path: Path | str, *, compact: bool = False, parameters: bool = False) -> None:
        """Write a folder: `trace.json`, and tensors as safetensors, small to large.

        compact: fp16 instead of fp32. parameters: save the model's weights too, so that every
        number can be explained without the model.
        """
        from .files import save_trace

        save_trace(self, Path(path), compact, parameters)

    def show(self) -> Any:
        """Return the app with this recording in it, a `SavedPage`.

        A notebook displays it; elsewhere, `show().save("it.html")` writes a page.
        """
        return need_addition("show_recording", "the page of a recording")(self)

    @classmethod
    def load(cls, path: Path | str) -> Trace:
        """Read a folder that `save` wrote. Raises ValueError if it is no trace, or damaged."""
        from .files import load_trace

        return cls(*load_trace(Path(path)))
