"""Every command that a test starts runs in its own process, unless the test is about the daemon."""

from __future__ import annotations

import os

os.environ["MEMORY_SIDECAR_NO_DAEMON"] = "1"
