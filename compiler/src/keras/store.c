/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <stdlib.h>

#include "../hdf5/reader.h"
#include "vta/fail.h"

typedef struct file_store {
    vtac_keras_store head; /* first */
    vtac_h5_file file;
} file_store;

static vtac_h5_file *file_of(vtac_keras_store *head)
{
    return &((file_store *)head)->file;
}

static void close_file(vtac_keras_store *head)
{
    free((file_store *)head);
}

static vta_status find_header(vtac_keras_store *head, const char *path, uint64_t *header, vta_diag *diag)
{
    switch (vtac_h5_find(file_of(head), path, header)) {
    case VTAC_H5_HERE: return VTA_OK;
    case VTAC_H5_ELSEWHERE:
        return vta_fail(diag, VTA_INVALID, "'%.200s' is a link; only what lies in the file itself is read",
                        path);
    case VTAC_H5_NONE: break;
    }
    return vta_fail(diag, VTA_INVALID, "it has no '%.200s'", path);
}

static bool has_path(vtac_keras_store *head, const char *path)
{
    uint64_t header;
    return vtac_h5_find(file_of(head), path, &header) == VTAC_H5_HERE;
}

static vta_status texts_of(vtac_keras_store *head, const char *path, const char *name, vta_arena *arena,
                           const char *const **out, size_t *count, vta_diag *diag)
{
    uint64_t header;
    *count = 0;
    VTA_TRY(find_header(head, path, &header, diag));
    return vtac_h5_texts(file_of(head), header, name, arena, out, count, diag);
}

static vta_status text_of(vtac_keras_store *head, const char *path, const char *name, vta_arena *arena,
                          const char **out, vta_diag *diag)
{
    const char *const *texts;
    size_t count;
    *out = NULL;
    VTA_TRY(texts_of(head, path, name, arena, &texts, &count, diag));
    *out = count > 0 ? texts[0] : NULL;
    return VTA_OK;
}

static vta_status floats_of(vtac_keras_store *head, const char *path, vta_arena *arena, vtac_tensor *out,
                            vta_diag *diag)
{
    uint64_t header;
    VTA_TRY(find_header(head, path, &header, diag));
    return vtac_h5_floats(file_of(head), header, path, arena, out, diag);
}

static const vtac_keras_store_calls file_calls = {close_file, text_of, texts_of, has_path, floats_of};

vta_status vtac_keras_store_open(const uint8_t *bytes, size_t size, vtac_keras_store **out, vta_diag *diag)
{
    file_store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return vta_no_memory(diag);
    }
    store->head.calls = &file_calls;
    const vta_status status = vtac_h5_open(bytes, size, &store->file, diag);
    if (status != VTA_OK) {
        free(store);
        return status;
    }
    *out = &store->head;
    return VTA_OK;
}

void vtac_keras_store_close(vtac_keras_store *store)
{
    if (store != NULL) {
        store->calls->close(store);
    }
}
