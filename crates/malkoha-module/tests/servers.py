"""Servers with the module, on the loopback interface and free ports."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from resp import Client

MODULE = os.environ["MALKOHA_MODULE"]


def binaries():
    """The servers to test: their programs by name."""
    found = {}
    redis = os.environ.get("MALKOHA_REDIS") or shutil.which("redis-server")
    if redis:
        found["redis"] = redis
    valkey = os.environ.get("MALKOHA_VALKEY") or shutil.which("valkey-server")
    if valkey:
        found["valkey"] = valkey
    return found


def free_port():
    """A port whose cluster port, 10000 above, is free too."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            if port > 50000:
                continue
            try:
                second.bind(("127.0.0.1", port + 10000))
            except OSError:
                continue
            return port


class Server:
    """One server process, which can be stopped, killed and started again in its folder."""

    def __init__(self, program, *options, module=(), load=True):
        self.program, self.module, self.load = program, list(module), load
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="malkoha-server-"))
        self.options = list(options)
        self.port = free_port()
        self.clients = []
        self.start()

    def start(self, wait=True):
        loading = ["--loadmodule", MODULE, *self.module] if self.load else []
        command = [
            self.program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder),
            "--save", "", "--enable-debug-command", "yes", "--logfile", "server.log", *self.options, *loading,
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if wait:
            self.wait()
        return self

    def wait(self):
        """Until the server answers and has loaded its data."""
        while True:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server has ended:\n{self.log()}")
            try:
                client = Client(self.port)
                answer = client("PING")
                client.close()
                if answer == "PONG":
                    return
            except OSError:
                pass
            time.sleep(0.02)

    def client(self, protocol=2):
        client = Client(self.port, protocol)
        self.clients.append(client)
        return client

    def is_alive(self):
        return self.process.poll() is None

    def log(self):
        path = self.folder / "server.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def kill(self):
        """Ends the server as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """Ends the server; it saves first if it is configured to."""
        for client in self.clients:
            client.close()
        self.clients = []
        if self.is_alive():
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()

    def restart(self):
        self.stop()
        return self.start()

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
