"""Runs the daemon in a process without a parent, before it imports what takes time.

`python -m memory_sidecar.cli.detached DATA_DIR PIPE`; see `spawn_daemon`.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    if os.fork():
        os._exit(0)
    from memory_sidecar.cli.daemon import main

    main(client=int(sys.argv[2]))
