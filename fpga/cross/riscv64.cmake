# SPDX-License-Identifier: Apache-2.0
#
# A 64-bit RISC-V with multiplication, atomics and floating point (RV64GC) under Linux, without an accelerator of its own,
# by Debian's gcc-riscv64-linux-gnu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER riscv64-linux-gnu-gcc)
set(CMAKE_STRIP riscv64-linux-gnu-strip)
set(CMAKE_C_FLAGS_INIT "-march=rv64gc -mabi=lp64d")
include(${CMAKE_CURRENT_LIST_DIR}/board.cmake)
