/* SPDX-License-Identifier: Apache-2.0
 *
 * The module libvtac_hdf5.so. See ../keras/store.h.
 */
#include "../keras/store.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"

enum { MAX_PATH = 2048, MAX_TEXTS = 1 << 16, MAX_TEXT = 1 << 28 };

typedef struct store {
    vtac_keras_store head; /* first: what the other side knows of it */
    hid_t file, access;
    H5E_auto2_t print; /* what printed errors before */
    void *client;
} store;

static store *store_of(vtac_keras_store *head)
{
    return (store *)head;
}

static void close_store(vtac_keras_store *head);
static const vtac_keras_store_calls calls;

static vta_status fail_damaged(vta_diag *diag, const char *what)
{
    return vta_fail(diag, VTA_SYNTAX, "'%s' cannot be read from the HDF5 file", what);
}

/* HDF5 counts bytes of names and files in size_t, and copies the image that it is given. */
static hid_t open_image(const uint8_t *bytes, size_t size, hid_t access)
{
    union {
        const uint8_t *in;
        void *out;
    } image = {.in = bytes}; /* it is copied, not written */
    if (H5Pset_fapl_core(access, 1 << 16, false) < 0 || H5Pset_file_image(access, image.out, size) < 0) {
        return H5I_INVALID_HID;
    }
    return H5Fopen("weights.h5", H5F_ACC_RDONLY, access);
}

/* ---- heaps of texts: libhdf5 believes the sizes that stand in them */

enum { HEAP_HEAD = 16 };

static uint64_t number_at(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 8; i-- > 0;) {
        value = value << 8 | bytes[i];
    }
    return value;
}

/* True if the objects of a heap lie inside the heap. */
static bool is_sound_heap(const uint8_t *heap, size_t room)
{
    const uint64_t size = number_at(heap + 8);
    if (size < HEAP_HEAD || size > room) {
        return false;
    }
    for (uint64_t at = HEAP_HEAD; size - at >= HEAP_HEAD;) {
        const bool is_rest = heap[at] == 0 && heap[at + 1] == 0;
        const uint64_t each = number_at(heap + at + 8);
        if (each > size - at - (is_rest ? 0 : HEAP_HEAD)) {
            return false;
        }
        if (is_rest) {
            return true;
        }
        at += HEAP_HEAD + (each + 7) / 8 * 8;
        if (at > size) {
            return false;
        }
    }
    return true;
}

static bool has_sound_heaps(const uint8_t *bytes, size_t size)
{
    static const uint8_t mark[8] = {'G', 'C', 'O', 'L', 1};
    for (size_t at = 0; at + HEAP_HEAD <= size; at += 8) {
        if (memcmp(bytes + at, mark, sizeof mark) == 0 && !is_sound_heap(bytes + at, size - at)) {
            return false;
        }
    }
    return true;
}

static vta_status open_store(const uint8_t *bytes, size_t size, vtac_keras_store **out, vta_diag *diag)
{
    if (!has_sound_heaps(bytes, size)) {
        return vta_fail(diag, VTA_SYNTAX, "damaged: a list of texts leads out of its place");
    }
    store *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return vta_no_memory(diag);
    }
    s->head.calls = &calls;
    (void)H5dont_atexit();
    (void)H5Eget_auto2(H5E_DEFAULT, &s->print, &s->client);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    s->access = H5Pcreate(H5P_FILE_ACCESS);
    s->file = open_image(bytes, size, s->access);
    if (s->file < 0) {
        close_store(&s->head);
        return vta_fail(diag, VTA_SYNTAX, "it is no whole HDF5 file");
    }
    *out = &s->head;
    return VTA_OK;
}

static void close_store(vtac_keras_store *head)
{
    store *s = store_of(head);
    if (s->file >= 0) {
        (void)H5Fclose(s->file);
    }
    (void)H5Pclose(s->access);
    (void)H5Eset_auto2(H5E_DEFAULT, s->print, s->client);
    free(s);
}

/* True if each step of the path is a hard link; *foreign: one leads to another file. */
static bool path_inside(const store *s, const char *path, bool *foreign)
{
    char part[MAX_PATH];
    const size_t length = strlen(path);
    *foreign = false;
    if (length >= sizeof part) {
        return false;
    }
    for (size_t i = 1; i <= length; i++) {
        if ((path[i] != '/' && path[i] != '\0') || path[i - 1] == '/') {
            continue;
        }
        H5L_info_t info;
        memcpy(part, path, i);
        part[i] = '\0';
        if (H5Lexists(s->file, part, H5P_DEFAULT) <= 0 ||
            H5Lget_info(s->file, part, &info, H5P_DEFAULT) < 0) {
            return false;
        }
        if (info.type != H5L_TYPE_HARD) {
            *foreign = true;
            return false;
        }
    }
    return true;
}

static bool has_path(vtac_keras_store *head, const char *path)
{
    bool foreign;
    return path_inside(store_of(head), path, &foreign);
}

static vta_status check_path(const store *s, const char *path, vta_diag *diag)
{
    bool foreign;
    if (strcmp(path, "/") == 0 || path_inside(s, path, &foreign)) {
        return VTA_OK;
    }
    return foreign ? vta_fail(diag, VTA_INVALID,
                              "'%.200s' is a link; only what lies in the file itself is read", path)
                   : vta_fail(diag, VTA_INVALID, "it has no '%.200s'", path);
}

/* ---- attributes */

static vta_status read_texts(hid_t attr, const char *what, vta_arena *arena, const char *const **out,
                             size_t *count, vta_diag *diag)
{
    const hid_t type = H5Aget_type(attr);
    const hid_t space = H5Aget_space(attr);
    const hssize_t points = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    const bool text = type >= 0 && H5Tget_class(type) == H5T_STRING;
    const bool loose = text && H5Tis_variable_str(type) > 0;
    const size_t size = text && !loose ? H5Tget_size(type) : 0;
    vta_status status = VTA_OK;
    if (points == 0) { /* an empty list has any type */
        status = VTA_OK;
    } else if (!text || points < 0 || points > MAX_TEXTS ||
               (points > 0 && size > (size_t)(MAX_TEXT / points))) {
        status = fail_damaged(diag, what);
    }
    const size_t room = status == VTA_OK ? (size_t)points : 0;
    const char **texts = vta_arena_array(arena, room, sizeof *texts);
    void *raw = calloc(room + 1, loose ? sizeof(char *) : size + 1);
    status = status == VTA_OK && (texts == NULL || raw == NULL) ? vta_no_memory(diag) : status;
    if (status == VTA_OK && room > 0 && H5Aread(attr, type, raw) < 0) {
        status = fail_damaged(diag, what);
    }
    for (size_t i = 0; status == VTA_OK && i < room; i++) {
        const char *one = loose ? ((char **)raw)[i] : (const char *)raw + i * size;
        const size_t length = one == NULL ? 0 : loose ? strlen(one) : strnlen(one, size);
        texts[i] = vta_arena_string(arena, one == NULL ? "" : one, length);
        status = vta_allocated(texts[i] != NULL, diag);
    }
    if (raw != NULL && loose && room > 0) { /* after a read that failed, too: it may have made some */
        (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, raw);
    }
    free(raw);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    *out = texts;
    *count = room;
    return status;
}

static vta_status texts_of(vtac_keras_store *head, const char *path, const char *name, vta_arena *arena,
                           const char *const **out, size_t *count, vta_diag *diag)
{
    const store *s = store_of(head);
    *count = 0;
    VTA_TRY(check_path(s, path, diag));
    if (H5Aexists_by_name(s->file, path, name, H5P_DEFAULT) <= 0) {
        return VTA_OK;
    }
    const hid_t attr = H5Aopen_by_name(s->file, path, name, H5P_DEFAULT, H5P_DEFAULT);
    if (attr < 0) {
        return fail_damaged(diag, name);
    }
    const vta_status status = read_texts(attr, name, arena, out, count, diag);
    (void)H5Aclose(attr);
    return status;
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

/* ---- numbers */

static vta_status shape_of(hid_t set, const char *path, vtac_type *type, vta_diag *diag)
{
    const hid_t space = H5Dget_space(set);
    const hid_t stored = H5Dget_type(set);
    const hid_t how = H5Dget_create_plist(set);
    const int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    hsize_t dims[VTAC_MAX_RANK];
    vta_status status = VTA_OK;
    const H5T_class_t kind = stored < 0 ? H5T_NO_CLASS : H5Tget_class(stored);
    if (rank < 0 || rank > VTAC_MAX_RANK || (kind != H5T_FLOAT && kind != H5T_INTEGER) ||
        H5Sget_simple_extent_dims(space, dims, NULL) != rank) {
        status =
            vta_fail(diag, VTA_INVALID, "'%.200s' holds no numbers of at most %d axes", path, VTAC_MAX_RANK);
    } else if (how < 0 || H5Pget_external_count(how) != 0 || H5Pget_layout(how) == H5D_VIRTUAL) {
        status = vta_fail(diag, VTA_INVALID,
                          "'%.200s' lies in another file; only what lies in the file itself is read", path);
    }
    *type = (vtac_type){.dtype = VTAC_F32, .rank = status == VTA_OK ? (uint32_t)rank : 0};
    for (uint32_t i = 0; i < type->rank; i++) {
        type->dim[i] = dims[i] > INT32_MAX ? -1 : (int64_t)dims[i];
        if (dims[i] > INT32_MAX) {
            status = vta_fail(diag, VTA_RANGE, "'%.200s' is too large", path);
        }
    }
    (void)H5Pclose(how);
    (void)H5Tclose(stored);
    (void)H5Sclose(space);
    return status;
}

static vta_status floats_of(vtac_keras_store *head, const char *path, vta_arena *arena, vtac_tensor *out,
                            vta_diag *diag)
{
    enum { MAX_NUMBERS = 1 << 28 };
    const store *s = store_of(head);
    VTA_TRY(check_path(s, path, diag));
    const hid_t set = H5Dopen2(s->file, path, H5P_DEFAULT);
    if (set < 0) {
        return fail_damaged(diag, path);
    }
    vtac_type type;
    vta_status status = shape_of(set, path, &type, diag);
    const int64_t count = status == VTA_OK ? vtac_type_elements(&type) : 0;
    if (status == VTA_OK && (count < 0 || count > MAX_NUMBERS)) {
        status = vta_fail(diag, VTA_RANGE, "'%.200s' is too large", path);
    }
    float *room = status == VTA_OK ? vta_arena_array(arena, (size_t)count, sizeof *room) : NULL;
    if (status == VTA_OK && room == NULL) {
        status = vta_no_memory(diag);
    }
    if (status == VTA_OK && H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, room) < 0) {
        status = fail_damaged(diag, path);
    }
    (void)H5Dclose(set);
    *out = (vtac_tensor){type, room, (size_t)count * sizeof *room};
    return status;
}

static const vtac_keras_store_calls calls = {
    KERAS_STORE_EDITION, open_store, close_store, text_of, texts_of, has_path, floats_of};

/* The module's one name. */
__attribute__((visibility("default"))) const void *vtac_hdf5(void);

const void *vtac_hdf5(void)
{
    return &calls;
}
