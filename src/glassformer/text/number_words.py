"""The words for small numbers in some languages, by which a number is known that is spelled out."""

import re
from functools import cache

from .spacing import is_unspaced, name_base

# A line is a number, from 0 on: its word with inflected forms and what else is said instead of the
# digits, like an ordinal, a month, noon. A star stands for any ending.
_TEXT = {
    "de": """null* kein* mitternacht*
        ein eine einen einem einer eines eins einmal* erst* jan* jän*
        zwei* zwo* beid* doppel* paar feb*
        drei* dritt* märz*
        vier* apr*
        fünf* mai*
        sechs* jun*
        sieb* jul*
        acht* aug*
        neun* sept*
        zehn* okt*
        elf* nov*
        zwölf* dutzend* mittag* mitternacht* dez*
        dreizehn* | vierzehn* | fünfzehn* viertel* | sechzehn* | siebzehn* | achtzehn* | neunzehn*
        zwanzig*""",
    "en": """zero* no none nil midnight
        a an one* once first* single jan*
        two* twice second* both double* couple pair feb*
        three* third* thrice triple* march
        four* apr*
        five* fift* may
        six* june*
        seven* july*
        eight* aug*
        nine* ninth* sept*
        ten tens tenth* oct*
        eleven* nov*
        twelve* twelfth* dozen* noon* midday midnight dec*
        thirteen* | fourteen* | fifteen* quarter* | sixteen* | seventeen* | eighteen* | nineteen*
        twent*""",
    "es": """cero* ningun* ningún medianoche
        un uno una unos unas primer* enero
        dos segund* ambos ambas doble* par febrero
        tres* tercer* marzo
        cuatro* cuart* abril
        cinco* quint* mayo
        seis* sext* junio
        siete* séptim* julio
        ocho* octav* agosto
        nueve* noven* septiembre setiembre
        diez* décim* decen* octubre
        once onces undécim* noviembre
        doce* duodécim* docena* mediodía medianoche diciembre
        trece* | catorce* | quince* cuarto* | dieciséis* | diecisiete* | dieciocho* | diecinueve*
        veint* vigésim*""",
    "fr": """zéro* aucun* nul nulle minuit
        un une premier* première* janvier
        deux* second* double* couple paire février
        trois* triple* mars
        quatr* avril
        cinq* mai
        six* juin
        sept* juillet
        huit* août
        neuf* neuv* septembre
        dix* dizaine* octobre
        onz* novembre
        douz* midi minuit décembre
        treiz* | quatorz* | quinz* quart | seiz* | dix-sept* | dix-huit* | dix-neuf* dix-neuv*
        vingt*""",
    "it": """zero* nessun* mezzanotte
        un uno una prim* gennaio
        due* second* entramb* doppi* paio coppia febbraio
        tre trè terz* tripl* marzo
        quattro* quart* aprile
        cinque* quint* maggio
        sei sest* giugno
        sette* settim* luglio
        otto* ottav* agosto
        nove* nono nona settembre
        dieci* decim* decin* ottobre
        undic* novembre
        dodic* dozzin* mezzogiorno mezzanotte dicembre
        tredic* | quattordic* | quindic* quarto | sedic* | diciassett* | diciott* | diciannov*
        vent* """,
    "nl": """nul* geen middernacht*
        een één eens eerst* jan*
        twee* beid* dubbel* paar feb*
        drie* derd* maart
        vier* apr*
        vijf* mei
        zes* jun*
        zeven* jul*
        acht* aug*
        negen* sept*
        tien* okt*
        elf* nov*
        twaalf* twaalv* dozijn* middag* middernacht* dec*
        dertien* | veertien* | vijftien* kwart* | zestien* | zeventien* | achttien* | negentien*
        twintig*""",
    "pl": """zer* żad* północ*
        jed* pierwsz* raz stycz*
        dw* drug* ob* par* lut*
        trz* trój* troje* trojg* marz* marc*
        czter* czwart* czwor* kwiet* kwiec*
        pięć* pięci* piąt* pięc* maj*
        sześć* sześc* szóst* czerw*
        siedem* siedmi* siódm* lip*
        osiem* ośmi* ósm* sierp*
        dziewięć* dziewięc* dziewiąt* wrze*
        dziesięć* dziesięc* dziesiąt* październik*
        jedenast* listopad*
        dwunast* tuzin* południ* północ* grud*
        trzynast* | czternast* | piętnast* kwadrans* | szesnast* | siedemnast* | osiemnast*
        dziewiętnast* | dwudziest* dwadzie*""",
    "pt": """zero* nenhum* meia-noite
        um uma uns umas primeir* janeiro
        dois duas segund* ambos ambas dobro duplo* par fevereiro
        três terceir* terça* triplo* março
        quatro* quart* abril
        cinco* quint* maio
        seis* sext* junho
        sete setes sétim* julho
        oito* oitav* agosto
        nove* non* setembro
        dez dezen* décim* outubro
        onze* novembro
        doze* dúzia* meio-dia meia-noite dezembro
        treze* | catorze* quatorze* | quinze* quarto | dezesseis* dezasseis* | dezessete* dezassete*
        dezoito* | dezenove* dezanove* | vint* vigésim*""",
    "zh": """零 〇 午夜 半夜 没 無 无
        一 壹 首 元 单
        二 两 兩 双 雙 俩 贰
        三 叁 仨
        四 肆
        五 伍
        六 陆
        七 柒
        八 捌
        九 玖
        十 拾
        十一
        十二 打 正午 中午 午夜 半夜
        十三 | 十四 | 十五 刻 | 十六 | 十七 | 十八 | 十九
        二十 廿""",
}
LARGEST = 20
CODES = frozenset(_TEXT)
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")


def is_spelled_out(number: int, text: str, language: str | None) -> bool | None:
    """Return whether a text of this language says a number in words or in Roman numerals.

    None if that is not known: there are no words of the language here, or none for the number.
    """
    code = name_base(language)
    if code not in _TEXT or not 0 <= number <= LARGEST:
        return None
    return bool(find_pattern(code, number).search(text.lower()) or _find_roman(number, text))


@cache
def find_pattern(code: str, number: int) -> re.Pattern[str]:
    """Return what finds the words of a language, one of CODES, for a number up to LARGEST."""
    words = re.split(r"\s*[\n|]\s*", _TEXT[code].strip())[number].split()
    either = "|".join(re.escape(word).replace(r"\*", r"\w*") for word in words)
    return re.compile(either if is_unspaced(code) else rf"\b(?:{either})\b")


def _find_roman(number: int, text: str) -> bool:
    """Return whether there is the Roman numeral, as in XVIe; I alone is a word of English."""
    return number > 1 and bool(re.search(rf"\b{spell_roman(number)}[a-zè]*\b", text))


def spell_roman(number: int) -> str:
    """Return the Roman numeral of a number below 40; that of 0 is empty."""
    return "X" * (number // 10) + _ROMAN[number % 10]
