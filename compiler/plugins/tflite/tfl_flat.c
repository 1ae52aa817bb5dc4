/* SPDX-License-Identifier: Apache-2.0
 *
 * Flatbuffers as their format defines them, on a machine whose words are little-endian as theirs are.
 */
#include "tfl_flat.h"

#include <string.h>

static void pad_to(vta_str *out, size_t align, size_t ahead)
{
    static const uint8_t zeros[16];
    const size_t over = (out->size + ahead) % align;
    vta_str_append(out, zeros, over == 0 ? 0 : align - over);
}

static void put_u16(vta_str *out, size_t number)
{
    const uint16_t word = (uint16_t)number;
    vta_str_append(out, &word, sizeof word);
}

static void put_field(vta_str *out, vtac_tfl_field *field)
{
    field->place = out->size;
    if (field->kind == VTAC_TFL_FLOAT) {
        vta_str_append(out, &field->real, sizeof field->real);
    } else {
        vta_str_append(out, &field->number, sizeof field->number);
    }
}

size_t vtac_tfl_put_table(vta_str *out, vtac_tfl_field *fields, uint32_t count)
{
    size_t inside = sizeof(int32_t); /* behind the offset of the list */
    const size_t list = 2 * sizeof(uint16_t) + count * sizeof(uint16_t);
    pad_to(out, sizeof(int32_t), list);
    put_u16(out, list);
    for (uint32_t i = 0; i < count; i++) {
        inside += fields[i].kind != VTAC_TFL_ABSENT ? sizeof(int32_t) : 0;
    }
    put_u16(out, inside);
    inside = sizeof(int32_t);
    for (uint32_t i = 0; i < count; i++) {
        put_u16(out, fields[i].kind != VTAC_TFL_ABSENT ? inside : 0);
        inside += fields[i].kind != VTAC_TFL_ABSENT ? sizeof(int32_t) : 0;
    }
    const size_t table = out->size;
    const int32_t back = (int32_t)list;
    vta_str_append(out, &back, sizeof back);
    for (uint32_t i = 0; i < count; i++) {
        if (fields[i].kind != VTAC_TFL_ABSENT) {
            put_field(out, &fields[i]);
        }
    }
    return table;
}

void vtac_tfl_link(vta_str *out, size_t place, size_t target)
{
    const uint32_t ahead = (uint32_t)(target - place);
    if (!out->failed && place + sizeof ahead <= out->size) {
        memcpy(out->text + place, &ahead, sizeof ahead);
    }
}

size_t vtac_tfl_put_vector(vta_str *out, const void *bytes, size_t count, size_t size, size_t align)
{
    static const uint8_t zeros[8];
    const uint32_t length = (uint32_t)count;
    pad_to(out, align, sizeof length);
    const size_t at = out->size;
    vta_str_append(out, &length, sizeof length);
    if (bytes != NULL) {
        vta_str_append(out, bytes, count * size);
    }
    for (size_t i = 0; bytes == NULL && i < count; i++) {
        vta_str_append(out, zeros, size);
    }
    return at;
}

size_t vtac_tfl_put_text(vta_str *out, const char *text)
{
    const size_t at = vtac_tfl_put_vector(out, text, strlen(text), 1, sizeof(uint32_t));
    vta_str_append(out, "", 1);
    return at;
}
