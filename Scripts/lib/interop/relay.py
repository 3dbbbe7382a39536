"""A relay between haul and a server: it counts the bytes that haul sends, and reads the address
that the server gives to an upload. So nothing that haul says of itself has to be believed."""

import contextlib
import re
import socket
import threading
import time

import harness

LOCATION = re.compile(rb"\r\nlocation: *([^\r\n]+)\r\n", re.IGNORECASE)
STEP = 1 << 18
FAR = 0.06  # seconds: to a server that is near, haul sends no parts at once


class Relay:
    def __init__(self, port, is_far=False):
        self._is_far = is_far
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._open = 0
        self.sent = 0  # bytes from the client
        self.locations = []
        # Called once, when so many bytes were sent, or when the server has made an upload.
        self.at_bytes = None  # (count, function)
        self.at_location = None
        # Bytes per second that are read, of all connections together; none: as fast as they come.
        self.rate = None
        self._began = time.monotonic()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def base(self):
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def settle(self):
        """Waits until no connection is open: the server knows that the client has gone."""
        harness.wait_until(lambda: self._open == 0, "the end of the connections", seconds=30,
                           pause=0.002)

    def close(self):
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                with self._lock:
                    self._open += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            with client, socket.create_connection(self._server) as server:
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                answers = threading.Thread(
                    target=self._pump, args=(server, client, self._answered), daemon=True)
                answers.start()
                self._pump(client, server, self._asked)
                answers.join()
        except OSError:
            pass  # a client that was killed, or a server that has closed
        finally:
            with self._lock:
                self._open -= 1

    def _pump(self, source, target, note):
        with contextlib.suppress(OSError):
            while data := source.recv(STEP):
                if self._is_far and data.startswith(b"OPTIONS "):
                    time.sleep(FAR)
                target.sendall(data)
                note(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def _asked(self, data):
        with self._lock:
            self.sent += len(data)
            hook = self.at_bytes
            if hook and self.sent >= hook[0]:
                self.at_bytes = None
            else:
                hook = None
        if hook:
            hook[1]()
        if self.rate:
            time.sleep(max(0, self._began + self.sent / self.rate - time.monotonic()))

    def _answered(self, data):
        found = LOCATION.search(data)
        if not found:
            return
        with self._lock:
            self.locations.append(found[1].decode())
            hook, self.at_location = self.at_location, None
        if hook:
            hook()


@contextlib.contextmanager
def before(port, is_far=False):
    relay = Relay(port, is_far)
    try:
        yield relay
    finally:
        relay.close()
