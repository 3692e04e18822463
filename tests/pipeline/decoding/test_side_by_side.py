"""Batches searched at once give the results of one after the other, in the same order."""

import threading
import time

import pytest
import torch

from pipeline.decoding.side_by_side import MAX_SEARCHES, search_batches, share_weights
from pipeline.models.interface import prepacking
from tests.toys import networks

CPU = torch.device("cpu")


@pytest.fixture
def threads(set_threads):
    set_threads(2)


@pytest.fixture
def model():
    return networks.build("transformer_prenorm").eval()


def test_results_in_order_by_networks_of_the_same_weights(model, threads):
    seen, meet = set(), threading.Barrier(2, timeout=60)

    def search(net, batch):
        if batch < 2:
            meet.wait()  # both are under way at once
        seen.add((threading.current_thread().name, id(net), torch.get_num_threads()))
        assert all(a is b for a, b in zip(net.parameters(), model.parameters(), strict=True))
        return batch * batch

    assert list(search_batches(search, model, range(30), CPU)) == [batch * batch for batch in range(30)]
    assert len({name for name, _, _ in seen}) == len({net for _, net, _ in seen} - {id(model)}) == 2
    assert {number for _, _, number in seen} == {1}
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(("device", "number"), [("cpu", 2), ("cuda", 1)])
def test_networks_stay_prepacked_from_batch_to_batch(model, threads, device, number):
    meet = threading.Barrier(number, timeout=60)
    nets, was_open = {}, []

    def search(net, batch):
        if batch < number:
            meet.wait()  # each network has a batch
        nets[id(net)] = net
        was_open.append(None not in prepacked(net))
        with prepacking(net):
            pass
        was_open.append(None not in prepacked(net))
        return batch

    assert list(search_batches(search, model, range(30), torch.device(device))) == list(range(30))
    assert was_open == [True] * 60
    assert len(nets) == number
    for net in (model, *nets.values()):
        assert all(found is None for found in prepacked(net))


def prepacked(net):
    return [layer.prepacked for layer in net.modules() if hasattr(layer, "prepacked")]


def test_one_batch_or_a_gpu_needs_no_thread(model, threads):
    def search(net, batch):
        return net is model and threading.current_thread() is threading.main_thread() and torch.get_num_threads() == 2

    assert list(search_batches(search, model, [1], CPU)) == [True]
    assert list(search_batches(search, model, [1, 2, 3], torch.device("cuda"))) == [True] * 3
    assert list(search_batches(search, model, [], CPU)) == []


def test_at_most_max_searches_at_once(model, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3 * MAX_SEARCHES + 1)
    given = []
    monkeypatch.setattr(torch, "set_num_threads", given.append)
    assert list(search_batches(lambda net, batch: batch, model, range(9), CPU)) == list(range(9))
    assert 1 <= len(given[:-1]) <= MAX_SEARCHES
    assert set(given[:-1]) == {3}
    assert given[-1] == 3 * MAX_SEARCHES + 1


def test_an_error_ends_the_other_searches(model, threads):
    begun = []

    def search(net, batch):
        begun.append(batch)
        if batch == 3:
            raise ValueError("out of memory")
        if batch > 3:
            time.sleep(0.01)  # else all may be done before the error is seen
        return batch

    found = search_batches(search, model, range(1000), CPU)
    with pytest.raises(ValueError, match=r"^out of memory$"):
        list(found)
    assert len(begun) < 1000
    assert torch.get_num_threads() == 2


def test_searches_of_a_twin_leave_the_model_alone(model):
    other = share_weights(model)
    with prepacking(other):
        assert prepacked(model)
        assert all(found is None for found in prepacked(model))
