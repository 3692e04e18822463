"""The way of a text: a system chosen, sentences queued, translations put together."""

import asyncio
import itertools
import math
import time

import pytest
from pipeline.serving.errors import ServingError
from pipeline.serving.limits import Limits
from pipeline.serving.security import Keys
from pipeline.serving.sentence_queue import SentenceQueue
from pipeline.serving.systems import Served, Systems

from pipeline.serving import documents
from pipeline.serving.metrics import Metrics
from pipeline.serving.service import STREAMED, Asked, Service, Translated, combinations, in_time, joined, sample
from tests.toys import stand_in

FR_EN = Asked("fr", "en")


class Loaded:
    """Workers that have loaded their systems; `answer` of this file is what translates."""

    def __init__(self):
        self.loaded = asyncio.get_running_loop().create_future()
        self.loaded.set_result(None)


async def answer(queue):
    """Do the work of a worker, without a process."""
    while True:
        batch = await queue.take()
        for sentence in batch:
            engine = stand_in.StandIn(sentence.task.system)
            await asyncio.sleep(0)
            if not sentence.result.done():
                [found] = engine.translate([sentence.line], sentence.task.number)
                sentence.result.set_result([list(one) for one in found])


def with_service(test, works=True, **limits):
    """Run a test with a service; without `works` nothing is ever translated."""

    async def run():
        allowed = Limits(**limits)
        queue, systems = SentenceQueue(allowed.queue), Systems()
        systems.all = [Served(name, *pair, "torch", {}, "") for name, pair in stand_in.SYSTEMS.items()]
        service = Service(systems, queue, Loaded(), allowed, Metrics(), Keys([]))
        worker = asyncio.ensure_future(answer(queue)) if works else None
        try:
            await asyncio.wait_for(test(service), 30)
        finally:
            if worker:
                worker.cancel()
        assert queue.waiting == 0

    asyncio.run(run())


def test_every_combination_of_alternatives_in_the_order_of_their_sums():
    scores = [[0.0, -1.0, -5.0], [0.0, -2.0], [-0.5, -0.75, -4.0]]
    every = itertools.product(*(range(len(some)) for some in scores))
    ranked = sorted(every, key=lambda chosen: -sum(some[i] for some, i in zip(scores, chosen, strict=True)))
    for number in (1, 2, 5, 18, 30):
        assert combinations(scores, number) == ranked[:number]
    assert combinations([], 3) == [()]


def test_the_time_for_combinations_grows_with_the_sentences_not_with_their_square():
    def seconds(number):
        scores = [[-float(i) for i in range(10)]] * number
        began = time.process_time()
        assert combinations(scores, 10)[0] == (0,) * number
        return time.process_time() - began

    assert min(seconds(10_000) for _ in range(2)) < 30 * min(seconds(1000) for _ in range(3))  # the square: 60


def test_texts_are_translated_sentence_by_sentence():
    async def test(service):
        [first, second] = await service.translate(["Le chat dort. Il est là !\n\nla", " "], FR_EN)
        assert first.text == "dort. chat Le ! là est Il\n\nla"
        assert first.confidences == pytest.approx([-0.1, -0.85, -0.1])
        assert first.confidence == pytest.approx(-0.35)
        assert (first.system, first.language) == ("toy_fr_en-bpe-rnnsearch-tiny", "fr")
        assert (second.text, second.confidences, second.confidence) == (" ", [], None)

    with_service(test)


@pytest.mark.parametrize(
    ("splitting", "form", "text", "expected"),
    [
        (None, "text", "le chat. il dort.\nla", "chat. le dort. il\nla"),
        ("sentences", "text", "le chat. il dort.\nla", "chat. le dort. il\nla"),
        ("lines", "text", " le chat. il dort.\nla nuit", " dort. il chat. le\nnuit la"),
        ("lines", "text", "le\u2028chat\x0bdort\nla nuit", "dort chat le\nnuit la"),  # \n alone ends a line
        ("nothing", "text", "le chat.\nil dort.", "dort. il chat. le"),
        ("nothing", "text", " le chat\n{name} dort. ", " dort. chat {name} le "),
        ("lines", "html", "<p>le chat. il dort.</p><p>la nuit</p>", "<p>dort. il chat. le</p><p>nuit la</p>"),
        ("nothing", "html", "<p>le chat. il dort.</p><p>la nuit</p>", "<p>dort. il chat. le</p><p>nuit la</p>"),
    ],
)
def test_what_a_text_is_split_into(splitting, form, text, expected):
    """By the request, or by the server where it does not say."""

    async def test(service):
        asked = FR_EN._replace(form=form, splitting=splitting)
        [found] = await service.translate([text], asked)
        assert found.text == expected
        if splitting:
            service.splitting = splitting
            [again] = await service.translate([text], asked._replace(splitting=None))
            assert again == found

    with_service(test)


def test_alternatives_are_of_the_whole_text():
    async def test(service):
        [found] = await service.translate(["the cat. big dog."], FR_EN._replace(alternatives=3))
        assert found.text == "cat. the dog. big"
        assert sorted(found.alternatives[:2]) == ["2 cat. the dog. big", "cat. the 2 dog. big"]
        assert len(set(found.alternatives)) == 3

    with_service(test)


def test_the_best_of_an_engine_is_the_first_whatever_its_score():
    """As with minimum Bayes risk, whose order is another one than that of the scores."""
    document = documents.split("a", "text", "fr")
    system = Served("x", "fr", "en", "torch", {}, "")
    for number in range(4):
        some = [("b", -2.0, -0.5), ("c", -1.0, -0.3), ("d", -1.5, -0.4), ("e", -3.0, -0.6)][: number + 1]
        found = joined(document, [some], system, number)
        assert [found.text, *found.alternatives] == ["b", "c", "d", "e"][: number + 1]
        assert found.confidences == [-0.5]


@pytest.mark.parametrize("before", ["<p class='" + "x " * 400 + "'>", "<style>" + "a {b: c} " * 90 + "</style>", ""])
def test_a_language_is_recognised_by_text_not_by_markup(before):
    async def test(service):
        [found] = await service.translate([f"{before}die katze ist das"], FR_EN._replace(source="auto", form="html"))
        assert found.language == "de"

    with_service(test)


def test_no_more_than_the_first_sentences_recognise_a_language():
    assert sample(["a", "b", "c", "d"]) == ["a", "b", "c"]
    assert list(map(len, sample(["a" * 200, "b" * 200, "c"]))) == [200, 100]
    assert sample([]) == []


def test_a_language_is_recognised_by_the_system_that_is_surest():
    async def test(service):
        texts = ["Die Katze ist da.", "Le chat dort."]
        found = await service.translate(texts, FR_EN._replace(source="auto"))
        assert [one.language for one in found] == ["de", "fr"]
        detected = await service.detected("das ist die katze")
        assert [language for language, _ in detected] == ["de", "fr"]
        assert detected[0][1] == pytest.approx(math.exp(-0.1))

    with_service(test)


def test_languages_of_many_texts_are_recognised_as_a_document():
    """By the size of the whole request, and what does not fit is refused for good, with nothing left in the queue."""

    async def test(service):
        texts, asked = ["Die Katze ist da.", "Le chat dort."] * 5, FR_EN._replace(source="auto")
        asking, put, documents = service.queue.put, service.queue.put, []
        service.queue.put = lambda *given, document: documents.append(document) or put(*given, document=document)
        found = await service.translate(texts, asked)
        assert [one.language for one in found] == ["de", "fr"] * 5
        assert set(documents) == {True}
        service.queue.put = asking
        with pytest.raises(ServingError) as refused:
            await service.translate(texts * 2, asked)
        assert (refused.value.status, service.queue.waiting) == (413, 0)

    with_service(test, queue=30)


def test_the_language_of_a_persons_text_is_recognised_as_one(monkeypatch):
    """Though each of several systems reads its sentences."""

    async def test(service):
        put, documents = service.queue.put, []
        service.queue.put = lambda *given, document: documents.append(document) or put(*given, document=document)
        monkeypatch.setattr("pipeline.serving.service.INTERACTIVE", 3)
        await service.detected("das ist. die katze. ist da.")
        assert documents == [False, False]

    with_service(test)


def test_a_language_that_cannot_be_recognised_gives_up_the_other_texts():
    async def test(service):
        asked = asyncio.ensure_future(service.translate(["le chat"] * 3, FR_EN._replace(source="auto")))
        while not service.queue.heaps and not asked.done():
            await asyncio.sleep(0)
        first = next(iter(service.queue.heaps.values()))[0][2]
        first.result.set_exception(ServingError(503, "worker: died", 1))
        with pytest.raises(ServingError, match=r"^worker: died$") as refused:
            await asked
        assert refused.value.retry_seconds == 1
        await asyncio.sleep(0)
        assert service.queue.waiting == 0

    with_service(test, works=False)


def test_how_probable_a_text_without_sentences_is():
    assert Translated("", [], [], "", "fr").probability == 0.0


@pytest.mark.parametrize(
    ("limits", "texts", "said"),
    [
        ({"characters": 5}, ["abc", "abc"], "q: is too long, got 6 characters; expected 5"),
        ({"texts": 1}, ["a", "b"], "q: has too many texts, got 2; expected at most 1"),
        ({"sentence_characters": 5}, ["abcdef"], "q: has a sentence of 6 characters; expected at most 5"),
        (
            {"queue": 2},
            ["Un. Deux. Trois."],
            "q: has more sentences than the queue takes, got 3; expected at most 2, or /translate/stream",
        ),
        (
            {"queue": 20},
            ["Le.\n" * 19],
            "q: has more sentences than the queue takes, got 19; expected at most 18, or /translate/stream",
        ),
        (
            {"queue": 8},
            ["Le.\n" * 9],
            "q: has more sentences than the queue takes, got 9; expected at most 8, or /translate/stream",
        ),
    ],
)
def test_what_is_too_long(limits, texts, said):
    async def test(service):
        with pytest.raises(ServingError) as refused:
            await service.translate(texts, FR_EN)
        assert (refused.value.status, str(refused.value)) == (413, said)

    with_service(test, **limits)


def test_a_request_that_takes_too_long_leaves_the_queue():
    async def test(service):
        with pytest.raises(ServingError) as refused:
            await service.translate(["Un. Deux."], FR_EN)
        assert refused.value.status == 504
        assert str(refused.value) == "server: no translation within 0.05 s; expected shorter texts"
        await asyncio.sleep(0)

    with_service(test, works=False, timeout_seconds=0.05)


def test_a_request_that_is_given_up_leaves_the_queue():
    async def test(service):
        asked = asyncio.ensure_future(service.translate(["Un. Deux. Trois."], FR_EN))
        while service.queue.waiting < 3 and not asked.done():
            await asyncio.sleep(0)
        assert service.queue.waiting == 3
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        await asyncio.sleep(0)

    with_service(test, works=False)


def test_a_request_that_does_not_fit_leaves_nothing_behind():
    async def test(service):
        asked = asyncio.ensure_future(service.translate(["Un. Deux. Trois."], FR_EN))
        while service.queue.waiting < 3 and not asked.done():
            await asyncio.sleep(0)
        assert service.queue.waiting == 3
        with pytest.raises(ServingError, match=r"^queue: is full, got 2 more sentences; expected 1, ") as refused:
            await service.translate(["Un. Deux.", "Un. Deux."], FR_EN)
        assert refused.value.status == 503
        await asyncio.sleep(0)
        assert service.queue.waiting == 3
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        await asyncio.sleep(0)

    with_service(test, works=False, queue=6)


def test_time_is_counted_for_the_block_only():
    async def run():
        async with in_time(0.05):
            pass
        await asyncio.sleep(0.1)

    asyncio.run(run())


def test_a_stream_is_in_order_and_ends_with_the_whole():
    async def test(service):
        text = "\n".join(f"le {number}." for number in range(3 * STREAMED))
        most, found = 0, []
        async for record in service.stream(text, FR_EN):
            most = max(most, service.queue.waiting)
            found.append(record)
        *sentences, last = found
        assert [record["index"] for record in sentences] == list(range(3 * STREAMED))
        assert sentences[7]["source"] == "le 7."
        assert sentences[7]["translatedText"] == "7. le"
        whole = "\n".join(f"{number}. le" for number in range(3 * STREAMED))
        assert last == {"done": True, "translatedText": whole, "system": "toy_fr_en-bpe-rnnsearch-tiny"}
        assert most <= STREAMED

    with_service(test)


def test_a_stream_longer_than_the_queue_waits_for_room():
    async def test(service):
        found = [record async for record in service.stream("\n".join(f"le {i}." for i in range(50)), FR_EN)]
        assert len(found) == 51

    with_service(test, queue=4)


def test_a_stream_needs_room_for_one_sentence():
    async def test(service):
        assert len([record async for record in service.stream("le chat.\nil dort.", FR_EN)]) == 3

    with_service(test, queue=1)


def test_a_stream_that_is_left_leaves_the_queue():
    async def test(service):
        stream = service.stream("\n".join(f"le {i}." for i in range(200)), FR_EN)
        await anext(stream)
        await stream.aclose()
        await asyncio.sleep(0.05)

    with_service(test)
