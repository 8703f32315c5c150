"""Makes `.venv` out of `requirements.lock`, or brings it up to date. Called by `./task`.

Needs only the standard library and the package registry that pip is configured for. One process
works at a time and the others wait; an interrupted set-up is repaired. With `--check`, run by the
environment's own Python, it only reports by its exit status whether the environment is up to date.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "set-up.json"  # what the environment was made from; written last
MUTEX = ROOT / ".task" / "set-up.lock"  # outside of .venv, which may be replaced
PYTHONS = (3, 11), (3, 15)  # from, and below, as in pyproject.toml

# Not compiled: `IMPORT_ALL` does that, and only for the modules that are used.
PIP_INSTALL = ("-I", "-m", "pip", "-qq", "--no-input", "install", "--no-compile")
# So that no process compiles again where PYTHONDONTWRITEBYTECODE is set, as in many containers.
IMPORT_ALL = """
import importlib, pkgutil, memory_sidecar
for module in pkgutil.walk_packages(memory_sidecar.__path__, "memory_sidecar."):
    importlib.import_module(module.name)
"""
# Settings of pip for other projects: they would install elsewhere, or refuse the lock.
OF_OTHERS = {
    f"PIP_{name}" for name in "TARGET PREFIX ROOT PYTHON CONSTRAINT REQUIRE_HASHES DRY_RUN".split()
}
PIP_IS_WHOLE = "import importlib.metadata as m, sys; sys.exit(m.files('pip') is None)"


class SetUpFailed(Exception):
    """A step failed; its reason is on standard error."""


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        return 0 if read_stamp() == stamp(python=sys.version, inputs=inputs_hash()) else 1
    with one_at_a_time():
        if is_current():  # another process was faster
            return 0
        try:
            set_up()
        except SetUpFailed as error:
            say(f"{error} failed; the next ./task tries again")
            return 1
    return 0


def set_up() -> None:
    """Set up the environment. Each step can be repeated and the stamp is written last.

    An interruption therefore costs only time.
    """
    python = version_of_venv()
    if python is None or moved_or_upgraded(python):
        say(f"making .venv with Python {sys.version.split()[0]}")
        remove(VENV)
        run(sys.executable, "-I", "-m", "venv", "--without-pip", str(VENV), step="making .venv")
        python = sys.version
    write_stamp(python=python, inputs="")
    if not succeeds(PYTHON, "-I", "-c", PIP_IS_WHOLE):
        run(PYTHON, "-I", "-m", "ensurepip", "--default-pip", step="installing pip", quiet=True)
    say("installing the dependencies of requirements.lock; the first time takes a minute or two")
    run(PYTHON, *PIP_INSTALL, "--require-hashes", "-r", str(LOCK), step="that")
    say("installing memory-sidecar")
    itself = ("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
    run(PYTHON, *PIP_INSTALL, *itself, step="that")
    run(PYTHON, "-I", "-c", IMPORT_ALL, step="importing it")
    write_stamp(python=python, inputs=inputs_hash())


def is_current() -> bool:
    return PYTHON.exists() and succeeds(PYTHON, "-I", "-S", __file__, "--check")


def version_of_venv() -> str | None:
    """`sys.version` of the environment; `None` if there is no usable one."""
    if not (VENV / "pyvenv.cfg").is_file() or not PYTHON.exists():
        return None
    code = f"import sys; {PYTHONS[0]} <= sys.version_info < {PYTHONS[1]} and print(sys.version)"
    command = (PYTHON, "-I", "-c", code)
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    return asked.stdout.removesuffix("\n") or None


def moved_or_upgraded(python: str) -> bool:
    """Whether the folder or its Python changed since set-up, so that its scripts are broken."""
    made = read_stamp()
    return made is not None and made != stamp(python=python, inputs=made.get("inputs", ""))


def stamp(*, python: str, inputs: str) -> dict[str, str]:
    return {"root": str(ROOT), "python": python, "inputs": inputs}


def inputs_hash() -> str:
    """A hash over everything that decides what is installed."""
    digest = hashlib.sha256()
    for path in (ROOT / "pyproject.toml", LOCK, Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def read_stamp() -> dict[str, str] | None:
    try:
        made = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return made if isinstance(made, dict) else None


def write_stamp(*, python: str, inputs: str) -> None:
    STAMP.write_text(json.dumps(stamp(python=python, inputs=inputs)), encoding="utf-8")


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Holds a lock that the system frees if the process dies."""
    MUTEX.parent.mkdir(exist_ok=True)
    with MUTEX.open("a") as file:
        if not try_lock(file.fileno()):
            say("waiting for another set-up to finish")
            while not try_lock(file.fileno()):
                time.sleep(0.2)
        yield


def try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def remove(path: Path) -> None:
    """Remove `path`; if it is a link, only the link."""
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def run(*command: str | Path, step: str, quiet: bool = False) -> None:
    """Run a command of `step`. Standard output stays free for the task's own result."""
    output = subprocess.DEVNULL if quiet else sys.stderr
    environment = {name: value for name, value in os.environ.items() if name not in OF_OTHERS}
    environment |= {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    if subprocess.run(command, stdout=output, env=environment, check=False).returncode:
        raise SetUpFailed(step)


def succeeds(*command: str | Path) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def say(message: str) -> None:
    print(f"task: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
