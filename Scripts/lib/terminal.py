"""A real pseudo-terminal for a program, and what a person would see on its screen."""

import codecs
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

_CONTROL = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


class Screen:
    """Interprets what progress bars need: CR, LF, BS, CSI A B C D G J K; colours are left out.

    Lines are kept as long as they were written: `text` folds them, so that the text in them can be
    changed before.
    """

    def __init__(self):
        self._lines = [[]]
        self._row = self._column = 0
        self._pending = ""

    def feed(self, text):
        text = self._pending + text
        self._pending = ""
        position = 0
        while position < len(text):
            if text[position] != "\x1b":
                self._put(text[position])
                position += 1
            elif match := _CONTROL.match(text, position):
                self._control(match[1], match[2])
                position = match.end()
            elif len(text) - position < 12:  # cut off: the rest comes with the next bytes
                self._pending = text[position:]
                return
            else:
                raise ValueError(f"not understood: {text[position:position + 12]!r}")

    def _put(self, character):
        if character == "\n":
            self._row += 1
            if self._row == len(self._lines):
                self._lines.append([])
        elif character == "\r":
            self._column = 0
        elif character == "\b":
            self._column = max(0, self._column - 1)
        elif character != "\a":
            line = self._lines[self._row]
            line.extend(" " * (self._column + 1 - len(line)))
            line[self._column] = character
            self._column += 1

    def _control(self, parameters, final):
        count = int(parameters) if parameters.isdigit() else 0
        if final == "A":
            self._row = max(0, self._row - max(1, count))
        elif final == "B":
            self._row = min(len(self._lines) - 1, self._row + max(1, count))
        elif final == "C":
            self._column += max(1, count)
        elif final == "D":
            self._column = max(0, self._column - max(1, count))
        elif final == "G":
            self._column = max(1, count) - 1
        elif final == "K" and count == 0:
            del self._lines[self._row][self._column:]
        elif final == "K":
            self._lines[self._row] = []
        elif final == "J" and count == 0:
            del self._lines[self._row][self._column:]
            del self._lines[self._row + 1:]
        elif final not in "mhl":
            raise ValueError(f"not understood: CSI {parameters}{final}")

    def text(self):
        lines = ["".join(line).rstrip() for line in self._lines]
        while lines and not lines[-1]:
            lines.pop()
        return "\n".join(lines)


class Terminal:
    """Runs commands of a shell in one directory, each in a pseudo-terminal of its own."""

    def __init__(self, directory, environment, width=100, height=30):
        self.directory, self.environment = directory, environment
        self.size = struct.pack("HHHH", height, width, 0, 0)

    def of_width(self, width):
        """One that is the same but for its width."""
        return Terminal(self.directory, self.environment, width)

    def run(self, command, moments=(), timeout=60):
        """Runs it; gives the screens at the moments and at the end, and the exit status.

        A moment is a pattern and what is typed once the screen shows it: nothing, or Ctrl-C.
        """
        process, master = pty.fork()
        if process == 0:
            self._become(command)
        screen, shots, moments = Screen(), [], list(moments)
        decoder = codecs.getincrementaldecoder("utf-8")()
        deadline = time.monotonic() + timeout
        try:
            fcntl.ioctl(master, termios.TIOCSWINSZ, self.size)
            while data := self._read(master, deadline):
                screen.feed(decoder.decode(data))
                if moments and re.search(moments[0][0], screen.text()):
                    shots.append(screen.text())
                    os.write(master, moments.pop(0)[1])
        except BaseException:
            os.kill(process, signal.SIGKILL)
            raise
        finally:
            status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            os.close(master)  # not before: it would send SIGHUP
        status = status if status >= 0 else 128 - status  # as a shell shows it
        if moments:
            raise RuntimeError(f"{command}: never showed {moments[0][0]!r}:\n{screen.text()}")
        return [*shots, screen.text()], status

    def _become(self, command):
        os.chdir(self.directory)
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        # The program itself, so that Ctrl-C reaches it alone; once it knows the terminal's size.
        wait = "while [ \"$(stty size)\" = '0 0' ]; do :; done;"
        os.execvpe("bash", ["bash", "-c", f"{wait} {command}"], self.environment)

    def _read(self, master, deadline):
        if not select.select([master], [], [], max(0, deadline - time.monotonic()))[0]:
            raise TimeoutError("the program did not end")
        with contextlib.suppress(OSError):  # EIO: the other side was closed
            return os.read(master, 65536)
        return b""


def folded(text, width):
    """The text as a terminal of that width folds it."""
    return "\n".join(
        line[start:start + width]
        for line in text.split("\n") for start in range(0, max(1, len(line)), width))
