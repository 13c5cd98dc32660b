import { labelled } from "../label";

export const say = labelled({
  title: ["Training", "训练"],
  which: ["Training", "训练"],
  toy: ["the toy: a model of six words, trained beforehand", "玩具：预先训练好的六词模型"],
  own: [
    "Your own trainings appear here, also while they run: glassformer serve MODEL --runs FOLDER",
    "你自己的训练也会出现在这里，包括正在进行的：glassformer serve MODEL --runs FOLDER",
  ],
  live: ["following", "实时跟踪"],
  part: ["Show", "显示"],
  curves: ["Curves", "曲线"],
  rows: ["Targets and outputs", "目标与输出"],
  samples: ["Sample translations", "译文样例"],
  attention: ["Attention", "注意力"],
  gradients: ["Gradients", "梯度"],
  step: ["update {step} of {last}", "第 {step} 次更新，共 {last} 次"],
  scrub: ["Update", "更新"],
  play: ["Play", "播放"],
  pause: ["Pause", "暂停"],
  nothing: [
    "Nothing was watched in this training: train with train.watch=3",
    "这次训练没有观察任何句子：请用 train.watch=3 训练",
  ],
  log: ["logarithmic", "对数"],
  source: ["source", "源句"],
  reference: ["reference", "参考译文"],
  translation: ["at update {step}", "第 {step} 次更新时"],
  sentence: ["Sentence", "句子"],
  wanted: ["What is wanted", "想要的"],
  said: ["What the model says", "模型所说"],
  smoothing: ["label smoothing", "标签平滑"],
  row: ["position of the reference", "参考译文的位置"],
  column: ["token", "词元"],
  loss: [
    "−ln P of the right token: {list}. Mean: {mean}.",
    "正确词元的 −ln P：{list}。平均：{mean}。",
  ],
  sums: [
    "Every row sums to 1 over the whole vocabulary: {least} to {most} here.",
    "每一行对整个词表的和为 1：这里是 {least} 到 {most}。",
  ],
  part16: [
    "Only the most probable tokens were kept; hatched: not among them.",
    "只保留了最可能的词元；阴影：不在其中。",
  ],
  forced: [
    "In each row the decoder had been given the right tokens before it.",
    "每一行的解码器输入都是它之前的正确词元。",
  ],
  block: ["Attention", "注意力"],
  head: ["Head", "头"],
  against: ["minus update", "减去第几次更新"],
  lapse: [
    "Drag the update, or play, and watch the head form.",
    "拖动更新数或播放，看这个头怎样形成。",
  ],
  spark: [
    "Mean entropy of each head over the training, in nats: low is sharp. Click a head to watch it.",
    "各个头在训练中的平均熵（奈特）：越低越尖。点击一个头来看它。",
  ],
  headEntropy: ["head {head}: {value}", "第 {head} 头：{value}"],
  none: [
    "The toy keeps no attention. Choose a training of your own.",
    "玩具没有保存注意力。请选你自己的训练。",
  ],
  norms: [
    "Length of the gradient of each block, before clipping: a row a block, a column an update",
    "各部分梯度的长度（裁剪之前）：每部分一行，每次更新一列",
  ],
  failed: ["It could not be read: {error}", "无法读取：{error}"],
});
