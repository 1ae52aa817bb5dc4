# SPDX-License-Identifier: Apache-2.0
#
# The library without an operating system, for the toolchain files of processors that have none: they include this.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CMAKE_C_FLAGS_RELEASE "-Os -DNDEBUG" CACHE STRING "")
set(VTA_BAREMETAL ON CACHE BOOL "")
set(VTA_CJSON OFF CACHE BOOL "")
set(VTA_COMPILER OFF CACHE BOOL "")
set(VTA_RTL_SIMULATORS OFF CACHE BOOL "")
set(VTA_TESTS OFF CACHE BOOL "")
