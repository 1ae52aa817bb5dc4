/* SPDX-License-Identifier: Apache-2.0
 *
 * How kernels that multiply 16-bit lanes keep their operands: an INP row is int16 [in], sign-extended; a WGT
 * entry is int16 [in / PAIR][out][PAIR], where PAIR neighbouring input channels meet in one 32-bit lane.
 */
#include "kernel.h"

static size_t inp_row(uint32_t in)
{
    return in * sizeof(int16_t);
}

static size_t wgt_entry(uint32_t in, uint32_t out)
{
    return (size_t)in * out * sizeof(int16_t);
}

static void pack_inp(const fsim_memory *m, uint32_t row, const int8_t *from, uint32_t rows)
{
    int16_t *to = (int16_t *)(void *)(m->inp + row * m->inp_row);
    const size_t count = (size_t)rows * m->in;
    for (size_t i = 0; i < count; i++) {
        to[i] = (int16_t)from[i];
    }
}

static size_t wide_place(const fsim_memory *m, uint32_t o, uint32_t i)
{
    return ((size_t)(i / PAIR) * m->out + o) * PAIR + i % PAIR;
}

static void pack_wgt(const fsim_memory *m, uint32_t entry, const int8_t *from, uint32_t entries)
{
    for (uint32_t e = 0; e < entries; e++) {
        int16_t *to = (int16_t *)(void *)(m->wgt + (entry + e) * m->wgt_entry);
        for (uint32_t i = 0; i < m->in; i++) {
            for (uint32_t o = 0; o < m->out; o++) {
                to[wide_place(m, o, i)] = (int16_t)from[(size_t)o * m->in + i];
            }
        }
        from += (size_t)m->in * m->out;
    }
}

static int32_t weight(const fsim_memory *m, uint32_t entry, uint32_t o, uint32_t i)
{
    return ((const int16_t *)(const void *)(m->wgt + entry * m->wgt_entry))[wide_place(m, o, i)];
}
