"""A clear last line when the runtime ends this process because another one died.

jax's runtime has no error to raise in the middle of a computation whose other half is gone: it logs
a trace and calls abort(), from a thread of its own. A handler of that signal says what happened and
ends the process with an exit code.
"""

import ctypes
import os
import signal

__all__ = ["LOST", "say_before_the_end"]

LOST = 3  # exit code: another process of the job is gone

_handlers: list = []  # a handler must not be collected while it is installed


def say_before_the_end(text: str) -> None:
    """From now on, an abort() of the runtime ends with this line on stderr and exit code LOST."""
    line = f"error: {text}\n".encode()

    def handler(_: int) -> None:
        os.write(2, line)
        os._exit(LOST)

    # Python's own handlers wait for the main thread, and that one waits for the dead
    _handlers.append(ctypes.CFUNCTYPE(None, ctypes.c_int)(handler))
    ctypes.CDLL(None).signal(int(signal.SIGABRT), _handlers[-1])
