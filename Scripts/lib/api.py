"""Prints the public interface: one declaration per line, below its type."""

import collections
import json
import pathlib
import re
import sys


def declaration(symbol):
    text = "".join(part["spelling"] for part in symbol["declarationFragments"])
    return re.sub(r"\s+", " ", text).strip()


def conformances(graph):
    found = collections.defaultdict(set)
    for relation in graph["relationships"]:
        if relation["kind"] in ("conformsTo", "inheritsFrom"):
            name = relation.get("targetFallback", relation["target"])
            found[relation["source"]].add(name.rsplit(".", 1)[-1])
    return found


# Members that the compiler adds for Sendable and Hashable carry no information.
IMPLIED = {"Copyable", "Escapable", "BitwiseCopyable", "SendableMetatype", "s8CopyableP"}


def graphs(directory):
    for path in sorted(pathlib.Path(directory).glob("*.symbols.json")):
        yield json.loads(path.read_text())


def lines(directory):
    """Each type with its members, in the order of their paths."""
    listed = {}
    for graph in graphs(directory):
        known = conformances(graph)
        for symbol in graph["symbols"]:
            path = tuple(symbol["pathComponents"])
            text = declaration(symbol)
            names = {name for name in known[symbol["identifier"]["precise"]]
                     if re.fullmatch(r"[A-Z]\w+", name)} - IMPLIED
            if names and symbol["kind"]["identifier"] in (
                    "swift.struct", "swift.class", "swift.enum", "swift.protocol"):
                text += ": " + ", ".join(sorted(names))
            listed.setdefault((path, text), None)
    types = {path for path, _ in listed}
    for path, text in sorted(listed):
        parent = path[:-1]
        if parent and parent not in types:
            # A type of another module.
            types.add(parent)
            yield "  " * len(parent) + "extension " + parent[-1]
        yield "  " * len(path) + text


def main():
    directory, *modules = sys.argv[1:]
    for module in modules:
        print(module)
        for line in lines(pathlib.Path(directory) / module):
            print(line)
        print()


if __name__ == "__main__":
    main()
