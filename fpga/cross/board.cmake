# SPDX-License-Identifier: Apache-2.0
#
# Settings of the boards' toolchain files: the runtime alone, small. Functions that nobody calls leave the programs, and the
# linker sees all of the library at once; objects hold code as well, for who links the archive without that, as our programs do,
# which are as small so. Nothing is aligned for speed, only what is very small is inlined, and no function keeps a frame
# pointer. The linker optimizes the library as one unit, not as several. No code is there twice for the sake of a jump, no
# function is cut in two, and nobody asks what errno a function of mathematics has set.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "")
set(CMAKE_C_FLAGS_INIT "${CMAKE_C_FLAGS_INIT} -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables -falign-functions=4 -falign-loops=4 -falign-jumps=4 -fomit-frame-pointer -fno-ipa-sra -fno-partial-inlining -fno-thread-jumps -fno-math-errno --param=max-inline-insns-auto=6 -flto=auto -ffat-lto-objects")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-fno-lto -Wl,--gc-sections -Wl,--as-needed")
# The boards' kernels have pages of 4 KiB; for larger ones, the linker would pad each segment.
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,-O1 -Wl,--gc-sections -Wl,--as-needed -Wl,--sort-section=alignment -Wl,-z,max-page-size=4096 -flto-partition=one")
set(VTA_COMPILER OFF CACHE BOOL "")
set(VTA_RTL_SIMULATORS OFF CACHE BOOL "")
set(VTA_TESTS OFF CACHE BOOL "")
set(VTA_BINDINGS OFF CACHE BOOL "")
set(VTA_CJSON OFF CACHE BOOL "")
