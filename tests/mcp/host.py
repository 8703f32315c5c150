"""Whoever starts `memory-sidecar mcp`: a process that says lines and hears lines, nothing more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Any

import psutil

from tests.e2e.home import TIMEOUT_S, Home
from tests.waiting import eventually

INITIALIZE: dict[str, Any] = {
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    },
}
INITIALIZED: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Host:
    """One started server. Every line that it prints has to be a JSON-RPC message."""

    def __init__(self, home: Home, *arguments: object, **options: Any) -> None:
        self.process = home.start(
            "mcp", "--output-schemas", *arguments, stdin=subprocess.PIPE, **options
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._say, self._hear = self.process.stdin, self.process.stdout
        self._next_id = 0

    def open(self) -> dict[str, Any]:
        """Shake hands; returns what the server says of itself."""
        result: dict[str, Any] = self.ask(**INITIALIZE)["result"]
        self.say(INITIALIZED)
        return result

    def say(self, message: object) -> None:
        self.say_raw(json.dumps(message))

    def say_raw(self, line: str) -> None:
        self._say.write(line + "\n")
        self._say.flush()

    def say_bytes(self, data: bytes) -> None:
        self._say.flush()
        os.write(self._say.fileno(), data)

    def begin(self, method: str, params: object = None) -> int:
        """Ask without waiting for the answer; returns the request's id."""
        self._next_id += 1
        self.say({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params or {}})
        return self._next_id

    def wait_until_handed_on(self) -> None:
        """Until the server has read all that was said, and waits for more."""
        server = psutil.Process(self.process.pid)
        eventually(lambda: not self._unread() and server.status() == psutil.STATUS_SLEEPING)

    def _unread(self) -> int:
        import fcntl  # not on Windows, where this is imported all the same
        import termios

        size = fcntl.ioctl(self._say.fileno(), termios.FIONREAD, bytes(4))
        return int.from_bytes(size, sys.byteorder)

    def begin_call(self, tool: str, **arguments: object) -> int:
        return self.begin("tools/call", {"name": tool, "arguments": arguments})

    def hear(self) -> dict[str, Any]:
        """The next message; a server that says nothing for a minute is killed."""
        late = threading.Timer(TIMEOUT_S, self.process.kill)
        late.start()
        line = self._hear.readline()
        late.cancel()
        assert line, "the server has ended"
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def answer(self, asked: int) -> dict[str, Any]:
        message = self.hear()
        assert message.get("id") == asked, message
        return message

    def ask(self, method: str, params: object = None) -> dict[str, Any]:
        return self.answer(self.begin(method, params))

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The result of a call, which must not be an error of the protocol."""
        result: dict[str, Any] = self.answer(self.begin_call(tool, **arguments))["result"]
        return result

    def end(self) -> tuple[str, str]:
        """Close standard input, as a host does that goes; what was still said, and the errors."""
        try:
            return self.process.communicate(timeout=60)
        except BaseException:
            self.process.kill()
            self.process.communicate()
            raise
