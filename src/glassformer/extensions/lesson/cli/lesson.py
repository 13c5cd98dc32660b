"""The command `glassformer lesson`: what a teacher needs for an hour about one sentence."""

from html import unescape
from pathlib import Path

from glassformer.cli.options import MODEL, arg, opt
from glassformer.cli.terminal import warn


def lesson(
    model: Path = MODEL,
    sentence: str = arg("SENTENCE", "The sentence that the lesson is about.", default=...),
    output: Path = opt("FOLDER", "The folder to write.", "--output", "-o", default=...),
    lang: str = opt("CODE", "The language of the lesson: en or zh.", default="en"),
) -> None:
    """Write a lesson: two plans, two pages to print, answers, questions and slides.

    All numbers are those of the model, for this sentence. The pages open in any browser, without a
    connection. The questions count answers without names, and give them as CSV.

    \b
    glassformer lesson demo "The cat is on the mat." -o lesson
    """
    from ..pages import write_lesson

    files, warnings = write_lesson(model, sentence, output, lang)
    print("\n".join(map(str, files)))
    for each in warnings:
        warn(unescape(each))
