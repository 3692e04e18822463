"""French verbs against tables written by hand."""

import pytest

from pipeline.phrasebook import conjugation


@pytest.mark.parametrize(
    ("infinitive", "present"),
    [
        ("acheter", "achète achètes achète achetons achetez achètent"),
        ("aller", "vais vas va allons allez vont"),
        ("appeler", "appelle appelles appelle appelons appelez appellent"),
        ("attendre", "attends attends attend attendons attendez attendent"),
        ("boire", "bois bois boit buvons buvez boivent"),
        ("choisir", "choisis choisis choisit choisissons choisissez choisissent"),
        ("lever", "lève lèves lève levons levez lèvent"),
        ("manger", "mange manges mange mangeons mangez mangent"),
        ("nettoyer", "nettoie nettoies nettoie nettoyons nettoyez nettoient"),
        ("ouvrir", "ouvre ouvres ouvre ouvrons ouvrez ouvrent"),
        ("peindre", "peins peins peint peignons peignez peignent"),
        ("préférer", "préfère préfères préfère préférons préférez préfèrent"),
        ("étudier", "étudie étudies étudie étudions étudiez étudient"),
    ],
)
def test_present(infinitive: str, present: str) -> None:
    assert [conjugation.present(infinitive, person) for person in range(6)] == present.split()


@pytest.mark.parametrize(
    ("infinitive", "forms"),
    [
        ("être", "étais étais était étions étiez étaient"),
        ("manger", "mangeais mangeais mangeait mangions mangiez mangeaient"),
        ("commencer", "commençais commençais commençait commencions commenciez commençaient"),
        ("finir", "finissais finissais finissait finissions finissiez finissaient"),
        ("boire", "buvais buvais buvait buvions buviez buvaient"),
        ("rire", "riais riais riait riions riiez riaient"),
    ],
)
def test_imparfait(infinitive: str, forms: str) -> None:
    assert [conjugation.imparfait(infinitive, person) for person in range(6)] == forms.split()


@pytest.mark.parametrize(
    ("infinitive", "first", "last"),
    [
        ("acheter", "achèterai", "achèteront"),
        ("aller", "irai", "iront"),
        ("appeler", "appellerai", "appelleront"),
        ("attendre", "attendrai", "attendront"),
        ("envoyer", "enverrai", "enverront"),
        ("finir", "finirai", "finiront"),
        ("nettoyer", "nettoierai", "nettoieront"),
        ("préférer", "préférerai", "préféreront"),
        ("voir", "verrai", "verront"),
        ("courir", "courrai", "courront"),
    ],
)
def test_futur(infinitive: str, first: str, last: str) -> None:
    assert (conjugation.futur(infinitive, 0), conjugation.futur(infinitive, 5)) == (first, last)


@pytest.mark.parametrize(
    ("infinitive", "participle"),
    [
        ("aimer", "aimé"),
        ("finir", "fini"),
        ("perdre", "perdu"),
        ("peindre", "peint"),
        ("ouvrir", "ouvert"),
        ("lire", "lu"),
    ],
)
def test_participle(infinitive: str, participle: str) -> None:
    assert conjugation.participle(infinitive) == participle


def test_auxiliary() -> None:
    assert [conjugation.auxiliary(verb) for verb in ("aller", "rester", "manger")] == ["être", "être", "avoir"]
