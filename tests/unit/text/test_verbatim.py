"""What a translation repeats is found, each kind, in linear time; and stands for itself again."""

from __future__ import annotations

import pytest
from damage.growth import is_linear
from hypothesis import given
from hypothesis import strategies as st

from glassformer.text.stand_ins import (
    StandIn,
    StandIns,
    cut_at_stand_ins,
    has_each_once,
    list_copies,
    replace_parts,
)
from glassformer.text.verbatim import (
    Verbatim,
    find_names,
    find_verbatim,
    is_new_word,
)

KNOWN = {"my", "name", "is", "the", "kangaroo", "mr", "said", "hello", "in", "and"}
KNOWN |= {"table", "tables"}  # a known word with an ending tells that others may have it


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "See https://a.org/b_(c)?d=1&e, or www.f.net.",
            ["https://a.org/b_(c)?d=1&e", "www.f.net"],
        ),
        ("(http://a.org/x).", ["http://a.org/x"]),
        ("Write to a.b+c@mail.a.co.uk, me@x.org.", ["a.b+c@mail.a.co.uk", "me@x.org"]),
        (
            "{name} has %d of %1$s, {{n}}, ${x} or %(who)s",
            ["{name}", "%d", "%1$s", "{{n}}", "${x}", "%(who)s"],
        ),
        (
            "{n, plural, one {# file} other {# files}} left",
            ["{n, plural, one {# file} other {# files}}"],
        ),
        ("50% discount, 100 %", ["50%", "100 %"]),
        (
            "Press Ctrl+C, Ctrl + Alt + Del, Strg+F5 or ctrl+Space, not a+b or Home + 15 days.",
            ["Ctrl+C", "Ctrl + Alt + Del", "Strg+F5", "ctrl+Space", "15"],
        ),
        ("Is 7 x 8 = 56? 3.5+1=4.5, 12/4=3.", ["7 x 8 = 56", "3.5+1=4.5", "12/4=3"]),
        ("10 - 3 = 7, but pages 50 - 60", ["10 - 3 = 7", "50", "60"]),
        ("A screen of 1920x1080, a 4×4, 10x20cm, 20x as much", ["1920x1080", "4×4", "10x20cm"]),
        ("Add 20 + 11/2 cups, 30 x 8-12 reps", ["20", "11/2", "30", "8-12"]),
        ("Take 20 x 1:30 hours, 30 x 1 000 euros", ["20", "1:30", "30", "1 000"]),
        ("We meet on 15 + 16 June, ages 16+ 10 euros.", ["15", "16", "16", "10"]),
        ("I need 5GB of 20 x 500 g", ["5GB", "20", "500 g"]),
        ("Issue #1234, bug #7 and #1", ["#1234", "#7", "#1"]),
        ("No. 55-AB/2, 2024/INV-7 or 5-HT2A", ["55-AB/2", "2024/INV-7", "5-HT2A"]),
        ("Seats A1,B2,C3", ["A1", "B2", "C3"]),
        ("I live at 5 Hill Road, Leeds.", ["5 Hill Road, Leeds"]),
        ("At 221B Baker Street, London NW1 6XE now", ["221B Baker Street, London NW1 6XE"]),
        ("350 Fifth Avenue, New York, NY 10118", ["350 Fifth Avenue, New York, NY 10118"]),
        ("au 12 bis rue de la Paix, 75002 Paris.", ["12 bis rue de la Paix, 75002 Paris"]),
        ("le 6, rue des Écoles à Lille", ["6, rue des Écoles à Lille"]),
        (
            "Karl-Marx-Stra\u00dfe 5, 10178 Berlin; Parkplatz 12",
            ["Karl-Marx-Stra\u00dfe 5, 10178 Berlin", "12"],
        ),
        (
            "In 2008 Wall Street fell. 20 houses, 3 places de cinéma",
            ["2008", "Wall Street", "20", "3"],
        ),
        ("By 1990 Hill Road was mine at 2000 Hill Road", ["1990", "Hill Road", "2000 Hill Road"]),
        ("Né en 100 av. J.-C., 2 av. Foch", ["100 av. J.-C.", "2 av. Foch"]),
        ("À 9h, place Foch, à 9:00, place Foch", ["9:00", "place Foch"]),
        (
            "7 Eye Street, N.W.; 7 Elm Road, Spring, TX 77388-5746 7 Elm Road, N. is here",
            ["7 Eye Street, N.W", "7 Elm Road, Spring, TX 77388-5746", "7 Elm Road"],
        ),
        ("A 15-YEAR-OLD BOY, 24-HOUR SERVICE, MUM&DAD, ON/OFF", ["15", "24"]),
        ("Go on? (Y/N) (LH 1234) He is 1m75, A/C", ["Y/N", "LH 1234", "1m75"]),
        ("AT&T, R&B and/or COVID-19, A/C", ["AT&T", "R&B", "COVID-19"]),
        ("Ask @anna_b about #MT2024!", ["@anna_b", "#MT2024"]),
        ("Ask @a.b.c, @anne-marie or @me@x.org.", ["@a.b.c", "@anne-marie", "@me@x.org"]),
        ("Sunflower2024, blue1234 or Été24x", ["Sunflower2024", "blue1234", "Été24x"]),
        ("Rs1,000.50, iOS17.4. Go", ["Rs1,000.50", "iOS17.4"]),
        (
            "Open /etc/hosts, ~/a.txt, C:\\a\\b or report-2.pdf.",
            ["/etc/hosts", "~/a.txt", "C:\\a\\b", "report-2.pdf"],
        ),
        (
            "Run `pip install x` with --beam and get_it() or snake_case",
            ["`pip install x`", "--beam", "get_it()", "snake_case"],
        ),
        ("Version 2.10.3 and v1.2-beta", ["2.10.3", "v1.2-beta"]),
        (
            "2024-05-12 or 12/05/2019 at 7:45 and 19:30:05",
            ["2024-05-12", "12/05/2019", "7:45", "19:30:05"],
        ),
        (
            "Call +1 (555) 123-4567, 01 23 45 67 89 or +491701234567",
            ["+1 (555) 123-4567", "01 23 45 67 89", "+491701234567"],
        ),
        (
            "$5.99, 1,234.56 \u20ac, 5 kg, 5km, -5 \u00b0C, 10\u202f000 km",
            ["$5.99", "1,234.56 \u20ac", "5 kg", "5km", "-5 \u00b0C", "10\u202f000 km"],
        ),
        ("a B2B deal, an F-16, A4", ["B2B", "F-16", "A4"]),
        ("<b>so</b>&nbsp;it", ["<b>", "</b>", "&nbsp;"]),
        ("the 19th of the 1990s, e.g. so. It works, O.K.", []),
        ("3 < 4 and 5 > 2; a and/or b", ["3", "4", "5", "2"]),
        ("pages 10\u201320", ["10\u201320"]),
        (
            "%d%% of %dMB, %1$.1fx, %1 and %n, day%s",
            ["%d%%", "%dMB", "%1$.1fx", "%1", "%n", "%s"],
        ),
        ("a %increase of 5 %, 100%sure", ["5 %", "100"]),
        ("%%if, %'d %#@n@ %1$#@n@ %%%s", ["%%if", "%'d", "%#@n@", "%1$#@n@", "%%", "%s"]),
        ("%*d %-8.*f %<PRIu64> %Lf %o", ["%*d", "%-8.*f", "%<PRIu64>", "%Lf", "%o"]),
        ("-h, [-q] -I=x or -v.", ["-h", "-q", "-I", "-v"]),
        ("It is -I think- a-t-il -le -", []),
        ("-J'arrive, je vais bien -j'en suis sûr-", []),
        ("-A beer, please.", []),
        ("-V, --version or '-q', run -B now", ["-V", "--version", "-q", "-B"]),
        ("Thanks @tom.See you, @tom-he knows, @Foo-Bar", ["@tom", "@tom", "@Foo-Bar"]),
        (
            "Go to example.com. Or Amazon.com, bbc.co.uk!",
            ["example.com", "Amazon.com", "bbc.co.uk"],
        ),
        ("see example.com:8080/a?b. It is", ["example.com:8080/a?b"]),
        ("9am-5pm, 10-11am, 1.5-2.5 kg", ["9am-5pm", "10-11am", "1.5-2.5 kg"]),
        (
            "\u20ac10-\u20ac20, 9.58s, 10k, 1\u00bd",
            ["\u20ac10-\u20ac20", "9.58s", "10k", "1\u00bd"],
        ),
        ("1-800-555-0199 or 555-0199", ["1-800-555-0199", "555-0199"]),
    ],
)
def test_each_kind_is_found(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end, _ in find_verbatim(text)] == parts


@given(st.text(alphabet="ab1 .:/@{}%$<>`#_-(),\n\u00a0", max_size=60))
def test_parts_are_apart_and_in_order(text: str) -> None:
    parts = find_verbatim(text)
    ends = [place for part in parts for place in part[:2]]
    assert ends == sorted(ends) and all(part.start < part.end for part in parts)


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "A.",
        "A. ",
        "Ab A. ",
        "1 ",
        "{",
        "1.1",
        "<a ",
        "a-",
        "a.",
        "/a",
        "a_",
        "%",
        "`",
        "12 34 ",
        "A1-",
        "aB",
        "{{a",
        "--a",
        "a@",
        "(1)",
        "[[",
        "http://)",
        "a.com",
        "+1 ",
        "\\a",
        "1,000",
        "$",
        "{a,{",
        "Ctrl+",
        "1 x ",
        "1 - ",
        "A-1/",
        "A1",
        "A1-",
        "A&",
        "1=",
        "55-AB/",
        "1 Ab ",
        "1 rue ",
        "Ab-",
        "を%(a",
        "あ/い",
        "あ{",
        "あ.a-",
    ],
)
@pytest.mark.parametrize("tail", ["", "1a", "Aa"])
def test_a_scan_takes_linear_time(unit: str, tail: str) -> None:
    assert is_linear(find_verbatim, lambda length: unit * (length // len(unit)) + tail)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("%sを%1$sに追加", ["%s", "%1$s"]),
        ("请输入%(name)s的密码", ["%(name)s"]),
        ("បានលុប%dឯកសារ", ["%d"]),
        ("ລຶບ%sແລ້ວ ลบ%sแล้ว %sကို", ["%s", "%s", "%s"]),
        ("%s을(를) {이름}님", ["%s", "{이름}"]),
        ("5000個 3150.25円 价格$25元 ５０円", ["5000", "3150.25", "$25", "５０"]),
        ("50万人 12月 20％", ["20"]),
        ("https://example.org/a查看，http://b.org。次", ["https://example.org/a", "http://b.org"]),
        ("メールはme@example.netへ、iPhoneも", ["me@example.net", "iPhone"]),
        ("添付のa.pdfを /家/人/x 報告書.docx", ["a.pdf", "/家/人/x", "報告書.docx"]),
        ("50%où l%dé", ["50"]),
    ],
)
def test_letters_of_scripts_without_spaces_touch_what_is_repeated(
    text: str, parts: list[str]
) -> None:
    assert [text[start:end] for start, end, _ in find_verbatim(text)] == parts


def is_name(word: str, is_first: bool) -> bool:
    return is_new_word(word, KNOWN, is_first)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("My name is David.", ["David"]),
        ("Nguy\u1ec5n Th\u1ecb Mai said hello.", ["Nguy\u1ec5n Th\u1ecb Mai"]),
        ("Kangaroos said hello.", []),
        ("Kangarooshi said hello.", ["Kangarooshi"]),
        ("Hello, Kangaroos!", ["Kangaroos"]),
        ("Anne-Marie\u2019s and O'Brien", ["Anne-Marie", "O'Brien"]),
        ("Mr M\u00fcller said NATO is", ["M\u00fcller", "NATO"]),
        ("the parsnip is", []),
    ],
)
def test_names_are_new_words_with_a_capital(text: str, names: list[str]) -> None:
    assert [text[start:end] for start, end, _ in find_names(text, is_name)] == names


def make_stand_ins(words: str) -> StandIns:
    return StandIns({f" {word}" for word in words.split()}.__contains__)


def test_stand_ins_differ_from_each_other_and_from_the_text() -> None:
    text = "Tom saw Kowalski, Nowak and 47 of 2019."
    parts = [
        Verbatim(8, 16, "name"),
        Verbatim(18, 23, "name"),
        Verbatim(28, 30, "number"),
        Verbatim(34, 38, "number"),
    ]
    known = make_stand_ins("Tom Mary Boston 30 50 1990")
    assert known.choose(text, parts) == ["Mary", "Boston", "50", "1990"]
    assert known.choose(text, parts, attempt=1) == ["Boston", "Mary", "30", "1990"]
    assert make_stand_ins("Tom").choose(text, parts[:1]) is None


def test_a_model_with_copy_tokens_uses_them_first() -> None:
    copies = list_copies(2)
    known = StandIns({*copies, " Tom", " Mary"}.__contains__)
    parts = [Verbatim(0, 2, "name"), Verbatim(3, 5, "link")]
    assert known.choose("Xy zz", parts) == copies
    assert known.choose("Xy zz", parts, attempt=1) == ["Mary", "Tom"]


def test_what_stands_in_is_replaced_again() -> None:
    text = "See https://a.org, Kowalski."
    parts = [*find_verbatim(text), Verbatim(19, 27, "name")]
    replaced, origins = replace_parts(text, parts, ["Tom", "Mary"])
    assert replaced == "See Tom, Mary." and len(origins) == len(replaced)
    assert origins[4] == origins[6] == (4, 17) and origins[7] == (17, 18)
    pairs = [StandIn("Tom", "https://a.org"), StandIn("Mary", "Kowalski")]
    cut = [*cut_at_stand_ins("Mary, voir Tom !", pairs)]
    assert "".join(text + original for text, original in cut) == "Kowalski, voir https://a.org !"


@pytest.mark.parametrize(
    ("translation", "whole"),
    [
        ("l'30 ici", True),
        ("30", True),
        ("130", False),
        ("30,5", False),
        ("30 30", False),
        ("", False),
        ("30.", True),
    ],
)
def test_a_stand_in_is_there_once_and_by_itself(translation: str, whole: bool) -> None:
    assert has_each_once(translation, [StandIn("30", "x")]) == whole


def test_words_of_a_script_in_one_case_are_no_names() -> None:
    found = find_names("ᏣᎳᎩ ᎠᏂ Zoltan ᎠᏯ", lambda word, is_first: True)
    assert [start for start, *_ in found] == [7]
