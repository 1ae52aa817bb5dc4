/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream to record into, with two buffers, and the calls that most tests of streams make.
 */
#ifndef VTA_TEST_STREAM_LAB_H
#define VTA_TEST_STREAM_LAB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vta/runtime.h"

static inline void assert_says(const vta_diag *diag, vta_status code, const char *part)
{
    if (diag->code != code || strstr(diag->text, part) == NULL) {
        fail_msg("status %d, '%s'; expected status %d and '%s'", (int)diag->code, diag->text, (int)code,
                 part);
    }
}

static inline vta_device *open_device(const char *uri)
{
    vta_diag diag = {0};
    vta_device *device = NULL;
    if (vta_device_open(uri, NULL, &device, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    return device;
}

/* A pynq stream with two large buffers. */
typedef struct fixture {
    vta_config config;
    vta_stream *s;
    vta_buffer in, out;
    vta_kernel unit; /* one micro-op, all 0 */
} fixture;

static inline fixture begin(void)
{
    fixture f;
    vta_config_default(&f.config);
    assert_int_equal(vta_stream_create(&f.config, &f.s, NULL), VTA_OK);
    f.in = vta_stream_buffer(f.s, "x", 1 << 20);
    f.out = vta_stream_buffer(f.s, "y", 1 << 20);
    f.unit = vta_stream_kernel(f.s, &(vta_uop){0}, 1);
    return f;
}

static inline vta_code *seal(fixture *f)
{
    vta_diag diag = {0};
    vta_code *code = NULL;
    if (vta_stream_finish(f->s, &code, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    vta_stream_destroy(f->s);
    return code;
}

static inline void load(fixture *f, vta_memory memory, int64_t sram, int64_t offset, int64_t count)
{
    vta_stream_load2d(f->s, &(vta_load2d){.memory = memory,
                                          .sram = sram,
                                          .buffer = f->in,
                                          .offset = offset,
                                          .y_size = 1,
                                          .x_size = count,
                                          .x_stride = count});
}

static inline void gemm_at(fixture *f, uint32_t dst, uint32_t src, uint32_t wgt)
{
    const vta_kernel kernel = vta_stream_kernel(f->s, &(vta_uop){dst, src, wgt}, 1);
    vta_stream_gemm(f->s, &(vta_gemm){.kernel = kernel, .init = true, .iter_out = 1, .iter_in = 1});
}

static inline void store_at(fixture *f, int64_t sram, int64_t offset, int64_t count)
{
    vta_stream_store2d(f->s, &(vta_store2d){sram, f->out, offset, .y_size = 1, .x_size = count});
}

#endif
