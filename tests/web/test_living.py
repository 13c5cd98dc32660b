"""The network in the browser is held to Python's: the same tokens, the same numbers.

It runs under Node, from the same TypeScript that the page carries.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from opening import ARGUMENTS, find_chromium, wait_until

from glassformer.extensions.demo.corpus import read_corpus
from glassformer.extensions.lab.contributions import silence_each
from glassformer.extensions.publish.int8 import quantize_file
from glassformer.extensions.serve.page import WASM_ALLOWED, SavedPage
from glassformer.extensions.site.living import WASM, build_living_page
from glassformer.extensions.site.portable import pack_model
from glassformer.extensions.site.splitting import describe_splitting
from glassformer.model.files.directory import DOUBT, GOLDEN, locate, open_model, save_model
from glassformer.model.files.known_words import WORDS
from glassformer.see.derive import attribute_logit, read_lens
from glassformer.see.trace import Trace
from glassformer.text.sentences import has_letters, split_sentences
from glassformer.text.unicode import Span
from glassformer.translate.adapting import AdaptedSentence
from glassformer.translate.checking import cap_confidence
from glassformer.translate.familiarity import measure_confidence
from glassformer.translate.reading import SentenceReader
from glassformer.translate.sentence import Sentence, Translation
from glassformer.translator import Translator

WEB = Path(__file__).parents[2] / "web"
# How many sentences are translated greedily.
QUICK, THOROUGH, ALL = 6, 16, 300
BEAMS, SAMPLES, TRIED = 3, 3, 5
TYPED = (
    "The cat isn\u2019t  on\u00a0the\tmat.",
    "\ufeff\u201cThe\u200b dog\u00ad\u201d \u2014 \uff34\uff48\uff45 \ufb01eld\u2026 ",
    "Cafe\u0301 \u202e\U0001d413\U0001d421\U0001d41e\u3000cat\u0301\u2060!",
    "\u200b",
)
ROW = 7  # of the first of these: it predicts "qu'il"
LOOKED_INTO = (
    "The animal did not cross the street because it was too tired.",
    "The cat is on the mat.",
)
BLOCK = "decoder.3.self_attention"
EDITS: dict[str, list[dict[str, Any]]] = {
    "a head": [{"do": "silence", "name": BLOCK, "head": 4}],
    "a block": [{"do": "silence", "name": "encoder.1.feed_forward"}],
    "the mean so far": [{"do": "mean", "name": BLOCK, "head": 2}],
    "a mean": [{"do": "mean", "name": "encoder.2.self_attention"}],
    "a pin": [{"do": "pin", "name": "decoder.1.cross_attention", "key": 1, "head": 0}],
    "a row": [{"do": "row", "name": "memory", "position": 2, "factor": 0.5}],
    "a row of weights": [
        {
            "do": "row",
            "name": "decoder.1.self_attention.weights",
            "head": 0,
            "position": 4,
            "values": [0.25, 0.75],
        }
    ],
    "a swap": [
        {"do": "swap", "name": "memory", "position": 1, "sentence": "The dog is old.", "other": 1}
    ],
    "a word": [{"do": "word", "word": "tired", "by": "wide"}],
    "a prefix": [{"do": "prefix", "text": "Les"}],
    **{
        f"without {what}": [{"do": "without", "what": what, "name": name}]
        for what, name in (
            ("scale", "decoder.1"),
            ("mask", None),
            ("positions", None),
            ("residual", "encoder.4"),
            ("norm", "decoder.2"),
        )
    },
    "a cut": [{"do": "cut", "word": "animal"}],
    "a cut of a mark": [{"do": "cut", "word": "."}],
    "a cut of a head": [{"do": "cut", "word": "tired", "layer": 5, "head": 3}],
    "a cut of a row": [{"do": "cut", "word": "street", "query": 3}],
}


@pytest.fixture(scope="module")
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model as a page has it, and what Python says of the same weights."""
    folder = tmp_path_factory.mktemp("living")
    (folder / "model").write_bytes(pack_model("demo"))
    if WASM.is_file():
        shutil.copyfile(WASM, folder / WASM.name)
    translator = load_quantized("demo", folder / "demo")

    corpus = read_corpus()
    asked, count = [*corpus.questions["test"], *corpus.riddles["test"]], request.param
    texts = asked[:: len(asked) // count][:count]
    found: dict[str, Any] = {
        "greedy": [
            {
                "text": text,
                "translation": found[0].text,
                "written": "".join(found[0].tokens).strip(),
                "log_prob": found[0].log_prob,
            }
            for text, found in zip(
                texts, translator.search(texts, decode={"search": "greedy"}), strict=True
            )
        ],
        "beam": _search(translator, texts[:BEAMS], {"search": "beam", "beam": 4}),
        "sample": _search(
            translator, texts[-SAMPLES:], {"search": "sample", "temperature": 1.5, "top_p": 0.95}
        ),
    }
    read = translator.tokenizers.source.tokens
    found["typed"] = [
        {
            "text": text,
            "pieces": [[id, *span] for id, span in zip(each.ids, each.spans, strict=True)],
        }
        for text in TYPED
        for each in [read(text)]
    ]
    for number, text in enumerate(LOOKED_INTO):
        trace = translator.see(text, decode={"search": "beam", "beam": 4})
        trace.save(folder / f"trace.{number}")
        if not number:
            found |= _ask_about(translator, trace)
    found["edits"] = {}
    for name, edits in EDITS.items():
        edits = [{key: each for key, each in edit.items() if each is not None} for edit in edits]
        trace = translator.see(LOOKED_INTO[0], edits=edits)
        found["edits"][name] = {
            "edits": edits,
            "ids": [token.id for token in trace.predicted],
            "log_probs": [each.log_prob for each in trace.predictions],
        }
    (folder / "told.json").write_text(json.dumps(found), encoding="utf-8")
    return folder


def _search(
    translator: Translator, texts: list[str], decode: dict[str, Any]
) -> list[dict[str, Any]]:
    """What the search finds; each text is line 0, as one that is looked into."""
    found = []
    for text in texts:
        trace = translator.see(text, decode=decode, split=False, level="attention", seed=3)
        assert trace.search is not None
        found.append({"text": text, "decode": decode, "search": trace.to_json()["search"]})
    return found


def _ask_about(translator: Translator, trace: Trace) -> dict[str, Any]:
    """What speaks for one token, in the measures that a page has too."""
    token = trace.predicted[ROW].id
    silenced = silence_each(translator, trace, ROW)
    return {
        "row": ROW,
        "lens": read_lens(trace, [ROW])[:, 0, :50].tolist(),
        "pushes": attribute_logit(trace, ROW, token),
        "leads": {block: leads.tolist() for block, leads in silenced.leads.items()},
        "known": [token, silenced.rival, silenced.lead],
    }


def load_quantized(model: str, folder: Path) -> Translator:
    """A shipped model with the weights that a page has, in fp32."""
    import torch

    config, tokenizers, weights = open_model(locate(model))
    stored, aliases = quantize_file(weights)
    exact = {
        name: values * stored[f"{name}.scale"][:, None] if values.dtype == np.int8 else values
        for name, values in stored.items()
        if not name.endswith(".scale")
    }
    tensors = {name: torch.from_numpy(values.astype(np.float32)) for name, values in exact.items()}
    tensors |= {name: tensors[owner] for name, owner in aliases.items()}
    save_model(folder, config, tokenizers, tensors)
    for name in (WORDS, GOLDEN, DOUBT):
        if (locate(model) / name).is_file():
            shutil.copy2(locate(model) / name, folder)
    return Translator.load(folder, device="cpu", precision="fp32")


@pytest.mark.parametrize(
    "told",
    [
        QUICK,
        pytest.param(THOROUGH, marks=pytest.mark.thorough),
        pytest.param(ALL, marks=pytest.mark.slow),
    ],
    indirect=True,
)
def test_it_says_what_python_says(told: Path) -> None:
    done = run_vitest("tests/living.test.ts", LIVING=str(told))
    assert ("skipped" in done) == (not WASM.is_file())


# What the network reads of these, and what it makes of the first ones.
SEEN, SEEN_THOROUGH = 16, 24
TAGGED = "My <b>brother</b> is here."
PEOPLE = (
    "GIF and UNESCO met Darwin in Seattle; Lawrence SAW Pierre.",
    "Pierre Darwin is tired.",
    "She said: \u201cI have two cats: Tom and Mary.\u201d Note this: A: it's (not: here) 7: 30:",
    '"Are you tired?"',
    "I am SO tired \U0001f634 of it, Aoife.",
    "My friend (a doctor) lives in Berlin.",
    "He read \u201cParis\u201d and 'best' books [today]!",
    "(It was raining.)",
    "2) She sings.",
    "where do you live",
    "Peter likes 3 (big) cats",
    "\u201cI love you,\u201d she said.",
    "We won\u2019t go to \u201cParis\u201d\u2026",
    "THE CAT IS ON THE MAT.",
    "my brother lives in paris.",
    "Nguyen \U0001f389 lives in Berlin \U0001f389.",
    "See https://example.org/a?b=(1), Zoltán! \U0001f642 I\u2019ll call Ngozi at 7:45.",
    "She was born on 12 May 2019.",
    "My Brother Lives In A Big House",
    "On May 1st, 2019 at 8:05 p.m. they met.",
    "The shop opens on the 12th of June at 8 pm.",
    "It weighs 12.5 kg and costs $1,234.50 (see [1]).",
    "Laura\u2019s cat has 25 kittens; Peter O\u2019Brien has 3.",
    "\u201cHello,\u201d she said (in a low voice), \u201cTom.\u201d",
    "Happy birthday \U0001f389\U0001f389!",
    "I don't know...",
    "Maybe tomorrow\u2026",
    "She was born on 12 May 2019 in Łódź.",
    "From 3 April to 9 April it opens at 9:30 am on 20 dogs.",
    "Hello %1$s, you have {count} messages in C:\\Users\\me.",
    "Jean-Pierre and Siobhán met Tom, Mary, Ken, John, Maria, Paul, Xi and Wu.",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 is my family \u2764\ufe0f.",
    "Run `ls -la` -x --all foo_bar() in v1.2.3, @you #tag me@example.org",
    "\u2014 Well \u2013 said Ingrid \u2014 no.",
    "NASA and the EU",
    "The FBI and NATO are NOT in the U.S., says the BBC's VERY old TV.",
    "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ means the Cherokee language.",
    "საქართველო is Georgia; ეს კარგია.",
    "Zoltán",
    "2 + 2 = 4",
    "The (s)he-cat (or dog) isn't 'so good' as the others' \"big house\".",
    "???",
    "Mr Okonkwo and Ms. Abernathy met Dr. Nakamura's sister, Miss Smith, in Reykjav\u00edk.",
    "Your <b>order</b> is ready, <your name>.",
    'Click <a href="/x" title="Tom">here</a> <i>now</i> or <b></b> <u>(later)</b>.',
    "<br>",
    "Please <b>do</b> <i>tell</i> <u>me</u> <i><b>(404)</b></i> <b>now <i>or</b> never</i>.",
    "<p>The <B>old</b> man and <i>Tom</i></p><br/>",
    "Will is late, and so are May and Tom. Will said so.",
    "Tiger Woods met Steve Jobs, Larry Page and Mrs. White.",
    "M. Petit et Mme Blanc ont vu Rose.",
    "Thanks, Rose",
    "Go to File > Save or Home | News. Go on? (Y/N)",
    "jsais pas, chui en retard (LH 1234) et elle fait 1m75",
    "Mr. President, Mary Okonkwo and Will Xi were born in Ouagadougou near Gy\u0151r.",
    "Mary-Jane Xi loves Gy\u0151r.",
    "Zoltán & I met Ngozi @ home & at AT&T. ",
    "BREAD & BUTTER",
    "東京 & 大阪: run `a & b` on 6 = 5 + 1 June.",
    "We open at 9AM, not 9am-5pm & not 10-11am; see Amazon.com\u2026",
    "\u201cI am Zolt\u00e1n,\u201d he said \u2013 it is 32\u00b0C, \u20ac10-\u20ac20 for "
    "\u0442\u0435\u0431\u044f \u4e16\u754c in 9.58s.",
    "%d%% of %1$.1fx, %n and %1 of 1-800-555-0199 cost $25.",
    "i'm hungry!!",
    "This is *very* _very_ ~good~, **Tom**: *Note*: run __init__.py or 2 * 3 * 4",
    "What?! its raining 🙄 i hate it!!!",
    "ok, i'm coming",
    "tv is ok in the usa.",
    "Dear Mrs. Brown,",
    "P.S.",
    "Page not found (404)",
    "See you (Anna)",
    "your book(s)",
    "J.K. Rowling wrote it.",
    "Emma's dog and the car of Oliver are with Catalina de Aragon.",
    "i saw dr. smith yesterday.",
    "mr jones and mrs. taylor are here.",
    "PLEASE CALL MRS. BROWN ON MONDAY.",
    'I like "Casablanca".',
    "He said, 'I am tired.'",
    "20% of people are here. Tea and/or 5 cats",
    "Je travaille de 8h \u00e0 16h, et le film est \u00e0 14 heures et/ou 15h",
    "Dear Ms. Lopez, I am here.",
    "The shop opens at 9 a.m. and closes at 5 p.m. on 12/05/2024; 12 a.m. is early",
    "Dr. Maria de la Cruz and Mr. van der Berg met Mr. Abdullah bin Rashid al-Mansour",
    "Robert Downey Jr. is here. [URGENT] Call me",
    "[NOTE] About 25% of the students met Khalid al-Mansour on 2024-05-12 at 3:30 pm.",
    "La voiture d'Olivier \u00e0 9h et celle d'Elena d'Italie \u00e0 15 h, 9h par jour, qu'Henri",
    "Environ 60 % des enfants du roi Charles le 12.05.1990 \u00e0 20h",
    "Pierre mange. Pierre et Rose sont l\u00e0. Jean-Pierre est mon voisin. Marie-Claire",
    "LE LIVRE D'OLIVIER ET D'XANDRA",
    "In June, can you come with Al-Gu'ud, Rich and I? By 1990 Hill Road was open Monday-Friday.",
    "It is open Mon-Fri.",
    "I go to Dave in Florence, then to Florence. 7 Eye Street, N.W. is good in Reading.",
    "La Marine a dit non chez Jean-Pierre en 52 av. J.-C. \u00e0 9h, place Foch.",
    "Queen Victoria met King Charles and President Obama.",
    "Martin Luther King Jr. and Stephen King Novels; King Kong. Is King Charles here?",
    "The dog of King Charles is old.",
    "I gave it to President Obama and Pope Francis.",
    "Visit van Gogh: Ludwig van Beethoven's dog's name is Lucky Strike de la Cruz.",
    "My name is Rose. Mr. van der Berg, named April, met Mohammed bin Salman.",
    "Je m'appelle Lune. Vincent van Gogh de Paris.",
    "Ich hei\u00dfe Rose Berg. Ludwig van Beethoven da Alexander von Humboldt.",
    "I met C.S. Lewis, T. S. Eliot and George R.R. Martin in the U.K. or the U.S.A. today.",
    "The U.S. Army and E. Hemingway were in Washington, D.C.",
    "She has a Ph.D.",
    "John F. Kennedy met Okonkwo on Feb. 12 at 3 p.m. and Sun. at 9pm",
    "Name: ____ Age: ____",
    "Btw idk :( wait 5 min on the 2nd floor w/ him :-) See 5 SIM cards! xD <3",
    "In 90min or 2 hrs, 6ft away (TTYL, ty) :D Bye 😀 Now \u2764\ufe0f Yes :)",
    "Re: Press Ctrl+C & see bug #1234; 55-AB/2 is 7 x 8 = 56, not 5 - 3.",
    "Fish &amp; chips &#38; AT&amp;T: don&#39;t &lt;b&gt; Caf&eacute; &there4; %count% here",
    "Tom and i think i'm late at 8am on 2 May; the 7:30 bus and my 3 p.m. class, the letter i",
    "Go in 8AM-9 (Passport / Licence) from 8AM to 10AM, -j'y suis- thanks @tom.See @tom-he is",
    "Home / Blog",
    "-A beer",
    "Ask @a.b.c or @me@x.org #one #two; the password is Sunflower2024, Mary Okonkwo Woods.",
    "J'ai parl\u00e9 \u00e0 Yuki Tanaka, \u00e0 Anna M\u00fcller et \u00e0 Gy\u0151r Rose",
    "Mr. Dr Ms Abernathy saw Mr. Mr Xi and Mrs. of Gy\u0151r.",
    "Tom, Aya, Noor, and Priya flew to Gy\u0151r from Cork; Ms. Aya, Xi, Wu and Emma's dog left.",
    "Our address: 22 Garden Drive, Austin, TX 78701; I study at Xi and Jean-Baptiste at Taco Bell",
    "Summer, can you help me? Au 12 bis rue de la Paix, 75002 Paris, chez Orange \u00e0 Tours",
    "I go to Mr. Xi, to Zeynep's party in Boston-upon-Xi with Spider-Man or Franco-Prussian.",
    "Monday | 5 dogs \u00bb A cat :: @you \u00b7 Home / Blog \u00bb",
    "%sを追加 5000個 50万 at https://example.org/a查看 me@x.netへ, {名前}さん 報告.docx IŞIK İzin",
    "ＴＯＭ is in ＢＯＳＴＯＮ with ＺＸＱＪ and Keʻala.",
    "\u00ab A dog | The cat \u00bb",
    "Use -v, or [-H]: %%if %'d of %*d %#@n@ -I think- %<PRIu64> cats.",
)

# Texts, and what their translations begin with.
BEGUN = (
    ("Okonkwo is my friend.", "Okonkwo"),
    ("Okonkwo is my friend.", "Oko"),
    ("I saw Okonkwo and Dubrovin at 10:30.", "J'ai vu Dubrovin et Okonkwo \u00e0 10"),
    ("I was born on Feb. 12, 1990.", "Je suis n\u00e9 le 12 f\u00e9v"),
    ("I was born on 12/05/2024.", "Je suis n\u00e9 le 12/05/2024"),
    ("5 people met Ilona.", "Il"),
    ("THE OLD MAN MET ZOLT\u00c1N.", "LE VIEIL HOMME A VU ZOLT"),
    ("Name:", "Nom\u00a0:"),
    ("Where is Tom", "O\u00f9 est Tom"),
    ("See https://example.com/a?b=1 for details.", "Voir https://exam"),
)

# Texts of several sentences, and the languages by whose rules they are cut; None: an unknown one.
CUT = (
    "Mr. Smith lives in Berlin. He met Dr. Brown.",
    "John F. Kennedy met J. R. R. Tolkien. They talked.",
    "I met Mr. Dr. Brown of St. Louis, Mo. on Jan. 5. It was cold.",
    "See e.g. the cats, i.e. all of them. Read p. 12 and No. 5. No. I will not.",
    "He lives in the U.S. She works for Apple Inc.",
    "The shop opens at 9 a.m. We go at 5 p.m. to it.",
    "It is in the U.S. Army. It was 50 B.C. and cold. The U.S. is big.",
    "Is this vitamin C. Yes it is. So do I. I do. Plan B. Then C. D is last.",
    "1. First. 2. Second. 3. Third.",
    "a. one b. two. (iv.) four. IV. Five. 1.2. Next. 1.2.3. More.",
    "On 3. May he came. It is on the 5. The end. Nr. 12. Das ist gut. Am 3. Oktober kam er.",
    "Wait... what? Well... I see. \u2026 And then\u2026 nothing. Oh\u2026 No!",
    '"Hi." She left. "Are you tired?" he asked. "No!" "Yes." (It rained.) [Yes.] He left.',
    "\u201cHi.\u201d She left. \u2018No.\u2019 „Gut.\u201c Er ging.",
    "«Oui.» Il part. « Oui. » Il part. »Ja.« Er",
    "It costs 3.5 dollars. Pi is 3.14. Version 1.2.3 is out. So.5 is it.",
    "See https://a.example/b.c?d=e. Then www.x.org.",
    "Mail me@x.org. Use a.b() now. Node.js is. Yes.",
    "no capitals here. just this. and that? yes! ok",
    "He said: hello. and then he left. Then he came.",
    "What?! No!! Yes?? Ok! ok. Really?yes. Really?Yes. Yes!No.",
    "猫がいます。犬もいます。「はい。」と言った。「はい。」行った。",
    "他说\uff1a\u201c你好。\u201d然后走了。\u201c好。\u201d他说。真的\uff1f",
    "对\uff01\uff13\uff0e\uff15円。中.文 中?文 ก?ข က!ခ",
    "\uff13\uff0e\u2460。\uff13\uff0e\u00b2 a\uff0eb. A\uff0e B",
    "مرحبا. كيف؟ جيد۔ नमस\u094dत\u0947। ह\u093e\u0901॥ ሰላም፡፡ ሰ፡አ። እ",
    "ሰላም:: ሰ :: a :: b። ཡིན། ཁོང་ཡོང། ། ག",
    "Das ist z. B. gut. Dr. Müller kommt um 8 Uhr.",
    "Er hat ca. 3 usw. Es ist d. h. so. Vgl. S. 5.",
    "Am 12. Mai bzw. 3. Juni. Ludwig XIV. war König.",
    "Das war Nr. 7. Es war St. Peter. Str. 5. Ja.",
    "M. Dupont et Mme. Durand. Voir p. 5, art. 3 et l'art. 5. Il est 8 h. etc. Oui. J.-C. est né.",
    "Thanks :) See you. I <3 Paris. I <3 you Now.",
    "Ok \U0001f600 Bye. ok \U0001f600 bye. \U0001f600 Hi :-( Yes!",
    "Happy \U0001f389! \U0001f389 Yes \U0001f389. No \u2764\ufe0f Ok.",
    "Hello :)! And (see :) it). Ha:) Yes",
    "\U0001d400. \U00020000. \U0001f600. \U0001d4d0\U0001d4d1. Hello \U0001d400.",
    "\U0001f600\U0001f600! \U00020000.\U00020001 \U00020000!b. B \U0001d41a. \U0001d41a b",
    "One.\nTwo\r\nthree. Four\rfive\u2028six\x0bseven\x85eight\x1cnine. Ten\n\n\neleven.\n",
    "",
    " ",
    "\n",
    "???",
    "...",
    ". . . a",
    "a",
    "_",
    "! _ ! _",
    "\ufeffHello. \ufeff World.\ufeff A",
    "A.\xa0B. Hi.\u2003You. Go.\x1fNow. Hi",
    "Re: Hello. It rains.",
    "2) She sings. 3) He too.",
    "- Yes. - No. \u2014 Well. \u2022 Two.",
    "3.2 The garden. 4.1 The house.",
    'I have two cats: Tom and Mary. Note this: (not: here) 7: 30: "a: b" c: d.',
    "Hello (engl. World) (b. 1934). Saint (St. Paul). He (pop. 256,000) left. [cf. Tom] it.",
    "საქართველო. ეს კარგია. ᏣᎳᎩ. ᎦᏬ. a. Ꭶ b. ǅa. ª b. ĸ c. \u2170 d. \u24d0 e",
    "Τι κάνεις; Καλά. Ναι; Όχι! р. 5. Т. е. да. И. Иванов г. Москва.",
    ">>fra<< Hello. Bye. >>deu<< No.",
    "a,, b. ,, C. ,,Ja. D) E. ) F . G ,H. ,I. ;J",
    "x" * 40 + ". Y",
    "(" * 60 + "a. B. C",
    "a" * 30 + " 3. 1. Yes",
    'Hello." And. \u201d Or.) So. » No. », Yes. \u203a) A. « B.\u201c C',
    "St. St. Mr. Mr. No. No. A. A. Fig. 3. Fig. A. Vol. 2. Ch. 3.",
    "Jr. Sr. and Co. Ltd. Inc. He left. He met Prof. A. Einstein.",
    "Ph.D. She left. M.D. Then. a.m. Then. etc. Then.",
)
CUT_BY = ("en", "fr", "de", "el", "ja", "ru", None)
PAIRS = 1_000  # of neighbouring lines that people wrote


JUDGED = (
    ("At 8 o'clock 12 people came.", "À huit heures, douze personnes sont venues."),
    ("At 8 p.m. I paid $1,234.50 for 16 of them.", "À 20 h j'ai payé 1 234,50 $ pour dix-sept."),
    ("See https://a.example/x?y=(1), {name} and %1$s.", "Voir https://a.example/x?y=(1)."),
    ("Louis 14 and 1914", "Louis XIV et 1941"),
    ("ＵＳＢ and %sを me@x.orgへ http://a.org/bを see, ＺＯＲＢ İn", "me@x.org"),
    ("٣ cats and ४ dogs and １２ birds in 4万 houses", "3 chats, 4 chiens et 12 oiseaux"),
    ("Der Hund ist nicht hier und ich bin müde.", "Le chien n'est pas ici."),
    ("My neighbor's zorbles zorble the <b>cat</b>.", "Les zorbles de mon voisin."),
    ("I want to go home now please.", "Je veux want to go home now please."),
    ("The price is 5 € or 30 ₪.", "Le prix est de 5 € ou de 30 ₪."),
    ("I need eggs, a cup of tea, bread, and butter.", "Il me faut des œufs, du pain et du beurre."),
    ("We saw a dog, a cat and a bird!", "Nous avons vu le chien, un chien et l'oiseau !"),
    ("Do you want tea, coffee or milk?", "Voulez-vous du thé ou du lait ?"),
    ("In summer, women and men work.", "En été les femmes et les hommes travaillent."),
)

SPOKEN = (
    ("\u201cNo,\u201d he said.", '"Non, dit-il.'),
    ('"No," he said.', '"Non, mais non, dit-il.'),
    ('"Are you here?" he asked.', '"Es-tu ici. "Il est "'),
    ('"Are you here?" he asked.', 'Es-tu ici ?" dit-il.'),
    ("He said no.", 'Il a dit "non.'),
)


@pytest.fixture(scope="module")
def people(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model that knows everyday text, and how Python reads and sees such text."""
    folder = tmp_path_factory.mktemp("people")
    (folder / "model").write_bytes(pack_model("everyday-en-fr"))
    translator = load_quantized("everyday-en-fr", folder / "everyday")
    reader = translator.reader
    texts = [*PEOPLE, *_read_test_lines(request.param)]
    texts += [text.upper() for text in texts] + [text.title() for text in texts]
    read = [(text, reader.prepare(text)) for text in texts + [text.lower() for text in texts]]
    told = {
        "read": [
            {
                "text": text,
                "read": each.text,
                "case": each.adapted and each.adapted.case,
                "names": dict(_list_names(each.adapted)) if each.adapted else {},
                "tokens": [[id, *span] for id, span in zip(found.ids, found.spans, strict=True)],
            }
            for text, each in read
            for found in [reader.tokenize(text.strip())]
        ],
        "seen": [_see(translator, text) for text in [*PEOPLE[: request.param], TAGGED]],
        "begun": [
            [*pair, *reader.encode_prefixes([reader.prepare(pair[0])], pair[1:])] for pair in BEGUN
        ],
        "spoken": [
            [*pair, reader.adapter.restore(reader.prepare(pair[0]).adapted, *pair)]
            for pair in SPOKEN
        ],
        "judged": [_judge(translator, *pair) for pair in _list_translations(texts)],
        "cut": [*_cut(reader, [*PEOPLE, *CUT, *_join_test_lines()])],
        "cut_by": [
            {
                "language": language,
                "splitting": describe_splitting(language),
                "cut": [(text, [*_split_lines(text, language)]) for text in [*PEOPLE, *CUT]],
            }
            for language in CUT_BY
        ],
    }
    (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")
    return folder


def _read_test_lines(count: int) -> list[str]:
    """Some lines that people wrote, if they are there."""
    path = Path(os.environ.get("GLASSFORMER_DATA", "")) / "tatoeba_en_fr" / "test.en"
    return path.read_text(encoding="utf-8").split("\n")[: 20 * count] if path.is_file() else []


def _join_test_lines() -> list[str]:
    lines = _read_test_lines(PAIRS // 10)
    return [f"{one} {two}" for one, two in zip(lines[::2], lines[1::2], strict=True)]


def _cut(reader: SentenceReader, texts: list[str]) -> Iterator[tuple[str, list[Span]]]:
    """Yield the spans of the sentences of texts; a page does not cut long ones into clauses."""
    config = reader.config.changed(text={"split_above": None})
    whole = SentenceReader(config, reader.tokenizers, reader.folder)
    for text in texts:
        yield text, whole.split(text)


def _split_lines(text: str, language: str | None) -> Iterator[Span]:
    """Yield the spans of the sentences of a text, of which no part is a symbol or a label."""
    begin = 0
    for line in text.splitlines(keepends=True):
        for start, end in split_sentences(line, language):
            if has_letters(line[start:end]):
                yield begin + start, begin + end
        begin += len(line)


def _list_names(adapted: AdaptedSentence) -> Iterator[tuple[str, str]]:
    for each in adapted.stand_ins:
        yield from each.shown


def _list_translations(texts: list[str]) -> Iterator[tuple[str, str]]:
    """Pairs of a sentence and a translation, most of them with some fault."""
    yield from JUDGED
    others = texts[7:] + texts[:7]
    for number, (text, other) in enumerate(zip(texts, others, strict=True)):
        words = other.split()
        yield text, (other, text, f"{other} " * 5, "", " ".join(words[:2]), other * 4)[number % 6]


def _judge(translator: Translator, text: str, said: str) -> dict[str, Any]:
    read = translator.reader.prepare(text)
    tokens = len(text) + 1
    confidence = 0.1 + 0.08 * (len(said) % 11)
    log_probs = [math.log(confidence)] * tokens
    made = Translation(said, [""] * tokens, sum(log_probs), 0.0, log_probs, len(said) % 5 > 0, [])
    sentence = Sentence(text, adapted=read.adapted, aside=read.aside, translations=[made])
    problems = translator.checker.check(sentence).problems
    return {
        "text": text,
        "translation": said,
        "is_finished": made.finished,
        "confidence": measure_confidence(made),
        "problems": [[each.kind, each.said] for each in problems],
        "capped": cap_confidence(made, problems),
    }


def _see(translator: Translator, text: str) -> dict[str, Any]:
    """Return what a recording says: `translate` may try other stand-ins and hypotheses."""
    document = translator.see(text, level="attention").to_json()
    names = ("text", "translation", "whole", "confidence", "problems")
    said = document["whole"]["translation"] if document["whole"] else document["translation"]
    adapted = translator.reader.prepare(text).adapted
    if not (adapted and adapted.stand_ins):
        assert said == translator.translate(text, again=False)
    return {"asked": text, **{name: document[name] for name in names}}


@pytest.mark.parametrize(
    "people",
    [SEEN, pytest.param(SEEN_THOROUGH, marks=pytest.mark.thorough)],
    indirect=True,
)
def test_a_page_reads_what_people_type_as_python_does(people: Path) -> None:
    run_vitest("tests/people.test.ts", PEOPLE=str(people))


@pytest.mark.thorough
def test_what_is_written_in_typescript_keeps_its_own_tests() -> None:
    run_vitest("--exclude", "tests/living.test.ts", "--exclude", "tests/people.test.ts")


def run_vitest(*arguments: str, **variables: str) -> str:
    """Run tests in TypeScript; return what they print."""
    npm = shutil.which("npx")
    if npm is None or not (WEB / "node_modules" / "vitest").is_dir():
        pytest.skip("Node is not installed, or npm ci was not run in web/")
    command = [npm, "vitest", "run", *arguments, "--reporter=verbose"]
    env = os.environ | variables
    done = subprocess.run(command, cwd=WEB, env=env, capture_output=True, text=True, check=False)
    print(done.stdout[-8000:])
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    return done.stdout


# Counts the drafts that were on screen.
# A draft is only shown where its recording takes a while: here, any time is long.
WATCH = """window.drafts = 0;
const now = performance.now.bind(performance);
performance.now = () => 1000 * now();
new MutationObserver((all) => all.forEach(({target: {dataset}}) => (drafts += "draft" in dataset)))
    .observe(document, {subtree: true, attributeFilter: ["data-draft"]});"""


@pytest.mark.thorough
@pytest.mark.skipif(not WASM.is_file(), reason="the app was built without ziglang")
@pytest.mark.parametrize("allowed", [True, False])
def test_drafts_come_first_where_webassembly_runs(
    allowed: bool, tmp_path: Path, browsers: Any
) -> None:
    page = tmp_path / "class.html"
    html = build_living_page(["demo"])
    assert html.count(WASM_ALLOWED) == 1
    page.write_text(html if allowed else html.replace(WASM_ALLOWED, ""), encoding="utf-8")
    browser = browsers.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
    window = browser.new_context(offline=True, locale="en").new_page()
    complaints: list[str] = []
    window.on("pageerror", lambda error: complaints.append(str(error)))
    window.on("console", lambda said: complaints.append(said.text))
    window.add_init_script(WATCH)
    window.goto(page.as_uri())
    window.locator(".thread").first.wait_for(state="attached", timeout=60_000)
    window.locator(".stage:not([data-draft])").wait_for(timeout=60_000)
    window.evaluate("drafts = 0")  # the page carries what it shows first
    window.locator("button.own").click()
    window.locator("textarea").fill("The cat is on the mat.")
    shown = window.locator(".said[aria-busy=false]")
    shown.filter(has_text="Le chat").wait_for(timeout=60_000)
    assert shown.locator(".word").all_inner_texts() == [
        "Le",
        "chat",
        "est",
        "sur",
        "le",
        "tapis",
        ".",
    ]
    assert (window.evaluate("drafts") > 0) == allowed
    browser.close()
    assert [each for each in complaints if allowed or "WebAssembly" not in each] == []


@pytest.mark.thorough
@pytest.mark.skipif(not WASM.is_file(), reason="the app was built without ziglang")
def test_a_large_model_follows_typing(tmp_path: Path, browser: Any) -> None:
    """A key whose text is no longer on screen costs no more than its draft."""
    page = tmp_path / "everyday.html"
    SavedPage(build_living_page(["everyday-en-fr"])).save(page)
    context = browser.new_context(offline=True, locale="en", reduced_motion="reduce")
    window = context.new_page()
    window.goto(page.as_uri())
    window.locator(".thread").first.wait_for(state="attached", timeout=60_000)
    window.locator("button.own").click()
    window.locator("textarea").fill("")
    window.evaluate(
        "() => { window.titles = new Set(); new MutationObserver(() => titles.add(document.title))"
        ".observe(document, {childList: true, subtree: true, characterData: true}); }"
    )
    window.keyboard.type("My sister is a doctor.", delay=125)
    while_typing = window.evaluate("[...titles]")
    assert len(while_typing) >= 5, while_typing
    wait_until(window, "() => document.title.startsWith('Ma sœur est médecin.')", seconds=60)
    context.close()


@pytest.mark.parametrize("told", [QUICK], indirect=True)
@pytest.mark.parametrize("kind", ["chromium", "firefox"])
def test_page_opens_from_disk(kind: str, told: Path, tmp_path: Path, browsers: Any) -> None:
    """Some sentences come out as Python records them, offline and without any request."""
    playwright = pytest.importorskip("playwright.sync_api")
    page = tmp_path / "class.html"
    SavedPage(build_living_page(["demo"])).save(page)
    assert page.stat().st_size < 1.7e6
    greedy = json.loads((told / "told.json").read_text(encoding="utf-8"))["greedy"][:TRIED]
    demo = Translator.load("demo", device="cpu")
    texts = [each["text"] for each in greedy]
    traces = [demo.see(text, decode={"search": "greedy"}) for text in texts]
    try:
        chosen = {"executable_path": find_chromium(), "args": ARGUMENTS}
        browser = getattr(browsers, kind).launch(**(chosen if kind == "chromium" else {}))
    except playwright.Error:
        pytest.skip(f"{kind} is not installed")
    window = browser.new_context(offline=True, locale="en").new_page()
    window.set_default_timeout(60_000)
    complaints: list[str] = []
    window.on("pageerror", lambda error: complaints.append(str(error)))
    window.on("console", lambda said: complaints.append(said.text))
    window.on("request", lambda asked: complaints.append(asked.url))
    window.goto(f"{page.as_uri()}#/translate?text={quote(texts[0])}")
    box, shown = window.locator("textarea"), window.locator("[data-translation]")
    for trace in traces:
        box.fill(trace.text)
        box.press("Enter")
        playwright.expect(shown).to_have_text(trace.whole_translation, timeout=60_000)
    browser.close()
    assert [each for each in complaints if not each.startswith(("file:", "blob:"))] == []
