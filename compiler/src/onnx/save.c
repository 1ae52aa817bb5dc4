/* SPDX-License-Identifier: Apache-2.0
 *
 * Serializing, piece by piece: large models are not kept in memory twice.
 */
#include "save.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vta/hold.h"
#include "vtac/temporary.h"

typedef struct file_buffer {
    ProtobufCBuffer base;
    FILE *file;
    bool failed;
} file_buffer;

static void append_to_file(ProtobufCBuffer *base, size_t size, const uint8_t *bytes)
{
    file_buffer *buffer = (file_buffer *)base;
    buffer->failed = buffer->failed || fwrite(bytes, 1, size, buffer->file) != size;
}

static vta_status write_and_rename(const Onnx__ModelProto *model, const char *temporary, const char *path,
                                   vta_diag *diag)
{
    file_buffer buffer = {.base = {append_to_file}, .file = fopen(temporary, "wb")};
    if (buffer.file == NULL) {
        return vta_fail(diag, VTA_IO, "cannot write '%s': %s", path, strerror(errno));
    }
    (void)onnx__model_proto__pack_to_buffer(model, &buffer.base);
    const bool closed = fclose(buffer.file) == 0;
    const bool renamed = strcmp(temporary, path) != 0;
    if (buffer.failed || !closed || (renamed && rename(temporary, path) != 0)) {
        const vta_status status = vta_fail(diag, VTA_IO, "cannot write '%s': %s", path, strerror(errno));
        (void)(renamed ? remove(temporary) : 0);
        return status;
    }
    return VTA_OK;
}

vta_status vtac_onnx_save(const Onnx__ModelProto *model, const char *path, vta_diag *diag)
{
    char temporary[4096];
    if (onnx__model_proto__get_packed_size(model) > INT_MAX) {
        return vta_fail(diag, VTA_RANGE, "'%s': a model in one file has at most 2 GiB", path);
    }
    if (snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid()) >= (int)sizeof temporary) {
        return vta_fail(diag, VTA_RANGE, "'%.64s...': the name is too long", path);
    }
    sigset_t was;
    vta_hold_signals(&was);
    const vta_status status = write_and_rename(model, vtac_is_special(path) ? path : temporary, path, diag);
    vta_release_signals(&was);
    return status;
}
