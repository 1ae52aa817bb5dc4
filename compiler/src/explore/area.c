/* SPDX-License-Identifier: Apache-2.0
 *
 * Area: sums of features of a configuration, by least squares over the samples of area.def.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "vtac/explore.h"

enum { FEATURES = VTAC_AREA_FEATURES, DISTRIBUTED = 64 };
static const double ridge = 1e-4; /* of a feature's own size: few samples must not give wild numbers */

typedef enum column { LUT, FF, DSP, BRAM, COLUMNS } column;

typedef struct sample {
    const char *name;
    uint32_t batch, in, out, uop, inp, wgt, acc, bus, queue, pump, table, loop, taps;
    double counts[COLUMNS];
} sample;

static const sample samples[] = {
#define VTAC_AREA(name, batch, in, out, uop, inp, wgt, acc, bus, queue, pump, table, loop, taps, lut, ff,    \
                  dsp, bram)                                                                                 \
    {name, batch, in, out, uop, inp, wgt, acc, bus, queue, pump, table, loop, taps, {lut, ff, dsp, bram}},
#include "area.def"
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

/* LUTs are counted as they are placed: two small ones with an input in common share one. area.def counts
 * module by module, as fpga/README.md's first table does, and `./run timing` finds pairs in the flat netlist
 * that leave 29,456 of 39,113 (pynq) and 35,484 of 47,679 (pynq512): that share, within 1 %. */
static const double placed = 0.75;

/* What units take of an xc7 and of an ECP5. */
static const struct {
    double lut, dsp, lut4, multipliers;
} units[] = {
#define VTAC_AREA_UNIT(name, lut, dsp, lut4, multipliers) {lut, dsp, lut4, multipliers},
#include "area.def"
};
enum { UNITS = sizeof units / sizeof units[0] };

/* Block RAMs of 36 kbit that a memory needs: the best of their shapes. */
static double blocks_of(double bits, double depth)
{
    static const double shapes[][2] = {{72, 512}, {36, 1024}, {18, 2048}, {9, 4096}, {4, 8192}};
    double best = HUGE_VAL;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        best = fmin(best, ceil(bits / shapes[i][0]) * ceil(depth / shapes[i][1]));
    }
    return depth <= DISTRIBUTED ? 0.0 : best;
}

static void features_of(const sample *s, column c, double *f)
{
    const double rows = exp2(s->batch), in = exp2(s->in), out = exp2(s->out);
    const double macs = rows * in * out, lanes = rows * out, bus = exp2(s->bus) / 8;
    const double inp_bits = rows * in * 8, wgt_bits = in * out * 8, acc_bits = rows * out * 32;
    memset(f, 0, FEATURES * sizeof *f);
    f[0] = 1;
    f[1] = s->pump == 1 ? macs : 0;
    f[2] = s->pump == 2 ? macs : 0;
    f[3] = lanes;
    if (c == LUT || c == FF) { /* what is left out; three taps where nine have no place cost what they do */
        f[4] = bus;
        f[5] = s->table == 0 ? lanes : 0;
        f[6] = s->loop == 0 && s->in >= s->out ? lanes : 0;
        f[7] = s->taps == 0 ? lanes : 0;
        f[8] = exp2(s->queue) <= DISTRIBUTED ? fmax(exp2(s->queue), 32) : 0; /* three queues in LUTs */
    } else if (c == BRAM) {
        memset(f, 0, FEATURES * sizeof *f);
        f[0] = blocks_of(inp_bits, exp2(s->inp) * 8 / inp_bits) +
               blocks_of(wgt_bits, exp2(s->wgt) * 8 / wgt_bits) +
               blocks_of(acc_bits, exp2(s->acc) * 8 / acc_bits) +
               blocks_of(acc_bits / 4, exp2(s->acc) * 8 / acc_bits) + blocks_of(32, exp2(s->uop) / 4) +
               3 * blocks_of(128, exp2(s->queue)) +
               (s->table != 0 ? ceil(lanes / 2) / 2 : 0); /* half a block: a table for two lanes */
    }
}

/* Gauss with the largest pivot; rows that say nothing stay 0. */
static void solve(double a[FEATURES][FEATURES + 1], double *x)
{
    for (int k = 0; k < FEATURES; k++) {
        int best = k;
        for (int i = k + 1; i < FEATURES; i++) {
            best = fabs(a[i][k]) > fabs(a[best][k]) ? i : best;
        }
        for (int j = 0; j <= FEATURES; j++) {
            const double t = a[k][j];
            a[k][j] = a[best][j];
            a[best][j] = t;
        }
        for (int i = 0; i < FEATURES; i++) {
            const double factor = i != k && a[k][k] != 0.0 ? a[i][k] / a[k][k] : 0.0;
            for (int j = k; j <= FEATURES && factor != 0.0; j++) {
                a[i][j] -= factor * a[k][j];
            }
        }
    }
    for (int k = 0; k < FEATURES; k++) {
        x[k] = a[k][k] != 0.0 ? a[k][FEATURES] / a[k][k] : 0.0;
    }
}

/* Errors count by their share: each sample weighs 1 / its count. */
static void fit(column c, int without, double *x)
{
    double a[FEATURES][FEATURES + 1] = {{0}};
    for (int s = 0; s < (int)SAMPLES; s++) {
        double f[FEATURES];
        const double y = samples[s].counts[c];
        if (s == without || y <= 0.0) {
            continue;
        }
        features_of(&samples[s], c, f);
        for (int i = 0; i < FEATURES; i++) {
            for (int j = 0; j < FEATURES; j++) {
                a[i][j] += f[i] * f[j] / (y * y);
            }
            a[i][FEATURES] += f[i] / y;
        }
    }
    for (int i = 0; i < FEATURES; i++) {
        a[i][i] += ridge * a[i][i];
    }
    solve(a, x);
}

static double value_of(const double *x, const sample *s, column c)
{
    double f[FEATURES];
    double sum = 0.0;
    features_of(s, c, f);
    for (int i = 0; i < FEATURES; i++) {
        sum += x[i] * f[i];
    }
    return fmax(sum, 0.0);
}

/* The mean of the units' shares; of multipliers, of those that have some. */
static void fit_units(vtac_area_model *out)
{
    double dsps = 0.0, multipliers = 0.0;
    for (int i = 0; i < (int)UNITS; i++) {
        out->lut4 += units[i].lut4 / units[i].lut / UNITS;
        dsps += units[i].dsp;
        multipliers += units[i].multipliers;
    }
    for (int i = 0; i < (int)UNITS; i++) {
        out->lut4_error += fabs(units[i].lut * out->lut4 / units[i].lut4 - 1) / UNITS;
    }
    out->multiplier = multipliers / dsps;
    out->units = UNITS;
}

vta_status vtac_area_fit(vtac_area_model *out, vta_diag *diag)
{
    *out = (vtac_area_model){.samples = SAMPLES, .placed = placed};
    fit_units(out);
    double *columns[COLUMNS] = {out->lut, out->ff, out->dsp, out->bram};
    double *errors[COLUMNS] = {&out->error.lut, &out->error.ff, &out->error.dsp, &out->error.bram};
    if (SAMPLES < 2) {
        return vta_fail(diag, VTA_INVALID, "no samples of area; './run area-model' makes them");
    }
    for (column c = LUT; c < COLUMNS; c++) {
        fit(c, -1, columns[c]);
        for (int s = 0; s < (int)SAMPLES; s++) {
            double x[FEATURES];
            fit(c, s, x);
            *errors[c] += fabs(value_of(x, &samples[s], c) / samples[s].counts[c] - 1) / SAMPLES;
        }
    }
    return VTA_OK;
}

vtac_area vtac_area_of(const vtac_area_model *model, const vtac_part *part, const vta_config *config)
{
    const sample s = {.batch = config->log_batch,
                      .in = config->log_block_in,
                      .out = config->log_block_out,
                      .uop = config->log_uop_buff,
                      .inp = config->log_inp_buff,
                      .wgt = config->log_wgt_buff,
                      .acc = config->log_acc_buff,
                      .bus = config->log_bus_width,
                      .queue = config->log_queue,
                      .pump = config->array_pump,
                      .table = config->table,
                      .loop = config->loop_back,
                      .taps = config->depthwise_taps};
    const bool ecp5 = part->family == VTAC_ECP5;
    return (vtac_area){.lut = value_of(model->lut, &s, LUT) * (ecp5 ? model->lut4 : model->placed),
                       .ff = value_of(model->ff, &s, FF),
                       .dsp = value_of(model->dsp, &s, DSP) * (ecp5 ? model->multiplier : 1),
                       .bram = value_of(model->bram, &s, BRAM)};
}

/* ---- parts */

static const vtac_part parts[] = {
#define VTAC_PART(name, board, lut, ff, dsp, bram, lut_most, dsp_most, bram_most, mhz, mb_s, bus, family)    \
    {name, board, lut, ff, dsp, bram, lut_most, dsp_most, bram_most, mhz, mb_s, bus, VTAC_##family},
#include "parts.def"
#undef VTAC_PART
};
enum { PARTS = sizeof parts / sizeof parts[0] };

const vtac_part *vtac_parts(uint32_t *count)
{
    *count = PARTS;
    return parts;
}

vta_status vtac_part_find(const char *name, vtac_part *out, vta_diag *diag)
{
    vta_str names = {0};
    for (uint32_t i = 0; i < PARTS; i++) {
        if (strcmp(parts[i].name, name) == 0) {
            vta_str_free(&names);
            *out = parts[i];
            return VTA_OK;
        }
        vta_str_printf(&names, "%s%s", i > 0 ? ", " : "", parts[i].name);
    }
    const vta_status status = vta_fail(diag, VTA_INVALID, "there is no part '%s'; there are %s", name,
                                       names.text != NULL ? names.text : "others");
    vta_str_free(&names);
    return status;
}

bool vtac_area_fits(const vtac_part *part, const vtac_area *area, char *why, size_t size)
{
    const struct {
        const char *name;
        double need, most;
    } rows[] = {{"LUT", area->lut, part->lut_most},
                {"FF", area->ff, part->ff},
                {"DSP", area->dsp, part->dsp_most},
                {"BRAM36", area->bram, part->bram_most}};
    why[0] = '\0';
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].need > rows[i].most) {
            (void)snprintf(why, size, "%s %.0f of %.0f", rows[i].name, ceil(rows[i].need), rows[i].most);
            return false;
        }
    }
    return true;
}

double vtac_area_share(const vtac_part *part, const vtac_area *area)
{
    return fmax(fmax(area->lut / part->lut_most, area->dsp / part->dsp_most),
                fmax(area->bram / part->bram_most, area->ff / part->ff));
}
