/* SPDX-License-Identifier: Apache-2.0
 *
 * Area: sums of features of a configuration, by least squares over the samples of area.def, beside what
 * follows from the sizes of its memories.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "search.h"
#include "vtac/explore.h"

enum {
    FEATURES = VTAC_AREA_FEATURES,
    LEFT_OUT = 6,
    LANES_OF_TWO = 9,
    DISTRIBUTED = 64,
    THREE_ROWS = 9,
    QUEUE_BITS = 160
};
static const double ridge = 1e-4; /* of a feature's own size: few samples must not give wild numbers */

typedef enum column { LUT, FF, DSP, BRAM, COLUMNS } column;

typedef struct sample {
    const char *name;
    uint32_t batch, in, out, uop, inp, wgt, acc, bus, queue, pump, table, loop, taps;
    double counts[COLUMNS];
    uint32_t alu; /* DSPs of a lane of the ALU */
} sample;

static const sample samples[] = {
#define VTAC_AREA(name, batch, in, out, uop, inp, wgt, acc, bus, queue, pump, table, loop, taps, lut, ff,    \
                  dsp, bram)                                                                                 \
    {name, batch, in, out, uop, inp, wgt, acc, bus, queue, pump, table, loop, taps, {lut, ff, dsp, bram}, 3},
#include "area.def"
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

/* LUTs are counted as they are placed: two small ones with an input in common share one. area.def counts
 * module by module, as fpga/README.md's first table does, and `./run timing` finds pairs in the flat netlist
 * that leave 29,456 of 39,113 (pynq) and 35,484 of 47,679 (pynq512): that share, within 1 %. */
static const double placed = 0.75;

/* LUTs of a lane of the ALU with two DSPs, and with three. */
static const double lane[] = {
#define VTAC_AREA_LANE(two, three) two, three
#include "area.def"
};

/* Placed LUTs and FFs of functions on rows and weights of four bits, a lane. */
static const double rows_lane[] = {
#define VTAC_AREA_ROWS(lut, ff) lut, ff
#include "area.def"
};

/* Area of the units on an xc7 and on an ECP5. */
static const struct {
    double lut, dsp, lut4, multipliers;
} units[] = {
#define VTAC_AREA_UNIT(name, lut, dsp, lut4, multipliers) {lut, dsp, lut4, multipliers},
#include "area.def"
};
enum { UNITS = sizeof units / sizeof units[0] };

/* ---- memories: `count` RAMs of so many bits and entries, in slices that are written by themselves */

typedef struct memory {
    double count, bits, slice, depth;
} memory;
enum { MEMORIES = 6 };

/* True if INP is split over four RAMs, for the three rows of a depthwise window (hw/rtl/mem/vta_inp.v). */
static bool three_rows(const sample *s)
{
    return s->out > 3 && s->taps == THREE_ROWS;
}

/* RAMs of ACC (LOG_BANK of hw/rtl/compute/vta_compute.v). */
static double banks_of(double log_depth)
{
    const bool shallow = log_depth == 9 || log_depth == 10; /* four of these would not fill block RAMs */
    return log_depth > 3 && !shallow ? 4 : log_depth > 1 ? 2 : 1;
}

static void memories_of(const sample *s, memory out[MEMORIES])
{
    const double rows = exp2(s->batch), in = exp2(s->in), out_lanes = exp2(s->out), bus = exp2(s->bus);
    const double inp = rows * in * 8, wgt = in * out_lanes * 8, acc = rows * out_lanes * 32;
    const double inp_depth = exp2(s->inp) * 8 / inp, acc_depth = exp2(s->acc) * 8 / acc;
    const double inp_banks = three_rows(s) ? 4 : 1, banks = banks_of(log2(acc_depth));
    const memory all[MEMORIES] = {{inp_banks, inp, fmin(inp, bus), inp_depth / inp_banks},
                                  {1, wgt, fmin(wgt, bus), exp2(s->wgt) * 8 / wgt},
                                  {banks, acc, acc, acc_depth / banks},
                                  {1, acc / 4, acc / 4, acc_depth},
                                  {1, 32, 32, exp2(s->uop) / 4},
                                  {3, QUEUE_BITS, QUEUE_BITS, exp2(s->queue)}};
    memcpy(out, all, sizeof all);
}

/* Block RAMs of 36 kbit, the best of their shapes; halves are RAMs of their own. */
static double blocks_of(const memory *m)
{
    static const double shapes[][2] = {{36, 512}, {18, 1024}, {9, 2048}, {4, 4096}, {2, 8192}};
    double best = HUGE_VAL;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        best = fmin(best, ceil(m->slice / shapes[i][0]) * ceil(m->depth / shapes[i][1]));
    }
    return m->depth <= DISTRIBUTED ? 0.0 : m->count * m->bits / m->slice * best / 2;
}

/* LUTs that are a memory: four hold 3 bits of 64 entries, or 6 of 32. */
static double distributed_of(const memory *m)
{
    return m->depth > DISTRIBUTED ? 0.0 : m->count * 4 * ceil(m->bits / (m->depth > 32 ? 3 : 6));
}

/* Area that needs no fit: memories that are no block RAMs; their read register is in the fabric. */
static double known_of(const sample *s, column c)
{
    memory all[MEMORIES];
    double sum = 0;
    memories_of(s, all);
    for (size_t i = 0; i < MEMORIES; i++) {
        sum += c == LUT ? distributed_of(&all[i]) : 0;
        sum += c == FF && all[i].depth <= DISTRIBUTED ? all[i].count * all[i].bits : 0; /* what is read */
    }
    return sum;
}

static void features_of(const sample *s, column c, double *f)
{
    const double rows = exp2(s->batch), in = exp2(s->in), out = exp2(s->out);
    const double macs = rows * in * out, lanes = rows * out;
    const bool fabric = c == LUT || c == FF; /* not what a DSP is made of */
    memory all[MEMORIES];
    memset(f, 0, FEATURES * sizeof *f);
    if (c == BRAM) {
        memories_of(s, all);
        for (size_t i = 0; i < MEMORIES; i++) {
            f[0] += blocks_of(&all[i]);
        }
        f[0] += s->table != 0 ? ceil(lanes / 2) / 2 : 0; /* half a block: a table for two lanes */
        return;
    }
    f[0] = 1;
    f[1] = s->pump == 1 ? macs : 0;
    f[2] = s->pump == 2 ? macs : 0;
    f[3] = lanes;
    f[4] = fabric ? exp2(s->bus) / 8 : 0;
    f[5] = c == LUT && three_rows(s) ? rows * in : 0;
    f[LEFT_OUT] = fabric && s->table == 0 ? lanes : 0;
    f[LEFT_OUT + 1] = fabric && s->loop == 0 && s->in >= s->out ? lanes : 0;
    f[LEFT_OUT + 2] = fabric && s->taps == 0 ? lanes : 0;
    f[LANES_OF_TWO] = s->alu == 2 ? lanes : 0;
}

void vtac_solve_equations(int n, double *a, double *x)
{
    const int width = n + 1;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++) {
            best = fabs(a[i * width + k]) > fabs(a[best * width + k]) ? i : best;
        }
        for (int j = 0; j <= n; j++) {
            const double t = a[k * width + j];
            a[k * width + j] = a[best * width + j];
            a[best * width + j] = t;
        }
        const double pivot = a[k * width + k];
        for (int i = 0; i < n; i++) {
            const double factor = i != k && pivot != 0.0 ? a[i * width + k] / pivot : 0.0;
            for (int j = k; j <= n && factor != 0.0; j++) {
                a[i * width + j] -= factor * a[k * width + j];
            }
        }
    }
    for (int k = 0; k < n; k++) {
        const double pivot = a[k * width + k];
        x[k] = pivot != 0.0 ? a[k * width + n] / pivot : 0.0;
    }
}

/* True if a sample leaves units out; *k: the feature, where it is one alone. */
static bool leaves_out(const double *f, int *k)
{
    int count = 0;
    for (int i = LEFT_OUT; i < FEATURES; i++) {
        if (f[i] != 0) {
            *k = i;
            count++;
        }
    }
    return count > 0;
}

/* The sample that is s but for feature k; NULL: there is none. */
static const sample *twin_of(const double *f, int k, column c, int without)
{
    for (int t = 0; t < (int)SAMPLES; t++) {
        double g[FEATURES];
        bool same = t != without;
        features_of(&samples[t], c, g);
        for (int i = 0; i < FEATURES && same; i++) {
            same = i == k ? g[i] == 0 : g[i] == f[i];
        }
        if (same) {
            return &samples[t];
        }
    }
    return NULL;
}

/* Fits the savings of units that are left out, from the differences to samples with them. A fit of all
 * samples would add its errors elsewhere to the savings, and those errors are larger. */
static void fit_left_out(column c, int without, double *x)
{
    double products[FEATURES] = {0}, squares[FEATURES] = {0};
    for (int s = 0; s < (int)SAMPLES; s++) {
        double f[FEATURES];
        int k = 0;
        features_of(&samples[s], c, f);
        const sample *twin = s != without && leaves_out(f, &k) ? twin_of(f, k, c, without) : NULL;
        if (twin != NULL) {
            const double less =
                samples[s].counts[c] - known_of(&samples[s], c) - twin->counts[c] + known_of(twin, c);
            products[k] += f[k] * less;
            squares[k] += f[k] * f[k];
        }
    }
    for (int k = LEFT_OUT; k < FEATURES; k++) {
        x[k] = squares[k] > 0 ? products[k] / squares[k] : 0;
    }
    x[LANES_OF_TWO] = c == DSP ? -1 : c == LUT ? lane[0] - lane[1] : 0;
}

/* Errors count by their share: each sample weighs 1 / its count. */
static void fit_column(column c, int without, double *x)
{
    double a[FEATURES][FEATURES + 1] = {{0}};
    for (int s = 0; s < (int)SAMPLES; s++) {
        double f[FEATURES];
        int k;
        const double y = samples[s].counts[c];
        features_of(&samples[s], c, f);
        if (s == without || y <= 0.0 || leaves_out(f, &k)) {
            continue;
        }
        for (int i = 0; i < FEATURES; i++) {
            for (int j = 0; j < FEATURES; j++) {
                a[i][j] += f[i] * f[j] / (y * y);
            }
            a[i][FEATURES] += f[i] * (y - known_of(&samples[s], c)) / (y * y);
        }
    }
    for (int i = 0; i < FEATURES; i++) {
        a[i][i] += ridge * a[i][i];
    }
    vtac_solve_equations(FEATURES, a[0], x);
    fit_left_out(c, without, x);
}

static double value_of(const double *x, const sample *s, column c)
{
    double f[FEATURES];
    double sum = known_of(s, c);
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
        fit_column(c, -1, columns[c]);
        for (int s = 0; s < (int)SAMPLES; s++) {
            double x[FEATURES];
            fit_column(c, s, x);
            *errors[c] += fabs(value_of(x, &samples[s], c) / samples[s].counts[c] - 1) / SAMPLES;
        }
    }
    return VTA_OK;
}

bool vtac_area_knows(const vta_config *config, char *why, size_t size)
{
    const bool known = config->rows != 0 || config->wgt4 == 0;
    if (!known) {
        (void)snprintf(why, size,
                       "the area with WGT4 alone is not in the fit; './run area FILE.json' counts it");
    }
    return known;
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
                      .alu = config->alu_dsps,
                      .table = config->table,
                      .loop = config->loop_back,
                      .taps = config->depthwise_taps};
    const bool ecp5 = part->family == VTAC_ECP5;
    const double row_lanes = config->rows != 0 ? exp2(s.batch) * exp2(s.out) : 0.0;
    const double lut = value_of(model->lut, &s, LUT) + row_lanes * rows_lane[0] / model->placed;
    const double cores = config->cores;
    return (vtac_area){.lut = cores * lut * (ecp5 ? model->lut4 : model->placed),
                       .ff = cores * (value_of(model->ff, &s, FF) + row_lanes * rows_lane[1]),
                       .dsp = cores * value_of(model->dsp, &s, DSP) * (ecp5 ? model->multiplier : 1),
                       .bram = cores * value_of(model->bram, &s, BRAM)};
}

/* ---- parts */

static const vtac_part parts[] = {
#define VTAC_PART(name, board, bitstream, lut, ff, dsp, bram, lut_max, dsp_max, bram_max, mhz, mb_s, bus,    \
                  family)                                                                                    \
    {name, board, bitstream, lut, ff, dsp, bram, lut_max, dsp_max, bram_max, mhz, mb_s, bus, VTAC_##family},
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

bool vtac_part_has(const vtac_part *part, const vta_config *config, char *why, size_t size)
{
    why[0] = '\0';
    if (1U << config->log_bus_width > part->max_bus_bits) {
        (void)snprintf(why, size, "LOG_BUS_WIDTH %u of %u bits", 1U << config->log_bus_width,
                       part->max_bus_bits);
    } else if (config->alu_dsps == 2 && part->family != VTAC_XCUP) {
        (void)snprintf(why, size, "ALU_DSPS 2, for which the part's multipliers are too small");
    }
    return why[0] == '\0';
}

bool vtac_area_fits(const vtac_part *part, const vtac_area *area, char *why, size_t size)
{
    struct {
        const char *name;
        double need, max;
    } rows[] = {{"LUT", area->lut, part->lut_max},
                {"FF", area->ff, part->ff},
                {"DSP", area->dsp, part->dsp_max},
                {"BRAM36", area->bram, part->bram_max}};
    enum { ROWS = sizeof rows / sizeof rows[0] };
    size_t used = 0;
    why[0] = '\0';
    for (size_t told = 0; told < ROWS; told++) { /* the one that is farthest above its limit first */
        size_t worst = 0;
        for (size_t i = 1; i < ROWS; i++) {
            worst = rows[i].need * rows[worst].max > rows[worst].need * rows[i].max ? i : worst;
        }
        if (rows[worst].need <= rows[worst].max) {
            break;
        }
        const int length = snprintf(why + used, size - used, "%s%s %.0f of %.0f", told > 0 ? ", " : "",
                                    rows[worst].name, ceil(rows[worst].need), rows[worst].max);
        used += length > 0 && (size_t)length < size - used ? (size_t)length : 0;
        rows[worst].need = 0.0;
    }
    return why[0] == '\0';
}

double vtac_area_share(const vtac_part *part, const vtac_area *area)
{
    return fmax(fmax(area->lut / part->lut_max, area->dsp / part->dsp_max),
                fmax(area->bram / part->bram_max, area->ff / part->ff));
}
