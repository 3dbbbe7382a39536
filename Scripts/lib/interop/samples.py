"""The files that every server serves, and what each must hash to."""

import os
import random

import harness
from harness import MIB

SIZES = [0, 1, 65535, MIB - 1, MIB, MIB + 1, 100 * MIB]
SMALL = [size for size in SIZES if size <= MIB + 1]
HUGE = 5 << 30
MANY = 300
MODIFIED = 1_700_000_000


def name_of(size):
    return f"{size}.bin"


class Samples:
    """A directory of files of seeded content with their digests, each computed once."""

    def __init__(self, directory, sizes, huge, many=MANY):
        self.directory = directory
        self.lengths = {}
        self.digests = {}
        self.many = [f"many/{number:05}.bin" for number in range(many)]
        (directory / "many").mkdir(parents=True)
        for size in sizes:
            harness.random_file(directory / name_of(size), size, seed=size)
            self._count(name_of(size))
        for seed, name in enumerate(self.many):
            harness.random_file(directory / name, 10 * 1024, seed=seed)
            self._count(name)
        if huge:
            sparse_file(directory / name_of(HUGE), HUGE)
            self._count(name_of(HUGE))

    def _count(self, name):
        path = self.directory / name
        self.lengths[name] = path.stat().st_size
        self.digests[name] = harness.sha256_of(path)


def sparse_file(path, length):
    """Holes, with content where mistakes would be: at both ends and around 1, 2 and 4 GiB."""
    generator = random.Random(length)
    with open(path, "wb") as file:
        file.truncate(length)
        for start in (0, (1 << 30) - 1, (1 << 31) - MIB // 2, (1 << 32) - MIB // 2, length - MIB):
            if start + MIB > length:
                continue
            file.seek(start)
            file.write(generator.randbytes(MIB))
    os.utime(path, (MODIFIED, MODIFIED))
