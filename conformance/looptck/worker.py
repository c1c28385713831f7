"""The worker's side of `looptck.spawn`: a process of its own that imports a target once and observes scenarios.

It is started as `python -m looptck.worker WRITE LEASH`, with a `Job` on standard input and two open descriptors: one
to send observations to, and one that reads its end when the parent is gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import traceback
from typing import NoReturn

from looptck.children import CHILD_FAILED, STARTED, send
from looptck.isolate import Batch, exit_code, own_streams, serve
from looptck.processes import write_all
from looptck.profile import profile_of
from looptck.spawn import job_from_json


def main(write: int, leash: int) -> NoReturn:
    """Do the job, and leave without waiting for whatever the target has started."""
    code = CHILD_FAILED
    try:
        for descriptor in (write, leash):
            os.set_inheritable(descriptor, False)  # noqa: FBT003 - os wants it so; no affair of what the target starts
        _tie(leash)
        job = job_from_json(sys.stdin.buffer.read())
        own_streams()
        sys.path[:], sys.argv[:] = job.path, job.argv
        profile = profile_of(job.load.profile)
        scenarios = [profile.scenario_from_json(text) for text in job.scenarios]
        send(write, job.seal, STARTED)
        serve(write, job.seal, Batch(0, job.load, scenarios, profile), 0, job.limit, say_loaded=True)
        code = 0
    except BrokenPipeError:  # the parent is gone, and nobody else ends what the target has started
        os.killpg(0, signal.SIGKILL)
    except BaseException as error:  # noqa: BLE001 - a bug of the kit: whoever started this process shows what it prints
        code = exit_code(error)
        write_all(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
    finally:
        os._exit(code)


def _tie(leash: int) -> None:
    """Have the system end this process group, whatever it does then, when the parent has closed the leash or is gone.

    Linux alone lets one choose the signal. Elsewhere the worker ends when it next has something to send, or by its
    alarm (`looptck.isolate.end_alone`).
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(leash, fcntl.F_SETOWN, -os.getpgid(0))
            fcntl.fcntl(leash, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(leash, fcntl.F_SETFL, fcntl.fcntl(leash, fcntl.F_GETFL) | os.O_ASYNC)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
