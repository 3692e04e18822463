"""Codes of languages (ISO 639, BCP 47): one form for each, its English name, and the one of several that fits."""

import re
from collections.abc import Iterable

TAG = re.compile(r"([A-Za-z]{2,3})((?:[-_][A-Za-z0-9]{2,8})*)")
# Two letters and, where people write them, three; without `bak` of Bashkir, which is the ending of a backup.
LISTED = """
aa aar Afar, ab abk Abkhazian, ae ave Avestan, af afr Afrikaans, ak aka Akan, am amh Amharic, an arg Aragonese, ar ara
Arabic, as asm Assamese, av ava Avaric, ay aym Aymara, az aze Azerbaijani, ba Bashkir, be bel Belarusian, bg bul
Bulgarian, bi bis Bislama, bm bam Bambara, bn ben Bengali, bo bod Tibetan, br bre Breton, bs bos Bosnian, ca cat
Catalan, ce che Chechen, ch cha Chamorro, co cos Corsican, cr cre Cree, cs ces cze Czech, cu chu Church Slavic, cv chv
Chuvash, cy cym wel Welsh, da dan Danish, de deu ger German, dv div Dhivehi, dz dzo Dzongkha, ee ewe Ewe, el ell gre
Greek, en eng English, eo epo Esperanto, es spa Spanish, et est Estonian, eu eus baq Basque, fa fas per Persian, ff ful
Fulah, fi fin Finnish, fj fij Fijian, fo fao Faroese, fr fra fre French, fy fry Western Frisian, ga gle Irish, gd gla
Scottish Gaelic, gl glg Galician, gn grn Guarani, gu guj Gujarati, gv glv Manx, ha hau Hausa, he heb Hebrew, hi hin
Hindi, ho hmo Hiri Motu, hr hrv Croatian, ht hat Haitian Creole, hu hun Hungarian, hy hye Armenian, hz her Herero, ia
ina Interlingua, id ind Indonesian, ie ile Interlingue, ig ibo Igbo, ii iii Sichuan Yi, ik ipk Inupiaq, io ido Ido, is
isl ice Icelandic, it ita Italian, iu iku Inuktitut, ja jpn Japanese, jv jav Javanese, ka kat geo Georgian, kg kon
Kongo, ki kik Kikuyu, kj kua Kuanyama, kk kaz Kazakh, kl kal Kalaallisut, km khm Khmer, kn kan Kannada, ko kor Korean,
kr kau Kanuri, ks kas Kashmiri, ku kur Kurdish, kv kom Komi, kw cor Cornish, ky kir Kyrgyz, la lat Latin, lb ltz
Luxembourgish, lg lug Ganda, li lim Limburgish, ln lin Lingala, lo lao Lao, lt lit Lithuanian, lu lub Luba-Katanga, lv
lav Latvian, mg mlg Malagasy, mh mah Marshallese, mi mri Maori, mk mkd mac Macedonian, ml mal Malayalam, mn mon
Mongolian, mr mar Marathi, ms msa may Malay, mt mlt Maltese, my mya bur Burmese, na nau Nauru, nb nob Norwegian Bokmål,
nd nde North Ndebele, ne nep Nepali, ng ndo Ndonga, nl nld dut Dutch, nn nno Norwegian Nynorsk, no nor Norwegian, nr
nbl South Ndebele, nv nav Navajo, ny nya Chichewa, oc oci Occitan, oj oji Ojibwa, om orm Oromo, or ori Odia, os oss
Ossetian, pa pan Punjabi, pi pli Pali, pl pol Polish, ps pus Pashto, pt por Portuguese, qu que Quechua, rm roh Romansh,
rn run Rundi, ro ron rum Romanian, ru rus Russian, rw kin Kinyarwanda, sa san Sanskrit, sc srd Sardinian, sd snd
Sindhi, se sme Northern Sami, sg sag Sango, si sin Sinhala, sk slk slo Slovak, sl slv Slovenian, sm smo Samoan, sn sna
Shona, so som Somali, sq sqi alb Albanian, sr srp Serbian, ss ssw Swati, st sot Southern Sotho, su sun Sundanese, sv
swe Swedish, sw swa Swahili, ta tam Tamil, te tel Telugu, tg tgk Tajik, th tha Thai, ti tir Tigrinya, tk tuk Turkmen,
tl tgl Tagalog, tn tsn Tswana, to ton Tonga, tr tur Turkish, ts tso Tsonga, tt tat Tatar, tw twi Twi, ty tah Tahitian,
ug uig Uyghur, uk ukr Ukrainian, ur urd Urdu, uz uzb Uzbek, ve ven Venda, vi vie Vietnamese, vo vol Volapük, wa wln
Walloon, wo wol Wolof, xh xho Xhosa, yi yid Yiddish, yo yor Yoruba, za zha Zhuang, zh zho chi Chinese, zu zul Zulu
"""
# Of the collections of OPUS and FLORES, without a code of two letters.
THREE_LETTERS = """
ace acm acq aeb ajp als apc arb arn ars ary arz ast awa ayr azb azj ban ber bem bho bjn brx bug ceb cjk ckb cmn crh csb
dik doi dsb dyu ekk fil fon frp frr fur fuv gaz gcf gom gos gsw gug hne haw hil hmn hsb ilo jbo kab kac kam kbp kea khk
kmb kmr knc krl lij lld lmo ltg lua luo lus lvs mag mai mfe mhr min mni mos mrj mwl myv nap nds npi nso nus oji ory pag
pam pap pbt pcm pes plt pms prs quy quz rom rue sah sat scn sco sgs shn smn sms srn stq swg swh szl taq tpi tum tvl tyv
tzm udm umb uzn vec vep vls vro war wuu ydd yua yue zgh zlm zsm zza
"""
CODES, NAMES = {code: code for code in THREE_LETTERS.split()}, dict[str, str]()  # any code -> the shortest -> its name
for codes, name in re.findall(r"((?:[a-z]+ )+)([A-Z][^,]*)", " ".join(LISTED.split())):
    CODES |= dict.fromkeys(codes.split(), codes[:2])
    NAMES[codes[:2]] = name


def tag(text: str) -> str | None:
    """The usual form of a language's code: `FR` and `fra` are `fr`, `pt_br` is `pt-BR`; None if it is no language."""
    match = TAG.fullmatch(text)
    if not match or match[1].lower() not in CODES:
        return None
    parts = re.split("[-_]", match[2].lower())[1:]
    shaped = [part.upper() if len(part) == 2 else part.title() if len(part) == 4 else part for part in parts]
    return "-".join([CODES[match[1].lower()], *shaped])


def match(wanted: str, available: Iterable[str]) -> str | None:
    """The code among `available` that is `wanted`, else that of its language without a region, else the only other."""
    known = {tag(code) or code.lower(): code for code in available}
    key = tag(wanted) or wanted.lower()
    language = key.split("-")[0]
    regional = [code for form, code in known.items() if form.startswith(f"{language}-") and key == language]
    return known.get(key) or known.get(language) or (regional[0] if len(regional) == 1 else None)


def of_file(name: str) -> str | None:
    """The language in a file's name: the last ending that is one (`talk.fr.doc`: `fr`); a pair, `de-en`, is none."""
    endings = [ending for ending in name.split(".")[1:] if not re.fullmatch("[a-z]{2,3}-[a-z]{2,3}", ending)]
    return next(filter(None, map(tag, reversed(endings))), None)


def name_of(code: str) -> str:
    """The English name of a language; its code if it is not in the list."""
    return NAMES.get(code, code)
