"""English names of languages by their codes (ISO 639-1), as LibreTranslate and Argos Translate list them."""

LISTED = """
ar Arabic, bg Bulgarian, ca Catalan, cs Czech, da Danish, de German, el Greek, en English, es Spanish, et
Estonian, eu Basque, fa Persian, fi Finnish, fr French, ga Irish, gl Galician, he Hebrew, hi Hindi, hr
Croatian, hu Hungarian, id Indonesian, is Icelandic, it Italian, ja Japanese, ko Korean, lt Lithuanian, lv
Latvian, mk Macedonian, mt Maltese, nb Norwegian Bokmål, nl Dutch, pl Polish, pt Portuguese, ro Romanian, ru
Russian, sk Slovak, sl Slovenian, sq Albanian, sr Serbian, sv Swedish, th Thai, tr Turkish, uk Ukrainian, vi
Vietnamese, zh Chinese
"""
NAMES = dict(pair.split(" ", 1) for pair in LISTED.replace("\n", " ").strip().split(", "))


def language_name(code: str) -> str:
    """The name of a language; its code if it is not in the list."""
    return NAMES.get(code, code)
