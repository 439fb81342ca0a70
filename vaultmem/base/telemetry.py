"""Libraries that report to their makers, told not to before any of them is imported.

onnxruntime reads its switch once, when it is imported: later is too late. So this is the
first thing that importing vaultmem does, whichever of its modules was asked for. It writes
the environment, because native code reads it there and children inherit it.
"""

from __future__ import annotations

import os

SWITCHES = {
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime: an id in the home folder, a queue, uploads
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub, of which `models pull` makes use
}


def switch_off_telemetry() -> None:
    for name, value in SWITCHES.items():
        if not os.environ.get(name):  # what the person says stays
            os.environ[name] = value
