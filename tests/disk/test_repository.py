"""What identifies a repository across machines."""

from __future__ import annotations

import pytest

from memory_sidecar.disk.repository import Origin, origin_of


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://github.com/Acme/shop.git", "github.com/Acme/shop"),
        ("git@GitHub.com:Acme/shop.git", "github.com/Acme/shop"),
        ("ssh://git@github.com:22/Acme/shop", "github.com/Acme/shop"),
        ("https://me:pass@github.com/Acme/shop", "github.com/Acme/shop"),
        ("https://me:p@ss@github.com/Acme/shop", "github.com/Acme/shop"),
        ("https://me:pass@[::1]:8080/shop.git", "[::1]/shop"),
        ("https://me:pa/ss@github.com/Acme/shop", "https://github.com/Acme/shop"),
        ("/srv/git/me@home/shop.git", ""),
        ("../shop.git", ""),
        ("shop.git", ""),
        ("C:/git/shop.git", ""),
        ("file:///srv/git/shop.git", ""),
        ("file://localhost/srv/git/shop.git", ""),
        ("file://server/git/shop.git", "server/git/shop"),
        ("//server/git/shop.git", "//server/git/shop"),
        (r"\\\\server\\git\\shop.git", r"\\\\server\\git\\shop"),
        ("work:shop.git", "work/shop"),
        pytest.param("a://" * 200_000 + "b", "a://" * 200_000 + "b", id="takes no time"),
    ],
)
def test_an_origin_has_no_user_and_no_password_and_is_no_path_of_here(tmp_path, url, address):
    git = tmp_path / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(f'[remote "origin"]\n\turl = {url}\n[branch "main"]\n\tx = y\n')
    assert origin_of(tmp_path) == Origin(address, "main", "")
