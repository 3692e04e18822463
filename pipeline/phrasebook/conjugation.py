"""French verbs: present, imparfait, futur, participle and auxiliary, by rule and by the tables of what has none."""

from functools import cache

# infinitive: the six persons of the present, the past participle, the stem of the future
IRREGULAR = {
    "aller": ("vais vas va allons allez vont", "allé", "ir"),
    "apprendre": ("apprends apprends apprend apprenons apprenez apprennent", "appris", "apprendr"),
    "avoir": ("ai as a avons avez ont", "eu", "aur"),
    "boire": ("bois bois boit buvons buvez boivent", "bu", "boir"),
    "comprendre": ("comprends comprends comprend comprenons comprenez comprennent", "compris", "comprendr"),
    "conduire": ("conduis conduis conduit conduisons conduisez conduisent", "conduit", "conduir"),
    "connaître": ("connais connais connaît connaissons connaissez connaissent", "connu", "connaîtr"),
    "courir": ("cours cours court courons courez courent", "couru", "courr"),
    "croire": ("crois crois croit croyons croyez croient", "cru", "croir"),
    "devenir": ("deviens deviens devient devenons devenez deviennent", "devenu", "deviendr"),
    "devoir": ("dois dois doit devons devez doivent", "dû", "devr"),
    "dire": ("dis dis dit disons dites disent", "dit", "dir"),
    "dormir": ("dors dors dort dormons dormez dorment", "dormi", "dormir"),
    "écrire": ("écris écris écrit écrivons écrivez écrivent", "écrit", "écrir"),
    "envoyer": ("envoie envoies envoie envoyons envoyez envoient", "envoyé", "enverr"),
    "être": ("suis es est sommes êtes sont", "été", "ser"),
    "faire": ("fais fais fait faisons faites font", "fait", "fer"),
    "lire": ("lis lis lit lisons lisez lisent", "lu", "lir"),
    "mettre": ("mets mets met mettons mettez mettent", "mis", "mettr"),
    "ouvrir": ("ouvre ouvres ouvre ouvrons ouvrez ouvrent", "ouvert", "ouvrir"),
    "partir": ("pars pars part partons partez partent", "parti", "partir"),
    "peindre": ("peins peins peint peignons peignez peignent", "peint", "peindr"),
    "pouvoir": ("peux peux peut pouvons pouvez peuvent", "pu", "pourr"),
    "prendre": ("prends prends prend prenons prenez prennent", "pris", "prendr"),
    "rire": ("ris ris rit rions riez rient", "ri", "rir"),
    "savoir": ("sais sais sait savons savez savent", "su", "saur"),
    "servir": ("sers sers sert servons servez servent", "servi", "servir"),
    "sortir": ("sors sors sort sortons sortez sortent", "sorti", "sortir"),
    "venir": ("viens viens vient venons venez viennent", "venu", "viendr"),
    "voir": ("vois vois voit voyons voyez voient", "vu", "verr"),
    "vouloir": ("veux veux veut voulons voulez veulent", "voulu", "voudr"),
}
MOVERS = {"aller", "arriver", "devenir", "entrer", "partir", "rentrer", "rester", "retourner", "sortir", "venir"}
# The stem of -er verbs before a silent ending: j'achète, je préfère, j'appelle, nous nettoyons but je nettoie.
SILENT_STEMS = {"achet": "achèt", "lev": "lèv", "promen": "promèn", "préfér": "préfèr", "appel": "appell"}
KEPT_IN_FUTURE = {"préfér"}  # je préférerai, but j'achèterai
IMPARFAIT = ("ais", "ais", "ait", "ions", "iez", "aient")
FUTUR = ("ai", "as", "a", "ons", "ez", "ont")


@cache
def present(infinitive: str, person: int) -> str:
    """The present; persons 0 to 5 are je, tu, il, nous, vous, ils."""
    if infinitive in IRREGULAR:
        return IRREGULAR[infinitive][0].split()[person]
    stem, ending = infinitive[:-2], infinitive[-2:]
    if ending == "er":
        form = (silent(stem) if person in (0, 1, 2, 5) else stem) + ("e", "es", "e", "ons", "ez", "ent")[person]
        return soften(form)
    if ending == "ir":
        return stem + ("is", "is", "it", "issons", "issez", "issent")[person]
    return stem + ("s", "s", "", "ons", "ez", "ent")[person]


@cache
def imparfait(infinitive: str, person: int) -> str:
    """The imparfait: the stem of the nous form of the present, but for être."""
    stem = "ét" if infinitive == "être" else present(infinitive, 3).removesuffix("ons")
    form = stem + IMPARFAIT[person]
    return form.replace("geions", "gions").replace("geiez", "giez").replace("çions", "cions").replace("çiez", "ciez")


@cache
def futur(infinitive: str, person: int) -> str:
    """The simple future."""
    if infinitive in IRREGULAR:
        return IRREGULAR[infinitive][2] + FUTUR[person]
    stem = infinitive[:-2]
    if infinitive.endswith("er") and stem not in KEPT_IN_FUTURE:
        return silent(stem) + "er" + FUTUR[person]
    return infinitive.removesuffix("e") + FUTUR[person]


@cache
def participle(infinitive: str) -> str:
    """The past participle, masculine singular."""
    if infinitive in IRREGULAR:
        return IRREGULAR[infinitive][1]
    return infinitive[:-2] + {"er": "é", "ir": "i", "re": "u"}[infinitive[-2:]]


def auxiliary(infinitive: str) -> str:
    """`être` for the verbs of moving and staying, `avoir` for the others; reflexive verbs are the caller's to know."""
    return "être" if infinitive in MOVERS else "avoir"


def silent(stem: str) -> str:
    """The stem of an -er verb before a silent e."""
    for plain, changed in SILENT_STEMS.items():
        if stem.endswith(plain):
            return stem.removesuffix(plain) + changed
    return stem[:-1] + "i" if stem.endswith(("oy", "uy", "ay")) else stem


def soften(form: str) -> str:
    """`mangons` as `mangeons`, `commencons` as `commençons`."""
    return form.replace("gons", "geons").replace("cons", "çons")
