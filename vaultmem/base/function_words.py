"""Function words: what sentences are built with, language by language, as plain data.

A note is not found better for having many of them, and looking them up is what takes the time.
Only those of the question's own language are passed over: the German article is an English verb.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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
    )
}


def function_words_of(words: Sequence[str], usual: str) -> Collection[str]:
    """The function words of the language that this question is built with: of the one with most
    of them; among equals the vault's own, then English."""
    counts = {name: sum(word in known for word in words) for name, known in FUNCTION_WORDS.items()}
    order = sorted(counts, key=lambda name: (-counts[name], name != usual, name != "english"))
    return FUNCTION_WORDS[order[0]]
