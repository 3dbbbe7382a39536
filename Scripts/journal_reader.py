#!/usr/bin/env python3
"""Reads a Haul journal (docs/journal-format.md) and compares its claims with the part file.

Prints JSON. Exit status 1 when a claim does not hold or the journal cannot be used.
"""
import argparse
import json
import mmap
import os
import struct
import sys

MAGIC = b"HAULJRNL"
TYPES = {1: "head", 2: "run", 3: "written", 4: "syncing", 5: "durable", 6: "void",
         7: "publishing", 8: "placeholder", 9: "rejected", 10: "unproved"}


def _table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ 0x82F63B78 if value & 1 else value >> 1
        table.append(value)
    return table


_CRC = _table()


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    table = _CRC
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def _identity(payload, at):
    device, inode = struct.unpack_from("<QQ", payload, at)
    return {"device": device, "inode": inode}


def _parse(kind, payload):
    """The fields of one record; raises ValueError when they do not parse."""
    try:
        if kind == "head":
            return json.loads(payload.decode("utf-8"))
        if kind == "run":
            return {"nonce": payload[:16].hex(), "mount": struct.unpack_from("<Q", payload, 16)[0],
                    "part": _identity(payload, 24), "boot": payload[40:].decode("utf-8")}
        if kind == "written":
            if not payload or len(payload) % 16:
                raise ValueError("length of written")
            extents = [{"offset": o, "length": n, "crc": c}
                       for o, n, c in struct.iter_unpack("<qII", payload)]
            if any(e["offset"] < 0 or not 1 <= e["length"] <= 1 << 20 for e in extents):
                raise ValueError("extent")
            return extents
        if kind in ("syncing", "durable"):
            return struct.unpack("<Q", payload)[0]
        if kind == "void":
            return [list(pair) for pair in struct.iter_unpack("<QQ", payload)]
        if kind == "publishing":
            return {"length": struct.unpack_from("<q", payload)[0],
                    "part": _identity(payload, 8), "name": payload[24:].decode("utf-8")}
        if kind == "placeholder":
            return _identity(payload, 0)
        if kind == "unproved":
            if payload:
                raise ValueError("length of unproved")
            return True
        return payload.decode("utf-8")
    except (struct.error, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(str(error)) from error


def _new():
    return {"condition": "valid", "head": None, "run": None, "runs": 0, "extents": [],
            "durable": 0, "sync_open": False, "publishing": None, "placeholder": None,
            "rejected": [], "unproved": False, "records": 0, "end": 0, "torn": 0}


def _apply(state, kind, value):
    if kind == "head":
        state.update(head=value, extents=[], durable=0, sync_open=False, publishing=None,
                     placeholder=None, rejected=[], unproved=False)
    elif kind == "run":
        state.update(run=value, runs=state["runs"] + 1, placeholder=None)
    elif kind == "written":
        state["extents"] += [dict(extent, void=False) for extent in value]
    elif kind == "syncing":
        state["sync_open"] = True
    elif kind == "durable":
        state["durable"] = min(max(state["durable"], value), len(state["extents"]))
        state["sync_open"] = False
    elif kind == "void":
        for low, high in value:
            for extent in state["extents"][low:high]:
                extent["void"] = True
            if high >= len(state["extents"]) and low <= state["durable"]:
                state["sync_open"] = False
    elif kind == "rejected":
        state["rejected"].append(value)
    else:
        state[kind] = value
        if kind == "publishing":
            state["placeholder"] = None


def _header(data):
    """The condition of the file, by its first 16 bytes."""
    whole = MAGIC + struct.pack("<I", 1)
    whole += struct.pack("<I", crc32c(whole))
    if len(data) < 16:
        return "empty" if whole.startswith(data) or not any(data) else "foreign"
    if crc32c(data[:12]) != struct.unpack_from("<I", data, 12)[0]:
        return "empty" if all(a in (0, b) for a, b in zip(data, MAGIC)) else "foreign"
    if data[:8] != MAGIC:
        return "foreign"
    return "valid" if data[8:12] == whole[8:12] else "newer"


def _ranges(extents):
    """The union of the claims that are not void, as sorted [start, end] pairs."""
    union = []
    for start, end in sorted((e["offset"], e["offset"] + e["length"])
                             for e in extents if not e["void"]):
        if union and start <= union[-1][1]:
            union[-1][1] = max(union[-1][1], end)
        else:
            union.append([start, end])
    return union


def parse_journal(data):
    state = _new()
    state["condition"] = _header(data)
    if state["condition"] == "valid":
        at = 16
        crc = data[12:16]
        while len(data) - at >= 9:
            kind, length = struct.unpack_from("<BI", data, at)
            stop = at + 5 + length
            if length > 1 << 24 or stop + 4 > len(data):
                break
            if crc32c(crc + data[at:stop]) != struct.unpack_from("<I", data, stop)[0]:
                break
            try:
                _apply(state, TYPES[kind], _parse(TYPES[kind], data[at + 5:stop]))
            except (KeyError, ValueError):
                state["condition"] = "newer"
                break
            crc = data[stop:stop + 4]
            at = stop + 4
            state["records"] += 1
        state["end"] = at
    if state["condition"] != "foreign":
        state["torn"] = len(data) - state["end"]
    state["claimed"] = _ranges(state["extents"])
    state["claimed_bytes"] = sum(end - start for start, end in state["claimed"])
    return state


def read_journal(path):
    with open(path, "rb") as file:
        return parse_journal(file.read())


def _content(path):
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def check_claims(state, part, truth=None, crc=True):
    """What does not hold, as a list of texts. `part` and `truth` are bytes or maps of files."""
    violations = []
    for number, extent in enumerate(state["extents"]):
        if extent["void"]:
            continue
        start, end = extent["offset"], extent["offset"] + extent["length"]
        where = f"claim {number} [{start}, {end})"
        if end > len(part):
            violations.append(f"{where}: the part has {len(part)} bytes")
            continue
        held = part[start:end]
        if truth is not None and held != truth[start:end]:
            violations.append(f"{where}: the part differs from the true content")
        if crc and crc32c(held) != extent["crc"]:
            violations.append(f"{where}: the part has another CRC32C")
    return violations


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("journal")
    parser.add_argument("part", nargs="?", help="the part file (or the published file)")
    parser.add_argument("--truth", help="a file with the true content")
    parser.add_argument("--crc", action="store_true",
                        help="compare CRC32C too when --truth is given (slow: a few MB/s)")
    options = parser.parse_args()
    state = read_journal(options.journal)
    violations = []
    if state["condition"] in ("foreign", "newer"):
        violations.append(f"the journal is {state['condition']}")
    if options.part:
        truth = _content(options.truth) if options.truth else None
        violations += check_claims(state, _content(options.part), truth,
                                   crc=options.crc or truth is None)
    json.dump(dict(state, violations=violations), sys.stdout, indent=1)
    print()
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
