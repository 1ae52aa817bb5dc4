/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of CoreML's layers: floats, halves, or numbers of 1 to 8 bits that stand for others.
 */
#include <string.h>

#include "coreml.h"

enum {
    FLOATS = 1,
    HALVES = 2,
    RAW = 30,
    QUANTIZATION = 40,
    BITS = 1,
    LINEAR = 101,
    TABLE = 102,
    SCALE = 1,
    BIAS = 2
};

/* Floats of a repeated field, packed or one by one; returns how many there are, of which `room` are written.
 */
static int64_t read_floats(vtac_wire message, uint64_t number, float *out, int64_t room)
{
    int64_t count = 0;
    vtac_wire_field f;
    while (vtac_wire_next(&message, &f)) {
        if (f.number != number || (f.type != VTAC_WIRE_BYTES && f.type != VTAC_WIRE_FOUR)) {
            continue;
        }
        const int64_t here = (f.bytes.end - f.bytes.at) / (int64_t)sizeof(float);
        if (out != NULL && count + here <= room && here > 0) {
            memcpy(out + count, f.bytes.at, (size_t)here * sizeof(float));
        }
        count += here;
    }
    return count;
}

uint32_t vtac_coreml_bits(const uint8_t *bytes, int64_t i, uint32_t bits)
{
    uint32_t value = 0;
    for (uint32_t b = 0; b < bits; b++) {
        const int64_t at = i * bits + b;
        value = value << 1 | (bytes[at / 8] >> (7 - at % 8) & 1U);
    }
    return value;
}

/* Numbers that quantized ones stand for. */
typedef struct meaning {
    uint32_t bits;
    float table[256];
    float *scale, *bias; /* of each output, or one */
    int64_t scales, biases, each;
    bool linear;
} meaning;

static bool read_meaning(vtac_coreml *c, vtac_wire params, int64_t count, meaning *out)
{
    vtac_import_builder *m = &c->net.maker;
    const vtac_wire quantization = vtac_coreml_message(params, QUANTIZATION);
    const int64_t bits = vtac_wire_int(quantization, BITS, 0);
    vtac_wire linear;
    *out = (meaning){.bits = (uint32_t)bits, .linear = vtac_wire_message(quantization, LINEAR, &linear)};
    const vtac_wire raw = vtac_coreml_message(params, RAW);
    if (bits < 1 || bits > 8 || (raw.end - raw.at) < (count * bits + 7) / 8) {
        vtac_make_fail(m, VTA_INVALID, "%lld numbers of %lld bits in %lld bytes", (long long)count,
                       (long long)bits, (long long)(raw.end - raw.at));
        return false;
    }
    if (!out->linear) {
        const vtac_wire table = vtac_coreml_message(quantization, TABLE);
        if (read_floats(table, 1, out->table, 256) != INT64_C(1) << bits) {
            vtac_make_fail(m, VTA_INVALID, "a table of other than %d numbers for %lld bits", 1 << bits,
                           (long long)bits);
            return false;
        }
        return true;
    }
    out->scales = read_floats(linear, SCALE, NULL, 0);
    out->biases = read_floats(linear, BIAS, NULL, 0);
    out->scale = vtac_make_room(m, out->scales + 1, sizeof *out->scale);
    out->bias = vtac_make_room(m, out->biases + 1, sizeof *out->bias);
    if (out->scale == NULL || out->bias == NULL) {
        return false;
    }
    (void)read_floats(linear, SCALE, out->scale, out->scales);
    (void)read_floats(linear, BIAS, out->bias, out->biases);
    return true;
}

static void expand(const meaning *n, const uint8_t *raw, float *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const uint32_t q = vtac_coreml_bits(raw, i, n->bits);
        const int64_t output = i / n->each;
        const float scale = n->scales == 0     ? 1.0F
                            : n->scale != NULL ? n->scale[n->scales > 1 ? output : 0]
                                               : 0.0F;
        const float bias = n->biases == 0    ? 0.0F
                           : n->bias != NULL ? n->bias[n->biases > 1 ? output : 0]
                                             : 0.0F;
        out[i] = n->linear ? scale * (float)q + bias : n->table[q];
    }
}

static vtac_id quantized_weights(vtac_coreml *c, vtac_wire params, const vtac_type *type)
{
    vtac_import_builder *m = &c->net.maker;
    const int64_t count = vtac_type_elements(type);
    const int64_t outputs = type->rank > 0 && type->dim[0] > 0 ? type->dim[0] : 1;
    meaning n;
    if (!read_meaning(c, params, count, &n)) {
        return 0;
    }
    n.each = count / outputs > 0 ? count / outputs : 1;
    if ((n.scales > 1 && n.scales != outputs) || (n.biases > 1 && n.biases != outputs)) {
        vtac_make_fail(m, VTA_INVALID, "%lld scales and %lld biases for %lld outputs", (long long)n.scales,
                       (long long)n.biases, (long long)outputs);
        return 0;
    }
    float *room = vtac_make_room(m, count, sizeof *room);
    if (room == NULL) {
        return 0;
    }
    expand(&n, vtac_coreml_message(params, RAW).at, room, count);
    return vtac_make_borrowed(m, type, room);
}

vtac_id vtac_coreml_weights(vtac_coreml *c, vtac_wire params, const int64_t *dims, uint32_t rank)
{
    vtac_import_builder *m = &c->net.maker;
    vtac_type type = {.dtype = VTAC_F32, .rank = rank};
    vtac_wire halves;
    for (uint32_t a = 0; a < rank; a++) {
        type.dim[a] = dims[a];
    }
    const int64_t wanted = vtac_type_elements(&type);
    vtac_wire_field quantization;
    if (vtac_wire_find(params, QUANTIZATION, &quantization)) {
        return wanted < 0 ? 0 : quantized_weights(c, params, &type);
    }
    int64_t count = read_floats(params, FLOATS, NULL, 0);
    const bool narrow = count == 0 && vtac_wire_message(params, HALVES, &halves);
    count = narrow ? (halves.end - halves.at) / 2 : count;
    if (count != wanted) {
        vtac_make_fail(m, VTA_INVALID, "it has %lld weights, expected %lld", (long long)count,
                       (long long)wanted);
        return 0;
    }
    if (narrow) {
        type.dtype = VTAC_F16;
        return vtac_make_weights(m, &type, halves.at);
    }
    float *room = vtac_make_room(m, count, sizeof *room);
    if (room == NULL) {
        return 0;
    }
    (void)read_floats(params, FLOATS, room, count);
    return vtac_make_borrowed(m, &type, room);
}
