"""A client that shows replies as they are on the wire: errors are values, and RESP3 types are told apart."""

import socket


class Error(str):
    """An error reply: its text."""


class Client:
    """One connection, in RESP2 or RESP3."""

    def __init__(self, port, protocol=2, timeout=60):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")
        if protocol == 3:
            self("HELLO", "3")

    def __call__(self, *arguments):
        self.send(*arguments)
        return self.read()

    def send(self, *arguments):
        self.socket.sendall(encode(arguments))

    def pipeline(self, commands):
        """The replies to many commands that are sent at once."""
        self.socket.sendall(b"".join(encode(command) for command in commands))
        return [self.read() for _ in commands]

    def close(self):
        self.stream.close()
        self.socket.close()

    def line(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server has closed the connection")
        return line[:-2]

    def read(self):
        line = self.line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return Error(rest.decode(errors="replace"))
        if kind == b":":
            return int(rest)
        if kind == b",":
            return float(rest)
        if kind == b"#":
            return rest == b"t"
        if kind == b"_":
            return None
        if kind in (b"$", b"="):
            if rest == b"-1":
                return None
            content = self.stream.read(int(rest) + 2)
            return content[:-2]
        if kind in (b"*", b"~", b">"):
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        if kind == b"%":
            return {key_of(self.read()): self.read() for _ in range(int(rest))}
        raise ValueError(f"not a reply: {line!r}")


def key_of(name):
    return name.decode() if isinstance(name, bytes) else name


def encode(arguments):
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        data = argument if isinstance(argument, bytes) else str(argument).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)
