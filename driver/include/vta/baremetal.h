/* SPDX-License-Identifier: Apache-2.0
 *
 * The accelerator without an operating system: the device "baremetal" is what the program says before it
 * opens it. All memory of the library comes from one arena, which never grows.
 *
 *     static uint8_t arena[1 << 20];
 *     vta_baremetal_arena(arena, sizeof arena);
 *     vta_baremetal_setup(&(vta_baremetal){.registers = (volatile uint32_t *)0x43c00000, …});
 *     vta_model_open(&vta_model_artifact, &(vta_model_options){.device = "baremetal"}, &model, &diag);
 */
#ifndef VTA_BAREMETAL_H
#define VTA_BAREMETAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vta_baremetal {
    volatile uint32_t *registers; /* the register page: device memory, not cached */

    /* Memory that the processor and the accelerator share: where each of them sees it. */
    uint8_t *memory;
    uint64_t memory_addr;
    size_t memory_bytes;

    /* Cache hooks: write back before the accelerator reads, drop before the processor reads. NULL: the memory
     * is not cached, or coherent. */
    void (*clean)(const void *begin, size_t bytes);
    void (*invalidate)(const void *begin, size_t bytes);

    /* Called over and over while the accelerator works: it may sleep until the interrupt. NULL: poll. */
    void (*idle)(void);

    uint32_t watchdog; /* cycles without progress that end a run; 0: never */
} vta_baremetal;

/* Sets the board that the device "baremetal" opens from now on. The board is copied. */
void vta_baremetal_setup(const vta_baremetal *board);

/* Without a system: the memory that malloc has, all of it, and a clock for time-outs and profiles (seconds;
 * NULL: time stands still, and a run ends by itself or by the watchdog). */
void vta_baremetal_arena(void *memory, size_t bytes);
void vta_baremetal_clock(double (*seconds)(void));

/* Models that are part of the program (vta_model_open) are taken as `vtac compile` made and checked them:
 * their checksums and the accelerator's programs are not checked once more, which takes a processor without
 * caches or wide arithmetic longer than the model itself; each run then loads all of its weights. For models
 * that are opened from then on; false, as it is at first: everything is checked. */
void vta_baremetal_trust(bool models);

/* The most that was taken of the arena so far. */
size_t vta_baremetal_arena_used(void);

#ifdef __cplusplus
}
#endif
#endif
