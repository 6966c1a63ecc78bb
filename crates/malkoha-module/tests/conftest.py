"""Fixtures: every test runs on every server that is there."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from servers import Server, binaries  # noqa: E402


@pytest.fixture(params=sorted(binaries()))
def program(request):
    """The program of one of the servers."""
    return binaries()[request.param]


@pytest.fixture(scope="session")
def shared():
    """Servers that are used by many tests, each started once."""
    running = {}
    yield running
    for server in running.values():
        server.remove()


@pytest.fixture
def server(program, shared):
    """A running, empty server."""
    if program not in shared or not shared[program].is_alive():
        shared[program] = Server(program)
    server = shared[program]
    client = server.client()
    client("FLUSHALL")
    client("CONFIG", "SET", "maxmemory", "0")
    yield server
    assert server.is_alive(), server.log()


@pytest.fixture
def call(server):
    """A connection in RESP2."""
    return server.client()


@pytest.fixture
def call3(server):
    """A connection in RESP3."""
    return server.client(protocol=3)


@pytest.fixture
def start(program):
    """Starts further servers of the same program, with options."""
    started = []

    def start(*options, **named):
        started.append(Server(program, *options, **named))
        return started[-1]

    yield start
    for server in started:
        server.remove()
