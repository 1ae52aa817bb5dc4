# SPDX-License-Identifier: Apache-2.0
#
# A hart of RV32IM without floating point or an operating system, by Debian's gcc-riscv64-unknown-elf with picolibc.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv32)
set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CMAKE_C_FLAGS_RELEASE "-Os -DNDEBUG" CACHE STRING "")
# A misaligned access traps on such a hart.
string(JOIN " " CMAKE_C_FLAGS_INIT -march=rv32im -mabi=ilp32 -mstrict-align --specs=picolibc.specs -ffunction-sections -fdata-sections
       -D_POSIX_TIMERS=1 -D_POSIX_MONOTONIC_CLOCK=1)
set(VTA_BAREMETAL ON CACHE BOOL "")
set(VTA_CJSON OFF CACHE BOOL "")
set(VTA_COMPILER OFF CACHE BOOL "")
set(VTA_RTL_SIMULATORS OFF CACHE BOOL "")
set(VTA_TESTS OFF CACHE BOOL "")
