# SPDX-License-Identifier: Apache-2.0
"""A program on a terminal of its own.

Its terminal outlives it: a hang-up drops what the kernel has not passed on yet. The leader of the terminal's session is
a process that waits for the program and ends its text with a mark.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

END = b'\x04'


def lead(argv, terminal, errors, told, go):
    """The leader: starts the program, ends its text, and goes with its exit status when it may."""
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    errors = terminal if errors is None else errors
    child = subprocess.Popen(argv, stdin=terminal, stdout=terminal, stderr=errors, env={**os.environ, 'TERM': 'xterm'})
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the program's alone
    os.write(told, struct.pack('i', child.pid))
    status = child.wait()
    os.write(terminal, END)
    os.read(go, 1)
    os._exit(status if status >= 0 else 128 - status)


def session(argv, columns=80, watch=None, errors=None, limit=600):
    """(exit status, text): what the program wrote on a terminal of so many columns, with stderr in the file `errors` if
    there is one. watch(pid, text, keyboard) is called ten times a second and more. A signal is 128 more than its number."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    told, tell = os.pipe()
    go, let_go = os.pipe()
    leader = os.fork()
    if leader == 0:
        try:
            os.close(let_go)
            lead(argv, theirs, errors, tell, go)
        finally:
            os._exit(127)
    os.close(tell)
    os.close(go)
    pid = struct.unpack('i', os.read(told, 4))[0]  # no bytes: the leader did not start it
    text, began = b'', time.time()
    while not text.endswith(END):
        if select.select([ours], [], [], 0.05)[0]:
            text += os.read(ours, 65536)
        if watch is not None:
            watch(pid, text, ours)
        if time.time() - began > limit:
            os.kill(pid, signal.SIGKILL)
    os.close(let_go)
    status = os.waitstatus_to_exitcode(os.waitpid(leader, 0)[1])
    for end in ours, theirs, told:
        os.close(end)
    return status, text[:-1].decode()
