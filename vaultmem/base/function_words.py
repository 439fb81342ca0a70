"""Function words: what sentences are built with, language by language, as plain data.

A note is not found better for having many of them, and looking them up is what takes the time.
Only those of the question's own language are passed over: the German article is an English verb.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

_ENGLISH: Final = """
    a about after all also am an and another any are as at be because been before being both but by
    can cannot could did do does doing during each for from had has have having he her here hers
    herself him himself his how i if in into is it its itself just let many may me might mine more
    most much must my myself no nor not of off on only or other our ours out over own please shall
    she should since so some such than that the their theirs them themselves then there these they
    this those though through to too under until up upon us very was we were what when where whether
    which while who whom whose why will with would yet you your yours yourself
    s t d m ll re ve don didn doesn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn
"""
_GERMAN: Final = """
    aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da dabei damit
    dann das dass dein deine deinem deinen deiner dem den denn der des dessen deren dich die dies
    diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es
    etwas euch euer eure für ganz gegen gibt hab habe haben hat hatte hatten hier hin ich ihm ihn
    ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes kann kannst kein
    keine keinen können könnte man mein meine meinem meinen meiner mich mir mit muss musste nach nicht
    noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit sich sie sind so soll
    sollte über um und uns unser unsere unter vom von vor wann war waren warum was weil welche welchem
    welchen welcher welches wem wen wenn wer werde werden wessen wie wieder wird wir wo wohin wurde
    wurden zu zum zur zwischen
"""
_FRENCH: Final = """
    à ai alors as au aucun aussi autre aux avait avec avez avoir avons c ce cela ces cet cette chez
    comme comment d dans de depuis des dont du elle elles en encore entre es est et était étaient être
    eu fait faut il ils j je l la le les leur leurs lui m ma mais me même mes moi mon n ne ni nos notre
    nous on ont ou où par pas pendant peut plus pour pourquoi qu quand que quel quelle quelles quels
    qui quoi s sa sans se sera ses si son sont sous sur t ta te tes toi ton tous tout toute toutes très
    tu un une vers vos votre vous y
"""
_SPANISH: Final = """
    a al algo algunos ante antes aquel aquella así aún aunque cada como cómo con contra cual cuál
    cuales cuáles cuando cuándo cuánto cuántos de del desde donde dónde dos durante e el él ella ellas
    ellos en entre era eran eres es esa esas ese eso esos esta está están estas este esto estos estoy
    fue fueron ha hace han has hasta hay he la las le les lo los más me mi mí mis mucho muy nada ni no
    nos nosotros nuestra nuestro o os otra otro otros para pero por porque qué que quien quién quienes
    se ser si sí sin sobre son soy su sus también te tenía ti tiene tienen todo todos tu tú tus un una
    unas uno unos y ya yo
"""
_PORTUGUESE: Final = """
    a à ao aos aquela aquele aqui as às até com como da das de dela dele deles depois do dos e é ela
    elas ele eles em entre era eram essa essas esse esses esta está estão estas este estes eu foi
    foram há isso isto já lhe mais mas me mesmo meu meus minha minhas muito na não nas nem no nos nós
    nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque porquê qual quais quando
    quanto quantos que quê quem se sem ser seu seus só são sobre sua suas também te tem têm tinha tu
    tua um uma você vocês
"""
_ITALIAN: Final = """
    a ad agli ai al alla alle allo anche ancora aveva c che chi ci cioè come con contro cosa cui d da
    dagli dai dal dalla dalle dallo degli dei del della delle dello di dove dov due e è ed era erano
    essere fra gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mi mia mie miei mio
    molto ne negli nei nel nella nelle nello no noi non nostra nostro o ogni per perché però più qual
    quale quali quando quanto quanti quella quelle quello questa queste questi questo s se sei si sia
    sono sta su sua sue sugli sui sul sulla sulle suo suoi te ti tra tu tua tuo tutti tutto un una uno
    vi voi
"""
_DUTCH: Final = """
    aan al alles als altijd ben bij daar dan dat de der deze die dit doch doen door dus een er ge
    geen had heb hebben heeft hem het hier hij hoe hoeveel hun iets ik in is ja je jij jou jouw kan
    kunnen maar me meer mij mijn moet na naar niet niets nog nu of om omdat onder ons onze ook op over
    te tegen toch toen tot u uit uw van veel voor waar waarom wanneer want waren was wat we wel welk
    welke werd wie wij wil worden wordt ze zei zich zij zijn zo zonder zou
"""
_SWEDISH: Final = """
    alla allt än är att av bara blev bli blir då de dem den denna deras dess det detta dig din du
    efter ej eller en er ett få för från ha hade han har hans här henne hennes hit hon honom hos hur i
    igen in inte ja jag kan kunde man med mellan men mig min mot mycket någon något några när nej ni
    nu och om oss på så sådan ska skulle sig sin sina sitt som till under upp ut utan vad var våra vem
    vi vid vilka vilken vill
"""
_DANISH: Final = """
    af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din du efter
    eller en end er et få for fra ha havde han hans har hende hendes her hos hun hvad hvem hvis hvor
    hvornår i ikke ind ja jeg kan kunne man mange med meget mellem men mig min mod må når noget nogen
    nogle nu og også om op os over på sådan så sig sin skal skulle som til ud under var ved vi vil
    ville være været
"""
_NORWEGIAN: Final = """
    av alle alt andre at bare ble bli blir da de dem den denne der deres det dette deg din du etter
    eller en enn er et ei få for fra ha hadde han hans har henne hennes her hos hun hva hvem hvis hvor
    hvorfor i ikke inn ja jeg kan kunne man mange med meg mellom men min mot må når noe noen nå og også
    om opp oss over på så seg sin skal skulle som til ut under var ved vi vil ville vært være
"""
_FINNISH: Final = """
    ei eikä että ennen hän hänen he ja jo joka jonka jos jossa joten kaikki kanssa kuin kun kuka
    kuinka koska kyllä me meidän mikä millä minä minun missä mistä mitä mutta myös ne niin niiden no
    nyt oli olin olen olet oletko on ole olla ollut onko ovat pitää se sekä sen siellä siitä sillä sinä
    sinun sitä tai tämä tämän tässä te tuo vai vain vielä voi
"""
_POLISH: Final = """
    aby albo ale bardzo bez bo by być był była było były będzie ci co czy dla do gdy gdzie go i ich ile
    im ja jak jaki jako je jego jej jest jestem już kiedy kto która które którego której który którzy
    mam mi mnie może na nad nam nas nie niż o od on ona oni pod po przed przez przy są się ta tak także
    tam te tego tej ten to trzeba tu tylko tym u w we więc wszystko z za ze że
"""
_CZECH: Final = """
    a aby ale ani asi až bez bude být byl byla bylo byly co či do ho i já jak jako je jeho její jejich
    jen ještě jsem jsme jsou když kde kdo kdy která které který má mi mít mně mu my na nad nebo není o
    od on ona pak po pod podle pro proč před při s se si tak také tam ten tento to tu už v ve však
    všechno z za ze že
"""
_TURKISH: Final = """
    ama ancak artık bana bazı belki ben benim beni bir biz bize bizim bu buna bunu burada çok çünkü da
    daha de değil diye en gibi hem hep her hiç için ile ise kadar kendi ki kim mı mi mu mü nasıl ne
    neden nerede niçin o olan olarak oldu olduğu olur ona onu onun onlar sen senin siz şey şu şimdi
    sonra ve var veya ya yani yok
"""
_HUNGARIAN: Final = """
    a az az ahol aki akkor ami amikor amit át be csak de egy egyik el én és ez ezek ezt fel ha hanem
    hogy hol igen így is ki kell le lehet lesz már még meg mert mi mint most nagyon ne nem nincs ő ők
    össze pedig sem te ti úgy után vagy van vannak volt voltak
"""
_ROMANIAN: Final = """
    a acest această aceste aceea acum ai al ale am ar are așa asta au avea că când care ce cel cine cu
    cum da dacă de deci despre din doar după ei ele el era este eu fără fi fie fost iar în într între
    la le lui mai mea meu mi mult ne nici noi nostru nu o pe pentru prin sa să sau se sunt și te tot
    tu un una unde unei unui va vă voi
"""
_RUSSIAN: Final = """
    а без более бы был была были было быть в вам вас весь во вот все всё всех вы где да для до его ее
    её если есть еще ещё же за здесь и из или им их к как какая какой какие когда кто куда ли между мне
    меня мой моя мы на надо нам нас наш не него нее нет ни них но о об он она они от очень по под после
    почему при с сейчас со так также там те тебя то только тот ты у уже что чтобы чего эта эти это этот
    я
"""
_UKRAINIAN: Final = """
    а або але без би був була було були бути в вам вас ви від він вона вони воно все всі де для до є же
    за з зі і із й його її їх к коли кого куди ми мене мені мій на над нам нас наш не немає ні під по
    при про та так також там те ти тільки той у хто це цей ця чи що щоб як який яка які я
"""
_GREEK: Final = """
    αν αλλα αλλά απο από αυτα αυτά αυτη αυτή αυτο αυτό αυτος αυτός για δε δεν εγω εγώ ειναι είναι εκει
    εκεί ενα ένα ενας ένας εχει έχει η ηταν ήταν θα και κατα κατά κι μας με μετα μετά μη μην μια μία
    μου να ο οι οπου όπου οταν όταν οτι ότι ποιος ποτε πότε που πού πως πώς σας σε σου στα στη στην
    στις στο στον στους τα τη την της τι τις το τον του τους των ως
"""
_ARABIC: Final = """
    أن إن إلى أو أي أين الذي التي بعد بين ثم حتى حيث عن على عند غير في فيه فيها قال قبل قد كان كانت
    كل كم كما كيف لا لم لن له لها لماذا ما ماذا متى مع من منه منها نحن هذا هذه هل هو هي هم و يوم انت أنا
"""
_HEBREW: Final = """
    אבל או אז אחרי אין איך איפה אל אם אני אנחנו את אתה אתם בין גם הוא היא הם היה היתה הייתה זה זאת
    זו יש כאן כבר כי כל כמה כן כמו לא לו לה לי לפני מה מי מתי למה עד עוד על עם רק של שלי שלנו שלו שם
"""
_HINDI: Final = """
    और का की के को कि कब कहाँ कैसे कौन क्या क्यों कर करना कोई इस इसे उस उसे एक तक तो था थी थे पर
    भी मैं मेरा मेरी में यह ये या वह वे से हम हमारा है हैं हो हुआ हुई हूँ ने नहीं लिए साथ
"""
FUNCTION_WORDS: Final = {
    name: frozenset(words.split())
    for name, words in (
        ("english", _ENGLISH),
        ("german", _GERMAN),
        ("french", _FRENCH),
        ("spanish", _SPANISH),
        ("portuguese", _PORTUGUESE),
        ("italian", _ITALIAN),
        ("dutch", _DUTCH),
        ("swedish", _SWEDISH),
        ("danish", _DANISH),
        ("norwegian", _NORWEGIAN),
        ("finnish", _FINNISH),
        ("polish", _POLISH),
        ("czech", _CZECH),
        ("turkish", _TURKISH),
        ("hungarian", _HUNGARIAN),
        ("romanian", _ROMANIAN),
        ("russian", _RUSSIAN),
        ("ukrainian", _UKRAINIAN),
        ("greek", _GREEK),
        ("arabic", _ARABIC),
        ("hebrew", _HEBREW),
        ("hindi", _HINDI),
    )
}


@functools.cache
def _languages_of_words() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, words in FUNCTION_WORDS.items():
        for word in words:
            found[word] = (*found.get(word, ()), name)
    return found


def count_function_words(words: Iterable[str]) -> Counter[str]:
    """How many of these words each language builds its sentences with."""
    known = _languages_of_words()
    counts: Counter[str] = Counter()
    for names, count in Counter(filter(None, map(known.get, words))).items():
        for name in names:
            counts[name] += count
    return counts


def function_words_of(words: Sequence[str], usual: str) -> Collection[str]:
    """The function words of the language that this question is built with: of the one with most
    of them; among equals the vault's own, then English."""
    counts = count_function_words(words)
    most = max(counts.values(), default=0)
    for name in (usual, "english"):
        if name in FUNCTION_WORDS and counts[name] == most:
            return FUNCTION_WORDS[name]
    return FUNCTION_WORDS[next(name for name in FUNCTION_WORDS if counts[name] == most)]
