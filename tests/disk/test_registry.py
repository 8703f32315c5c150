from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_sidecar.core.errors import (
    NotFound,
    PathRefused,
    StoreForeign,
    StoreNewer,
    StoreReadOnly,
    UsageError,
)
from memory_sidecar.core.model import Source
from memory_sidecar.core.opening import Tree
from memory_sidecar.disk.registry import Registry


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the registry's file is going to be; its folder does not exist yet."""
    return tmp_path / "state" / "codebase" / "sources.json"


@pytest.fixture
def registry(path: Path) -> Registry:
    return Registry(path)


def folder(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir(parents=True, exist_ok=True)
    return tmp_path / name


def test_a_missing_file_holds_no_sources_and_is_not_made_by_reading(registry, path, tmp_path):
    assert registry.all() == []
    assert registry.containing(tmp_path) is None
    assert not path.parent.exists()


def test_sources_survive_in_the_order_of_registration(registry, path, tmp_path):
    shop = registry.add(folder(tmp_path, "shop"), excludes=("*.txt",))
    app = registry.add(folder(tmp_path, "app"), name="mobile")
    assert shop == Source("shop", tmp_path / "shop", ("*.txt",))
    assert app == Source("mobile", tmp_path / "app")
    assert Registry(path).all() == [shop, app]
    assert registry.get("mobile") == app


def test_the_same_root_is_registered_once_however_it_is_spelled(
    registry, path, tmp_path, monkeypatch
):
    shop = registry.add(folder(tmp_path, "shop"))
    written = path.stat().st_mtime_ns, path.read_bytes()
    (tmp_path / "link").symlink_to("shop")
    monkeypatch.chdir(tmp_path)
    for spelling in (Path("shop"), Path("./shop/../shop"), tmp_path / "link"):
        assert registry.add(spelling) == shop
    assert registry.add(tmp_path / "shop", name="shop") == shop
    assert (path.stat().st_mtime_ns, path.read_bytes()) == written


def test_a_change_reads_the_file_once(registry, path, tmp_path, monkeypatch):
    registry.add(folder(tmp_path, "shop"))
    read, files = Tree.read, list[Path]()

    def noted(tree: Tree, file: Path, limit: int) -> bytes:
        files.append(file)
        return read(tree, file, limit)

    monkeypatch.setattr(Tree, "read", noted)
    registry.add(folder(tmp_path, "app"))
    assert files.count(path) == 1


@pytest.mark.parametrize("lose", [lambda path: path.write_bytes(b"\0" * 64), Path.unlink])
def test_a_lost_file_has_what_was_written_last(registry, path, tmp_path, lose):
    shop = registry.add(folder(tmp_path, "shop"), excludes=("*.txt",))
    lose(path)
    assert registry.all() == [shop]
    app = registry.add(folder(tmp_path, "app"))
    assert json.loads(path.read_text())["sources"][0]["excludes"] == ["*.txt"]
    assert registry.all() == [shop, app]


def test_a_file_of_an_earlier_version_gets_its_copy_with_the_next_call(registry, path, tmp_path):
    shop = registry.add(folder(tmp_path, "shop"), excludes=("*.txt",))
    path.with_name("sources.json~").unlink()
    assert registry.add(tmp_path / "shop") == shop
    path.write_bytes(b"")
    assert registry.all() == [shop]


def test_a_source_is_registered_where_its_copy_cannot_be_written(registry, path, tmp_path):
    shop = registry.add(folder(tmp_path, "shop"))
    path.with_name("sources.json~").unlink()
    path.with_name("sources.json~").mkdir()
    app = registry.add(folder(tmp_path, "app"))
    assert registry.all() == [shop, app]


@pytest.mark.parametrize(
    ("lose", "lost"),
    [(lambda path: path.write_bytes(b""), "empty"), (Path.unlink, "missing")],
    ids=["empty", "missing"],
)
def test_where_the_copy_of_a_lost_file_is_broken_its_advice_helps(
    registry, path, tmp_path, lose, lost
):
    registry = Registry(path, recover=lambda: ([("shop", str(tmp_path / "shop"))], "the database"))
    shop = registry.add(folder(tmp_path, "shop"))
    copy = path.with_name("sources.json~")
    lose(path)
    for text in ("{", '{"version": "x"}', '{"version": 1, "sources": 7}'):
        copy.write_text(text)
        with pytest.raises(StoreForeign) as caught:
            registry.all()
        assert f"is {lost}, and its copy sources.json~" in caught.value.message
        assert "move it away: the sources are then those of the database" in caught.value.hint
    copy.unlink()
    assert registry.all() == [shop]


def test_a_change_of_the_file_alone_gets_into_its_copy_with_the_next_call(registry, path, tmp_path):
    registry.add(folder(tmp_path, "shop"), excludes=("*.txt",))
    path.write_text(path.read_text().replace("*.txt", "*.md"))  # as an earlier version does
    shop = registry.add(tmp_path / "shop")
    path.write_bytes(b"")
    assert registry.all() == [shop]
    assert shop.excludes == ("*.md",)


def test_a_folder_keeps_its_name_beside_the_files_of_the_state(registry, path, tmp_path):
    (path.parent / "sources.bak").mkdir(parents=True)  # as another source's state
    for name in ("sources.bak", "sources.json.bak"):
        assert registry.add(folder(tmp_path, name)).name == name
    assert len(registry.all()) == 2


def test_further_excludes_are_added(registry, tmp_path):
    registry.add(folder(tmp_path, "shop"), excludes=("*.txt",))
    source = registry.add(tmp_path / "shop", excludes=("docs/", "*.txt"))
    assert source.excludes == ("*.txt", "docs/")
    assert registry.add(tmp_path / "shop") == source
    assert registry.all() == [source]


@pytest.mark.parametrize(
    ("folder_name", "name"),
    [
        ("My Shop (v2)", "My-Shop-v2"),
        (".dotfiles", "dotfiles"),
        ("ünï", "uni"),
        ("コード", "source"),
        ("x" * 100, "x" * 64),
        ("a\nb", "a-b"),
    ],
)
def test_a_name_is_made_from_the_folders(registry, tmp_path, folder_name, name):
    assert registry.add(folder(tmp_path, folder_name)).name == name


def test_made_names_are_unique_without_regard_to_case(registry, tmp_path):
    roots = [folder(tmp_path, name) for name in ("a/shop", "b/Shop", "c/shop", "d/" + "x" * 64)]
    assert [registry.add(root).name for root in roots] == ["shop", "Shop-2", "shop-3", "x" * 64]
    assert registry.add(folder(tmp_path, "e/" + "x" * 64)).name == "x" * 62 + "-2"


@pytest.mark.parametrize("name", ["", "../up", "a/b", "-x", "x" * 65, "a b", "SHOP", "writer.lock"])
def test_a_name_that_is_taken_or_no_name_is_refused(registry, tmp_path, name):
    registry.add(folder(tmp_path, "shop"))
    with pytest.raises(UsageError):
        registry.add(folder(tmp_path, "other"), name=name)
    assert [source.name for source in registry.all()] == ["shop"]


@pytest.mark.parametrize("glob", ["[", "!!keep.py", ""])
def test_an_exclude_that_is_no_glob_is_not_registered(registry, tmp_path, glob):
    with pytest.raises(UsageError):
        registry.add(folder(tmp_path, "shop"), excludes=(glob,))
    assert registry.all() == []


def test_a_registered_root_keeps_its_name(registry, tmp_path):
    registry.add(folder(tmp_path, "shop"))
    with pytest.raises(UsageError, match="registered as 'shop'"):
        registry.add(tmp_path / "shop", name="store")


def test_a_root_that_is_no_readable_folder_is_refused(registry, path, tmp_path):
    (tmp_path / "file").write_text("x\n")
    (tmp_path / "loop").symlink_to("loop")
    for root in ("gone", "file", "loop", "file/below"):
        with pytest.raises(NotFound if root == "gone" else PathRefused):
            registry.add(tmp_path / root)
    assert not path.exists()


def test_a_locked_folder_is_refused(registry, locked_root, drop_privileges):
    (locked_root / "shop").mkdir(mode=0)
    drop_privileges()
    with pytest.raises(PathRefused, match="Permission denied"):
        registry.add(locked_root / "shop")


def test_a_link_that_may_not_be_read_is_refused(registry):
    try:
        Path("/proc/1/cwd").readlink()
    except OSError:
        with pytest.raises(PathRefused, match="cannot be read"):
            registry.add(Path("/proc/1/cwd"))
    else:
        pytest.skip("any link of /proc may be read here")


def test_containing_finds_the_innermost_source(registry, tmp_path):
    outer = registry.add(folder(tmp_path, "shop"))
    inner = registry.add(folder(tmp_path, "shop/lib/pay"))
    folder(tmp_path, "shop2")
    assert registry.containing(tmp_path / "shop/lib/pay/src/a.py") == inner
    assert registry.containing(tmp_path / "shop/lib/pay") == inner
    assert registry.containing(tmp_path / "shop/lib") == outer
    assert registry.containing(tmp_path / "shop2") is None
    (tmp_path / "link").symlink_to("shop/lib/pay")
    assert registry.containing(tmp_path / "link/src") == inner


def test_a_removed_source_is_forgotten(registry, tmp_path):
    shop, app = (registry.add(folder(tmp_path, name)) for name in ("shop", "app"))
    assert registry.remove("shop") == shop
    assert registry.all() == [app]
    for unknown in (registry.remove, registry.get):
        with pytest.raises(NotFound) as caught:
            unknown("shop")
        assert caught.value.hint == "there are: app"
    registry.add(folder(tmp_path, "akka.net"))
    with pytest.raises(NotFound) as caught:
        registry.get("Akka")
    assert caught.value.hint == "did you mean akka.net? there are: app, akka.net"


def test_what_a_newer_build_added_to_the_file_survives(registry, path, tmp_path):
    registry.add(folder(tmp_path, "shop"))
    document = json.loads(path.read_text())
    document["theme"] = {"dark": True}
    document["sources"][0]["kind"] = "code"
    path.write_text(json.dumps(document))
    registry.add(folder(tmp_path, "app"))
    registry.add(tmp_path / "shop", excludes=("*.txt",))
    after = json.loads(path.read_text())
    assert after["theme"] == {"dark": True}
    assert after["sources"][0]["kind"] == "code"
    assert after["sources"][0]["excludes"] == ["*.txt"]


@pytest.mark.parametrize(
    "content",
    [
        *("{", "[]", "null", "\udcff", '{"version": "1"}', '{"sources": []}', '{"version": 1}'),
        *('{"version": 1, "sources": {"a": 1}}', '{"version": 1, "sources": [{"name": "a"}]}'),
        '{"version": 1, "sources": [{"name": "a", "root": 3}]}',
        '{"version": 1, "sources": [{"name": "a", "root": "/a", "excludes": null}]}',
        '{"version": 1, "sources": [{"name": "../../../precious", "root": "/a"}]}',
        '{"version": 1, "sources": [{"name": "..", "root": "/a"}]}',
        '{"version": 1, "sources": [{"name": "a/b", "root": "/a"}]}',
        '{"version": 1, "sources": [{"name": "a\\u0000", "root": "/a"}]}',
        '{"version": 1, "sources": [{"name": "/a", "root": "/a"}]}',
        '{"version": 1, "sources": [{"name": "writer.lock", "root": "/a"}]}',
        '{"version": 1, "sources": [{"name": "a", "root": "/a"}, {"name": "A", "root": "/b"}]}',
        '{"version": 1, "sources": [{"name": "a", "root": "a"}]}',
        '{"version": 1, "sources": [{"name": "a", "root": "/a/../b"}]}',
    ],
)
def test_a_broken_file_is_named_and_never_overwritten(registry, path, tmp_path, content):
    path.parent.mkdir(parents=True)
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    before = path.read_bytes()
    for call in (
        registry.all,
        lambda: registry.add(folder(tmp_path, "shop")),
        lambda: registry.remove("a"),
    ):
        with pytest.raises(StoreForeign) as caught:
            call()
        assert str(path) in caught.value.message
        assert "move it away" in caught.value.hint
    assert path.read_bytes() == before


def test_a_file_of_garbage_is_named_without_its_bytes(registry, path):
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xaa" * 500)
    with pytest.raises(StoreForeign, match=r"can't decode byte 0xaa in position 0: [a-z ]+\)$"):
        registry.all()


@pytest.mark.skipif(os.getuid() != 0, reason="giving a file away takes root")
def test_a_file_of_another_user_is_not_believed(registry, path, tmp_path):
    registry.add(folder(tmp_path, "shop"))
    os.chown(path, 12345, 12345)
    with pytest.raises(StoreForeign, match="owned by another user"):
        registry.all()


def test_our_own_data_is_no_source(path, tmp_path):
    registry = Registry(path, data_dirs=[tmp_path])
    for name in ("", "knowledge", "knowledge/a", "state", "episodic", "archive/a"):
        for force in (True, False):
            with pytest.raises(PathRefused, match="data of memory-sidecar"):
                registry.add(folder(tmp_path, name), force=force)
    assert registry.add(folder(tmp_path, "projects/shop")).name == "shop"


def test_all_that_the_user_has_is_a_source_only_if_they_insist(registry, tmp_path, monkeypatch):
    home = folder(tmp_path, "home/user")
    monkeypatch.setenv("HOME", str(home))
    for root in (home, home.parent, Path("/"), Path("~")):
        with pytest.raises(PathRefused, match="is your home folder, or contains it") as caught:
            registry.add(root)
        assert "--force" in caught.value.hint
    assert registry.add(folder(home, "shop")).name == "shop"
    assert registry.add(home, force=True).root == home
    assert registry.add(home).root == home


def test_a_file_of_a_later_version_is_left_alone(registry, path):
    path.parent.mkdir(parents=True)
    path.write_text('{"version": 2, "places": []}')
    with pytest.raises(StoreNewer):
        registry.all()


def test_a_root_whose_name_is_not_utf8_is_refused(registry, tmp_path):
    with pytest.raises(PathRefused, match=r"caf\\xe9/shop is not UTF-8"):
        registry.add(folder(tmp_path, os.fsdecode(b"caf\xe9/shop")))
    assert registry.all() == []


def test_what_git_keeps_is_no_source_and_its_clone_is_offered(registry, tmp_path):
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "shop.git"], check=True)
    subprocess.run(["git", "init", "-q", tmp_path / "app"], check=True)
    for root in (tmp_path / "shop.git", tmp_path / "app" / ".git"):
        with pytest.raises(PathRefused, match="no checked out files") as caught:
            registry.add(root)
        assert root.as_uri() in caught.value.hint
    assert registry.add(tmp_path / "app").name == "app"


def test_a_read_only_data_directory_is_named(locked_root, tmp_path, drop_privileges):
    (locked_root / "shop").mkdir()
    locked_root.chmod(0o555)
    drop_privileges()
    with pytest.raises(StoreReadOnly):
        Registry(locked_root / "state" / "sources.json").add(locked_root / "shop")


ADD_TEN = """
import sys
from pathlib import Path
from memory_sidecar.disk.registry import Registry
registry = Registry(Path(sys.argv[1]))
for number in range(10):
    root = Path(sys.argv[2], f"{sys.argv[3]}-{number}")
    root.mkdir()
    registry.add(root)
"""


def test_processes_that_add_at_once_lose_nothing(registry, path, tmp_path):
    roots = folder(tmp_path, "roots")
    processes = [
        subprocess.Popen([sys.executable, "-c", ADD_TEN, str(path), str(roots), who])
        for who in ("one", "two", "three")
    ]
    assert [process.wait() for process in processes] == [0, 0, 0]
    names = {source.name for source in registry.all()}
    assert names == {f"{who}-{n}" for who in ("one", "two", "three") for n in range(10)}
    known = {"sources.json", "sources.json~", "sources.lock"}
    assert {entry.name for entry in path.parent.iterdir()} <= known
