/* SPDX-License-Identifier: Apache-2.0
 *
 * Accelerator programs of a model that is part of the program and trusted: taken as they lie in their
 * container (isa/src/program_file.c says how), without decoding an instruction.
 */
#include <stdlib.h>
#include <string.h>

#include "../src/accel.h"
#include "../src/internal.h"
#include "vta/baremetal.h"
#include "vta/fail.h"

enum { AT_FLAGS = 12, AT_BODY = 32, FLAG_LINES = 1, FLAG_TAGS = 2, FLAG_DATA = 1, FLAG_EXPECT = 2 };

/* The rest of a container. */
typedef struct cursor {
    const uint8_t *at;
} cursor;

static uint32_t next(cursor *c)
{
    uint32_t value;
    memcpy(&value, c->at, sizeof value);
    c->at += sizeof value;
    return value;
}

/* Sizes are those of things in memory: an address has 32 bits here, or the upper word is 0. */
static size_t next_size(cursor *c)
{
    const uint64_t lower = next(c);
    return (size_t)(lower | (uint64_t)next(c) << 32);
}

static void *next_copy(cursor *c, size_t bytes, size_t spare)
{
    uint8_t *copy = malloc(bytes + spare);
    if (copy != NULL) {
        memcpy(copy, c->at, bytes);
        memset(copy + bytes, 0, spare);
    }
    c->at += bytes;
    return copy;
}

/* Each buffer counts as one that is loaded and stored: which of both it is only its instructions know. */
static bool take_symbol(cursor *c, vta_code *code)
{
    const size_t name_bytes = next(c);
    char *name = next_copy(c, name_bytes, 1);
    const uint32_t segment = next(c), memory = next(c);
    (void)next_size(c); /* it begins its segment */
    const size_t bytes = next_size(c);
    const uint32_t flags = next(c);
    bool good = name != NULL && segment < VTA_SEGMENTS;
    if (good && segment == UOP_SEGMENT && (flags & FLAG_DATA) != 0) {
        cursor contents = *c;
        code->uops = next_copy(&contents, bytes, 0);
        code->info.uop_count = (uint32_t)(bytes / VTA_UOP_BYTES);
        good = code->uops != NULL;
    } else if (good && segment < VTA_STREAM_BUFFERS) {
        code->buffers[segment] = (struct code_buffer){name, bytes, (vta_memory)memory, true, true};
        code->info.buffer_count++;
        name = NULL;
    }
    free(name);
    c->at += ((flags & FLAG_DATA) != 0 ? bytes : 0) + ((flags & FLAG_EXPECT) != 0 ? bytes : 0);
    return good;
}

static bool take_insns(cursor *c, uint32_t flags, vta_code *code)
{
    const uint32_t count = next(c);
    code->info.insn_count = count;
    code->insns = next_copy(c, count * sizeof *code->insns, 0);
    c->at += (flags & FLAG_LINES) != 0 ? count * sizeof(uint32_t) : 0;
    code->tags = (flags & FLAG_TAGS) != 0 ? next_copy(c, count * sizeof *code->tags, 0)
                                          : calloc((size_t)count + 1, sizeof *code->tags);
    return code->insns != NULL && code->tags != NULL;
}

static bool take_all(const vta_artifact_region *region, vta_code *code)
{
    cursor head = {(const uint8_t *)region->program + AT_FLAGS};
    const uint32_t flags = next(&head);
    cursor c = {(const uint8_t *)region->program + AT_BODY};
    c.at += next(&c); /* the configuration is the device's */
    bool good = true;
    for (uint32_t left = next(&c); good && left > 0; left--) {
        good = take_symbol(&c, code);
    }
    return good && take_insns(&c, flags, code);
}

static vta_status take_code(const vta_artifact_step *step, const vta_config *config, vta_code **out,
                            vta_diag *diag)
{
    vta_code *code = calloc(1, sizeof *code);
    *out = code;
    if (code == NULL || !take_all(step->region, code)) {
        vta_code_destroy(code);
        *out = NULL;
        return vta_fail(diag, VTA_NOMEM, "no memory for the accelerator program of step '%s'", step->name);
    }
    code->info.config = *config;
    return VTA_OK;
}

void vta_baremetal_trust(bool models)
{
    vta_accel_taker = models ? take_code : NULL;
}
