"""Everyday words of some languages, to detect short texts without function words."""

from __future__ import annotations

_TEXT = {
    "en": "hello thanks thank please yes good morning night day time year people woman child house "
    "home work school water food money city country world friend mother father go goes went come "
    "came say said know think see want like need get got give take make made look feel find tell "
    "ask never always very just now here where why how who when about more than some any many "
    "much little old new great long right because should could would must may might been were "
    "had did does isn doesn wasn isn't don't didn't let us too again still only over after before",
    "fr": "bonjour merci salut oui bon bonne matin soir nuit jour temps année gens enfant maison "
    "travail école eau argent ville pays monde ami amie mère père aller allé vient venir dit dire "
    "sais savoir pense voir veux veut vouloir aime besoin donner prendre faire fait regarde trouve "
    "demande jamais toujours très maintenant ici où pourquoi comment quand combien beaucoup peu "
    "petit petite grand grande vieux nouveau nouvelle rien quelque chose tout tous toute encore "
    "parce dois doit peux peut ont avons avez suis êtes sommes étaient avait même cette cet ces "
    "leur leurs notre votre nos vos moi toi lui chez sans sous entre après avant déjà aussi mieux",
    "de": "hallo danke bitte ja nein gut guten morgen abend nacht tag zeit jahr leute mann frau "
    "kind haus arbeit schule wasser essen geld stadt land welt freund mutter vater gehen geht ging "
    "kommen kommt kam sagen sagt sagte weiß wissen denke denken sehen sieht will möchte mag "
    "brauche geben gibt nehmen machen macht gemacht findet finden fragen nie immer sehr jetzt hier "
    "wo warum wie wer wann mehr viel viele wenig klein groß alt neu alles nichts etwas noch schon "
    "muss kann können soll sollte wird werden wurde waren hatte hat haben seid sind ihr ihre ihm "
    "ihn mir mich dir dich uns euch kein keine mein meine dein sein seine diese dieser dieses nach "
    "bei aus über unter vor durch ohne gegen nur wieder heute gestern",
    "es": "hola gracias sí bueno buena buenos días noche tiempo año gente niño casa trabajo "
    "escuela agua comida dinero ciudad país mundo amigo madre padre ir va voy fui venir decir dice "
    "dijo sé saber creo ver quiero quiere gusta necesito dar tomar hacer hace hecho mira encontrar "
    "nunca siempre ahora aquí dónde cómo quién cuándo mucho poco pequeño grande viejo nuevo nada "
    "algo todo todos porque debe puede puedo ser son somos eres estaba están este esta ese esa "
    "nuestro sin sobre entre después antes también ya solo",
    "it": "ciao grazie sì buono buona buongiorno giorno notte tempo anno gente bambino casa lavoro "
    "scuola acqua cibo soldi città paese mondo amico madre padre andare va vado venire dire dice "
    "detto so sapere penso vedere voglio vuole piace bisogno dare prendere fare fatto guarda "
    "trovare mai sempre molto adesso qui dove perché chi quando poco piccolo grande vecchio nuovo "
    "niente qualcosa tutto tutti deve può posso essere siamo sei stato erano questa quello nostro "
    "senza sopra tra dopo prima anche già solo ancora lei loro noi voi gli",
    "nl": "hallo dank dankjewel ja nee goed goede morgen avond nacht dag tijd jaar mensen vrouw "
    "kind huis werk school water eten geld stad land wereld vriend moeder vader gaan gaat ging "
    "komen komt kwam zeggen zegt zei weet denk zien ziet wil leuk nodig geven nemen maken gemaakt "
    "vinden vragen nooit altijd heel nu hier waar waarom hoe wie wanneer meer veel weinig klein "
    "groot oud nieuw alles niets iets nog al moet kan kunnen zou zijn waren had heb hebt jullie "
    "ons onze hun haar hem mij jou geen deze dat naar bij uit over onder zonder alleen weer",
    "pt": "olá obrigado obrigada sim bom boa dia noite tempo ano gente criança casa trabalho "
    "escola água comida dinheiro cidade país mundo amigo mãe pai ir vai vou foi vir dizer disse "
    "sei saber acho ver quero quer gosto preciso dar tomar fazer feito olha encontrar nunca sempre "
    "agora aqui onde porque como quem quando pouco pequeno grande velho novo nada algo tudo todos "
    "deve pode posso ser são somos estava estão este esta esse essa nosso sem sobre entre depois "
    "antes também já só ainda eles elas nós lhe",
    "sv": "hej tack ja nej god bra morgon kväll natt dag tid år folk kvinna barn hus hem arbete "
    "skola vatten mat pengar stad land värld vän mor far gå går gick komma kommer kom säga säger "
    "sa vet tror se ser vill gillar behöver ge ta göra gör gjorde hitta fråga aldrig alltid mycket "
    "nu här var varför hur vem när mer många lite liten stor gammal ny allt inget ännu redan måste "
    "kunde skulle vara varit hade er oss dem dig mig honom henne ingen denna detta utan bara igen",
    "pl": "cześć dziękuję proszę dobry dobra dzień noc czas rok ludzie dziecko dom praca szkoła "
    "woda jedzenie pieniądze miasto kraj świat przyjaciel matka ojciec iść idę poszedł przyjść "
    "mówić powiedział wiem myślę widzieć chcę chce lubię potrzebuję dać wziąć robić zrobił nigdy "
    "zawsze bardzo teraz tutaj gdzie dlaczego kto kiedy dużo mało mały duży stary nowy nic coś "
    "wszystko musi może mogę być są był była było jestem jesteś nasz bez tylko znowu jeszcze już",
    "ru": "привет спасибо пожалуйста да нет хорошо день ночь время год люди ребёнок дом работа "
    "школа вода еда деньги город страна мир друг мать отец идти пошёл прийти сказать сказал знаю "
    "думаю видеть хочу хочет нравится нужно дать взять делать сделал никогда всегда очень сейчас "
    "здесь где почему кто когда много мало маленький большой старый новый ничего что-то всё должен "
    "может могу быть были была наш без только опять ещё уже они вас нас него неё",
    "uk": "привіт дякую будь ласка так ні добре день ніч час рік люди дитина дім робота школа вода "
    "їжа гроші місто країна світ друг мати батько іти пішов прийти сказати сказав знаю думаю "
    "бачити хочу хоче подобається треба дати взяти робити зробив ніколи завжди дуже зараз тут де "
    "чому хто коли багато мало малий великий старий новий нічого щось усе повинен може можу бути "
    "були був наш без тільки знову ще вже вони вас нас його неї",
}
COMMON: dict[str, frozenset[str]] = {
    code: frozenset(text.replace("'", " ").split()) for code, text in _TEXT.items()
}
