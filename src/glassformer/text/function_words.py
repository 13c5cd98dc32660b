"""The commonest words of some languages, enough to identify the language of a line."""

import re
from collections import Counter

from .spacing import name_base, read_language_names

# Those that are identified by words or script; `languages.txt` has the names of more.
NAMES = {
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}

# The scripts that identify a language by themselves.
BY_SCRIPT = {
    "Kana": "ja",
    "Han": "zh",
    "Hangul": "ko",
    "Greek": "el",
    "Hebrew": "he",
    "Thai": "th",
}

_TEXT = {
    "cs": "a se je na že to jsem v do jak tak si ale s za byl jsi co o po kde není jsou když jako "
    "být mám by už pro který",
    "da": "og jeg det at en er til af ikke du har der som med på den han hun var vi et kan hvad "
    "for blev skal min noget",
    "de": "der die das und ich ist nicht ein eine zu er sie es wir du den dem mit auf sich hat "
    "war im von für wie einem einen einer haben bin sind aber auch was wenn steht",
    "en": "the a an and is of to in i you he she it we they that was not with for on his her are "
    "have my this do what at be from has your their there will don didn can if",
    "es": "el la los las de que y en un una es no se me mi con por para lo su está yo del al qué "
    "muy tiene como hombre mujer son pero ella él era fue",
    "fi": "on ja ei se että hän en minä oli mutta ovat tämä kun niin kuin olen ole joka mitä "
    "minun sinä hänen me jos voi mies myös",
    "fr": "le la les de des un une et est je il elle que ne pas vous nous dans à au en ce qui sur "
    "pour avec du mon sa son tu ils c'est qu'il j'ai était sont plus aux homme femme",
    "hu": "a az és nem egy hogy van is ez meg volt én de ha csak azt mit el kell már mint vagy "
    "nagyon ki még miért lesz",
    "id": "yang dan di itu saya dengan ini untuk tidak dia aku adalah dari akan anda ke kita ada "
    "bisa pada telah sudah mereka seorang orang",
    "it": "il la lo gli le di che e è un una non in sono mi per con si ho da ha del della al tu "
    "questo come ma io suo uomo donna era sta",
    "nl": "de het een en ik is niet dat van je in te zijn er op met hij ze we was voor heeft mijn "
    "aan om naar dit maar hebben ook wat deze man",
    "no": "og jeg det at en er til av ikke du har der som med på den han hun var vi et kan hva "
    "for ble skal min noe",
    "pl": "w i się na nie to jest że z do jak mam o tak co po jestem był ale za czy są od ma przez "
    "tym kobieta mężczyzna jego",
    "pt": "o a os as de que e em um uma é não se me eu com por para do da no na ele ela está você "
    "muito homem mulher são mas isso foi tem",
    "ro": "și de în a la este nu că o un pe cu să mai am din se ce eu are pentru sunt fost ești "
    "care îmi îl tu lui femeie",
    "ru": "и в не на что я он с это как она по но у из мы ты за все так мне его был же для вы ее "
    "было если мой",
    "sv": "och jag det att en är till av inte du har som med på den han hon var vi ett kan vad "
    "för blev ska min något de",
    "tr": "bir ve bu ne için o çok ben da de var değil gibi daha mi ama bana onun olarak sen "
    "kadar ile benim tom'un yok",
    "uk": "і в не на що я він з це як вона по але у ми ти за все так мені його був для ви її було "
    "якщо мій та",
    "vi": "là tôi không và của có một người đã anh cho này được trong với những bạn các đó cô "
    "nó ở đi làm",
}
WORDS: dict[str, frozenset[str]] = {
    code: frozenset(text.replace("'", " ").split()) for code, text in _TEXT.items()
}
LEAST = 2  # function words of another language, and none of its own
WORD = re.compile(r"[^\W\d_]+")


def name_language(code: str | None) -> str | None:
    """Return the English name of a language, or the code itself if we have no name."""
    base = name_base(code)
    return NAMES.get(base) or read_language_names().get(base, ("", code))[1]


def find_other_language(text: str, own: str) -> str | None:
    """Return the code of another language, if the text has function words of that language only."""
    if own not in WORDS:
        return None
    words = {word.lower() for word in WORD.findall(text)}
    if words & WORDS[own]:
        return None
    hits = Counter(code for code, theirs in WORDS.items() for _ in words & theirs)
    code, count = max(hits.items(), key=lambda each: (each[1], each[0]), default=("", 0))
    return code if count >= LEAST else None
