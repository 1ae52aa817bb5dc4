/* SPDX-License-Identifier: Apache-2.0
 *
 * Words of a mapped register page, in the order that the program gives.
 */
#ifndef VTA_REGISTERS_H
#define VTA_REGISTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "vta/regs.h"

/* Orders the processor: earlier writes have reached memory and device before any later access. */
static inline void vta_register_barrier(void)
{
#if defined(__arm__) || defined(__aarch64__)
    __asm__ volatile("dsb sy" ::: "memory");
#elif defined(__riscv)
    __asm__ volatile("fence iorw, iorw" ::: "memory");
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

static inline uint32_t vta_register_read(const volatile uint32_t *page, uint32_t offset)
{
    const uint32_t value = page[offset / 4];
    vta_register_barrier();
    return value;
}

static inline void vta_register_write(volatile uint32_t *page, uint32_t offset, uint32_t value)
{
    vta_register_barrier();
    page[offset / 4] = value;
    vta_register_barrier();
}

/* A bus may hold a write back for a while, and a virtual board takes a command when it comes round to it: so
 * a write that acts is followed by reading it back, which gives 0 once it has acted. */
static inline bool vta_register_acts(uint32_t offset)
{
    return offset == VTA_REG_CONTROL || offset == VTA_REG_IRQ_STATUS;
}

#endif
