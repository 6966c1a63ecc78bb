"""DUMP payloads made by hand: what RedisBloom's types would have written, by the rules of the server's format."""

import struct

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
MODULE_2 = 7
UNSIGNED, DOUBLE, STRING, END = 2, 4, 5, 0


def length(number):
    if number < 1 << 6:
        return bytes([number])
    if number < 1 << 14:
        return bytes([0x40 | number >> 8, number & 0xFF])
    if number < 1 << 32:
        return b"\x80" + struct.pack(">I", number)
    return b"\x81" + struct.pack(">Q", number)


def type_id(name, version):
    number = 0
    for letter in name:
        number = number << 6 | LETTERS.index(letter)
    return number << 10 | version


def fields(*values):
    """Numbers, doubles and bytes as modules save them."""
    parts = []
    for value in values:
        if isinstance(value, bytes):
            parts.append(bytes([STRING]) + length(len(value)) + value)
        elif isinstance(value, float):
            parts.append(bytes([DOUBLE]) + struct.pack("<d", value))
        else:
            parts.append(bytes([UNSIGNED]) + length(value))
    return b"".join(parts)


def crc64(data):
    """The checksum of payloads: Jones' polynomial, reflected."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x95AC9329AC4BC9B5 if crc & 1 else 0)
    return crc


def payload(name, version, content, rdb_version=9):
    body = bytes([MODULE_2]) + length(type_id(name, version)) + content + bytes([END])
    body += struct.pack("<H", rdb_version)
    return body + struct.pack("<Q", crc64(body))


def resealed(payload):
    """The payload with the checksum that its bytes should have."""
    return payload[:-8] + struct.pack("<Q", crc64(payload[:-8]))
