/* SPDX-License-Identifier: Apache-2.0
 *
 * A generation in a file: its tokens, and the states that hold them. Little-endian: the header, the tokens,
 * for each state its description and its bytes, and a hash of all before it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "generate.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hash.h"
#include "vta/str.h"

#define KEPT_MAGIC UINT64_C(0x3154504b41544156) /* "VATAKPT1" */
#define KEPT_LIMIT ((size_t)1 << 40)

enum { MAX_RANK = 8 };

typedef struct kept_header {
    uint64_t magic;
    uint64_t model, target; /* vta_model_identity */
    uint64_t past, tokens, states;
} kept_header;

typedef struct kept_state {
    int64_t dim[MAX_RANK];
    uint64_t rank, bytes;
} kept_state;

/* ---- writing */

static vta_tensor_info state_of(const vta_generator *g, uint32_t i)
{
    return vta_model_input(g->model, g->states[i].input);
}

static void put_bytes(vta_str *out, const void *bytes, size_t size)
{
    vta_str_append(out, bytes, size);
}

static void put_state(const vta_generator *g, uint32_t i, vta_str *out)
{
    const vta_tensor_info info = state_of(g, i);
    kept_state state = {.rank = info.rank, .bytes = info.bytes};
    for (uint32_t k = 0; k < info.rank && k < MAX_RANK; k++) {
        state.dim[k] = info.dim[k];
    }
    put_bytes(out, &state, sizeof state);
    put_bytes(out, vta_model_input_data(g->model, g->states[i].input), info.bytes);
}

vta_status vta_generator_keep(const vta_generator *g, const char *path, vta_diag *diag)
{
    kept_header head = {
        .magic = KEPT_MAGIC, .past = g->past, .tokens = g->history.count, .states = g->state_count};
    vta_str out = {0};
    if (g->history.count == 0) {
        return vta_fail(diag, VTA_INVALID, "there is no generation that could be kept: generate first");
    }
    head.model = vta_model_identity(g->model, &head.target);
    put_bytes(&out, &head, sizeof head);
    put_bytes(&out, g->history.items, g->history.count * sizeof(uint32_t));
    for (uint32_t i = 0; i < g->state_count; i++) {
        put_state(g, i, &out);
    }
    const uint64_t hash = vta_hash_bytes(VTA_HASH_START, out.text, out.size);
    put_bytes(&out, &hash, sizeof hash);
    const vta_status status =
        out.failed ? vta_no_memory(diag) : vta_file_write(path, out.text, out.size, diag);
    vta_str_free(&out);
    return status;
}

/* ---- reading */

typedef struct kept_reader {
    const char *path;
    const uint8_t *bytes;
    size_t size, at;
} kept_reader;

/* The next bytes; NULL where the file ends before. */
static const void *take_bytes(kept_reader *r, uint64_t size)
{
    const uint8_t *here = r->bytes + r->at;
    if (size > r->size - r->at) {
        return NULL;
    }
    r->at += (size_t)size;
    return here;
}

static vta_status fail_damaged(const kept_reader *r, vta_diag *diag)
{
    return vta_fail(diag, VTA_SYNTAX,
                    "%s: byte %zu: it is no generation that was kept, or damaged; keep it anew", r->path,
                    r->at);
}

/* Checks that the file is whole, and of this model on this target. */
static vta_status check_header(const vta_generator *g, kept_reader *r, kept_header *head, vta_diag *diag)
{
    uint64_t hash, target;
    const void *at = r->size < sizeof hash ? NULL : take_bytes(r, sizeof *head);
    if (at == NULL) {
        return fail_damaged(r, diag);
    }
    memcpy(head, at, sizeof *head);
    r->size -= sizeof hash;
    memcpy(&hash, r->bytes + r->size, sizeof hash);
    if (head->magic != KEPT_MAGIC || r->at > r->size ||
        hash != vta_hash_bytes(VTA_HASH_START, r->bytes, r->size)) {
        return fail_damaged(r, diag);
    }
    const uint64_t model = vta_model_identity(g->model, &target);
    if (head->target != target) {
        return vta_fail(diag, VTA_CONFIG_MISMATCH,
                        "%s: it was kept on another target, whose caches are laid out otherwise: generate it "
                        "anew on this one",
                        r->path);
    }
    return head->model == model
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID,
                          "%s: it was kept by another model than '%s', which would misread its caches: "
                          "generate it anew with this one",
                          r->path, vta_model_name(g->model));
}

static vta_status take_tokens(vta_generator *g, kept_reader *r, const kept_header *head, vta_diag *diag)
{
    const void *from = head->tokens > r->size ? NULL : take_bytes(r, head->tokens * sizeof(uint32_t));
    if (from == NULL || head->tokens == 0 || head->past > head->tokens || head->states != g->state_count) {
        return fail_damaged(r, diag);
    }
    g->history.count = 0;
    uint32_t *to = vta_vec_add(&g->history, (size_t)head->tokens);
    if (to == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(to, from, (size_t)head->tokens * sizeof(uint32_t));
    g->past = head->past;
    return VTA_OK;
}

static vta_status take_state(vta_generator *g, uint32_t i, kept_reader *r, vta_diag *diag)
{
    kept_state state;
    const uint32_t input = g->states[i].input;
    const void *at = take_bytes(r, sizeof state);
    if (at == NULL) {
        return fail_damaged(r, diag);
    }
    memcpy(&state, at, sizeof state);
    if (state.rank != state_of(g, i).rank || state.rank > MAX_RANK) {
        return fail_damaged(r, diag);
    }
    VTA_TRY(vta_model_set_input_shape(g->model, input, state.dim, (uint32_t)state.rank, diag));
    at = take_bytes(r, state.bytes);
    return at == NULL || state.bytes != state_of(g, i).bytes
               ? fail_damaged(r, diag)
               : vta_model_set_input(g->model, input, at, (size_t)state.bytes, diag);
}

static vta_status take_all(vta_generator *g, kept_reader *r, vta_diag *diag)
{
    kept_header head;
    VTA_TRY(check_header(g, r, &head, diag));
    VTA_TRY(take_tokens(g, r, &head, diag));
    for (uint32_t i = 0; i < g->state_count; i++) {
        VTA_TRY(take_state(g, i, r, diag));
    }
    return r->at == r->size ? VTA_OK : fail_damaged(r, diag);
}

vta_status vta_generator_resume(vta_generator *g, const char *path, vta_diag *diag)
{
    kept_reader r = {.path = path};
    uint8_t *bytes = NULL;
    struct stat info;
    g->resumed = false;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        return vta_fail(diag, VTA_INVALID, "%s: it is no regular file; expected a generation that was kept",
                        path);
    }
    VTA_TRY(vta_file_read(path, KEPT_LIMIT, &bytes, &r.size, diag));
    r.bytes = bytes;
    const vta_status status = take_all(g, &r, diag);
    free(bytes);
    g->resumed = status == VTA_OK;
    return status;
}
