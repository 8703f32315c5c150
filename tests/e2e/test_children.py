"""Programs that a daemon runs for a call are given what that caller has, and no more."""

from __future__ import annotations

import json
import sys

SUMMARIZER = """#!{python}
import json, os, sys
sys.stdin.read()
names = ("HTTPS_PROXY", "API_KEY", "OTHER_KEY")
given = " ".join(f"{{name}}={{os.environ.get(name, '')}}" for name in names)
print(json.dumps({{"brief": given, "outcome": "success"}}))
"""


def test_a_summarizer_gets_what_the_caller_has_with_and_without_a_daemon(home):
    program = home.folder / "sum up"
    program.write_text(SUMMARIZER.format(python=sys.executable))
    program.chmod(0o755)
    config = home.folder / "config" / "memory-sidecar" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f"session_summarizer = \"'{program}'\"\nchild_environment = ['API_KEY']\n"
        "model_download = false\n"
    )
    home.call("status", HTTPS_PROXY="of the first caller", API_KEY="1", OTHER_KEY="1")
    session = {"session_id": "s", "messages": [{"role": "user", "content": "Why?"}]}
    home.call("session", "save", stdin=json.dumps(session))
    for without in ("", "1"):
        done = home.call(
            *("session", "promote", "s", "--dry-run", "--json"),
            HTTPS_PROXY="proxy",
            API_KEY="2",
            OTHER_KEY="2",
            MEMORY_SIDECAR_NO_DAEMON=without,
        )
        assert done.returncode == 0, done.stderr
        assert "HTTPS_PROXY=proxy API_KEY=2 OTHER_KEY=" in done.stdout
        assert "OTHER_KEY=2" not in done.stdout
