/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention among the places of a picture: each channel of a head is a row of a matrix with a column for each
 * place.
 */
#include "attend.h"

#include <math.h>

#include "gemm.h"
#include "vtac/exact.h"

void demo_share_row(float *row, uint32_t seen, uint32_t count, float scale)
{
    float largest = row[0];
    float sum = 0.0F;
    for (uint32_t c = 1; c < seen; c++) {
        largest = row[c] > largest ? row[c] : largest;
    }
    for (uint32_t c = 0; c < seen; c++) {
        row[c] = (float)vtac_exp((double)((row[c] - largest) * scale));
        sum += row[c];
    }
    for (uint32_t c = 0; c < count; c++) {
        row[c] = c < seen ? row[c] / sum : 0.0F;
    }
}

void demo_share_row_back(const float *shares, float *slopes, uint32_t count, float scale)
{
    float sum = 0.0F;
    for (uint32_t c = 0; c < count; c++) {
        sum += shares[c] * slopes[c];
    }
    for (uint32_t c = 0; c < count; c++) {
        slopes[c] = shares[c] * (slopes[c] - sum) * scale;
    }
}

/* A head's matrices for a picture, of [columns][places], and its shares, [places][places]. */
typedef struct head {
    matrix query, key, value, mixed;
    float *shares;
    uint32_t columns, places;
    float scale;
} head;

/* The head in the values of a layer and of its input, or in their slopes. */
static head head_of(const net *n, const net_layer *l, float *in, float *out, uint32_t at)
{
    const uint32_t heads = l->channels / l->kernel;
    const uint32_t area = l->side * l->side;
    const uint32_t row = n->batch * area;
    const size_t first = (size_t)(at % heads) * l->kernel * row + (size_t)(at / heads) * area;
    const size_t part = (size_t)l->channels * row;
    return (head){.query = {in + first, row},
                  .key = {in + part + first, row},
                  .value = {in + 2 * part + first, row},
                  .mixed = {out + first, row},
                  .shares = l->shares + (size_t)at * area * area,
                  .columns = l->kernel,
                  .places = area,
                  .scale = 1.0F / sqrtf((float)l->kernel)};
}

size_t demo_attend_scratch(const net_layer *l)
{
    const size_t area = (size_t)l->side * l->side;
    return l->kind == NET_ATTEND ? area * (area > l->kernel ? area : l->kernel) : 0;
}

size_t demo_attend_shares(const net *n, const net_layer *l)
{
    const size_t area = (size_t)l->side * l->side;
    return l->kind == NET_ATTEND ? l->channels / l->kernel * n->batch * area * area : 0;
}

static void head_forward(const net *n, const head *h)
{
    const matrix shares = {h->shares, h->places};
    const matrix queries = {n->turned, h->columns};
    const matrix turned = {n->columns, h->places};
    demo_transpose(h->columns, h->places, h->query, queries);
    demo_gemm(h->places, h->places, h->columns, queries, h->key, shares, 0);
    for (uint32_t r = 0; r < h->places; r++) {
        demo_share_row(h->shares + (size_t)r * h->places, h->places, h->places, h->scale);
    }
    demo_transpose(h->places, h->places, shares, turned);
    demo_gemm(h->columns, h->places, h->places, h->value, turned, h->mixed, 0);
}

/* Adds to the slopes of the head's input what comes through it; `s` has the slopes. */
static void head_backward(const net *n, const head *h, const head *s)
{
    const matrix shares = {h->shares, h->places};
    const matrix mixed = {n->turned, h->columns};
    const matrix scores = {n->columns, h->places};
    const matrix turned = {n->turned, h->places};
    demo_gemm(h->columns, h->places, h->places, s->mixed, shares, s->value, 1);
    demo_transpose(h->columns, h->places, s->mixed, mixed);
    demo_gemm(h->places, h->places, h->columns, mixed, h->value, scores, 0);
    for (uint32_t r = 0; r < h->places; r++) {
        const size_t row = (size_t)r * h->places;
        demo_share_row_back(h->shares + row, n->columns + row, h->places, h->scale);
    }
    demo_gemm(h->columns, h->places, h->places, h->query, scores, s->key, 1);
    demo_transpose(h->places, h->places, scores, turned);
    demo_gemm(h->columns, h->places, h->places, h->key, turned, s->query, 1);
}

void demo_attend_forward(const net *n, net_layer *l)
{
    for (uint32_t i = 0; i < l->channels / l->kernel * n->batch; i++) {
        const head h = head_of(n, l, n->layers[l->input].out, l->out, i);
        head_forward(n, &h);
    }
}

void demo_attend_backward(const net *n, net_layer *l)
{
    const net_layer *in = &n->layers[l->input];
    for (uint32_t i = 0; i < l->channels / l->kernel * n->batch; i++) {
        const head h = head_of(n, l, in->out, l->out, i);
        const head s = head_of(n, l, in->slope, l->slope, i);
        head_backward(n, &h, &s);
    }
}
