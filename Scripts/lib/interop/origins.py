"""What the cases know about a web server."""

import collections.abc
import dataclasses


@dataclasses.dataclass
class Origin:
    """One server, or one way of serving of it, with the files of `samples` below `base`."""

    name: str
    base: str  # ends without a slash
    options: list = dataclasses.field(default_factory=list)  # options that haul needs
    # Has ranges and validators, so a transfer is split and resumes after a stop.
    resumable: bool = True
    huge: bool = False
    slow: bool = False  # only files up to 1 MiB + 1
    statuses: dict = dataclasses.field(default_factory=dict)  # HTTP status: address
    # Of each request so far, from the server's log: (path, version, connection).
    requests: collections.abc.Callable | None = None

    def address(self, name):
        return f"{self.base}/{name}"


CODES = {401: "unauthorized", 403: "forbidden", 404: "not-found", 500: "http-status"}
