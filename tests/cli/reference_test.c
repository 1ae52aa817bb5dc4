/* SPDX-License-Identifier: Apache-2.0
 *
 * What the shipped programs expect is computed here a second time, in plain C from their data: the
 * expectations are not just what some device once gave. The argument is the folder of the programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "vta/file.h"
#include "vta/program.h"

static const char *folder;

static vta_program load(const char *name)
{
    char path[1024];
    uint8_t *text = NULL;
    size_t size = 0;
    vta_program program = {0};
    vta_diag diag = {0};
    (void)snprintf(path, sizeof path, "%s/%s.vasm", folder, name);
    if (vta_file_read(path, 1 << 20, &text, &size, &diag) != VTA_OK ||
        vta_assemble((const char *)text, size, path, NULL, &program, &diag) != VTA_OK) {
        fail_msg("%s", diag.text);
    }
    free(text);
    return program;
}

static const vta_symbol *symbol(const vta_program *program, const char *name)
{
    const vta_symbol *found = vta_program_symbol(program, name);
    assert_non_null(found);
    return found;
}

static int32_t word_at(const uint8_t *bytes, size_t index)
{
    const uint8_t *b = bytes + 4 * index;
    return (int32_t)((uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
}

/* num / 2^shift, halves to the even neighbour. */
static int64_t round_half_even(int64_t num, unsigned shift)
{
    const int64_t unit = INT64_C(1) << shift;
    int64_t whole = num / unit;
    int64_t rest = num % unit;
    if (rest < 0) {
        rest += unit;
        whole--;
    }
    const bool up = 2 * rest > unit || (2 * rest == unit && whole % 2 != 0);
    return whole + up;
}

static int64_t clip(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void matmul_is_a_matrix_product(void **state)
{
    (void)state;
    enum { M = 64, K = 256, N = 64, T = 16 };
    vta_program program = load("matmul");
    const int8_t *a = (const int8_t *)symbol(&program, "a")->data;
    const int8_t *b = (const int8_t *)symbol(&program, "b")->data;
    const uint8_t *params = symbol(&program, "params")->data;
    const vta_symbol *c = symbol(&program, "c");
    assert_int_equal(c->size, M * N);
    for (size_t m = 0; m < M; m++) {
        for (size_t n = 0; n < N; n++) {
            int64_t sum = word_at(params, n / T * 2 * T + n % T);
            const uint32_t scale = (uint32_t)word_at(params, (n / T * 2 + 1) * T + n % T);
            for (size_t k = 0; k < K; k++) {
                const size_t tile = n / T * (K / T) + k / T;
                sum += a[m * K + k] * b[tile * T * T + n % T * T + k % T];
            }
            const int64_t value = round_half_even(sum * (scale & 0xffffff), scale >> 24 & 63) + 5;
            assert_int_equal((int8_t)c->expect[m * N + n], clip(value, -100, 100));
        }
    }
    vta_program_free(&program);
}

static void depthwise_is_a_blur(void **state)
{
    (void)state;
    enum { SIZE = 6, LANES = 16 };
    vta_program program = load("depthwise");
    const int8_t *picture = (const int8_t *)symbol(&program, "picture")->data;
    const int8_t *kernel = (const int8_t *)symbol(&program, "kernel")->data;
    const vta_symbol *blurred = symbol(&program, "blurred");
    assert_int_equal(blurred->size, SIZE * SIZE * LANES);
    for (int i = 0; i < SIZE * SIZE * LANES; i++) {
        const int c = i % LANES;
        const int x = i / LANES % SIZE;
        const int y = i / LANES / SIZE;
        int sum = 0;
        for (int tap = 0; tap < 9; tap++) {
            const int row = y + tap / 3 - 1;
            const int col = x + tap % 3 - 1;
            if (row >= 0 && row < SIZE && col >= 0 && col < SIZE) {
                sum += picture[(row * SIZE + col) * LANES + c] * kernel[tap * LANES + c];
            }
        }
        const int floored = sum >= 0 ? sum / 16 : -((15 - sum) / 16);
        assert_int_equal((int8_t)blurred->expect[i], floored);
    }
    vta_program_free(&program);
}

static void vector_add_adds(void **state)
{
    (void)state;
    vta_program program = load("vector_add");
    const vta_symbol *c = symbol(&program, "c");
    assert_int_equal(c->size, 1024);
    for (size_t i = 0; i < c->size; i++) {
        const int64_t sum =
            (int64_t)word_at(symbol(&program, "a")->data, i) + word_at(symbol(&program, "b")->data, i);
        assert_int_equal((int8_t)c->expect[i], clip(sum, -127, 127));
    }
    vta_program_free(&program);
}

static void tiny_is_a_dense_layer(void **state)
{
    (void)state;
    enum { IN = 12, OUT = 8, T = 4 };
    vta_program program = load("tiny");
    const int8_t *x = (const int8_t *)symbol(&program, "x")->data;
    const int8_t *w = (const int8_t *)symbol(&program, "w")->data;
    const vta_symbol *y = symbol(&program, "y");
    assert_int_equal(y->size, OUT);
    for (size_t n = 0; n < OUT; n++) {
        int64_t sum = word_at(symbol(&program, "bias")->data, n);
        for (size_t k = 0; k < IN; k++) {
            sum += w[(n / T * (IN / T) + k / T) * T * T + n % T * T + k % T] * x[k];
        }
        assert_int_equal((int8_t)y->expect[n], clip(sum, 0, 127));
    }
    vta_program_free(&program);
}

int main(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : ".";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_is_a_matrix_product),
        cmocka_unit_test(depthwise_is_a_blur),
        cmocka_unit_test(vector_add_adds),
        cmocka_unit_test(tiny_is_a_dense_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
