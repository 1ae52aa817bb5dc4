/* SPDX-License-Identifier: Apache-2.0
 *
 * Serializing, piece by piece: large models are not kept in memory twice.
 */
#include "save.h"

#include <limits.h>

#include "vta/file.h"
#include "vta/hold.h"

typedef struct file_buffer {
    ProtobufCBuffer base;
    vta_writer writer;
} file_buffer;

static void append_to_file(ProtobufCBuffer *base, size_t size, const uint8_t *bytes)
{
    vta_writer_put(&((file_buffer *)base)->writer, bytes, size);
}

vta_status vtac_onnx_save(const Onnx__ModelProto *model, const char *path, vta_diag *diag)
{
    file_buffer buffer = {.base = {append_to_file}};
    if (onnx__model_proto__get_packed_size(model) > INT_MAX) {
        return vta_fail(diag, VTA_RANGE, "'%s': a model in one file has at most 2 GiB", path);
    }
    sigset_t was;
    const bool holds = vta_hold_signals_for(path, &was);
    vta_status status = vta_writer_open(path, &buffer.writer, diag);
    if (status == VTA_OK) {
        (void)onnx__model_proto__pack_to_buffer(model, &buffer.base);
        status = vta_writer_close(&buffer.writer, diag);
    }
    if (holds) {
        vta_release_signals(&was);
    }
    return status;
}
