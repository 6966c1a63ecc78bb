"""Loading the module: families, settings, and what is refused."""

import pathlib
import subprocess

import pytest

from servers import MODULE, free_port


def families(call):
    names = {name.split(b".")[0].upper() for name in call("COMMAND", "LIST", "FILTERBY", "MODULE", "malkoha")}
    return sorted(name.decode() for name in names)


@pytest.mark.parametrize("arguments, expected", [
    ([], ["BF", "CF", "MK"]),
    (["only", "cf"], ["CF"]),
    (["only", "bf"], ["BF"]),
    (["ONLY", "mk"], ["MK"]),
    (["only", "cf", "only", "mk"], ["CF", "MK"]),
])
def test_families(start, arguments, expected):
    call = start(module=arguments).client()
    assert families(call) == expected
    if "CF" in expected:
        assert call("CF.ADD", "f", "x") == 1
    else:
        assert call("CF.ADD", "f", "x").startswith("ERR unknown command")


def test_settings(start):
    server = start(module=["cf-bucket-size", "4", "CF_MAX_EXPANSIONS", "3", "bf-error-rate", "0.1"])
    call = server.client()
    call("CF.ADD", "f", "x")
    assert call("CF.INFO", "f")[1::2][5] == 4
    assert call("CONFIG", "GET", "malkoha.cf-max-expansions")[1] == b"3"
    assert call("CONFIG", "GET", "malkoha.bf-error-rate")[1] == b"0.1"
    assert "the name that RedisBloom used before" in server.log()
    about = dict(line.split(":", 1) for line in call("INFO", "server").decode().splitlines() if ":" in line)
    if "valkey_version" not in about and int(about["redis_version"].split(".")[0]) >= 8:
        assert call("CONFIG", "GET", "cf-max-expansions")[1] == b"3"
        assert call("CONFIG", "SET", "cf-bucket-size", "8") == "OK" and call("CONFIG", "SET", "bf-error-rate", "0.2") == "OK"
        assert call("CONFIG", "GET", "malkoha.cf-bucket-size")[1] == b"8", "both names are of one setting"
    assert call("CONFIG", "SET", "malkoha.cf-bucket-size", "2") == "OK"
    call("CF.ADD", "g", "x")
    assert call("CF.INFO", "g")[1::2][5] == 2


def test_settings_in_the_configuration_of_the_server(start):
    call = start(module=["--malkoha.cf-initial-size", "64"]).client()
    call("CF.ADD", "f", "x")
    assert call("CF.INFO", "f")[1::2][1] == 32


@pytest.mark.parametrize("arguments, reason", [
    (["only", "xx"], "cf, bf or mk are expected"),
    (["only"], "needs a value"),
    (["colour", "red"], "unknown argument"),
    (["cf-bucket-size", "many"], "a number is expected"),
    (["cf-bucket-size", "1000"], "value must be in the range [1, 255]"),
])
def test_arguments_that_are_refused(program, tmp_path, arguments, reason):
    command = [program, "--port", str(free_port()), "--bind", "127.0.0.1", "--dir", str(tmp_path), "--save", "",
               "--loadmodule", MODULE, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode != 0
    assert reason in result.stdout


def test_a_second_copy_is_refused(start, tmp_path):
    server = start("--enable-module-command", "yes")
    copy = tmp_path / "copy.so"
    copy.write_bytes(open(MODULE, "rb").read())
    copy.chmod(0o755)
    call = server.client()
    assert call("MODULE", "LOAD", copy) == "ERR Error loading the extension. Please check the server logs."
    assert "a module of this name is already loaded" in server.log()
    assert families(call) == ["BF", "CF", "MK"] and call("CF.ADD", "f", "x") == 1


def test_a_server_goes_on_without_what_it_could_not_load(start):
    server = start("--enable-module-command", "yes", load=False)
    call = server.client()
    for arguments in (["only", "xx"], ["cf-bucket-size", "0"]):
        assert call("MODULE", "LOAD", MODULE, *arguments).startswith("ERR Error loading the extension")
        assert call("DEBUG", "RELOAD") == "OK", "events of the server find nobody"
    assert call("MODULE", "LOAD", MODULE) == "OK" and call("CF.ADD", "f", "x") == 1
    assert call("DEBUG", "RELOAD") == "OK" and call("CF.EXISTS", "f", "x") == 1


@pytest.mark.parametrize("taken, arguments, reason", [
    ("CF.ADD", [], "the command CF.ADD exists already; load with `only`"),
    ("CF.ADD", ["only", "bf", "only", "mk"], None),
    ("BF.INFO", ["only", "bf"], "the command BF.INFO exists already; load with `only`"),
    ("MBbloomCF", [], "the type MBbloomCF is already registered by another module; load with `only`"),
    ("MBbloomCF", ["only", "bf", "only", "mk"], None),
    ("MBbloom--", ["only", "bf"], "the type MBbloom-- is already registered by another module; load with `only`"),
    ("MBbloom--", ["only", "cf", "only", "mk"], None),
    ("mk-filter", ["only", "mk"], "the type mk-filter is already registered by another module; load with `only`"),
    ("mk-filter", ["only", "bf"], None),
])
def test_commands_and_types_that_are_taken(program, tmp_path, taken, arguments, reason):
    other = pathlib.Path(MODULE).parent / "examples" / "libnoop.so"
    command = [program, "--port", str(free_port()), "--bind", "127.0.0.1", "--dir", str(tmp_path), "--save", "",
               "--loadmodule", str(other), taken, "--loadmodule", MODULE, *arguments]
    if reason:
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode != 0 and reason in result.stdout
        return
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        line = next(line for line in process.stdout if "Ready to accept" in line or "exit" in line)
        assert "Ready to accept" in line
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_a_panic_is_an_error(start):
    """The server goes on, the key is as it was, and nothing is replicated."""
    server = start("--appendonly", "yes")
    call = server.client()
    call("MK.RESERVE", "f", 0.01)
    call("MK.ADD", "f", "x")
    before = call("DUMP", "f")
    for _ in range(3):
        assert call("MK.PANIC", "f") == (
            "ERR malkoha failed: this is a bug, please report it with the command and the server's log; the command was not replicated")
    assert call("DUMP", "f") == before and call("MK.ADD", "f", "y") == [1]
    assert server.log().count("asked to, with a filter of 1 items in hand") == 3
    assert server.log().count("panicked at src/commands/testing.rs") == 3
    server.restart()
    assert server.client()("MK.EXISTS", "f", "x", "y") == [1, 1]
    assert b"PANIC" not in b"".join(path.read_bytes() for path in server.folder.glob("appendonlydir/*"))


def test_access_lists(start):
    call = start().client()
    if b"cuckoo" not in call("ACL", "CAT"):
        assert call("ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@read") == "OK"
        pytest.skip("this server has no categories of modules")
    assert b"cuckoo" in call("ACL", "CAT") and b"bloom" in call("ACL", "CAT") and b"malkoha" in call("ACL", "CAT")
    assert call("ACL", "SETUSER", "reader", "on", "nopass", "%R~*", "-@all", "+@cuckoo", "-@write") == "OK"
    call("CF.ADD", "f", "x")
    assert call("AUTH", "reader", "x") == "OK"
    assert call("CF.EXISTS", "f", "x") == 1
    assert call("CF.ADD", "f", "y").startswith("NOPERM")
    assert call("BF.ADD", "g", "y").startswith("NOPERM")
    assert call("MK.EXISTS", "f", "y").startswith("NOPERM")


def test_reading_needs_only_permission_to_read(start):
    call = start().client()
    call("CF.ADD", "f", "x")
    call("MK.RESERVE", "m", 0.1)
    assert call("ACL", "SETUSER", "reader", "on", "nopass", "%R~*", "+@all") == "OK"
    assert call("AUTH", "reader", "x") == "OK"
    assert call("CF.EXISTS", "f", "x") == 1 and call("MK.EXISTS", "m", "x") == [0]
    for arguments in (["CF.ADD", "f", "y"], ["CF.DEL", "f", "x"], ["MK.ADD", "m", "x"], ["MK.MERGE", "m", "m"]):
        assert call(*arguments).startswith("NOPERM")
