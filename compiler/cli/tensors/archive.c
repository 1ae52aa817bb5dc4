/* SPDX-License-Identifier: Apache-2.0 */
#include "archive.h"

#include <string.h>

#include <zlib.h>

#include "tensors.h"
#include "vta/fail.h"
#include "vta/file.h"

#define MEMBER_SUFFIX ".npy"

typedef struct array_archive {
    vta_str file, directory;
    uint32_t count;
} array_archive;

static void put_little(vta_str *out, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        const uint8_t byte = (uint8_t)(value >> (8 * i));
        vta_str_append(out, &byte, 1);
    }
}

/* Fields that a member has both in front of its bytes and in the directory: a version, no flags, stored, no
 * time; checksum and sizes. */
static void put_member(vta_str *out, const vta_str *bytes, size_t name)
{
    enum { VERSION = 20, FIRST_DAY = 33 };
    const uint32_t sum = (uint32_t)crc32(0, (const Bytef *)bytes->text, (uInt)bytes->size);
    put_little(out, VERSION, 2);
    put_little(out, 0, 2);
    put_little(out, 0, 2);
    put_little(out, 0, 2);
    put_little(out, FIRST_DAY, 2);
    put_little(out, sum, 4);
    put_little(out, (uint32_t)bytes->size, 4);
    put_little(out, (uint32_t)bytes->size, 4);
    put_little(out, (uint32_t)name, 2);
    put_little(out, 0, 2);
}

static void add_member(array_archive *a, const char *name, const vta_str *bytes)
{
    const uint32_t place = (uint32_t)a->file.size;
    const size_t length = strlen(name) + sizeof MEMBER_SUFFIX - 1;
    vta_str_put(&a->file, "PK\3\4");
    put_member(&a->file, bytes, length);
    vta_str_put(&a->file, name);
    vta_str_put(&a->file, MEMBER_SUFFIX);
    vta_str_append(&a->file, bytes->text, bytes->size);
    vta_str_put(&a->directory, "PK\1\2");
    put_little(&a->directory, 20, 2);
    put_member(&a->directory, bytes, length);
    put_little(&a->directory, 0, 2); /* of a comment; */
    put_little(&a->directory, 0, 4); /* its disk, its attributes inside, */
    put_little(&a->directory, 0, 4); /* and outside */
    put_little(&a->directory, place, 4);
    vta_str_put(&a->directory, name);
    vta_str_put(&a->directory, MEMBER_SUFFIX);
    a->count++;
}

static void end_archive(array_archive *a)
{
    const uint32_t place = (uint32_t)a->file.size;
    vta_str_append(&a->file, a->directory.text, a->directory.size);
    vta_str_put(&a->file, "PK\5\6");
    put_little(&a->file, 0, 4);
    put_little(&a->file, a->count, 2);
    put_little(&a->file, a->count, 2);
    put_little(&a->file, (uint32_t)a->directory.size, 4);
    put_little(&a->file, place, 4);
    put_little(&a->file, 0, 2);
}

static vta_status add_inputs(vta_model *model, array_archive *a, vta_diag *diag)
{
    enum { MAX_BYTES = 1 << 30, MAX_NAME = UINT16_MAX - sizeof MEMBER_SUFFIX, MAX_MEMBERS = UINT16_MAX };
    if (vta_model_input_count(model) > MAX_MEMBERS) {
        return vta_fail(diag, VTA_RANGE, "%u inputs are too many for an archive (limit: %d)",
                        vta_model_input_count(model), MAX_MEMBERS);
    }
    for (uint32_t i = 0; i < vta_model_input_count(model); i++) {
        const vta_tensor_info info = vta_model_input(model, i);
        vta_str bytes = {0};
        if (info.bytes > MAX_BYTES || a->file.size > MAX_BYTES) {
            return vta_fail(diag, VTA_RANGE, "input '%s' is too large for an archive (limit: 1 GiB)",
                            info.name);
        }
        if (strlen(info.name) > MAX_NAME) {
            return vta_fail(diag, VTA_RANGE, "input '%.40s...' has a name of %zu bytes, an archive takes %d",
                            info.name, strlen(info.name), MAX_NAME);
        }
        cli_format_npy(&info, vta_model_input_data(model, i), &bytes);
        add_member(a, info.name, &bytes);
        a->file.failed = a->file.failed || bytes.failed;
        vta_str_free(&bytes);
    }
    end_archive(a);
    return vta_allocated(!a->file.failed && !a->directory.failed, diag);
}

vta_status cli_save_inputs(vta_model *model, const char *path, vta_diag *diag)
{
    array_archive a = {.count = 0};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(add_inputs(model, &a, diag));
    VTA_TRY_OUT(vta_file_write(path, a.file.text, a.file.size, diag));
out:
    vta_str_free(&a.file);
    vta_str_free(&a.directory);
    return status;
}
