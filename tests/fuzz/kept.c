/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that a run keeps for the next one. A first byte that is even: a journal of an exploration, of which
 * each whole entry is taken, and to which the rest is added. One that is odd: a generation, under a hash that
 * is right, for a model of one state; what is taken of it can be kept again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "fuzz.h"
#include "generate.h"
#include "search.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hash.h"
#include "vta/str.h"

static char file[TEMPORARY_PATH + 32];

static void remove_file(void)
{
    (void)unlink(file);
}

static void write_input(const void *data, size_t size)
{
    if (file[0] == '\0') {
        (void)snprintf(file, sizeof file, "%s/vta-fuzz-kept-%ld", fuzz_root(), (long)getpid());
        (void)atexit(remove_file);
    }
    fuzz_write(file, data, size);
}

/* ---- journals */

static const char *const pieces[] = {"0 1", "2 3", ""};
enum { PIECES = 3 };

/* Stands for the workers. */
vta_status vtac_work_run(vtac_work *work, const char *const *list, uint32_t count, vtac_work_done *done,
                         void *context, vta_diag *diag)
{
    (void)work;
    (void)list;
    (void)diag;
    for (uint32_t i = 0; i < count; i++) {
        done(context, i, i % 2 == 0 ? "1 2\nnew\n" : "", NULL, 0.5);
    }
    return VTA_OK;
}

typedef struct told {
    char text[PIECES][64];
    uint32_t times[PIECES];
} told;

static void take_result(void *context, uint32_t number, const char *result, const char *why, double seconds)
{
    told *t = context;
    FUZZ_REQUIRE(number < PIECES && result != NULL && why == NULL && seconds >= 0);
    (void)snprintf(t->text[number], sizeof t->text[number], "%s", result);
    t->times[number]++;
}

static vta_status run_journal(told *t, vta_diag *diag)
{
    vtac_journal *journal = NULL;
    *t = (told){.times = {0}};
    vta_status status = vtac_journal_open(file, "a key\n", &journal, diag);
    if (status == VTA_OK) {
        status = vtac_journal_run(journal, NULL, pieces, PIECES, take_result, t, diag);
    }
    vtac_journal_close(journal);
    return status;
}

/* Each piece is told once, and the same the next time. */
static void use_journal(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    told first, second;
    write_input(data, size);
    const vta_status status = run_journal(&first, &diag);
    fuzz_check_outcome(status, &diag);
    if (status != VTA_OK) {
        return;
    }
    FUZZ_REQUIRE(run_journal(&second, &diag) == VTA_OK);
    for (int i = 0; i < PIECES; i++) {
        FUZZ_REQUIRE(first.times[i] == 1 && second.times[i] == 1);
        FUZZ_REQUIRE(strcmp(first.text[i], second.text[i]) == 0);
    }
}

/* ---- generations: a model of one state, two numbers for each of up to 16 tokens */

enum { MAX_TOKENS = 16 };
static const uint64_t identity = UINT64_C(0x1234), target_of_it = UINT64_C(0x5678);
static int64_t shape[] = {0, 2};
static uint8_t state[MAX_TOKENS * 2];
static const vta_state states[] = {{0}};

uint64_t vta_model_identity(const vta_model *model, uint64_t *target)
{
    (void)model;
    *target = target_of_it;
    return identity;
}

const char *vta_model_name(const vta_model *model)
{
    (void)model;
    return "a model";
}

vta_tensor_info vta_model_input(const vta_model *model, uint32_t index)
{
    (void)model;
    (void)index;
    return (vta_tensor_info){.name = "state", .rank = 2, .dim = shape, .bytes = (size_t)shape[0] * 2};
}

void *vta_model_input_data(vta_model *model, uint32_t index)
{
    (void)model;
    (void)index;
    return state;
}

vta_status vta_model_set_input_shape(vta_model *model, uint32_t index, const int64_t *dim, uint32_t rank,
                                     vta_diag *diag)
{
    (void)model;
    (void)index;
    if (rank != 2 || dim[0] < 0 || dim[0] > MAX_TOKENS || dim[1] != 2) {
        return vta_fail(diag, VTA_INVALID, "the state has another shape");
    }
    shape[0] = dim[0];
    return VTA_OK;
}

vta_status vta_model_set_input(vta_model *model, uint32_t index, const void *data, size_t bytes,
                               vta_diag *diag)
{
    (void)model;
    (void)index;
    (void)diag;
    FUZZ_REQUIRE(bytes == (size_t)shape[0] * 2);
    memcpy(state, data, bytes);
    return VTA_OK;
}

static void use_generation(const uint8_t *data, size_t size)
{
    static const uint64_t head[] = {UINT64_C(0x3154504b41544156), 0x1234, 0x5678};
    vta_diag diag = {0};
    vta_str whole = {0};
    vta_generator g = {.states = states, .state_count = 1, .history = {.item_size = sizeof(uint32_t)}};
    vta_str_append(&whole, (const char *)head, sizeof head);
    vta_str_append(&whole, (const char *)data, size);
    const uint64_t hash = vta_hash_bytes(VTA_HASH_START, whole.text, whole.size);
    vta_str_append(&whole, (const char *)&hash, sizeof hash);
    FUZZ_REQUIRE(!whole.failed);
    write_input(whole.text, whole.size);
    const vta_status status = vta_generator_resume(&g, file, &diag);
    fuzz_check_outcome(status, &diag);
    FUZZ_REQUIRE(g.resumed == (status == VTA_OK));
    if (status == VTA_OK) {
        uint8_t *again = NULL;
        size_t count = 0;
        FUZZ_REQUIRE(g.history.count > 0 && g.past <= g.history.count);
        FUZZ_REQUIRE(vta_generator_keep(&g, file, NULL) == VTA_OK);
        FUZZ_REQUIRE(vta_file_read(file, whole.size, &again, &count, NULL) == VTA_OK);
        FUZZ_REQUIRE(count == whole.size); /* what it says of axes that the state lacks is not kept */
        FUZZ_REQUIRE(vta_generator_resume(&g, file, &diag) == VTA_OK);
        free(again);
    }
    vta_vec_free(&g.history);
    vta_str_free(&whole);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    if (size > 0) {
        (data[0] % 2 == 0 ? use_journal : use_generation)(data + 1, size - 1);
    }
}
