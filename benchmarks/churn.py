"""Changes a source tree at random, the way people and their tools do, only faster.

The tree becomes a git repository with a few branches. The seed alone decides each
next step, so runs with the same seed make the same changes.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

BRANCHES = ("main", "feature", "rework", "release")
CHANGED_BY_A_BRANCH = 0.1  # of the files
MOST_FILES_OF_A_BURST = 40
_IGNORE_FILES = (".gitignore", ".sidecarignore")
_WORDS = ("parse", "order", "retry", "queue", "token", "buffer", "invoice", "render", "merge")
_IDENTITY = ("-c", "user.name=soak", "-c", "user.email=soak@example.org", "-c", "gc.auto=0")


class Churn:
    """Makes random changes to the tree at `root`; `done` counts them by kind."""

    def __init__(self, root: Path, *, seed: int) -> None:
        self.root = root
        self.done: Counter[str] = Counter()
        self._chance = random.Random(seed)
        self._steps: dict[Callable[[], None], int] = {  # and how often they are taken
            self._edit: 40,
            self._save_atomically: 20,
            self._create: 14,
            self._delete: 8,
            self._rename: 8,
            self._rename_folder: 3,
            self._delete_folder: 1,
            self._move_out_and_back: 2,
            self._edit_unnoticed: 4,
            self._swap_for_folder: 1,
            self._change_ignores: 3,
            self._checkout: 3,
            self._burst: 1,
        }

    def begin(self) -> None:
        """Make a repository of the tree, with a branch for each of `BRANCHES`."""
        self._git("init", "--quiet", "--initial-branch", BRANCHES[0])
        self._commit("begin")
        for branch in BRANCHES[1:]:
            self._git("checkout", "--quiet", "-b", branch, BRANCHES[0])
            files = self._files()
            for file in self._chance.sample(files, int(len(files) * CHANGED_BY_A_BRANCH)):
                self._chance.choice((self._append, Path.unlink, self._append))(file)
            for number in range(max(len(files) // 50, 1)):
                self._write(self.root / branch / f"only_{number}.py", f"only_{branch}_{number}")
            self._commit(branch)
        self._git("checkout", "--quiet", BRANCHES[0])

    def step(self) -> None:
        """Make the next random change."""
        (take,) = self._chance.choices(list(self._steps), list(self._steps.values()))
        take()

    def save_word(self, word: str) -> str:
        """Save a new file, not ignored, as the only one that contains `word`; return its path."""
        path = self.root / "soak_words" / f"{word}.py"
        self._write(path, word)
        self.done["created"] += 1
        return path.relative_to(self.root).as_posix()

    # One change each

    def _edit(self) -> None:
        if file := self._any_file():
            self._append(file)
            self.done["edited"] += 1

    def _save_atomically(self) -> None:
        """Replace a file by renaming a new one onto it, as most editors do."""
        if file := self._any_file():
            new = file.with_name(f".{file.name}.swp")
            text = file.read_text("utf-8", errors="replace")
            new.write_text(f"{self._function(self._name())}\n{text}", "utf-8")
            new.replace(file)
            self.done["edited"] += 1

    def _create(self) -> None:
        folder = self._any_folder()
        if self._chance.random() < 0.3:
            folder = folder / self._name() / self._name()
        suffix = self._chance.choice((".py", ".py", ".md", ".js", ".txt"))
        self._write(folder / f"{self._name()}{suffix}", self._name())
        self.done["created"] += 1

    def _delete(self) -> None:
        if file := self._any_file():
            file.unlink()
            self.done["deleted"] += 1

    def _rename(self) -> None:
        if file := self._any_file():
            target = self._any_folder() / f"{self._name()}{file.suffix}"
            file.rename(target)
            self.done["renamed"] += 1

    def _rename_folder(self) -> None:
        folder = self._any_folder()
        if folder != self.root:
            folder.rename(folder.with_name(self._name()))
            self.done["folders_renamed"] += 1

    def _delete_folder(self) -> None:
        """Delete a small folder, so that the tree does not run out."""
        folder = self._any_folder()
        if folder != self.root and sum(1 for _ in folder.rglob("*")) <= 10:
            shutil.rmtree(folder)
            self.done["folders_deleted"] += 1

    def _move_out_and_back(self) -> None:
        """Move a folder out of the tree, and back at once."""
        folder = self._any_folder()
        if folder != self.root:
            away = self.root.with_name(self._name())
            folder.rename(away)
            away.rename(folder)
            self.done["folders_moved_out_and_back"] += 1

    def _edit_unnoticed(self) -> None:
        """Change a file, but neither its size nor the time of its change."""
        if (file := self._any_file()) and (data := file.read_bytes()):
            status = file.stat()
            file.write_bytes((b"#" if data[:1] != b"#" else b" ") + data[1:])
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
            self.done["edited"] += 1

    def _swap_for_folder(self) -> None:
        """Put a folder, with a file in it, where a file was."""
        if file := self._any_file():
            file.unlink()
            self._write(file / f"{self._name()}.py", self._name())
            self.done["files_that_became_folders"] += 1

    def _change_ignores(self) -> None:
        path = self._any_folder() / self._chance.choice(_IGNORE_FILES)
        if path.exists() and self._chance.random() < 0.6:
            path.unlink()
        else:
            rules = (f"{self._name()[:6]}*", "*.txt", f"{self._any_folder().name}/", "!*.py")
            path.write_text("\n".join(self._chance.sample(rules, 2)) + "\n", "utf-8")
        self.done["ignore_rules_changed"] += 1

    def _checkout(self) -> None:
        """Discard local changes, half of the time untracked files too, and switch branches."""
        if self._chance.random() < 0.5:
            self._git("clean", "--quiet", "-d", "--force")
        self._git("checkout", "--quiet", "--force", self._chance.choice(BRANCHES))
        self.done["checkouts"] += 1

    def _burst(self) -> None:
        """Rewrite many files at once, as a formatter or a generator does."""
        files = self._files()
        for file in self._chance.sample(files, min(len(files), MOST_FILES_OF_A_BURST)):
            self._append(file)
            self.done["edited"] += 1

    # How

    def _append(self, file: Path) -> None:
        with file.open("a", encoding="utf-8") as opened:
            opened.write(f"\n{self._function(self._name())}")

    def _write(self, file: Path, name: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self._function(name), "utf-8")

    def _function(self, name: str) -> str:
        one, other = self._chance.sample(_WORDS, 2)
        return (
            f"def {name}(value):\n    # how to {one} what {other} left\n    return {one}(value)\n"
        )

    def _name(self) -> str:
        return f"{self._chance.choice(_WORDS)}_{self._chance.randrange(16**6):06x}"

    def _any_file(self) -> Path | None:
        files = self._files()
        return self._chance.choice(files) if files else None

    def _any_folder(self) -> Path:
        return self._chance.choice([self.root, *sorted({file.parent for file in self._files()})])

    def _files(self) -> list[Path]:
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in (".git", "soak_words")]
            found += [Path(folder, name) for name in names if name not in _IGNORE_FILES]
        return sorted(found)

    def _commit(self, message: str) -> None:
        self._git("add", "--all", "--force")
        self._git("commit", "--quiet", "--allow-empty", "--message", message)

    def _git(self, *arguments: str) -> None:
        command = ["git", "-C", str(self.root), *_IDENTITY, *arguments]
        subprocess.run(command, check=True, capture_output=True)
