/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiles of the result are kept in registers. Each element of it is a sum in the order of k: nothing depends
 * on the machine but the speed.
 */
#include "gemm.h"

#include <string.h>

#include "lanes.h"

enum { ROWS = 4, COLUMNS = 2 * LANES };

static void full_tile(uint32_t k, matrix a, matrix b, matrix c, int add)
{
    lanes sum[ROWS][2] = {0};
    for (uint32_t i = 0; add && i < ROWS; i++) {
        sum[i][0] = lanes_load(c.at + (size_t)i * c.stride);
        sum[i][1] = lanes_load(c.at + (size_t)i * c.stride + LANES);
    }
    for (uint32_t at = 0; at < k; at++) {
        const lanes left = lanes_load(b.at + (size_t)at * b.stride);
        const lanes right = lanes_load(b.at + (size_t)at * b.stride + LANES);
        for (uint32_t i = 0; i < ROWS; i++) {
            sum[i][0] += left * a.at[(size_t)i * a.stride + at];
            sum[i][1] += right * a.at[(size_t)i * a.stride + at];
        }
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        lanes_store(c.at + (size_t)i * c.stride, sum[i][0]);
        lanes_store(c.at + (size_t)i * c.stride + LANES, sum[i][1]);
    }
}

static void part_tile(uint32_t rows, uint32_t columns, uint32_t k, matrix a, matrix b, matrix c, int add)
{
    for (uint32_t i = 0; i < rows; i++) {
        float *out = c.at + (size_t)i * c.stride;
        if (!add) {
            memset(out, 0, columns * sizeof *out);
        }
        for (uint32_t at = 0; at < k; at++) {
            const float scale = a.at[(size_t)i * a.stride + at];
            const float *in = b.at + (size_t)at * b.stride;
            for (uint32_t j = 0; j < columns; j++) {
                out[j] += scale * in[j];
            }
        }
    }
}

static matrix submatrix(matrix m, uint32_t row, uint32_t column)
{
    return (matrix){m.at + (size_t)row * m.stride + column, m.stride};
}

void demo_gemm(uint32_t m, uint32_t n, uint32_t k, matrix a, matrix b, matrix c, int add)
{
    const uint32_t whole = n / COLUMNS * COLUMNS;
    for (uint32_t i = 0; i < m; i += ROWS) {
        const matrix rows = submatrix(a, i, 0);
        const uint32_t left = m - i;
        if (left < ROWS) {
            part_tile(left, n, k, rows, b, submatrix(c, i, 0), add);
            return;
        }
        for (uint32_t j = 0; j < whole; j += COLUMNS) {
            full_tile(k, rows, submatrix(b, 0, j), submatrix(c, i, j), add);
        }
        if (whole < n) {
            part_tile(ROWS, n - whole, k, rows, submatrix(b, 0, whole), submatrix(c, i, whole), add);
        }
    }
}

void demo_transpose(uint32_t rows, uint32_t columns, matrix from, matrix to)
{
    enum { BLOCK = 16 };
    for (uint32_t i = 0; i < rows; i += BLOCK) {
        for (uint32_t j = 0; j < columns; j++) {
            for (uint32_t r = i; r < rows && r < i + BLOCK; r++) {
                to.at[(size_t)j * to.stride + r] = from.at[(size_t)r * from.stride + j];
            }
        }
    }
}
