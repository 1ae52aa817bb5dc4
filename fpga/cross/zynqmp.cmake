# SPDX-License-Identifier: Apache-2.0
#
# Zynq UltraScale+: four Cortex-A53, by Debian's gcc-aarch64-linux-gnu.
# They have no atomic instructions of ARMv8.1, so that none is looked for at run time.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_STRIP aarch64-linux-gnu-strip)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-a53 -mno-outline-atomics")
include(${CMAKE_CURRENT_LIST_DIR}/board.cmake)
