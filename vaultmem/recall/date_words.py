"""The words of time in five languages: what kind each is of, and its value.

A line is `kind languages: word=value …`; several words of one entry are joined by `_`. Kinds are
single letters, because `dates` reads a question as the text of its kinds:

    J a day relative to today      p part of a day             j vague past
    U unit (y: a year)             W weekday (w: its short)    M month (m: also another word)
    S season (s: also another)     H holiday                   B part of a period
    L last  T this  X next         l, x the same, behind       P the past
    N number  O one  F a few       R ordinal                   G exactly
    A ago (behind)  g ago (before) V before or ago             v "since" or "ago"
    q before  r after  z since  t until  k between  f from  n and, to
    I in, on, at   d the   o of   c from or of   E every       e something that takes place
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

# Letters of languages: e English, d German, p Portuguese, f French, s Spanish.
_LEXICON: Final = """
J e: yesterday=-1 day_before_yesterday=-2 today=0 tonight=0 tomorrow=1 day_after_tomorrow=2
J d: gestern=-1 vorgestern=-2 heute=0 übermorgen=2
J p: ontem=-1 anteontem=-2 hoje=0 amanhã=1
J f: hier=-1 avant_hier=-2 aujourd_hui=0 demain=1
J s: ayer=-1 anteayer=-2 antier=-2 hoy=0
j e: recently=30 lately=30 the_other_day=14
j d: kürzlich=30 neulich=14 vor_kurzem=30 in_letzter_zeit=30
j p: recentemente=30 ultimamente=30 outro_dia=14 há_pouco_tempo=30
j f: récemment=30 dernièrement=30 l_autre_jour=14
j s: recientemente=30 últimamente=30 el_otro_día=14
p e: morning=0 afternoon=0 evening=0 night=0
p d: früh=0 vormittag=0 mittag=0 nachmittag=0 abend=0 nacht=0 morgen=1
p p: manhã=0 tarde=0 noite=0
p f: matin=0 soir=0 après_midi=0 nuit=0
p s: tarde=0 noche=0 mañana=1
U e: day=day days=day week=week weeks=week month=month months=month quarter=quarter quarters=quarter
U e: weekend=weekend weekends=weekends fortnight=fortnight fortnights=fortnight half=half hour=hour hours=hour
U d: tag=day tage=day tagen=day woche=week wochen=week monat=month monate=month monaten=month monats=month
U d: quartal=quarter quartals=quarter wochenende=weekend stunde=hour stunden=hour hälfte=half kw=week kalenderwoche=week
U p: dia=day dias=day semana=week semanas=week mês=month meses=month trimestre=quarter fim_de_semana=weekend semestre=half
U f: jour=day jours=day semaine=week semaines=week mois=month trimestre=quarter week_end=weekend weekend=weekend
U s: día=day días=day semana=week semanas=week mes=month meses=month trimestre=quarter fin_de_semana=weekend
y e: year=year years=year decade=decade decades=decade
y d: jahr=year jahre=year jahren=year jahres=year
y p: ano=year anos=year
y f: an=year ans=year année=year années=year l_an=year
y s: año=year años=year
W e: monday=0 tuesday=1 wednesday=2 thursday=3 friday=4 saturday=5 sunday=6
w e: mon=0 tue=1 tues=1 wed=2 thu=3 thur=3 thurs=3 fri=4 sat=5 sun=6
W d: montag=0 dienstag=1 mittwoch=2 donnerstag=3 freitag=4 samstag=5 sonnabend=5 sonntag=6
W p: segunda_feira=0 terça_feira=1 quarta_feira=2 quinta_feira=3 sexta_feira=4 sábado=5 domingo=6
W f: lundi=0 mardi=1 mercredi=2 jeudi=3 vendredi=4 samedi=5 dimanche=6
W s: lunes=0 martes=1 miércoles=2 jueves=3 viernes=4 sábado=5 domingo=6
M e: january=1 february=2 july=7 september=9 october=10 november=11 december=12
m e: march=3 april=4 may=5 june=6 august=8
m e: jan=1 feb=2 mar=3 apr=4 jun=6 jul=7 aug=8 sep=9 sept=9 oct=10 nov=11 dec=12
M d: januar=1 jänner=1 februar=2 märz=3 juni=6 juli=7 september=9 oktober=10 november=11 dezember=12
m d: april=4 mai=5 august=8
M p: janeiro=1 fevereiro=2 março=3 abril=4 junho=6 julho=7 setembro=9 outubro=10 novembro=11 dezembro=12
m p: maio=5 agosto=8
M f: janvier=1 février=2 avril=4 juin=6 juillet=7 août=8 septembre=9 octobre=10 novembre=11 décembre=12
m f: mars=3 mai=5
M s: enero=1 febrero=2 abril=4 junio=6 septiembre=9 octubre=10 noviembre=11 diciembre=12
m s: marzo=3 mayo=5 julio=7 agosto=8
S e: summer=3 autumn=4 winter=1
s e: spring=2 fall=4
S d: frühling=2 frühjahr=2 sommer=3 herbst=4 winter=1
S p: primavera=2 verão=3 outono=4 inverno=1
S f: printemps=2 automne=4 hiver=1
s f: été=3
S s: primavera=2 verano=3 otoño=4 invierno=1
H e: easter=easter christmas=christmas xmas=christmas new_year=newyear new_years=newyear new_year_eve=silvester
H e: new_years_eve=silvester christmas_eve=eve christmas_day=christmas_day boxing_day=boxing good_friday=friday easter_monday=monday
H e: pentecost=pentecost whitsun=pentecost halloween=halloween thanksgiving=thanksgiving
H e: valentine_day=valentine valentines_day=valentine carnival=carnival new_year_day=newyear
H d: ostern=easter weihnachten=christmas heiligabend=eve silvester=silvester neujahr=newyear karfreitag=friday
H d: ostermontag=monday pfingsten=pentecost karneval=carnival fasching=carnival
H p: páscoa=easter natal=christmas véspera_de_natal=eve ano_novo=newyear passagem_de_ano=silvester carnaval=carnival sexta_feira_santa=friday
H f: pâques=easter noël=christmas nouvel_an=newyear pentecôte=pentecost
H s: pascua=easter semana_santa=holyweek navidad=christmas nochebuena=eve nochevieja=silvester año_nuevo=newyear carnaval=carnival
B e: early=early mid=middle middle=middle late=late beginning=early start=early end=late earlier=earlier later=later
B d: anfang=early mitte=middle ende=late früher=earlier später=later
B p: início=early princípio=early meados=middle fim=late final=late finais=late
B f: début=early mi=middle milieu=middle fin=late
B s: principios=early mediados=middle finales=late
L e: last=0 previous=0
L d: letzte=0 letzten=0 letzter=0 letztes=0 letztem=0 vorige=0 vorigen=0 voriges=0 vergangene=0 vergangenen=0 vergangenes=0
L p: último=0 última=0 últimos=0 últimas=0
L s: último=0 última=0 últimos=0 últimas=0
P e: past=0
l p: passado=0 passada=0
l f: dernier=0 dernière=0 derniers=0 dernières=0 passé=0 passée=0
l s: pasado=0 pasada=0
T e: this=0
T d: diese=0 diesen=0 dieser=0 dieses=0 diesem=0
T p: este=0 esta=0 deste=0 desta=0 neste=0 nesta=0
T f: ce=0 cet=0 cette=0
T s: este=0 esta=0
X e: next=0 coming=0
X d: nächste=0 nächsten=0 nächster=0 nächstes=0 kommende=0 kommenden=0
X p: próximo=0 próxima=0 próximos=0 próximas=0
x p: próximo=0 próxima=0 que_vem=0
x f: prochain=0 prochaine=0
X s: próximo=0 próxima=0
x s: próximo=0 próxima=0 que_viene=0
N e: two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 twenty=20 thirty=30
N d: zwei=2 drei=3 vier=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwölf=12 zwanzig=20 dreißig=30
N p: dois=2 duas=2 três=3 quatro=4 cinco=5 seis=6 sete=7 oito=8 nove=9 dez=10 onze=11 doze=12 vinte=20
N f: deux=2 trois=3 quatre=4 cinq=5 six=6 sept=7 huit=8 neuf=9 dix=10 onze=11 douze=12 vingt=20
N s: dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 doce=12 veinte=20
O e: a=1 an=1 one=1
O d: ein=1 eine=1 einer=1 einem=1 einen=1
O p: um=1 uma=1
O f: un=1 une=1
O s: un=1 una=1
F e: few=few couple=couple couple_of=couple several=few some=few
F d: paar=few einigen=few einige=few mehreren=few wenigen=few
F p: alguns=few algumas=few uns=few umas=few poucos=few
F f: quelques=few plusieurs=few
F s: algunos=few algunas=few unos=few unas=few pocos=few
R e: first=1 second=2 third=3 fourth=4
R d: erste=1 ersten=1 zweite=2 zweiten=2 dritte=3 dritten=3 vierte=4 vierten=4
R p: primeiro=1 primeira=1 primeiros=1 segunda=2 terceira=3 terceiro=3
R f: premier=1 première=1 premiers=1 deuxième=2 troisième=3
R s: primer=1 primero=1 primera=1 primeros=1 segundo=2 tercera=3
G e: exactly=0
G d: genau=0
A e: ago=0
A p: atrás=0
g p: faz=0
v p: há=0
g f: il_y_a=0
g s: hace=0
V d: vor=0
q e: before=0 prior_to=0
q p: antes_de=0 antes_do=0 antes_da=0
q f: avant=0
q s: antes_de=0 antes_del=0
r e: after=0 following=0
r d: nach=0
r p: depois_de=0 depois_do=0 depois_da=0 após=0
r f: après=0
r s: después_de=0 después_del=0 tras=0
z e: since=0
z d: seit=0 seitdem=0
z p: desde=0
z f: depuis=0
z s: desde=0
t e: until=0 till=0
t d: bis=0 bis_zum=0 bis_zu=0
t p: até=0 até_ao=0 até_à=0
t f: jusqu_à=0 jusqu_en=0
t s: hasta=0
k e: between=0
k d: zwischen=0
k p: entre=0
k f: entre=0
k s: entre=0
f e: from=0
c d: von=0 vom=0
c p: de=0
c f: de=0 du=0
c s: de=0
n e: and=0 to=0 through=0
n d: und=0 bis=0
n p: e=0 a=0
n f: et=0 à=0 au=0
n s: y=0 a=0
I e: in=0 during=0 on=0 at=0 over=0 around=0 throughout=0 back_in=0 as_of=0
I d: im=0 am=0 in=0 an=0 zu=0 während=0 über=0 um=0
I p: em=0 no=0 na=0 nos=0 nas=0 durante=0 pelo=0 pela=0
I f: en=0 au=0 à=0 pendant=0 le=0 l=0 durant=0 au_mois_de=0
I s: en=0 durante=0 el=0 los=0 por=0
d e: the=0
d d: der=0 die=0 das=0 den=0 dem=0 des=0
d p: o=0 a=0 os=0 as=0
d f: le=0 la=0 les=0 l=0
d s: el=0 la=0 los=0 las=0
o e: of=0
o d: des=0
o p: do=0 da=0 dos=0 das=0
o f: d=0 des=0
o s: del=0
E e: every=0 each=0 per=0 black=0 once_a=0
E d: jeden=0 jede=0 jedes=0 pro=0
E p: cada=0 todos_os=0 todas_as=0
E f: chaque=0 tous_les=0
E s: cada=0 todos_los=0
e e: appointment=0 meeting=0 visit=0 trip=0 holiday=0 holidays=0 vacation=0 break=0 term=0 semester=0 concert=0 tour=0 conference=0 call=0 workshop=0 party=0
"""
# Words that would be read wrongly by their most frequent kind alone.
_PREFERRED: Final = {
    "a": "O",
    "bis": "t",
    "le": "I",
    "el": "I",
    "los": "I",
    "l": "I",
    "des": "o",
    "an": "O",
    "um": "O",
}
_FUTURE: Final = """
    will upcoming coming due deadline scheduled planned planning plan plans going shall
    wird werden geplant kommende kommenden ansteht
    vai vamos planeado marcado irá prévu va planeado próximo próxima
"""
_PAST: Final = """
    did was were had happened went got been
    war waren hatte hatten habe haben hat wurde gab
    fiz fez fizemos foi foram tinha estava aconteceu
    été fait était avons passé
    hice hizo hicimos fue fueron pasó
"""
_FRENCH: Final = (
    "qu que est j ai je nous avons fait passé quoi qui quand où le la les du était c m a"
)
PLURALS: Final = (
    *("days", "weeks", "months", "quarters", "years"),
    *("tage", "tagen", "wochen", "monate", "monaten", "jahre", "jahren"),
    *("dias", "semanas", "meses", "anos", "jours", "semaines", "ans", "années", "días", "años"),
)
LONGEST_ENTRY: Final = 4  # words


class DateWord(NamedTuple):
    kind: str
    languages: str
    value: str


@cache
def lexicon() -> dict[tuple[str, ...], DateWord]:
    """What each entry is; where languages differ about one, the kind that serves most."""
    found: dict[tuple[str, ...], DateWord] = {}
    for entry, word in _entries():
        known = found.get(entry)
        if known is None or _PREFERRED.get(entry[0]) == word.kind != known.kind:
            found[entry] = word
        elif known.value == word.value:  # `le`: an article here, a preposition there
            found[entry] = known._replace(languages=known.languages + word.languages)
    return found


def _entries() -> Iterator[tuple[tuple[str, ...], DateWord]]:
    for line in _LEXICON.strip().splitlines():
        head, _, words = line.partition(": ")
        kind, languages = head.split()
        for each in words.split():
            spelling, _, value = each.partition("=")
            for written in {spelling} | ({plain(spelling)} - _other_words()):
                yield tuple(written.split("_")), DateWord(kind, languages, value)


@cache
def _other_words() -> frozenset[str]:
    """What words become without their accents, and would be something else then."""
    return frozenset(["ete", "a", "fruh", "ano", "anos", "passe", "passee", "ha", "natal", "uber"])


def plain(word: str) -> str:
    """Without accents, as people type on foreign keyboards."""
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFD", word)
    return "".join(sign for sign in parts if not unicodedata.combining(sign))


@cache
def future_words() -> frozenset[str]:
    return frozenset(_FUTURE.split())


@cache
def past_words() -> frozenset[str]:
    return frozenset(_PAST.split())


@cache
def french_words() -> frozenset[str]:
    return frozenset(_FRENCH.split())
