/* SPDX-License-Identifier: Apache-2.0
 *
 * Fourier transforms of rows, which networks over sound begin with: products with constant cosines and sines.
 * A tensor of complex numbers is two values, its real and its imaginary parts.
 */
#include <math.h>

#include "operators.h"

enum { MAX_LENGTH = 1 << 13 };

/* [length][length / 2 + 1] cosines or negated sines, of the numbers that there are. */
static vtac_id wave_table(vtac_tflite *im, int64_t given, int64_t length, bool sines)
{
    const int64_t count = length / 2 + 1;
    const int64_t rows = given < length ? given : length;
    float *w = vtac_make_room(&im->maker, rows * count, sizeof *w);
    for (int64_t i = 0; w != NULL && i < rows; i++) {
        for (int64_t k = 0; k < count; k++) {
            const double angle = 2.0 * 3.14159265358979323846 * (double)(i * k % length) / (double)length;
            w[i * count + k] = (float)(sines ? -sin(angle) : cos(angle));
        }
    }
    return w == NULL ? 0 : vtac_make_borrowed(&im->maker, &(vtac_type){VTAC_F32, 2, {rows, count}}, w);
}

/* x [...][1][n], lengths [1][l] */
void vtac_tflite_import_rfft(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    int64_t length[2] = {0, 0};
    const vtac_type x = vtac_tflite_type(im, 0);
    if (vtac_tflite_known_ints(im, 1, "length", length, 2) != 2 || x.rank < 2 || x.dtype != VTAC_F32 ||
        length[0] != 1 || x.dim[x.rank - 2] != 1 || length[1] < 2 || length[1] > MAX_LENGTH ||
        x.dim[x.rank - 1] < 1) {
        vtac_make_refuse(&im->maker, "a transform of %lld by %lld; of one row of 2 to %d numbers",
                         (long long)length[0], (long long)length[1], MAX_LENGTH);
        return;
    }
    vtac_id rows = vtac_tflite_plain(im, 0);
    const int64_t given = x.dim[x.rank - 1];
    if (given > length[1]) {
        rows = vtac_make_slice(m, rows, x.rank - 1, 0, length[1]);
    }
    vtac_tflite_tensor *out = vtac_tflite_out(im, 0);
    out->plain = vtac_make2(m, VTAC_OP_MATMUL, rows, wave_table(im, given, length[1], false));
    out->imaginary = vtac_make2(m, VTAC_OP_MATMUL, rows, wave_table(im, given, length[1], true));
}

/* COMPLEX_ABS (how = 2), REAL (0), IMAG (1) */
void vtac_tflite_import_complex(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_tflite_tensor *t = vtac_tflite_in(im, 0);
    if (m->status != VTA_OK || t->imaginary == 0) {
        vtac_make_fail(m, VTA_INVALID, "its input is not complex");
        return;
    }
    if (im->how < 2) {
        vtac_tflite_set(im, 0, im->how == 0 ? t->plain : t->imaginary);
        return;
    }
    const vtac_id squares = vtac_make2(m, VTAC_OP_ADD, vtac_make2(m, VTAC_OP_MUL, t->plain, t->plain),
                                       vtac_make2(m, VTAC_OP_MUL, t->imaginary, t->imaginary));
    vtac_tflite_set(im, 0, vtac_make1(m, VTAC_OP_SQRT, squares));
}
