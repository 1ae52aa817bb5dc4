/* SPDX-License-Identifier: Apache-2.0
 *
 * What newlib or picolibc asks of a system, as far as the library needs it: memory from one arena, and a
 * clock.
 */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "vta/baremetal.h"
#include "vta/clock.h"

static unsigned char *arena;
static size_t arena_bytes, arena_used, arena_max;
static double (*clock_seconds)(void);

void vta_baremetal_arena(void *memory, size_t bytes)
{
    arena = memory;
    arena_bytes = bytes;
    arena_used = arena_max = 0;
}

size_t vta_baremetal_arena_used(void)
{
    return arena_max;
}

void vta_baremetal_clock(double (*seconds)(void))
{
    clock_seconds = seconds;
}

/* The allocator of newlib, or of picolibc, grows its heap by this, and by nothing else. */
#ifdef __PICOLIBC__
#    define VTA_SBRK sbrk
enum { SBRK_UNIT = 1 }; /* the next call's answer must be the end of this one */
#else
#    define VTA_SBRK _sbrk
enum { SBRK_UNIT = 16 };
#endif
void *VTA_SBRK(ptrdiff_t by);
void *VTA_SBRK(ptrdiff_t by)
{
    static const size_t unit = SBRK_UNIT;
    const size_t before = arena_used;
    if (by < 0 ? (size_t)-by > arena_used : (size_t)by > arena_bytes - arena_used) {
        errno = ENOMEM;
        union {
            ptrdiff_t number;
            void *pointer;
        } failed = {.number = -1};
        return failed.pointer;
    }
    arena_used = by < 0 ? arena_used - (size_t)-by : arena_used + ((size_t)by + unit - 1) / unit * unit;
    arena_used = arena_used > arena_bytes ? arena_bytes : arena_used;
    arena_max = arena_used > arena_max ? arena_used : arena_max;
    return arena + before;
}

#ifndef __PICOLIBC__
/* newlib's own asks for a function of POSIX that it does not have. */
void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}
#endif

double vta_now(void)
{
    return clock_seconds != NULL ? clock_seconds() : 0.0;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    const double now = vta_now();
    (void)clock;
    out->tv_sec = (time_t)now;
    out->tv_nsec = (long)((now - (double)out->tv_sec) * 1e9);
    return 0;
}

/* ---- Atomics that the processor has no instructions for, by holding interrupts off: those of 64 bits on a
 * 32-bit processor, and all on a RISC-V without its extension A. The compiler calls them by these names, and
 * has its own ideas of their types: hence the labels. */

#if defined(__arm__) && __ARM_ARCH_PROFILE == 'M'

static uint32_t hold_interrupts(void)
{
    uint32_t before;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(before)::"memory");
    return before;
}

static void release_interrupts(uint32_t before)
{
    __asm__ volatile("msr primask, %0" ::"r"(before) : "memory");
}

#    define VTA_ATOMICS_OF_64
#elif defined(__riscv) && !defined(__riscv_atomic)

static uint32_t hold_interrupts(void)
{
    uint32_t before;
    __asm__ volatile(".option push\n\t.option arch, +zicsr\n\tcsrrci %0, mstatus, 8\n\t.option pop"
                     : "=r"(before)::"memory");
    return before & 8;
}

static void release_interrupts(uint32_t before)
{
    __asm__ volatile(".option push\n\t.option arch, +zicsr\n\tcsrs mstatus, %0\n\t.option pop" ::"r"(before)
                     : "memory");
}

uint32_t vta_atomic_add_4(volatile void *to, uint32_t value, int order) __asm__("__atomic_fetch_add_4");
uint32_t vta_atomic_add_4(volatile void *to, uint32_t value, int order)
{
    (void)order;
    const uint32_t before = hold_interrupts();
    const uint32_t old = *(volatile uint32_t *)to;
    *(volatile uint32_t *)to = old + value;
    release_interrupts(before);
    return old;
}

uint32_t vta_atomic_sub_4(volatile void *to, uint32_t value, int order) __asm__("__atomic_fetch_sub_4");
uint32_t vta_atomic_sub_4(volatile void *to, uint32_t value, int order)
{
    return vta_atomic_add_4(to, 0 - value, order);
}

uint32_t vta_atomic_swap_4(volatile void *to, uint32_t value, int order) __asm__("__atomic_exchange_4");
uint32_t vta_atomic_swap_4(volatile void *to, uint32_t value, int order)
{
    (void)order;
    const uint32_t before = hold_interrupts();
    const uint32_t old = *(volatile uint32_t *)to;
    *(volatile uint32_t *)to = value;
    release_interrupts(before);
    return old;
}

#    define VTA_ATOMICS_OF_64
#endif

#ifdef VTA_ATOMICS_OF_64

uint64_t vta_atomic_load_8(const volatile void *from, int order) __asm__("__atomic_load_8");
uint64_t vta_atomic_load_8(const volatile void *from, int order)
{
    (void)order;
    const uint32_t before = hold_interrupts();
    const uint64_t value = *(const volatile uint64_t *)from;
    release_interrupts(before);
    return value;
}

void vta_atomic_store_8(volatile void *to, uint64_t value, int order) __asm__("__atomic_store_8");
void vta_atomic_store_8(volatile void *to, uint64_t value, int order)
{
    (void)order;
    const uint32_t before = hold_interrupts();
    *(volatile uint64_t *)to = value;
    release_interrupts(before);
}

uint64_t vta_atomic_add_8(volatile void *to, uint64_t value, int order) __asm__("__atomic_fetch_add_8");
uint64_t vta_atomic_add_8(volatile void *to, uint64_t value, int order)
{
    (void)order;
    const uint32_t before = hold_interrupts();
    const uint64_t old = *(volatile uint64_t *)to;
    *(volatile uint64_t *)to = old + value;
    release_interrupts(before);
    return old;
}

#endif
