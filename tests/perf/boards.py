# SPDX-License-Identifier: Apache-2.0
"""Boards whose processors are emulated: the package whose library they run, the tools, the emulator, the number of getppid()."""
BOARDS = {
    "pynq": ("pynq", "arm-linux-gnueabihf", "qemu-arm -cpu cortex-a9", 64),
    "ultra96": ("ultra96", "aarch64-linux-gnu", "qemu-aarch64 -cpu cortex-a53", 173),
    "rasp4": ("ultra96", "aarch64-linux-gnu", "qemu-aarch64 -cpu cortex-a72", 173),
    "aarch64-dotprod": ("ultra96", "aarch64-linux-gnu", "qemu-aarch64 -cpu max", 173),
}
