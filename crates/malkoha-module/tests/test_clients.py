"""redis-py's and valkey-py's own calls for filters."""

import pytest
import redis
import valkey


@pytest.fixture(params=[(redis.Redis, 2), (redis.Redis, 3), (valkey.Valkey, 2), (valkey.Valkey, 3)],
                ids=["redis-py", "redis-py-resp3", "valkey-py", "valkey-py-resp3"])
def client(server, request):
    kind, protocol = request.param
    with kind(port=server.port, protocol=protocol) as client:
        client.protocol_in_use = protocol
        yield client


def test_cuckoo(client):
    cf = client.cf()
    assert cf.create("f", 1000)
    assert cf.create("g", 1000, expansion=1) and cf.create("h", 1000, bucket_size=4)
    assert cf.create("i", 1000, max_iterations=10)
    assert cf.add("f", "x") == 1 and cf.addnx("f", "x") == 0 and cf.addnx("f", "y") == 1
    assert list(cf.insert("f", ["a"])) == [1] and list(cf.insert("new", ["a"], capacity=1000)) == [1]
    assert list(cf.insertnx("f", ["a", "b"])) == [0, 1]
    assert cf.exists("f", "x") == 1 and cf.exists("f", "no") == 0
    assert list(cf.mexists("f", "x", "no")) == [1, 0]
    assert cf.count("f", "x") == 1
    assert cf.delete("f", "x") == 1 and cf.delete("f", "x") == 0


def test_cuckoo_info(client):
    if isinstance(client, valkey.Valkey) and client.protocol_in_use == 3:
        pytest.skip("valkey-py reads CF.INFO as RESP2 has it")
    client.cf().create("f", 1000)
    info = client.cf().info("f")
    if isinstance(info, dict):
        assert len(info) == 8
    else:
        assert (info.size, info.bucketNum, info.filterNum, info.bucketSize) == (1080, 512, 1, 2)
        assert (info.expansionRate, info.maxIteration) == (1, 20)


def test_cuckoo_dump(client):
    cf = client.cf()
    cf.create("f", 1000)
    for number in range(500):
        cf.add("f", number)
    chunks, position = [], 0
    while True:
        position, data = cf.scandump("f", position)
        if position == 0:
            break
        chunks.append((position, data))
    for position, data in chunks:
        assert cf.loadchunk("g", position, data)
    assert list(cf.mexists("g", *range(500))) == [1] * 500


def test_bloom(client):
    bf = client.bf()
    assert bf.create("f", 0.01, 1000) and bf.create("g", 0.01, 1000, expansion=1)
    assert bf.create("h", 0.01, 1000, noScale=True)
    assert bf.add("f", "x") == 1 and bf.add("f", "x") == 0
    assert list(bf.madd("f", "x", "y")) == [0, 1]
    assert list(bf.insert("i", ["a", "b"], capacity=100, error=0.001)) == [1, 1]
    assert bf.exists("f", "x") == 1 and list(bf.mexists("f", "x", "no")) == [1, 0]
    assert bf.card("f") == 2
    position, data = bf.scandump("f", 0)
    assert bf.loadchunk("j", position, data)
    position, data = bf.scandump("f", position)
    assert bf.loadchunk("j", position, data)
    assert bf.exists("j", "x") == 1


def test_bloom_info(client):
    if isinstance(client, valkey.Valkey) and client.protocol_in_use == 3:
        pytest.skip("valkey-py reads BF.INFO as RESP2 has it")
    client.bf().create("f", 0.01, 100)
    info = client.bf().info("f")
    if not isinstance(info, dict):
        assert (info.capacity, info.size, info.filterNum, info.insertedNum, info.expansionRate) == (100, 240, 1, 0, 2)
    else:
        assert len(info) == 5


def test_own_commands_and_errors(client):
    client.execute_command("MK.RESERVE", "f", 0.001)
    assert list(client.execute_command("MK.ADD", "f", "a", "b")) == [1, 1]
    errors = (redis.ResponseError, valkey.ResponseError)
    with pytest.raises(errors, match="Not found"):
        client.cf().delete("none", "x")
    with pytest.raises(errors, match="item exists"):
        client.execute_command("MK.RESERVE", "f", 0.001)
