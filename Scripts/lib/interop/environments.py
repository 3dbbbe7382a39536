"""Python environments of their own, with what comes from PyPI."""

import pathlib
import subprocess
import venv

BUILD = pathlib.Path(__file__).resolve().parents[3] / ".build"


def programs(name, packages):
    """The directory of an environment's programs. It is made anew when it has other packages."""
    place = BUILD / name
    wanted = "\n".join(packages)
    made = place / "haul-packages"
    if not made.exists() or made.read_text() != wanted:
        venv.create(place, with_pip=True, clear=True)
        subprocess.run([place / "bin" / "pip", "install", "--quiet", *packages], check=True)
        made.write_text(wanted)
    return place / "bin"
