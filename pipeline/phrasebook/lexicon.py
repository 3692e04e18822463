"""The words of the phrasebook in classes that go together: what is eaten, worn, lived in, said of people."""

from dataclasses import dataclass

from pipeline.phrasebook.words import Adjective, Expression, Name, Noun, Number, Verb


def nouns(*lines: str, number: Number = "both") -> tuple[Noun, ...]:
    """Nouns from lines such as `pomme f apple`."""
    return tuple(Noun(*gendered(line), number) for line in lines)


def names(*lines: str) -> tuple[Name, ...]:
    """Names from lines such as `Londres f London`."""
    return tuple(Name(*gendered(line)) for line in lines)


def gendered(line: str) -> tuple[str, str, bool]:
    """(French, English, whether feminine) of a line."""
    gender = " f " if " f " in line else " m "
    french, english = line.split(gender)
    return french, english, gender == " f "


def split(line: str) -> tuple[str, str]:
    """(French, English) of a line such as `se lever = get up`."""
    french, english = line.split(" = ")
    return french, english


def verbs(*lines: str) -> tuple[Verb, ...]:
    """Verbs from lines such as `attendre = wait for`."""
    return tuple(Verb(*split(line)) for line in lines)


def adjectives(*lines: str, before: bool = False) -> tuple[Adjective, ...]:
    """Adjectives from lines such as `rouge = red`."""
    return tuple(Adjective(*split(line), before) for line in lines)


def expressions(*lines: str) -> tuple[Expression, ...]:
    """Expressions from lines such as `demain = tomorrow`."""
    return tuple(Expression(*split(line)) for line in lines)


@dataclass(frozen=True)
class Frame:
    """Nouns, the adjectives that fit each of them, and the verbs that take them.

    `lasting` verbs can go on while one looks, `sudden` ones happen, and one may do the `usual` ones every week.
    """

    nouns: tuple[Noun, ...]
    adjectives: tuple[Adjective, ...]
    lasting: tuple[Verb, ...] = ()
    sudden: tuple[Verb, ...] = ()
    usual: tuple[Verb, ...] = ()


EAT, DRINK, BUY, SELL = verbs("manger = eat", "boire = drink", "acheter = buy", "vendre = sell")
PREPARE, SERVE, ORDER, TASTE = verbs("préparer = prepare", "servir = serve", "commander = order", "goûter = taste")
WEAR, WASH, CHOOSE = verbs("porter = wear", "laver = wash", "choisir = choose")
READ, WRITE, FINISH, SEND = verbs("lire = read", "écrire = write", "finir = finish", "envoyer = send")
SEEK, FIND, LOSE, FORGET = verbs("chercher = look for", "trouver = find", "perdre = lose", "oublier = forget")
BRING, HIDE, TAKE, KEEP = verbs("apporter = bring", "cacher = hide", "prendre = take", "garder = keep")
REPAIR, BREAK, CLEAN = verbs("réparer = repair", "casser = break", "nettoyer = clean")
OPEN, CLOSE, WATCH, HEAR = verbs("ouvrir = open", "fermer = close", "regarder = watch", "écouter = listen to")
PAINT, DRAW, VISIT = verbs("peindre = paint", "dessiner = draw", "visiter = visit")
GIVE, SHOW, LEND = verbs("donner = give", "montrer = show", "prêter = lend")

BIG, SMALL, OLD, NEW = adjectives("grand = big", "petit = small", "vieux = old", "nouveau = new", before=True)
BEAUTIFUL, PRETTY, GOOD, LONG = adjectives(
    "beau = beautiful", "joli = pretty", "bon = good", "long = long", before=True
)
COLOURS = adjectives(
    "rouge = red", "bleu = blue", "vert = green", "noir = black", "blanc = white", "jaune = yellow", "gris = gray"
)  # fmt: skip
FRESH, DELICIOUS, COLD = adjectives("frais = fresh", "délicieux = delicious", "froid = cold")
EXPENSIVE, HEAVY, LIGHT = adjectives("cher = expensive", "lourd = heavy", "léger = light")
USEFUL, MODERN, FAMOUS, DIRTY = adjectives("utile = useful", "moderne = modern", "célèbre = famous", "sale = dirty")
INTERESTING, STRANGE = adjectives("intéressant = interesting", "étrange = strange")
COMFORTABLE, QUIET = adjectives("confortable = comfortable", "tranquille = quiet")
PRACTICAL, SOLID = adjectives("pratique = practical", "solide = sturdy")

FRUIT = Frame(
    nouns("pomme f apple", "orange f orange", "banane f banana", "fraise f strawberry", "tomate f tomato", "œuf m egg")
    + nouns("poire f pear", "carotte f carrot", "cerise f cherry", "citron m lemon", "haricot m bean"),
    (FRESH, DELICIOUS),
    (EAT, BUY, WASH, CHOOSE),
    (EAT, BUY, BRING, CHOOSE),
    (EAT, BUY),
)
STAPLES = Frame(
    nouns("pain m bread", "fromage m cheese", "riz m rice", "viande f meat", "poisson m fish", number="mass")
    + nouns("chocolat m chocolate", "beurre m butter", "confiture f jam", "soupe f soup", number="mass"),
    (GOOD, DELICIOUS),
    (EAT, BUY, TASTE),
    (EAT, BUY, BRING, TASTE),
    (EAT, BUY),
)
DISHES = Frame(
    nouns(
        "gâteau m cake", "salade f salad", "sandwich m sandwich", "tarte f pie", "crêpe f pancake", "omelette f omelet"
    ),
    (GOOD, DELICIOUS, COLD),
    (EAT, PREPARE, SERVE, ORDER),
    (PREPARE, ORDER, EAT, CHOOSE),
    (PREPARE, EAT, ORDER),
)
DRINKS = Frame(
    nouns("eau f water", "thé m tea", "café m coffee", "lait m milk", "jus d'orange m orange juice", number="mass")
    + nouns("vin m wine", "bière f beer", "limonade f lemonade", number="mass"),
    (GOOD, COLD),
    (DRINK, BUY, SERVE, ORDER),
    (DRINK, BUY, SERVE, ORDER, BRING),
    (DRINK, BUY, ORDER),
)
CLOTHES = Frame(
    nouns("manteau m coat", "chemise f shirt", "robe f dress", "chapeau m hat", "écharpe f scarf", "jupe f skirt")
    + nouns("pull m sweater", "veste f jacket", "cravate f tie", "imperméable m raincoat", "uniforme m uniform")
    + nouns("chaussures f shoes", "gants m gloves", "lunettes f glasses", "bottes f boots", number="plural"),
    (*COLOURS, BEAUTIFUL, NEW, OLD, PRETTY, EXPENSIVE),
    (WEAR, CHOOSE, WASH, BUY),
    (BUY, CHOOSE, SELL, LOSE, FIND),
    (WEAR, BUY, WASH),
)
EITHER = Frame(tuple(noun for noun in CLOTHES.nouns if noun.english not in ("dress", "skirt")), CLOTHES.adjectives)
TEXTS = Frame(
    nouns("livre m book", "lettre f letter", "poème m poem", "histoire f story", "message m message")
    + nouns("roman m novel", "article m article"),
    (LONG, INTERESTING, STRANGE, BEAUTIFUL, NEW),
    (READ, WRITE, FINISH),
    (READ, WRITE, SEND, FINISH),
    (READ, WRITE),
)
THINGS = Frame(
    nouns("clé f key", "stylo m pen", "sac m bag", "valise f suitcase", "montre f watch", "parapluie m umbrella")
    + nouns("bouteille f bottle", "boîte f box", "couteau m knife", "assiette f plate", "tasse f cup", "bague f ring")
    + nouns("miroir m mirror", "guitare f guitar", "journal m newspaper", "billet m ticket", "cadeau m gift")
    + nouns("photo f photo", "fleur f flower", "carte postale f postcard"),
    (*COLOURS[:3], SMALL, BEAUTIFUL, OLD, NEW, PRETTY),
    (SEEK, HIDE, SELL),
    (FIND, LOSE, FORGET, BRING, HIDE, KEEP, BUY, TAKE),
    (SELL, LOSE),
)
MACHINES = Frame(
    nouns("vélo m bike", "téléphone m phone", "ordinateur m computer", "lampe f lamp", "voiture f car", "radio f radio")
    + nouns("horloge f clock", "machine f machine", "moteur m engine", "camion m truck"),
    (*COLOURS[1:5], OLD, NEW, MODERN, SMALL),
    (REPAIR, CLEAN, SELL),
    (REPAIR, BREAK, CLEAN, BUY, SELL),
    (REPAIR, CLEAN, SELL),
)
FURNITURE = Frame(
    nouns("chaise f chair", "lit m bed", "fauteuil m armchair", "canapé m sofa", "table f table", "bureau m desk")
    + nouns("armoire f wardrobe", "étagère f shelf"),
    (*COLOURS[2:5], OLD, NEW, BIG, SMALL),
    (REPAIR, PAINT, CLEAN, SEEK),
    (BUY, SELL, REPAIR, PAINT),
    (REPAIR, PAINT, CLEAN),
)
SHOWS = Frame(
    nouns("film m movie", "match m game", "spectacle m show", "pièce f play", "dessin animé m cartoon"),
    (LONG, INTERESTING, STRANGE, GOOD, NEW),
    (WATCH,),
    (WATCH,),
    (WATCH,),
)
MUSIC = Frame(
    nouns("chanson f song", "disque m record", "concert m concert", "histoire f story"),
    (BEAUTIFUL, LONG, STRANGE, NEW, OLD),
    (HEAR,),
    (HEAR,),
    (HEAR,),
)
DRAWABLE = Frame(
    nouns("chien m dog", "chat m cat", "cheval m horse", "oiseau m bird", "vache f cow", "souris f mouse")
    + nouns("lapin m rabbit", "poule f hen", "mouton m sheep", "arbre m tree", "bateau m boat", "avion m plane"),
    (*COLOURS[:5], BIG, SMALL, BEAUTIFUL, OLD),
    (DRAW, PAINT),
    (DRAW, PAINT),
    (DRAW, PAINT),
)
CONSUMED = (FRUIT, STAPLES, DISHES, DRINKS)
ANIMALS = DRAWABLE.nouns[:9]
UNGIVEN = ("uniform", "key", "box", "knife", "newspaper", "ticket", "bottle", "truck", "computer", "skirt", "dress")
SHUT = Frame(
    nouns("porte f door", "fenêtre f window", "rideau m curtain", "tiroir m drawer", "garage m garage"),
    (*COLOURS[1:5], BIG, SMALL, OLD),
    (OPEN, CLOSE, PAINT),
    (OPEN, CLOSE, PAINT),
    (OPEN, CLOSE),
)
OWNED = (CLOTHES, TEXTS, THINGS, MACHINES, FURNITURE)
FRAMES = (*CONSUMED, *OWNED, SHOWS, MUSIC, DRAWABLE)
GIFTS = Frame(
    tuple(noun for noun in CLOTHES.nouns + THINGS.nouns + MACHINES.nouns[:5] if noun.english not in UNGIVEN)
    + TEXTS.nouns[:1]
    + TEXTS.nouns[5:6]
    + MUSIC.nouns[1:2]
    + ANIMALS[:2],
    (*COLOURS[1:4], SMALL, BEAUTIFUL, NEW, PRETTY),
)

BUILDINGS = nouns("maison f house", "hôtel m hotel", "gare f train station", "hôpital m hospital", "musée m museum")
BUILDINGS += nouns("bibliothèque f library", "restaurant m restaurant", "église f church", "boulangerie f bakery")
BUILDINGS += nouns("théâtre m theater", "banque f bank", "pharmacie f pharmacy", "château m castle", "usine f factory")
BUILDINGS += nouns("magasin m store", "école f school", "poste f post office", "aéroport m airport", "marché m market")
BUILDINGS += nouns("piscine f swimming pool", "parc m park", "stade m stadium", "jardin m garden", "plage f beach")
TOWN = tuple(noun for noun in BUILDINGS if noun.english not in ("beach", "airport", "castle", "stadium", "garden"))
GOALS = BUILDINGS[1:15] + BUILDINGS[16:-2] + BUILDINGS[-1:]
SIGHTS = (
    *nouns("pont m bridge", "village m village", "rue f street", "place f square", "tour f tower"),
    *BUILDINGS[:3],
)
SIGHTS += (BUILDINGS[4], BUILDINGS[7], BUILDINGS[9], BUILDINGS[12], BUILDINGS[-2])
SIGHT_ADJECTIVES = (BIG, SMALL, OLD, BEAUTIFUL, FAMOUS, MODERN, QUIET, NEW, PRETTY)
OUTDOORS = tuple(noun for noun in GOALS if noun.english in ("beach", "park", "swimming pool", "stadium", "market"))
INDOORS = tuple(noun for noun in BUILDINGS[1:12] if noun.english not in ("train station", "hospital", "bank"))
ROOMS = nouns("cuisine f kitchen", "salon m living room", "chambre f bedroom", "grenier m attic", "cave f cellar")
ROOMS += (*nouns("salle de bains f bathroom", "couloir m hallway"), SHUT.nouns[-1])

PEOPLE = nouns("médecin m doctor", "professeur m teacher", "boulanger m baker", "infirmière f nurse", "avocat m lawyer")
PEOPLE += nouns("serveur m waiter", "serveuse f waitress", "facteur m mailman", "étudiant m student", "acteur m actor")
PEOPLE += nouns(
    "actrice f actress", "chanteur m singer", "chanteuse f singer", "fermier m farmer", "dentiste m dentist"
)
PEOPLE += nouns("cuisinier m cook", "journaliste m journalist", "policier m police officer", "étudiante f student")
JOBS = PEOPLE
PEOPLE += nouns("garçon m boy", "fille f girl", "femme f woman", "homme m man", "enfant m child", "touriste m tourist")
KIN = nouns("frère m brother", "sœur f sister", "père m father", "mère f mother", "oncle m uncle", "tante f aunt")
KIN += nouns("cousin m cousin", "cousine f cousin", "ami m friend", "amie f friend", "voisin m neighbor")
KIN += nouns("voisine f neighbor", "grand-mère f grandmother", "grand-père m grandfather", "fils m son")
PEERS = KIN[:2] + KIN[6:12]
CHILDREN = tuple(noun for noun in PEOPLE if noun.english in ("boy", "girl", "child"))
SINGULAR_KIN = {"father", "mother", "grandfather", "grandmother"}
FIRST_NAMES = names("Marie f Marie", "Paul m Paul", "Anne f Anne", "Lucas m Lucas", "Claire f Claire", "Louis m Louis")
FIRST_NAMES += names("Sophie f Sophie", "Antoine m Antoine", "Julie f Julie", "Thomas m Thomas", "Émilie f Émilie")
CITIES = names("Paris m Paris", "Lyon m Lyon", "Londres m London", "Rome m Rome", "Bruxelles m Brussels")
CITIES += names("Genève m Geneva", "Marseille m Marseille", "Berlin m Berlin", "Athènes m Athens")
COUNTRIES = names("France f France", "Espagne f Spain", "Italie f Italy", "Allemagne f Germany", "Japon m Japan")
COUNTRIES += names("Canada m Canada", "Angleterre f England", "Portugal m Portugal", "Mexique m Mexico")
LANGUAGES = nouns("anglais m English", "français m French", "espagnol m Spanish", "allemand m German", number="mass")
LANGUAGES += nouns("italien m Italian", "japonais m Japanese", "chinois m Chinese", number="mass")
INSTRUMENTS = nouns("piano m piano", "violon m violin", "flûte f flute", "trompette f trumpet", "guitare f guitar")
SPORTS = nouns("football m soccer", "tennis m tennis", "rugby m rugby", "basket m basketball", number="mass")
BODY = nouns("tête f head", "dos m back", "ventre m stomach")
BODY += nouns("pieds m feet", "dents f teeth", "yeux m eyes", number="plural")

MOODS = adjectives("fatigué = tired", "heureux = happy", "triste = sad", "malade = sick", "inquiet = worried")
MOODS += adjectives("fier = proud", "calme = calm", "nerveux = nervous", "surpris = surprised", "déçu = disappointed")
CHARACTERS = adjectives("gentil = kind", "intelligent = intelligent", "drôle = funny", "sérieux = serious")
CHARACTERS += adjectives("timide = shy", "patient = patient", "courageux = brave", "paresseux = lazy", "poli = polite")
CHARACTERS += adjectives(
    "curieux = curious", "généreux = generous", "riche = rich", "jeune = young", "discret = discreet"
)
ACTIVITIES = verbs("travailler = work", "dormir = sleep", "chanter = sing", "danser = dance", "nager = swim")
ACTIVITIES += verbs("courir = run", "cuisiner = cook", "étudier = study", "voyager = travel", "marcher = walk")
ACTIVITIES += verbs("pleurer = cry", "rire = laugh")
SKILLS = ACTIVITIES[2:5] + ACTIVITIES[6:7] + verbs("conduire = drive", "dessiner = draw", "skier = ski")
ROUTINES = verbs("se lever = get up", "se coucher = go to bed", "se réveiller = wake up", "s'habiller = get dressed")
ROUTINES += verbs("se laver = wash", "se promener = go for a walk", "se reposer = rest", "partir = leave")
MEETINGS = verbs("inviter = invite", "aider = help", "appeler = call", "rencontrer = meet", "attendre = wait for")
MEETINGS += verbs("remercier = thank", "voir = see", "écouter = listen to")
GO, RETURN, COME, ARRIVE = verbs("aller = go", "retourner = return", "venir = come", "arriver = arrive")
SEE, TALK, STAY = verbs("voir = see", "parler = talk", "rester = stay")
MODALS = verbs("pouvoir = can", "devoir = have", "vouloir = want")
CAN, MUST = MODALS[:2]
SPEAK, LEARN, KNOW, KNOW_HOW = verbs("parler = speak", "apprendre = learn", "connaître = know", "savoir = know how")
PLAY, THINK, SAY, BELIEVE = verbs("jouer = play", "penser = think", "dire = say", "croire = believe")
LIVE, TRAVEL, COST = verbs("habiter = live", "voyager = travel", "coûter = cost")

NUMBERS = expressions("deux = two", "trois = three", "quatre = four", "cinq = five", "six = six", "sept = seven")
NUMBERS += expressions("huit = eight", "neuf = nine", "dix = ten", "onze = eleven", "douze = twelve")
HOURS = NUMBERS[:10]
LARGE_NUMBERS = expressions("treize = thirteen", "quinze = fifteen", "dix-huit = eighteen", "vingt = twenty")
LARGE_NUMBERS += expressions("trente = thirty", "quarante = forty", "cinquante = fifty", "soixante = sixty")
DAYS = expressions("lundi = Monday", "mardi = Tuesday", "mercredi = Wednesday", "jeudi = Thursday")
DAYS += expressions("vendredi = Friday", "samedi = Saturday", "dimanche = Sunday")
MONTHS = expressions("janvier = January", "mars = March", "avril = April", "juin = June", "juillet = July")
MONTHS += expressions("août = August", "octobre = October", "décembre = December")
SEASONS = expressions("au printemps = in the spring", "en été = in the summer", "en automne = in the fall")
SEASONS += expressions("en hiver = in the winter")
PAST_TIMES = expressions("hier = yesterday", "hier soir = last night", "ce matin = this morning")
PAST_TIMES += expressions("la semaine dernière = last week", "le mois dernier = last month")
FUTURE_TIMES = expressions("demain = tomorrow", "demain matin = tomorrow morning", "la semaine prochaine = next week")
FUTURE_TIMES += expressions("le mois prochain = next month", "l'année prochaine = next year")
USUAL_TIMES = expressions("le matin = in the morning", "le soir = in the evening", "le week-end = on weekends")
USUAL_TIMES += expressions("en vacances = on vacation", "tous les jours = every day", "chaque semaine = every week")
FREQUENCIES = expressions("souvent = often", "toujours = always", "parfois = sometimes", "rarement = rarely")
DEGREES = expressions("très = very", "vraiment = really", "assez = quite")
TOO = expressions("trop = too")[0]
WHEREABOUTS = expressions(
    "sur = on", "sous = under", "derrière = behind", "devant = in front of", "à côté de = next to"
)
BAD_WEATHER = expressions("il pleut = it rains", "il neige = it snows", "il fait froid = it is cold")
GOOD_WEATHER = expressions("il fait beau = the weather is nice", "il fait chaud = it is hot")
ARRIVALS = (ARRIVE, *verbs("entrer = come in", "rentrer = come home", "partir = leave"))
LEAVINGS = verbs("partir = leave", "travailler = work", "manger = eat", "dormir = sleep", "étudier = study")
HAVE = Verb("avoir", "have")
VEHICLES = nouns("train m train", "bus m bus", "avion m plane", "vol m flight")
# These stand in one or two patterns only: were a combination of theirs reserved, training might never see them.
NARROW = frozenset((*INSTRUMENTS, *SPORTS, *BODY, *LANGUAGES, *VEHICLES, *ACTIVITIES, *ROUTINES, *LEAVINGS))
