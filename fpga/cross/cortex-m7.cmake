# SPDX-License-Identifier: Apache-2.0
#
# A Cortex-M7 with its floating-point unit and no operating system, by Debian's gcc-arm-none-eabi with newlib.
include(${CMAKE_CURRENT_LIST_DIR}/bare.cmake)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
# newlib declares clocks and the formats of 64-bit numbers only when it is told that they are there; this compiler's
# own <stdint.h> keeps it from seeing the latter.
string(JOIN " " CMAKE_C_FLAGS_INIT -mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard -ffunction-sections
       -fdata-sections -D_POSIX_TIMERS=1 -D_POSIX_MONOTONIC_CLOCK=1 -D__int64_t_defined=1)
