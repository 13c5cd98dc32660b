"""The table of all pictures by number: title, function that draws it, and what that needs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any, Literal, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import (
    alignment,
    architecture,
    attention,
    beams,
    choice,
    code,
    context,
    costs,
    cross_entropy,
    decoding,
    feed_forward,
    flow,
    frequencies,
    heights,
    layers,
    learning,
    lessons,
    masks,
    meaning,
    multihead,
    number,
    outside,
    padding,
    places,
    poster,
    products,
    residual,
    steps,
    why_norm,
    words,
)
from .animate import Animation
from .options import check_options
from .render import render_scene
from .rnn import attend, cell, lengths, passing, time
from .scene import Scene

Needs = Literal["", "states", "everything", "search", "watch"]
Network = Literal["transformer", "rnn", "any"]


class Picture(NamedTuple):
    """A picture: its number, its titles, the function that makes its scene, and what that needs.

    needs: the level of the recording ("states", "everything"), a "search", or the "watch"
    folder of a training. network: the kind that it shows; of "any", none is shown.
    """

    id: str
    en: str
    zh: str
    scene: Callable[..., Scene]
    kind: Literal["still", "animated"] = "still"
    needs: Needs = "everything"
    network: Network = "transformer"

    def title(self, lang: str = "en") -> str:
        return self.zh if lang == "zh" else self.en

    @property
    def options(self) -> tuple[str, ...]:
        """Return the names of the options of the picture, such as layer and head."""
        return tuple(inspect.signature(self.scene).parameters)[1:]


_ALL = (
    # A.1 The whole model, from outside inwards
    Picture("V01", "A black box", "一个黑盒子", outside.draw_black_box, needs=""),
    Picture(
        "V02", "Two boxes and a connection", "两个盒子与一条连接", outside.draw_sequences, needs=""
    ),
    Picture("V03", "The box opened", "打开盒子", outside.draw_opened, needs=""),
    Picture("V04", "Two stacks of layers", "两摞层", outside.draw_stacks, needs=""),
    Picture(
        "V05",
        "One encoder layer",
        "一个编码器层",
        partial(layers.draw_layers, sides="encoder"),
        needs="",
    ),
    Picture("V06", "Encoder and decoder layer", "编码器层与解码器层", layers.draw_layers, needs=""),
    Picture("V07", "The architecture of the paper", "论文的架构图", architecture.draw_figure_1),
    Picture(
        "V08", "Two layers of each, with residuals", "各两层，含残差", architecture.draw_two_layers
    ),
    Picture(
        "V09", "Drawing the Transformer", "画出 Transformer", architecture.draw_growing, "animated"
    ),
    # A.2 Words become numbers
    Picture("V10", "Tokens and their ids", "词元与编号", words.draw_tokens, needs=""),
    Picture("V11", "The vocabulary", "词表", words.draw_vocabulary, needs=""),
    Picture("V12", "One-hot vectors", "独热向量", words.draw_one_hot, needs=""),
    Picture("V13", "One-hot: “am”", "独热：“am”", partial(words.draw_one_hot, toy=True), needs=""),
    Picture("V14", "Looking up a row", "查一行", words.draw_lookup),
    Picture("V15", "Each word a vector", "每个词一个向量", words.draw_vectors),
    Picture("V16", "A map of words", "词的地图", meaning.draw_map),
    Picture(
        "V17", "The sentence as a matrix", "句子成为矩阵", partial(words.draw_vectors, whole=True)
    ),
    Picture("V18", "A word in its sentence", "句中的词", context.draw_context),
    # A.3 Positions
    Picture("V19", "Word plus place", "词加位置", places.draw_sum),
    Picture("V20", "Two layouts, four wide", "两种排列，宽度 4", places.draw_four_wide, needs=""),
    Picture(
        "V21",
        "Tensor2Tensor's layout",
        "Tensor2Tensor 的排列",
        places.draw_concatenated,
        needs="",
    ),
    Picture("V22", "The paper's layout", "论文的排列", places.draw_interleaved, needs=""),
    Picture("V23", "Waves", "波", frequencies.draw_waves, needs=""),
    Picture("V24", "One encoding by hand", "手算位置编码", frequencies.draw_one_word, needs=""),
    Picture("V25", "Position 0", "位置 0", frequencies.draw_position_0, needs=""),
    Picture("V26", "Properties", "性质", frequencies.draw_properties, needs=""),
    Picture("V27", "Code and picture", "代码与图", frequencies.draw_wave_code, needs=""),
    Picture(
        "V28",
        "Without positions, no order",
        "没有位置，就没有次序",
        context.draw_order,
    ),
    Picture("V29", "How loud is the place?", "位置的声音有多大？", residual.draw_amplitude),
    # A.4 Self-attention as vectors
    Picture("V30", "The flow through one layer", "穿过一层", flow.draw_flow),
    Picture("V31", "Two words, two layers", "两个词，两层", partial(flow.draw_flow, tokens=2)),
    Picture(
        "V32",
        "Step 1: queries, keys, values",
        "第一步：查询、键、值",
        steps.draw_products,
        "animated",
    ),
    Picture("V33", "Step 2: scores", "第二步：得分", steps.draw_score, "animated"),
    Picture(
        "V34", "Step 3: scaled", "第三步：缩放", partial(steps.draw_table, stage=3), "animated"
    ),
    Picture(
        "V35", "Step 4: softmax", "第四步：softmax", partial(steps.draw_table, stage=4), "animated"
    ),
    Picture(
        "V36",
        "Step 5: weighted values",
        "第五步：加权的值",
        partial(steps.draw_table, stage=5),
        "animated",
    ),
    Picture(
        "V37", "Step 6: their sum", "第六步：求和", partial(steps.draw_table, stage=6), "animated"
    ),
    Picture("V38", "Attention is a weighted average", "注意力是加权平均", steps.draw_mean),
    # A.5 Self-attention as matrices
    Picture(
        "V39", "Three matrix products", "三次矩阵乘法", partial(steps.draw_products, whole=True)
    ),
    Picture("V40", "Attention as matrices", "矩阵形式的注意力", products.draw_matrix_form),
    Picture("V41", "One query, one row", "一个查询，一行", products.draw_row_of_scores),
    # A.6 Several heads
    Picture("V42", "Two heads", "两个头", multihead.draw_two_heads),
    Picture("V43", "All heads", "所有的头", multihead.draw_all_heads),
    Picture(
        "V44", "Heads side by side, times W_O", "各头并排，乘以 W_O", multihead.draw_concatenation
    ),
    Picture("V45", "Multi-head attention on one page", "一页看懂多头注意力", multihead.draw_recap),
    Picture("V46", "Head by head", "一个头接一个头", multihead.draw_portraits, "animated"),
    Picture("V47", "Cut into heads", "切成多个头", multihead.draw_split, "animated"),
    Picture("V48", "Formulas and tensors", "公式与张量", products.draw_formulas),
    # A.7 Attention on a sentence
    Picture("V49", "Where a word looks", "一个词看向哪里", attention.draw_look, needs=""),
    Picture("V50", "Two heads", "两个头", attention.draw_look_of_two_heads, needs=""),
    Picture(
        "V51",
        "All heads at once",
        "所有的头一起",
        attention.draw_look_of_all_heads,
        needs="",
    ),
    Picture("V52", "Layer, attention, heads", "层、注意力、头", attention.draw_selectors, needs=""),
    Picture("V53", "Every head at a glance", "每个头一览", alignment.draw_overview, needs=""),
    Picture("V54", "Alignment", "对齐", alignment.draw_alignment, needs=""),
    Picture("V55", "Weighted sums of the source", "源句的加权和", alignment.draw_weighted_sum),
    # A.8 Masks, padding, the longest sentence
    Picture("V56", "The causal mask", "因果掩码", masks.draw_causal_mask),
    Picture(
        "V57", "Masked attention by hand", "手算带掩码的注意力", masks.draw_worked_mask, needs=""
    ),
    Picture("V58", "Where the mask goes", "掩码加在哪里", masks.draw_before_and_after),
    Picture("V59", "Padding", "填充", padding.draw_padding, "animated"),
    Picture("V60", "Too long", "过长", padding.draw_longest, needs=""),
    Picture("V61", "A batch", "一个批次", padding.draw_batch, needs=""),
    Picture("V62", "Three masks", "三种掩码", masks.draw_three_masks, needs=""),
    # A.9 Feed-forward, residual, norm
    Picture(
        "V63", "The feed-forward network", "前馈网络", feed_forward.draw_feed_forward, "animated"
    ),
    Picture("V64", "The bend between", "中间的弯", feed_forward.draw_activation),
    Picture("V65", "The residual connection", "残差之路", residual.draw_residual, "animated"),
    Picture("V66", "Inside LayerNorm", "LayerNorm 之内", residual.draw_norm),
    Picture("V67", "Why normalise", "为什么要归一化", why_norm.draw_why_norm),
    Picture("V68", "LayerNorm, a line at a time", "LayerNorm 逐行", residual.draw_norm_steps),
    Picture("V69", "The residual stream", "残差流", residual.draw_stream),
    # A.10 Stacks, flow, what runs at once
    Picture("V70", "Shapes through a layer", "穿过一层的形状", flow.draw_layer_shapes),
    Picture("V71", "The stack at work", "层叠工作", heights.draw_climb, "animated"),
    Picture("V72", "What runs at once", "什么可以同时算", costs.draw_parallel, needs=""),
    Picture("V73", "What attention costs", "注意力的开销", costs.draw_cost),
    # A.11 The decoder writes
    Picture("V74", "The first word", "第一个词", decoding.draw_first_word, "animated"),
    Picture(
        "V75", "The following words", "随后的词", decoding.draw_following_words, "animated", ""
    ),
    Picture(
        "V76", "A row longer each step", "每步多一行", decoding.draw_growing_mask, "animated", ""
    ),
    Picture("V77", "Looking at the source", "看向源句", alignment.draw_cross_attention, "animated"),
    Picture("V78", "One memory for all layers", "一份记忆供各层", heights.draw_memory),
    Picture("V79", "The whole way", "完整的一路", decoding.draw_walk),
    Picture("V80", "From a vector to a word", "从向量到词", choice.draw_choice),
    Picture("V81", "The greedy path", "贪婪路径", choice.draw_greedy_path, needs=""),
    Picture("V82", "The beam", "束搜索", beams.draw_beam_tree, "animated", "search"),
    Picture("V83", "Drawing by lot", "采样", choice.draw_sampling),
    # A.12 Training
    Picture("V84", "Before training", "训练之前", learning.draw_untrained, needs="watch"),
    Picture("V85", "What is wanted", "想要的", learning.draw_targets, needs="watch"),
    Picture("V86", "After training", "训练之后", learning.draw_trained, needs="watch"),
    Picture("V87", "Learning", "学习", learning.draw_learning, "animated", "watch"),
    Picture("V88", "The loss", "损失", cross_entropy.draw_loss, needs=""),
    Picture("V89", "Smoothing and rate", "平滑与学习率", lessons.draw_schedules, needs=""),
    Picture("V90", "Teacher forcing", "教师强制", lessons.draw_teacher_forcing, needs="watch"),
    Picture("V91", "Gradients", "梯度", lessons.draw_gradients, needs="watch"),
    # A.13 Before the Transformer
    *(
        Picture(*line[:4], *line[4:], network="rnn")  # type: ignore[misc]
        for line in (
            ("V92", "Words pass", "词逐个通过", passing.draw_words_passing, "animated", ""),
            ("V93", "The context vector", "上下文向量", passing.draw_fixed_context),
            ("V94", "One recurrent step", "循环的一步", cell.draw_recurrent_step, "animated"),
            ("V95", "Pulses", "脉冲", time.draw_pulses, "animated"),
            ("V96", "Unrolled", "展开", time.draw_unrolled, "animated"),
            ("V97", "All states pass", "所有状态都交出", attend.draw_states_passing, "animated"),
            ("V98", "Where a step looks", "一步看向哪里", attend.draw_focus, "still", ""),
            ("V99", "Five lines", "五行", attend.draw_five_lines, "animated"),
            ("V100", "The dance", "舞步", attend.draw_dance, "animated"),
            ("V101", "The alignment", "对齐", attend.draw_look_grid, "animated", ""),
        )
    ),
    Picture("V102", "Long sentences", "长句", lengths.draw_long_sentences, needs="", network="any"),
    # A.14 Code and picture
    Picture("V105", "Code and tensors", "代码与张量", code.draw_code),
    # One number, and everything at once
    Picture("V112", "One number, explained", "一个数的由来", number.draw_number, "animated"),
    Picture("V113", "The whole translation on one page", "一页看完整句翻译", poster.draw_poster),
)
PICTURES: Mapping[str, Picture] = {picture.id: picture for picture in _ALL}

# What a picture of a Transformer contrasts with, drawn of a recurrent network.
_RECURRENT = {
    "V02": Picture(
        "V02",
        "Two boxes and a vector",
        "两个盒子与一个向量",
        passing.draw_handed_over,
        network="rnn",
    ),
    "V72": Picture(
        "V72", "One after the other", "一步接一步", time.draw_in_turn, needs="", network="rnn"
    ),
}
NAMES = {
    "transformer": "a Transformer",
    "rnn": "a recurrent network",
    "decoder": "a decoder alone",
    "encoder": "an encoder alone",
}


def list_pictures(network: str = "transformer") -> list[Picture]:
    """Return the pictures that can be drawn of this kind of network, by their numbers."""
    found = (find_picture(id, network) for id in PICTURES)
    return [picture for picture in found if picture.network in (network, "any")]


def find_picture(id: str, network: str = "transformer") -> Picture:
    """Return a picture by its number, written as V49, v49, V7 or 7; of two, that of the network.

    Raise ValueError, naming the nearest number, if there is none.
    """
    number = re.fullmatch(r"[vV]?0*(\d{1,3})", id)
    name = f"V{int(number[1]):02}" if number else id.upper()
    if name not in PICTURES:
        near = get_close_matches(name, PICTURES, 1, 0.0)[0]
        if number:
            near = min(PICTURES, key=lambda each: abs(int(each[1:]) - int(number[1])))
        raise ValueError(f"there is no picture {id or '“”'}; did you mean {near}?")
    return (_RECURRENT if network == "rnn" else PICTURES).get(name, PICTURES[name])


def make_scene(trace: Any, id: str, **options: Any) -> Scene:
    """Return one picture of a recording; options are those of its function: layer, head, lang.

    Raise ValueError for a picture of another kind of network, an option that the picture does not
    have, or a value that does not fit: see module `options`.
    """
    network = trace.settings.network
    picture = find_picture(id, network)
    check_options(picture.id, picture.scene, options)
    if picture.network not in (network, "any"):
        raise ValueError(
            f"{picture.id} shows {NAMES[picture.network]}, but this is {NAMES[network]}"
        )
    if (lacking := trace.settings.lacking) and picture.needs in ("states", "everything"):
        raise ValueError(
            f"{picture.id} shows position vectors and feed-forward networks, of which a network "
            f"with {lacking} has not all: look inside it with `trace[NAME]` and `trace.explain`"
        )
    return picture.scene(trace, **options)


def draw(trace: Any, id: str, *, ax: Axes | None = None, **options: Any) -> Figure | Animation:
    """Draw one picture with matplotlib, as a figure of its own or on axes; see `make_scene`."""
    return render_scene(make_scene(trace, id, **options), ax)
