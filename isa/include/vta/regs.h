/* SPDX-License-Identifier: Apache-2.0
 *
 * The register page of regs.def as C constants.
 */
#ifndef VTA_REGS_H
#define VTA_REGS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Programs map the first page; the second one is the system's. */
enum { VTA_REG_ID_VALUE = 0x56544143, VTA_REG_PAGE_BYTES = 4096, VTA_REG_BYTES = 8192, VTA_DMA_WINDOWS = 4 };

/* Byte offsets: VTA_REG_STATUS … */
typedef enum vta_reg {
#define VTA_REG(name, offset, access, doc) VTA_REG_##name = (offset),
#include "vta/regs.def"
} vta_reg;

/* Lowest bit and width of a field: VTA_REG_STATUS_DONE_LSB, VTA_REG_STATUS_DONE_WIDTH … */
enum {
#define VTA_REG_FIELD(reg, field, lsb, width)                                                                \
    VTA_REG_##reg##_##field##_LSB = (lsb), VTA_REG_##reg##_##field##_WIDTH = (width),
#include "vta/regs.def"
};

/* A field's value in its register, and out of it: VTA_REG_PUT(CONTROL_START, 1), VTA_REG_GET(ERROR_CODE,
 * word). */
#define VTA_REG_PUT(field, value) ((uint32_t)(value) << VTA_REG_##field##_LSB)
#define VTA_REG_GET(field, word)                                                                             \
    ((uint32_t)(word) >> VTA_REG_##field##_LSB & ((1U << VTA_REG_##field##_WIDTH) - 1))

#ifdef __cplusplus
}
#endif
#endif
