# SPDX-License-Identifier: Apache-2.0
#
# A hart of RV32IM without floating point or an operating system, by Debian's gcc-riscv64-unknown-elf with picolibc.
include(${CMAKE_CURRENT_LIST_DIR}/bare.cmake)
set(CMAKE_SYSTEM_PROCESSOR riscv32)
set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
# A misaligned access traps on such a hart.
string(JOIN " " CMAKE_C_FLAGS_INIT -march=rv32im -mabi=ilp32 -mstrict-align --specs=picolibc.specs -ffunction-sections -fdata-sections
       -D_POSIX_TIMERS=1 -D_POSIX_MONOTONIC_CLOCK=1)
