"""A request on its way: given up when its client leaves."""

import asyncio

import pytest
from pipeline.serving.errors import LEFT, ServingError

from pipeline.serving import requests


class Request:
    """A request whose client leaves when it is told to."""

    def __init__(self):
        self.gone = asyncio.Event()

    async def receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_what_addresses_one_client_has(address, client):
    assert requests.network(address) == client


def test_an_answer_before_the_client_leaves():
    async def run():
        assert await requests.unless_left(Request(), asyncio.sleep(0.01, "answer")) == "answer"

    asyncio.run(run())


def test_an_error_before_the_client_leaves():
    async def fails():
        raise ServingError(400, "wrong")

    async def run():
        with pytest.raises(ServingError, match=r"^wrong$"):
            await requests.unless_left(Request(), fails())

    asyncio.run(run())


def test_work_ends_when_the_client_leaves():
    ended = []

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def run():
        request = Request()
        asyncio.get_running_loop().call_later(0.01, request.gone.set)
        with pytest.raises(ServingError, match=r"^client: left before the answer$") as left:
            await requests.unless_left(request, work())
        assert left.value.status == LEFT

    asyncio.run(run())
    assert ended == [True]
