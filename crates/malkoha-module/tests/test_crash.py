"""A server that is killed while clients store items: what was acknowledged is there afterwards."""

import threading

import pytest

from resp import Client

RESERVE = {
    "cf": ("CF.RESERVE", "f", 1000),
    "engine": ("CF.RESERVE", "f", 1000, "ERROR", 0.001),
    "bf": ("BF.RESERVE", "f", 0.01, 1000),
}


@pytest.mark.parametrize("kind", sorted(RESERVE))
def test_kill_under_load(start, kind):
    server = start("--appendonly", "yes", "--appendfsync", "always")
    call = server.client()
    assert call(*RESERVE[kind]) == "OK"
    family = "BF" if kind == "bf" else "CF"
    acknowledged, enough = [[] for _ in range(3)], threading.Event()

    def store(index):
        client = Client(server.port)
        try:
            while True:
                number = len(acknowledged[index])
                if client(f"{family}.ADD", "f", f"{index} {number}") in (0, 1):
                    acknowledged[index].append(number)
                if sum(map(len, acknowledged)) > 3000:
                    enough.set()
        except (ConnectionError, OSError):
            pass

    threads = [threading.Thread(target=store, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    enough.wait(120)
    server.clients = []
    server.kill()
    for thread in threads:
        thread.join()
    server.start()
    call = server.client()
    for index, numbers in enumerate(acknowledged):
        assert len(numbers) > 100
        for at in range(0, len(numbers), 1000):
            items = [f"{index} {number}" for number in numbers[at:at + 1000]]
            assert call(f"{family}.MEXISTS", "f", *items) == [1] * len(items)
