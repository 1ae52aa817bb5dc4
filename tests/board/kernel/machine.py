# SPDX-License-Identifier: Apache-2.0
"""An ARM machine under qemu whose device is a virtual board: machine.py BOARD FOLDER ROOT LINES

BOARD is the folder of a running `vtac board --plain --address 0x50001000`: its file dev/uio0 is memory of the machine from
0x50000000 on, the register page first, so that the kernel in the machine and the simulated hardware see the same bytes.
The machine's interrupt line 100 is what the page's IRQ_STATUS says. FOLDER has the kernel and its modules (fetch.sh), ROOT
what becomes the machine's file system, with an /init. The console goes to the file LINES; exit status 0 when the machine
has switched itself off within a minute of its own processor time.
"""
import json
import mmap
import os
import resource
import signal
import socket
import subprocess
import sys
import time

RAM, PAGE, PAGE_BYTES, LINE, IRQ_STATUS = 256 << 20, 0x50000000, 4096, 100, 0x34
TREE = """/dts-v1/; /plugin/;
/ { fragment@0 { target-path = "/"; __overlay__ {
    vta@%(page)x {
        compatible = "generic-uio";
        linux,uio-name = "vta";
        reg = <0 0x%(page)x 0 0x%(page_bytes)x>, <0 0x%(memory)x 0 0x%(memory_bytes)x>;
        interrupts = <0 %(line)d 4>;
    };
}; }; };
"""


def entry(name, mode, data, device=(0, 0)):
    """One file of a cpio archive, as the kernel reads it."""
    name = name.encode() + b'\0'
    words = (0, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0)
    head = b'070701' + b''.join(b'%08X' % word for word in words) + name
    return head + b'\0' * (-len(head) % 4) + data + b'\0' * (-len(data) % 4)


def archive(root):
    """ROOT as the machine's first file system."""
    parts = []
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            inside = os.path.relpath(path, root)
            if os.path.isdir(path):
                parts.append(entry(inside, 0o40755, b''))
            else:
                with open(path, 'rb') as stream:
                    parts.append(entry(inside, 0o100000 | os.stat(path).st_mode & 0o777, stream.read()))
    parts.append(entry('dev/console', 0o20600, b'', (5, 1)))
    return b''.join(parts) + entry('TRAILER!!!', 0, b'')


def command(board, memory_bytes):
    """qemu with the board's file as its second bank of memory."""
    size = PAGE_BYTES + memory_bytes
    spare = -(RAM + size) % (1 << 20)
    return ['qemu-system-arm', '-M', 'virt,highmem=off', '-cpu', 'cortex-a15', '-accel', 'tcg',
            '-m', '%dK' % ((RAM + size + spare) >> 10), '-nodefaults', '-display', 'none', '-no-reboot',
            '-object', 'memory-backend-ram,id=r0,size=%d' % RAM,
            '-object', 'memory-backend-file,id=r1,size=%d,share=on,mem-path=%s' % (size, board + '/dev/uio0'),
            '-object', 'memory-backend-ram,id=r2,size=%d' % spare,
            '-numa', 'node,memdev=r0', '-numa', 'node,memdev=r1', '-numa', 'node,memdev=r2']


def make_tree(qemu, memory_bytes, work):
    """The machine's own device tree, with our node."""
    with open(work + '/vta.dts', 'w', encoding='ascii') as stream:
        stream.write(TREE % {'page': PAGE, 'page_bytes': PAGE_BYTES, 'memory': PAGE + PAGE_BYTES,
                             'memory_bytes': memory_bytes, 'line': LINE})
    quiet = {'check': True, 'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    subprocess.run(qemu + ['-M', 'dumpdtb=' + work + '/base.dtb'], **quiet)
    subprocess.run(['dtc', '-q', '-@', '-I', 'dts', '-O', 'dtb', '-o', work + '/vta.dtbo', work + '/vta.dts'], **quiet)
    subprocess.run(['fdtoverlay', '-i', work + '/base.dtb', '-o', work + '/vta.dtb', work + '/vta.dtbo'], **quiet)


def talk(path):
    """A line-wise connection to one of qemu's sockets."""
    while True:
        line = socket.socket(socket.AF_UNIX)
        try:
            line.connect(path)
            return line.makefile('rw')
        except (FileNotFoundError, ConnectionRefusedError):
            line.close()
            time.sleep(0.01)


def ask(stream, **what):
    """One command of qemu's monitor and its answer; events in between are dropped."""
    stream.write(json.dumps(what) + '\n')
    stream.flush()
    while True:
        answer = json.loads(stream.readline())
        if 'return' in answer or 'error' in answer:
            return answer.get('return')


def find_controller(path):
    """Where qemu has the interrupt controller."""
    stream = talk(path)
    stream.readline()
    ask(stream, execute='qmp_capabilities')
    inside = '/machine/unattached'
    for child in ask(stream, execute='qom-list', arguments={'path': inside}):
        if child['type'] == 'child<arm_gic>':
            return inside + '/' + child['name']
    raise SystemExit('machine.py: this qemu has no arm_gic')


def wire(page, machine, work):
    """Raises and lowers the machine's line with the board's, until the machine is off."""
    gic = find_controller(work + '/monitor')
    tests = talk(work + '/tests')
    level = 0
    while machine.poll() is None:
        now = page[IRQ_STATUS] & 1
        if now != level:
            level = now
            try:
                tests.write('set_irq_in %s unnamed-gpio-in %d %d\n' % (gic, LINE, level))
                tests.flush()
                tests.readline()
            except OSError:
                break
        time.sleep(0.0005)
    return machine.wait()


def main():
    board, folder, root, lines = sys.argv[1:]
    work = os.path.dirname(os.path.abspath(lines))
    memory_bytes = os.stat(board + '/dev/uio0').st_size - PAGE_BYTES
    qemu = command(board, memory_bytes)
    make_tree(qemu, memory_bytes, work)
    with open(work + '/initrd', 'wb') as stream:
        stream.write(archive(root))
    machine = subprocess.Popen(
        qemu + ['-kernel', folder + '/vmlinuz', '-initrd', work + '/initrd', '-dtb', work + '/vta.dtb',
                '-append', 'console=ttyAMA0 mem=%dM panic=-1 loglevel=4' % (RAM >> 20), '-serial', 'file:' + lines,
                '-qmp', 'unix:%s/monitor,server=on,wait=off' % work, '-qtest', 'unix:%s/tests,server=on,wait=off' % work,
                '-qtest-log', '/dev/null'],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 65)))
    signal.signal(signal.SIGTERM, lambda *_: machine.kill())
    with open(board + '/dev/uio0', 'r+b') as stream, mmap.mmap(stream.fileno(), PAGE_BYTES) as page:
        sys.exit(wire(page, machine, work))


if __name__ == '__main__':
    main()
