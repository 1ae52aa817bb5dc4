/* SPDX-License-Identifier: Apache-2.0
 *
 * A scheduled region on a device. Tensors go in and out by the formulas of vtac/vta.h, byte by byte.
 */
#include <stdlib.h>
#include <string.h>

#include "lab.h"
#include "vta/runtime.h"

struct lab_device {
    const lab_region *lab;
    vta_device *device;
    vta_code *code;
    vta_job *job;
    vta_mem constants, work;
};

static vta_status build(lab_device *d, const char *uri, const vtac_vta_image *image, vta_diag *diag)
{
    VTA_TRY(vta_device_open(uri, &image->program.config, &d->device, diag));
    VTA_TRY(vta_code_from_program(&image->program, &d->code, diag));
    VTA_TRY(vta_job_create(d->code, d->device, &d->job, diag));
    VTA_TRY(vta_device_alloc(d->device, image->constant_bytes, &d->constants, diag));
    VTA_TRY(vta_device_alloc(d->device, image->work_bytes, &d->work, diag));
    memcpy(d->constants.host, image->constants, image->constant_bytes);
    memset(d->work.host, 0x5a, image->work_bytes); /* what nobody wrote must not matter */
    return VTA_OK;
}

vta_status lab_device_open(const char *uri, const lab_region *lab, const vtac_vta_image *image,
                           lab_device **out, vta_diag *diag)
{
    lab_device *d = calloc(1, sizeof *d);
    *out = d;
    if (d == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory");
    }
    d->lab = lab;
    return build(d, uri, image, diag);
}

void lab_device_close(lab_device *d)
{
    if (d == NULL) {
        return;
    }
    vta_job_destroy(d->job);
    vta_code_destroy(d->code);
    if (d->device != NULL) {
        if (d->constants.host != NULL) {
            vta_device_free(d->device, &d->constants);
        }
        if (d->work.host != NULL) {
            vta_device_free(d->device, &d->work);
        }
        vta_device_close(d->device);
    }
    free(d);
}

static size_t byte_of(const vta_config *config, const vtac_vta_tensor *t, int64_t n, int64_t c, int64_t y,
                      int64_t x)
{
    const int64_t batch = config->batch, block = vtac_vta_block(config);
    const int64_t blocks = (t->stored_c + block - 1) / block;
    const int64_t tile = (((n / batch) * blocks + c / block) * t->stored_h + y) * t->stored_w + x;
    return (size_t)(t->offset + (uint64_t)(tile * batch * block + n % batch * block + c % block));
}

/* Channel c of the stored tensor at (y, x): of the image itself, or of its window. */
static int8_t stored(const vtac_vta_tensor *t, const int8_t *image, int64_t n, int64_t c, int64_t y,
                     int64_t x)
{
    int64_t channel = c;
    if (t->folded) {
        const int64_t tap = c / t->c;
        channel = c % t->c;
        y = y * t->fold.stride[0] + tap / t->fold.kernel[1] * t->fold.dilation[0] - t->fold.before[0];
        x = x * t->fold.stride[1] + tap % t->fold.kernel[1] * t->fold.dilation[1] - t->fold.before[1];
    }
    if (n >= t->n || c >= t->stored_c || y < 0 || y >= t->h || x < 0 || x >= t->w) {
        return (int8_t)t->zero;
    }
    return image[((n * t->c + channel) * t->h + y) * t->w + x];
}

static void write_input(lab_device *d, const vtac_vta_tensor *t, const int8_t *image)
{
    const vta_config *config = vta_device_config(d->device);
    const int64_t batch = config->batch, block = vtac_vta_block(config);
    for (int64_t n = 0; n < (t->n + batch - 1) / batch * batch; n++) {
        for (int64_t c = 0; c < (t->stored_c + block - 1) / block * block; c++) {
            for (int64_t y = 0; y < t->stored_h; y++) {
                for (int64_t x = 0; x < t->stored_w; x++) {
                    ((int8_t *)d->work.host)[byte_of(config, t, n, c, y, x)] = stored(t, image, n, c, y, x);
                }
            }
        }
    }
}

static vta_status read_output(const lab_device *d, const vtac_vta_tensor *t, int8_t **out, vta_diag *diag)
{
    const vta_config *config = vta_device_config(d->device);
    int8_t *to = malloc((size_t)(t->n * t->c * t->h * t->w) + 1);
    *out = to;
    if (to == NULL) {
        return vta_fail(diag, VTA_NOMEM, "no memory");
    }
    for (int64_t n = 0; n < t->n; n++) {
        for (int64_t c = 0; c < t->c; c++) {
            for (int64_t y = 0; y < t->h; y++) {
                for (int64_t x = 0; x < t->w; x++) {
                    *to++ = ((const int8_t *)d->work.host)[byte_of(config, t, n, c, y, x)];
                }
            }
        }
    }
    return VTA_OK;
}

vta_status lab_device_run(lab_device *d, const lab_values *inputs, lab_values *got, vta_report *report,
                          vta_diag *diag)
{
    const uint64_t addresses[] = {d->constants.addr, d->work.addr};
    for (uint32_t i = 0; i < d->lab->region.tensor_count; i++) {
        if (d->lab->tensors[i].role == VTAC_VTA_INPUT) {
            write_input(d, &d->lab->tensors[i], inputs->of[i]);
        }
    }
    VTA_TRY(vta_job_run(d->job, addresses, 2, 0, report, diag));
    for (uint32_t i = 0; i < d->lab->region.tensor_count; i++) {
        if (d->lab->tensors[i].role == VTAC_VTA_OUTPUT) {
            VTA_TRY(read_output(d, &d->lab->tensors[i], &got->of[i], diag));
        }
    }
    return VTA_OK;
}

const uint64_t *lab_device_account(lab_device *device, uint32_t *insn_count)
{
    return vta_device_account(device->device, insn_count);
}
