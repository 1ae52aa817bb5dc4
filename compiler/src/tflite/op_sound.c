/* SPDX-License-Identifier: Apache-2.0
 *
 * What networks over speech begin with: AudioSpectrogram and Mfcc, TensorFlow Lite's own custom operators.
 * Both compute in double.
 */
#include <math.h>

#include "operators.h"

enum { MAX_PLACES = 1 << 24 }; /* of a table */

static const double pi = 3.14159265358979323846;

/* Calls fill(context, row, column) for each element of a table of doubles. */
typedef double fill_fn(const void *context, int64_t row, int64_t column);

static vtac_id table_of(vtac_tflite *im, int64_t rows, int64_t columns, fill_fn *fill, const void *context)
{
    if (rows * columns > MAX_PLACES) {
        vtac_make_refuse(&im->maker, "a table of %lld x %lld; up to %d numbers are taken", (long long)rows,
                         (long long)columns, MAX_PLACES);
    }
    double *room = vtac_make_room(&im->maker, rows * columns, sizeof *room);
    for (int64_t i = 0; room != NULL && i < rows * columns; i++) {
        room[i] = fill(context, i / columns, i % columns);
    }
    return room == NULL ? 0
                        : vtac_make_borrowed(&im->maker, &(vtac_type){VTAC_F64, 2, {rows, columns}}, room);
}

/* ---- the spectrum: samples [n][channels] to [channels][frames][length / 2 + 1] */

typedef struct spectrum {
    int64_t window, length;
    bool sines;
} spectrum;

/* A wave times the window's weight. */
static double wave_at(const void *context, int64_t sample, int64_t k)
{
    const spectrum *s = context;
    const double weight = 0.5 - 0.5 * cos(2.0 * pi * (double)sample / (double)s->window);
    const double angle = 2.0 * pi * (double)(sample * k % s->length) / (double)s->length;
    return weight * (s->sines ? sin(angle) : cos(angle));
}

static vtac_id square_of(vtac_tflite *im, vtac_id frames, const spectrum *s)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id part =
        vtac_make2(m, VTAC_OP_MATMUL, frames, table_of(im, s->window, s->length / 2 + 1, wave_at, s));
    return vtac_make2(m, VTAC_OP_MUL, part, part);
}

/* [channels][n] to [channels][frames][window] */
static vtac_id frames_of(vtac_tflite *im, vtac_id x, int64_t frames, int64_t window, int64_t stride)
{
    vtac_import_builder *m = &im->maker;
    if (frames * window > MAX_PLACES) {
        vtac_make_refuse(&im->maker, "%lld windows of %lld samples; up to %d samples in all are taken",
                         (long long)frames, (long long)window, MAX_PLACES);
    }
    int64_t *places = vtac_make_room(m, frames * window, sizeof *places);
    for (int64_t i = 0; places != NULL && i < frames * window; i++) {
        places[i] = i / window * stride + i % window;
    }
    if (places == NULL) {
        return 0;
    }
    const vtac_attr axis = vtac_attr_of_int("axis", 1);
    const vtac_type type = {VTAC_I64, 2, {frames, window}};
    return vtac_make(m, VTAC_OP_GATHER, (vtac_id[]){x, vtac_make_borrowed(m, &type, places)}, 2, &axis, 1);
}

/* options: window_size, stride, magnitude_squared */
void vtac_tflite_import_audio_spectrogram(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tflite_type(im, 0);
    spectrum s = {.window = vtac_tflite_custom_count(im, "window_size", (double)NAN, 2), .length = 1};
    const int64_t stride = vtac_tflite_custom_count(im, "stride", (double)NAN, 1);
    const bool squared = vtac_tflite_custom_number(im, "magnitude_squared", 0.0) != 0.0;
    if (m->status != VTA_OK || x.rank != 2 || x.dtype != VTAC_F32 || x.dim[0] < s.window) {
        vtac_make_fail(m, VTA_INVALID, "an input of rank %u, expected f32 of rank 2 and a window's samples",
                       x.rank);
        return;
    }
    while (s.length < s.window) {
        s.length *= 2;
    }
    const int64_t count = 1 + (x.dim[0] - s.window) / stride;
    const vtac_id turned = vtac_make_transpose(m, vtac_tflite_plain(im, 0), (int64_t[]){1, 0}, 2);
    const vtac_id frames = frames_of(im, vtac_make_cast(m, turned, VTAC_F64), count, s.window, stride);
    const vtac_id real = square_of(im, frames, &s);
    s.sines = true;
    vtac_id y = vtac_make_cast(m, vtac_make2(m, VTAC_OP_ADD, real, square_of(im, frames, &s)), VTAC_F32);
    y = squared ? y : vtac_make1(m, VTAC_OP_SQRT, y);
    vtac_tflite_set(im, 0, y);
}

/* ---- Mfcc: spectrum [channels][frames][n], samples a second [1] */

typedef struct bands {
    int64_t count, wanted;  /* bands, and coefficients of their cosines */
    double low, high, step; /* in mel */
} bands;

static double mel_of(double frequency)
{
    return 1127.0 * log1p(frequency / 700.0);
}

/* Lower edge of band k: the band rises to edge k + 1 and falls to edge k + 2. */
static double band_edge(const void *context, int64_t row, int64_t k)
{
    const bands *b = context;
    (void)row;
    return b->low + b->step * (double)k;
}

static double cosine_at(const void *context, int64_t band, int64_t k)
{
    const bands *b = context;
    return sqrt(2.0 / (double)b->count) * cos((double)k * pi / (double)b->count * ((double)band + 0.5));
}

static double place_at(const void *context, int64_t row, int64_t column)
{
    (void)context;
    (void)column;
    return (double)row;
}

static vtac_id real_number(vtac_tflite *im, double value)
{
    return vtac_make_number(&im->maker, VTAC_F64, value);
}

/* a < b as 0 or 1 */
static vtac_id is_below(vtac_tflite *im, vtac_id a, vtac_id b)
{
    return vtac_make_cast(&im->maker, vtac_make2(&im->maker, VTAC_OP_LESS, a, b), VTAC_F64);
}

/* Share of each of n frequencies in each band, [n][bands], for `step` Hz from one frequency to the next. */
static vtac_id band_shares(vtac_tflite *im, const bands *b, vtac_id step, int64_t n, double low, double high)
{
    vtac_import_builder *m = &im->maker;
    const vtac_id at = table_of(im, n, 1, place_at, NULL);
    const vtac_id mel =
        vtac_make2(m, VTAC_OP_MUL, real_number(im, 1127.0),
                   vtac_make1(m, VTAC_OP_LOG,
                              vtac_make2(m, VTAC_OP_ADD, real_number(im, 1.0),
                                         vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_MUL, at, step),
                                                    real_number(im, 700.0)))));
    /* from the first frequency to the last one */
    const vtac_id first = vtac_make1(m, VTAC_OP_FLOOR,
                                     vtac_make2(m, VTAC_OP_ADD, real_number(im, 1.5),
                                                vtac_make2(m, VTAC_OP_DIV, real_number(im, low), step)));
    const vtac_id last =
        vtac_make1(m, VTAC_OP_FLOOR, vtac_make2(m, VTAC_OP_DIV, real_number(im, high), step));
    const vtac_id outside = vtac_make2(m, VTAC_OP_ADD, is_below(im, at, first), is_below(im, last, at));
    const vtac_id inside = vtac_make2(m, VTAC_OP_SUB, real_number(im, 1.0), outside);
    /* column k is 1 between edges k and k + 1 */
    const vtac_id edges = table_of(im, 1, b->count + 2, band_edge, b);
    const vtac_id reached = is_below(im, vtac_make_slice(m, edges, 1, 1, b->count + 1), mel);
    const vtac_id none = vtac_make2(m, VTAC_OP_MUL, at, real_number(im, 0.0));
    const vtac_id from = vtac_make_concat(
        m, (vtac_id[]){vtac_make2(m, VTAC_OP_ADD, none, real_number(im, 1.0)), reached}, 2, 1);
    const vtac_id to = vtac_make_concat(m, (vtac_id[]){reached, none}, 2, 1);
    const vtac_id here = vtac_make2(m, VTAC_OP_MUL, vtac_make2(m, VTAC_OP_SUB, from, to), inside);
    /* what the band below has of it; the rest is the next one's */
    const vtac_id right = vtac_make_slice(m, edges, 1, 1, b->count + 2);
    const vtac_id left = vtac_make_slice(m, edges, 1, 0, b->count + 1);
    const vtac_id falls = vtac_make2(m, VTAC_OP_MUL, here,
                                     vtac_make2(m, VTAC_OP_DIV, vtac_make2(m, VTAC_OP_SUB, right, mel),
                                                vtac_make2(m, VTAC_OP_SUB, right, left)));
    const vtac_id rises = vtac_make2(m, VTAC_OP_SUB, here, falls);
    return vtac_make2(m, VTAC_OP_ADD, vtac_make_slice(m, falls, 1, 1, b->count + 1),
                      vtac_make_slice(m, rises, 1, 0, b->count));
}

/* options: upper_frequency_limit, lower_frequency_limit, filterbank_channel_count, dct_coefficient_count */
void vtac_tflite_import_mfcc(vtac_tflite *im)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type x = vtac_tflite_type(im, 0);
    const vtac_type rate = vtac_tflite_type(im, 1);
    /* whole numbers of Hz: as TensorFlow Lite reads them */
    const double high = trunc(vtac_tflite_custom_number(im, "upper_frequency_limit", 4000.0));
    const double low = trunc(vtac_tflite_custom_number(im, "lower_frequency_limit", 20.0));
    bands b = {.count = vtac_tflite_custom_count(im, "filterbank_channel_count", 40.0, 1),
               .wanted = vtac_tflite_custom_count(im, "dct_coefficient_count", 13.0, 1)};
    if (m->status != VTA_OK || x.rank != 3 || x.dtype != VTAC_F32 || x.dim[2] < 2 ||
        vtac_type_elements(&rate) != 1 || rate.dtype != VTAC_I32 || !(low >= 0.0 && high > low) ||
        b.wanted > b.count || x.dim[2] > MAX_PLACES / (b.count + 2)) {
        vtac_make_fail(m, VTA_INVALID,
                       "a spectrum of rank %u from %g to %g Hz, %lld of %lld coefficients; expected f32 of "
                       "rank 3, one i32, the samples a second, and 2^24 frequencies by bands at most",
                       x.rank, low, high, (long long)b.wanted, (long long)b.count);
        return;
    }
    b.low = mel_of(low);
    b.high = mel_of(high);
    b.step = (b.high - b.low) / (double)(b.count + 1);
    const vtac_id samples =
        vtac_make_cast(m, vtac_make_reshape(m, vtac_tflite_plain(im, 1), NULL, 0), VTAC_F64);
    const vtac_id step = vtac_make2(m, VTAC_OP_MUL, samples, real_number(im, 0.5 / (double)(x.dim[2] - 1)));
    const vtac_id loud = vtac_make1(m, VTAC_OP_SQRT, vtac_make_cast(m, vtac_tflite_plain(im, 0), VTAC_F64));
    vtac_id y = vtac_make2(m, VTAC_OP_MATMUL, loud, band_shares(im, &b, step, x.dim[2], low, high));
    y = vtac_make1(m, VTAC_OP_LOG, vtac_make2(m, VTAC_OP_MAX, y, real_number(im, 1e-12)));
    y = vtac_make2(m, VTAC_OP_MATMUL, y, table_of(im, b.count, b.wanted, cosine_at, &b));
    vtac_tflite_set(im, 0, vtac_make_cast(m, y, VTAC_F32));
}
