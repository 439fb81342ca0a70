"""Small vaults in many languages, and which of their notes must come first for which question.

In each vault the other notes are what could be mistaken for the right one: they share a word with
the question, or have it inside another word that means something else.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class LanguageVault(NamedTuple):
    notes: dict[str, str]  # a name, and the note's text
    questions: tuple[tuple[str, str], ...]  # a question, and the name of the note that is right


GERMAN: Final = LanguageVault(
    {
        "apfelstrudel": "Omas Apfelstrudel: den Teig dünn ausziehen, Äpfel mit Zimt füllen.",
        "pflaumenkuchen": "Pflaumenkuchen vom Blech: den Teig mit Zimt bestreuen und backen.",
        "reisekosten": "Die Reisekosten nach Köln hat die Firma erstattet, Belege sind im Ordner.",
        "kostüm": "Das Kostüm für den Karneval hängt im Schrank, es muss noch gekürzt werden.",
        "vorrat": "Im Keller ist ein Vorrat an Kerzen und Wasser für zwei Wochen.",
        "umzug": "Ein guter Rat zum Umzug: zuerst die Bücher packen, dann das Geschirr.",
        "heizungswartung": "Die Heizungswartung ist im Oktober, der Installateur heißt Brandt.",
        "haftpflicht": "Unsere Haftpflichtversicherung kostet 64 Euro im Jahr, Nummer im Ordner.",
        "versicherungskarte": "Die Karte der Krankenkasse liegt in der Schublade neben dem Herd.",
        "zürich": "Der Zug nach Zürich fährt um 7:32 von Gleis neun ab.",
        "zug": "Die Kinder haben sich im Zug gestritten, wer am Fenster sitzt.",
        "wohnung": "Für die neuen Mieter haben wir die Wohnung im zweiten Stock gestrichen.",
        "ferienwohnungen": "Zwei Ferienwohnungen am See sind im August noch frei.",
        "geburtstag": "Ein Geburtstagsgeschenk für Mama: sie wünscht sich ein Kochbuch.",
        "straße": "In unserer Straße wird ab Montag gebaut, das Auto steht solange am Park.",
        "kindergarten": "Der Kindergarten schließt im Sommer für drei Wochen.",
        "garten": "Im Garten blühen die Rosen, die Hecke muss geschnitten werden.",
        "arbeitszeit": "Meine Arbeitszeiten: Montag bis Donnerstag, freitags frei.",
        "datenschutz": "Der Datenschutzbeauftragte möchte, dass wir die Protokolle löschen.",
    },
    (
        ("strudel", "apfelstrudel"),
        ("Rezept für Strudel", "apfelstrudel"),
        ("Kosten", "reisekosten"),
        ("was waren die Kosten der Reise", "reisekosten"),
        ("Rat", "umzug"),
        ("Wartung der Heizung", "heizungswartung"),
        ("Versicherung", "haftpflicht"),
        ("was kostet die Versicherung im Jahr?", "haftpflicht"),
        ("Zurich", "zürich"),
        ("Zuerich", "zürich"),
        ("wann fährt der Zug nach Zürich", "zürich"),
        ("Wohnungen", "wohnung"),
        ("Ferienwohnung am See", "ferienwohnungen"),
        ("Geschenke zum Geburtstag", "geburtstag"),
        ("Geschenk", "geburtstag"),
        ("Geburtstag", "geburtstag"),
        ("Strasse", "straße"),
        ("Garten", "garten"),
        ("Gärten", "garten"),
        ("Arbeitszeit", "arbeitszeit"),
        ("Beauftragter für Datenschutz", "datenschutz"),
        ("Buch packen", "umzug"),
    ),
)
DUTCH: Final = LanguageVault(
    {
        "verzekering": "De zorgverzekering kost honderd euro per maand en wordt in mei verlengd.",
        "fietsslot": "De sleutel van het fietsslot hangt naast de voordeur.",
        "fietsen": "Op zondag fietsen we met de kinderen naar het strand.",
        "appeltaart": "Het recept voor appeltaart van oma: veel kaneel en een beetje citroen.",
        "huis": "Het huis van de buren is verkocht aan een jong gezin.",
        "ziekenhuis": "De afspraak in het ziekenhuis is op dinsdag om tien uur.",
        "vergadering": "Tijdens de vergaderingen over het budget mag niemand bellen.",
    },
    (
        ("taart", "appeltaart"),
        ("verzekering", "verzekering"),
        ("slot van de fiets", "fietsslot"),
        ("sleutels", "fietsslot"),
        ("huizen", "huis"),
        ("huis", "huis"),
        ("vergadering", "vergadering"),
    ),
)
SWEDISH: Final = LanguageVault(
    {
        "försäkring": "Hemförsäkringen kostar tusen kronor och ska betalas i mars.",
        "bokning": "Tågbiljetten till Göteborg är bokad till fredag, vagn fyra.",
        "äppelkaka": "Mormors äppelkaka med kanel ska stå i ugnen en halv timme.",
        "barn": "Barnen ska ha med sig gummistövlar till skolan på onsdag.",
        "barnvakt": "Vi har ringt en barnvakt som kan komma på lördag kväll.",
        "nycklar": "Nycklarna till stugan ligger under den blå krukan.",
    },
    (
        ("försäkring", "försäkring"),
        ("kaka", "äppelkaka"),
        ("nyckel till stuga", "nycklar"),
        ("biljett", "bokning"),
        ("Goteborg", "bokning"),
        ("barnen i skola", "barn"),
    ),
)
DANISH: Final = LanguageVault(
    {
        "forsikring": "Indboforsikringen koster to tusind kroner om året og skal betales i maj.",
        "kage": "Opskriften på mormors æblekage er i den røde bog.",
        "cykel": "Cyklen er til reparation, og den kan hentes på torsdag.",
        "møde": "Vi aftalte på mødet, at Søren skriver referatet.",
        "mødelokale": "Mødelokalet på anden sal er lukket, fordi taget er utæt.",
    },
    (
        ("forsikring", "forsikring"),
        ("kage", "kage"),
        ("hvem skriver referat af mødet", "møde"),
        ("Soren", "møde"),
        ("cykler", "cykel"),
    ),
)
NORWEGIAN: Final = LanguageVault(
    {
        "hytte": "Nøkkelen til hytta ligger i postkassen, og vedboden er full.",
        "forsikring": "Reiseforsikringen gjelder i hele Europa og koster seks hundre kroner.",
        "kake": "Bestemor lager alltid eplekake når vi kommer på besøk.",
        "skole": "Skolene er stengt på grunn av snøen, så barna er hjemme.",
        "tur": "Vi gikk en lang tur langs elva og så tre elger.",
    },
    (
        ("forsikring", "forsikring"),
        ("kake", "kake"),
        ("nøkler til hytte", "hytte"),
        ("skole", "skole"),
        ("elg", "tur"),
    ),
)
FINNISH: Final = LanguageVault(
    {
        "kirjasto": "Kirjastokortti on keittiön laatikossa ja se pitää uusia ennen joulua.",
        "vakuutus": "Kotivakuutus maksaa kaksisataa euroa vuodessa.",
        "mökki": "Mökillä on uusi sauna, mutta vene vuotaa.",
        "auto": "Auton huolto on tiistaina, ja renkaat vaihdetaan samalla.",
        "talo": "Naapurin talossa asuu nyt nuori perhe, joka tuli Turusta.",
    },
    (
        ("vakuutus", "vakuutus"),
        ("sauna mökki", "mökki"),
        ("auto", "auto"),
        ("talot", "talo"),
        ("kortti", "kirjasto"),
    ),
)
FRENCH: Final = LanguageVault(
    {
        "résumé": "Le résumé de la réunion est dans le dossier partagé, Amélie l'a relu.",
        "assurance": "L'assurance de l'appartement coûte cent euros et se renouvelle en mars.",
        "chevaux": "Les enfants ont vu des chevaux près de la ferme, ils étaient ravis.",
        "élève": "Les élèves de la classe de Paul iront au musée jeudi.",
        "école": "À l'école, la cantine est fermée le mercredi.",
        "œuf": "Il faut six œufs et du beurre pour le gâteau de Noël.",
        "finances": "Nous financerons les travaux de la cuisine avec le livret.",
        "cuisine": "La peinture de la chambre est sèche, on peut remettre les rideaux.",
    },
    (
        ("resume", "résumé"),
        ("résumés", "résumé"),
        ("gâteaux", "œuf"),
        ("oeuf", "œuf"),
        ("combien coûte l'assurance", "assurance"),
        ("financer les travaux", "finances"),
        ("Amelie", "résumé"),
        ("élève au musée", "élève"),
        ("ecole", "école"),
    ),
)
SPANISH: Final = LanguageVault(
    {
        "vuelo": "El vuelo a Bogotá sale a las seis y hay que llegar dos horas antes.",
        "vecinos": "Los vecinos volaron una cometa enorme en el parque.",
        "canción": "La canción que más le gusta a Inés es de los años ochenta.",
        "contraseñas": "Las contraseñas de la casa están en el cajón de la cocina.",
        "médico": "La cita con el médico es el martes, hay que llevar los análisis.",
        "alquiler": "Pagamos el alquiler el día cinco y el dueño manda el recibo.",
    },
    (
        ("vuelos a Bogota", "vuelo"),
        ("canciones", "canción"),
        ("contraseña", "contraseñas"),
        ("cuando es la cita con los médicos", "médico"),
        ("quién pagó el alquiler", "alquiler"),
        ("Ines", "canción"),
    ),
)
PORTUGUESE: Final = LanguageVault(
    {
        "reunião": "As reuniões com a escola são à quinta, e a próxima é sobre o orçamento.",
        "união": "A união dos moradores pediu que o portão fique fechado à noite.",
        "pão": "O pão da padaria nova é melhor do que o nosso, mas é caro.",
        "seguro": "O seguro do carro vence em junho e já foi pago pelo João.",
    },
    (
        ("reunião", "reunião"),
        ("reuniao", "reunião"),
        ("seguros", "seguro"),
        ("quem pagou o seguro", "seguro"),
        ("Joao", "seguro"),
    ),
)
RUSSIAN: Final = LanguageVault(
    {
        "ключи": "Запасные ключи от дачи лежат у соседки на третьем этаже.",
        "встреча": "На встрече с банком договорились о новой ставке по кредиту.",
        "книги": "Книги по истории стоят на верхней полке, их никто не читает.",
        "ёлка": "Ёлку в этом году купим заранее, игрушки лежат в коробке.",
        "врач": "Врач сказал, что нужно больше гулять и меньше сидеть.",
        "машина": "Зимние шины для машины лежат в гараже у дяди.",
    },
    (
        ("ключ от дачи", "ключи"),
        ("встречи", "встреча"),
        ("что решили на встрече с банком", "встреча"),
        ("книга", "книги"),
        ("елка", "ёлка"),
        ("где шины от машины", "машина"),
        ("врачи", "врач"),
    ),
)
POLISH: Final = LanguageVault(
    {
        "łódź": "Pociąg do Łodzi odjeżdża o siódmej z peronu drugiego.",
        "klucze": "Klucze do piwnicy są u sąsiadki, a zapasowe w szufladzie.",
        "lekarz": "Wizyta u lekarza jest w środę, trzeba wziąć wyniki badań.",
        "książka": "Książka o ogrodach, którą pożyczyłem od Zosi, leży na biurku.",
    },
    (
        ("Łódź", "łódź"),
        ("klucz do piwnicy", "klucze"),
        ("lekarz", "lekarz"),
        ("ksiazka", "książka"),
        ("książki o ogrodach", "książka"),
    ),
)
TURKISH: Final = LanguageVault(
    {
        "istanbul": "İstanbul'a uçak bileti cuma için alındı, dönüş pazar akşamı.",
        "anahtar": "Yazlığın anahtarları komşuda, yedeği de çekmecede duruyor.",
        "doktor": "Doktorun söylediği ilaç eczanede yok, yarın gelecek.",
        "okul": "Okulda toplantı var, çocuklar bu yüzden erken çıkacak.",
    },
    (
        ("istanbul bileti", "istanbul"),
        ("İstanbul", "istanbul"),
        ("anahtar", "anahtar"),
        ("doktor ilaç", "doktor"),
        ("okul", "okul"),
    ),
)
GREEK: Final = LanguageVault(
    {
        "κλειδιά": "Τα κλειδιά του εξοχικού είναι στο συρτάρι της κουζίνας.",
        "γιατρός": "Το ραντεβού με τον γιατρό είναι την Τρίτη στις δέκα.",
        "ασφάλεια": "Η ασφάλεια του αυτοκινήτου λήγει τον Μάιο και πληρώνεται από τον Νίκο.",
        "σχολείο": "Στο σχολείο τα παιδιά θα κάνουν γιορτή την Παρασκευή.",
    },
    (
        ("κλειδι", "κλειδιά"),
        ("γιατρος", "γιατρός"),
        ("ασφαλεια αυτοκίνητο", "ασφάλεια"),
        ("ΣΧΟΛΕΙΟ", "σχολείο"),
        ("παιδί", "σχολείο"),
    ),
)
ARABIC: Final = LanguageVault(
    {
        "مفتاح": "مفتاح البيت الصيفي عند الجارة في الطابق الثالث.",
        "مدرسة": "اجتماع أولياء الأمور في المدرسة يوم الثلاثاء بعد الظهر.",
        "طبيب": "قال الطبيب إن الدواء يؤخذ بعد الطعام مرتين في اليوم.",
        "كتاب": "الكتب التي استعرتها من أحمد موجودة على المكتب.",
    },
    (
        ("مفتاح", "مفتاح"),
        ("مدرسه", "مدرسة"),
        ("طبيب", "طبيب"),
        ("الدَّواء", "طبيب"),
        ("كتب أحمد", "كتاب"),
    ),
)
HEBREW: Final = LanguageVault(
    {
        "מפתח": "המפתח של הדירה נמצא אצל השכנה בקומה השלישית.",
        "רופא": "התור לרופא הוא ביום שלישי בעשר בבוקר.",
        "ספר": "הספר שקיבלתי מדנה מונח על השולחן בסלון.",
        "ביטוח": "ביטוח הרכב מסתיים במאי וצריך לחדש אותו.",
    },
    (
        ("מפתח", "מפתח"),
        ("רופא", "רופא"),
        ("ספר", "ספר"),
        ("בִּטּוּחַ הרכב", "ביטוח"),
        ("הביטוח", "ביטוח"),
    ),
)
HINDI: Final = LanguageVault(
    {
        "चाबी": "गाँव वाले घर की चाबी पड़ोसी के पास है।",
        "डॉक्टर": "डॉक्टर ने कहा कि दवा खाने के बाद लेनी है।",
        "बीमा": "कार का बीमा मई में समाप्त होगा और रवि भुगतान करेगा।",
        "किताब": "राधा से ली हुई किताबें मेज़ पर रखी हैं।",
    },
    (
        ("चाबी", "चाबी"),
        ("डॉक्टर की दवा", "डॉक्टर"),
        ("बीमा कब समाप्त होगा", "बीमा"),
        ("किताब", "किताब"),
        ("मेज", "किताब"),
    ),
)
THAI: Final = LanguageVault(
    {
        "กุญแจ": "กุญแจบ้านอยู่กับเพื่อนบ้านชั้นสาม",
        "หมอ": "นัดหมอวันอังคารตอนสิบโมงเช้าที่โรงพยาบาล",
        "ประกัน": "ประกันรถยนต์หมดอายุเดือนพฤษภาคมและต้องต่ออายุ",
        "โรงเรียน": "โรงเรียนปิดวันศุกร์เพราะครูไปประชุม",
        "ตลาด": "ตลาดใกล้บ้านขายผลไม้สดทุกเช้า",
    },
    (
        ("กุญแจ", "กุญแจ"),
        ("ประกันรถ", "ประกัน"),
        ("หมอนัดวันไหน", "หมอ"),
        ("โรงเรียน", "โรงเรียน"),
        ("ผลไม้", "ตลาด"),
    ),
)
CHINESE: Final = LanguageVault(
    {
        "hsk": "HSK四级考试在十二月,报名费六百元。",
        "词汇": "四级词汇表有一千二百个词,每天背二十个。",
        "iphone": "旧的iPhone手机放在书房抽屉里,密码是妈妈的生日。",
        "手机": "奶奶的手机要换电池,周末带去修。",
        "5g": "新办公室已经有5G网络,但是会议室信号不好。",
        "网络": "家里的网络每月一百元,合同到明年三月。",
        "房租": "房租每月五号付给王阿姨,押金两个月。",
        "租车": "租车公司在火车站旁边,每天三百元,房间另付。",
        "数据库": "数据库的备份每天凌晨两点自动运行。",
        "数据": "销售数据在仓库系统里,月底导出。",
        "京都": "去京都的旅行定在四月,看樱花。",
        "东京": "东京都知事选举的新闻很有意思。",
        "北京": "北京大学的图书馆需要预约。",
        "大学": "大学同学在北京,下个月来我家。",
    },
    (
        ("HSK", "hsk"),
        ("hsk 四级", "hsk"),
        ("四级词汇", "词汇"),
        ("四级考试", "hsk"),
        ("iPhone", "iphone"),
        ("iphone密码", "iphone"),
        ("5G", "5g"),
        ("5g网络", "5g"),
        ("房租", "房租"),
        ("数据库", "数据库"),
        ("数据库备份什么时候运行?", "数据库"),
        ("北京大学", "北京"),
        ("京都", "京都"),
        ("HSK4级", "hsk"),
    ),
)
JAPANESE: Final = LanguageVault(
    {
        "会議": "会議の議事録は佐藤さんが書きます。次は木曜日です。",
        "会社": "会社の議題はまだ決まっていません。",
        "予約": "レストランの予約は金曜日の七時、四人です。",
        "保険": "車の保険は五月に切れるので、更新が必要です。",
        "鍵": "別荘の鍵は隣の家に預けてあります。",
        "カタカナ": "サーバーのログは毎晩削除される設定になっている。",
        "読む": "この本は二回読んだが、もう一度読みたい。",
        "東京": "東京タワーの近くのホテルに泊まった。",
        "京都": "京都で食べた豆腐がおいしかった。",
    },
    (
        ("議事録", "会議"),
        ("会議の議事録は誰が書く", "会議"),
        ("レストラン予約", "予約"),
        ("保険の更新", "保険"),
        ("鍵", "鍵"),
        ("サーバ ログ", "カタカナ"),
        ("ｻｰﾊﾞｰ", "カタカナ"),
        ("本を読む", "読む"),
        ("京都", "京都"),
    ),
)
KOREAN: Final = LanguageVault(
    {
        "회의": "회의에서 김 대리가 예산을 발표했다.",
        "회사": "회사에서 의자를 새로 샀다.",
        "여행": "제주도 여행은 오월에 가기로 했다.",
        "보험": "자동차보험은 오월에 만료된다.",
        "열쇠": "시골집 열쇠는 옆집에 맡겼다.",
        "병원": "병원 예약은 화요일 열 시이다.",
    },
    (
        ("회의", "회의"),
        ("회의에서", "회의"),
        ("회의는 누가 발표", "회의"),
        ("보험", "보험"),
        ("자동차 보험", "보험"),
        ("열쇠를", "열쇠"),
        ("병원에 예약", "병원"),
        ("제주도", "여행"),
    ),
)
ENGLISH: Final = LanguageVault(
    {
        "resume": "My résumé is in the shared folder, Zoë has read it.",
        "meeting": "We resumed the meeting after lunch and agreed on the budget.",
        "understanding": "Our understanding of the contract is that it ends in May.",
        "standing": "The standing order for the rent goes out on the first.",
        "rate": "The interest rate of the loan is fixed for ten years.",
        "separate": "Keep separate bins for glass and paper.",
        "keys": "The keys of the cabin hang beside the door.",
    },
    (
        ("résumé", "resume"),
        ("Zoe", "resume"),
        ("rate", "rate"),
        ("standing order", "standing"),
        ("key", "keys"),
    ),
)

VAULTS: Final = {
    "german": GERMAN,
    "dutch": DUTCH,
    "swedish": SWEDISH,
    "danish": DANISH,
    "norwegian": NORWEGIAN,
    "finnish": FINNISH,
    "french": FRENCH,
    "spanish": SPANISH,
    "portuguese": PORTUGUESE,
    "russian": RUSSIAN,
    "polish": POLISH,
    "turkish": TURKISH,
    "greek": GREEK,
    "arabic": ARABIC,
    "hebrew": HEBREW,
    "hindi": HINDI,
    "thai": THAI,
    "chinese": CHINESE,
    "japanese": JAPANESE,
    "korean": KOREAN,
    "english": ENGLISH,
}
