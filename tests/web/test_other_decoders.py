"""A page whose model has an SSRU decoder and RMSNorm: what looks at attention still opens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from glassformer.config import Model
from glassformer.extensions.serve.page import SavedPage
from glassformer.extensions.site.living import build_living_page
from glassformer.model.files.directory import locate, open_model, save_model
from glassformer.model.networks import build_network

pytestmark = pytest.mark.thorough
TEXT = "text=The%20cat%20bites%20the%20dog."


@pytest.fixture(scope="module")
def opened(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Opens the page at an address, offline."""
    folder = tmp_path_factory.mktemp("other")
    config, tokenizers, _ = open_model(locate("demo"))
    settings = Model(
        encoder_layers=1,
        decoder_layers=1,
        d_model=16,
        d_ff=32,
        heads=2,
        decoder="ssru",
        normalization="rms",
        norm="pre",
    )
    sizes = [len(each) for each in tokenizers]
    torch.manual_seed(5)
    weights = dict(build_network(settings, sizes[0], sizes[-1]).state_dict())
    save_model(folder / "ssru", config.model_copy(update={"model": settings}), tokenizers, weights)
    SavedPage(build_living_page([folder / "ssru"])).save(folder / "page.html")
    context = browser.new_context(offline=True, locale="en", reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(30_000)

    def open_at(address: str) -> Any:
        page.goto("about:blank")
        page.goto(f"{(folder / 'page.html').as_uri()}#/{address}")
        return page

    yield open_at
    context.close()


def test_attention_has_only_what_the_network_has(opened: Any) -> None:
    page = opened(f"attention?{TEXT}&kind=decoder")
    page.locator("[data-view=attention] canvas").first.wait_for()
    kinds = page.locator("[data-view=attention] fieldset").first.locator("input")
    assert kinds.evaluate_all("all => all.map((each) => each.value)") == ["encoder", "cross"]
    assert page.get_by_role("alert").count() == 0
    opened(f"lecture/7?{TEXT}").locator("[data-guess]").first.click()
    page.locator("[data-picture-of=mask]").wait_for(state="attached")
    assert page.get_by_role("alert").count() == 0


def test_an_address_may_say_anything(opened: Any) -> None:
    page = opened(f"constructor?{TEXT}")
    page.locator("[data-translation]").wait_for()
    page = opened(f"map?{TEXT}&map.op=logits&map.step=x")
    page.locator(".scene").wait_for()
    assert "NaN" not in page.locator("#view").inner_text()
    page = opened(f"translate?{TEXT}&align.layer=9&align.head=x")
    page.locator(".ribbon").first.wait_for(state="attached")
    page = opened(f"translate?{TEXT}&search=sample&seed=1.5")
    page.locator("[data-translation]").wait_for()
    assert page.get_by_role("alert").count() == 0


def test_the_drawer_reads_each_sentence_anew(opened: Any) -> None:
    """A cell that the shorter sentence lacks is said to be none; Escape closes a menu alone."""
    page = opened(f"translate?{TEXT}&cell=source.ids[5]")
    page.locator("aside h2").wait_for()
    box = page.locator("textarea")
    box.fill("A dog")
    box.press("Enter")
    page.get_by_text("source.ids[5]").first.wait_for()
    page.locator("aside p.soft").wait_for()
    menu = page.locator("details:has(> summary[aria-label])").last
    menu.locator("summary").click()
    page.keyboard.press("Escape")
    assert menu.get_attribute("open") is None
    assert page.locator("aside").count() == 1
    page.keyboard.press("Escape")
    assert page.locator("aside").count() == 0
