/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac explore: which configuration of the hardware would be best for these networks on this part.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calib.h"
#include "explore.h"
#include "stages.h"
#include "table.h"
#include "tensors.h"
#include "vta/clock.h"
#include "vta/dram_kind.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hash.h"
#include "workers.h"

enum { SHOWN = 10, EXPLORE_PARTS = 8, PATH = 4096, MAX_WEIGHT = 1000000 };

static const cli_option options[] = {
    {"--models", "A,B,...", CLI_FILE, "files, names of the zoo; --weigh W,W,...: weights"},
    {"--weigh", "W,W,...", CLI_TEXT, NULL},
    {"--part", "NAME,...", CLI_TEXT, "xc7z020 (default) xc7z010 xczu3eg xczu7ev xck26 ecp5-85"},
    {"--prices", "FILE", CLI_FILE, NULL},
    {"--fix", "KEY=VALUE", CLI_TEXT, "a key of the configuration: this value, or these: 3,4,5"},
    {"--space", "FILE", CLI_FILE, "keys and their values: {\"LOG_BLOCK_IN\": [3, 4], ...}"},
    {"--limit", "N", CLI_TEXT, "look at N of the space's configurations, evenly"},
    {"--objective", "WHAT", CLI_TEXT, "fps (default), latency, or 'mJ < 2 and max fps / lut'"},
    {"--search", "PERCENT", CLI_TEXT, "time that much of the space, by halving (default: all)"},
    {"--resume", "FILE", CLI_FILE, "keep results there; the same words go on from it"},
    {"--budget", "WHAT=N", CLI_TEXT, "lut, dsp or bram: no more than that (may be repeated)"},
    {"--finalists", "N", CLI_TEXT, "the best N on tsim, too; --count './run area': by Yosys"},
    {"--power", "FILE", CLI_FILE, "'PART WATTS WORDS'; alike --prices, --promises FILE"},
    {"--promises", "FILE", CLI_FILE, NULL},
    {"--dram", "KIND", CLI_TEXT, "memory: ddr3-1050, ddr4-2400, ... (default: a flat 70 %)"},
    {"--count", "COMMAND", CLI_TEXT, NULL},
    {"-o", "DIR", CLI_FILE, "pages, bestN.json; --export scalesim|timeloop|zigzag"},
    {"--export", "TOOL", CLI_TEXT, NULL},
    CLI_WORK_OPTIONS,
    {"--calib", "DIR|FILE", CLI_FILE, "inputs to quantize models of floats with"},
    {"--shape", "NAME=AxBxC", CLI_TEXT, "size of a dynamic input; --json: print JSON"},
    CLI_MODEL_OPTIONS,
    {"--json", NULL, CLI_FLAG, NULL},
};

/* The best configuration of one of several parts. */
typedef struct explore_best {
    char part[32], name[64], why[192]; /* why: there is none */
    double fps, mj, share, price, score;
} explore_best;

typedef struct explore_job {
    const cli_args *args;
    cli_shapes shapes;
    cli_work how;
    const char *name; /* of the part */
    vtac_part part, budget;
    vtac_space space;
    vtac_explore_options options;
    vtac_powers powers;
    vtac_goal goal;
    uint64_t finalists;
    const char *folder; /* of results; NULL: none */
    bool several;       /* parts */
    explore_best *best; /* of this part; NULL: one part alone */
} explore_job;

/* ---- arguments */

/* Reads the budget of a part; 0: all that the part has. */
static int read_budget(const cli_args *args, vtac_part *part)
{
    size_t at = 0;
    for (const char *text = cli_next(args, "--budget", &at); text != NULL;
         text = cli_next(args, "--budget", &at)) {
        const struct {
            const char *name;
            double *to;
        } rows[] = {{"lut=", &part->lut_max}, {"dsp=", &part->dsp_max}, {"bram=", &part->bram_max}};
        uint64_t number = 0;
        size_t i = 0;
        while (i < 3 && strncmp(text, rows[i].name, strlen(rows[i].name)) != 0) {
            i++;
        }
        if (i == 3 || !cli_number(text + strlen(rows[i].name), &number) || number == 0) {
            return cli_usage(args, "'--budget %s': expected lut=N, dsp=N or bram=N", text);
        }
        if (*rows[i].to > 0) {
            return cli_usage(args, "'--budget %s': its limit is set already", text);
        }
        *rows[i].to = (double)number;
    }
    return CLI_OK;
}

/* "3,1,1": a number for each model. */
static int read_counts(const cli_args *args, vtac_explore_options *o)
{
    const char *text = cli_value(args, "--weigh"), *weights = cli_value(args, "--weights");
    uint32_t models = 1, count = 0;
    for (const char *p = cli_value(args, "--models"); *p != '\0'; p++) {
        models += *p == ',' && p[1] != '\0';
    }
    if (weights != NULL && access(weights, F_OK) != 0) {
        return cli_usage(
            args, "'--weights %s': there is no such file; how much each model counts is '--weigh 3,1,...'",
            weights);
    }
    for (const char *at = text; at != NULL; count++) {
        char *end;
        const double number = strtod(at, &end);
        if (end == at || (*end != ',' && *end != '\0') || !(number > 0) || number > MAX_WEIGHT ||
            count == models || count == VTAC_MAX_NETWORKS) {
            break;
        }
        o->counts[count] = number;
        at = *end == ',' ? end + 1 : NULL;
        if (at == NULL && count + 1 == models) {
            return CLI_OK;
        }
    }
    return text == NULL
               ? CLI_OK
               : cli_usage(args, "'--weigh %s': expected a number above 0 for each of the %u models: 3,1,...",
                           text, models);
}

/* The names of the networks, as "--models" has them, and as reports name them. */
static uint32_t model_names(const cli_args *args, char names[VTAC_MAX_NETWORKS][64], const char **out)
{
    uint32_t count = 0;
    char path[PATH];
    for (const char *list = cli_value(args, "--models"); *list != '\0' && count < VTAC_MAX_NETWORKS;
         count++) {
        (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(list, ","), list);
        cli_network_name(path, names[count], sizeof names[count]);
        out[count] = names[count];
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return count;
}

static int read_objective(explore_job *j)
{
    const char *text = cli_value(j->args, "--objective"), *names[VTAC_MAX_NETWORKS];
    char texts[VTAC_MAX_NETWORKS][64];
    const uint32_t count = model_names(j->args, texts, names);
    vta_diag diag = {0};
    if (vtac_goal_parse(text != NULL ? text : "fps", names, count, &j->goal, &diag) != VTA_OK) {
        return cli_usage(j->args, "'--objective' %s", diag.text);
    }
    j->options.goal = &j->goal;
    return CLI_OK;
}

static int read_search(explore_job *j)
{
    const char *text = cli_value(j->args, "--search");
    char *end = NULL;
    const double percent = text != NULL ? strtod(text, &end) : 0;
    if (text != NULL && (end == text || *end != '\0' || !(percent > 0) || percent > 100)) {
        return cli_usage(j->args, "'--search %s': expected percent of the space, above 0, at most 100", text);
    }
    j->options.search = percent / 100;
    j->options.journal = cli_value(j->args, "--resume");
    return CLI_OK;
}

static int read_exports(const cli_args *args)
{
    size_t at = 0;
    for (const char *tool = cli_next(args, "--export", &at); tool != NULL;
         tool = cli_next(args, "--export", &at)) {
        if (!cli_knows_export(tool)) {
            return cli_usage(args, "'--export %s': expected scalesim, timeloop or zigzag", tool);
        }
        if (cli_value(args, "-o") == NULL) {
            return cli_usage(args, "'--export' writes into the folder that '-o DIR' names");
        }
    }
    return CLI_OK;
}

static int read_arguments(explore_job *j)
{
    const cli_args *args = j->args;
    const char *limit = cli_value(args, "--limit");
    const char *finalists = cli_value(args, "--finalists");
    if (cli_value(args, "--models") == NULL) {
        return cli_usage(args, "expected --models A,B,...");
    }
    if (limit != NULL && (!cli_number(limit, &j->options.limit) || j->options.limit == 0)) {
        return cli_usage(args, "--limit takes a number of configurations, not '%s'", limit);
    }
    if (finalists != NULL && (!cli_number(finalists, &j->finalists) || j->finalists > EXPLORE_FINALISTS)) {
        return cli_usage(args, "--finalists takes 0 to %d, not '%s'", EXPLORE_FINALISTS, finalists);
    }
    if (j->finalists > 0 && cli_value(args, "-o") == NULL) {
        return cli_usage(args, "'--finalists' works in the folder that '-o DIR' names");
    }
    if (read_exports(args) != CLI_OK) {
        return CLI_USAGE;
    }
    if (j->finalists == 0 && cli_value(args, "--count") != NULL) {
        return cli_usage(args, "'--count' goes with '--finalists N'");
    }
    if (cli_read_shapes(args, &j->shapes) != CLI_OK || cli_read_work(args, &j->how) != CLI_OK ||
        read_budget(args, &j->budget) != CLI_OK || read_counts(args, &j->options) != CLI_OK ||
        read_search(j) != CLI_OK) {
        return CLI_USAGE;
    }
    return read_objective(j);
}

/* --dram: the kind of memory of all points. */
static vta_status read_dram(explore_job *j, vta_diag *diag)
{
    const char *name = cli_value(j->args, "--dram");
    vta_config *base = &j->space.base;
    vta_dram_kind kind;
    if (name != NULL) {
        VTA_TRY(vta_dram_choose(name, &kind, diag));
        (void)snprintf(base->dram, sizeof base->dram, "%s", kind.name);
    }
    return VTA_OK;
}

static vta_status read_space(explore_job *j, vta_diag *diag)
{
    const char *file = cli_value(j->args, "--space"), *prices = cli_value(j->args, "--prices");
    const vtac_part budget = j->budget;
    size_t at = 0;
    VTA_TRY(vtac_part_find(j->name, &j->part, diag));
    VTA_TRY(prices != NULL ? vtac_price_read(prices, j->name, &j->options.price, diag) : VTA_OK);
    if (j->options.price == 0 && vtac_goal_reads(&j->goal, VTAC_MEASURE_PRICE)) {
        return vta_fail(diag, VTA_INVALID,
                        "the objective reads the price of %s; '--prices FILE' has a line for it: '%s "
                        "PRICE WORDS'",
                        j->name, j->name);
    }
    j->part.lut_max = budget.lut_max > 0 ? budget.lut_max : j->part.lut_max;
    j->part.dsp_max = budget.dsp_max > 0 ? budget.dsp_max : j->part.dsp_max;
    j->part.bram_max = budget.bram_max > 0 ? budget.bram_max : j->part.bram_max;
    j->options.part = &j->part;
    VTA_TRY(vtac_space_default(j->options.part, &j->space, diag));
    VTA_TRY(file != NULL ? vtac_space_read(file, &j->space, diag) : VTA_OK);
    for (const char *fix = cli_next(j->args, "--fix", &at); fix != NULL;
         fix = cli_next(j->args, "--fix", &at)) {
        VTA_TRY(vtac_space_fix(&j->space, fix, diag));
    }
    j->options.space = &j->space;
    return read_dram(j, diag);
}

/* ---- results */

enum { CELLS = 11 }; /* before those of networks */
_Static_assert(CELLS + VTAC_MAX_NETWORKS + 1 <= CLI_MAX_COLUMNS, "a column for each network, and a note");

static void fill_row(const void *context, uint32_t row, cli_cell *cells)
{
    const cli_explored *e = context;
    const bool shipped = row >= SHOWN || row >= e->found->count;
    const uint32_t found = e->found->count < SHOWN ? e->found->count : SHOWN;
    const vtac_candidate *c = shipped ? &e->shipped[row - found] : &e->found->candidates[row];
    if (shipped) {
        cells[0].text = c->config.name;
    } else {
        cli_cell_print(&cells[0], "best%u", row + 1);
    }
    cli_cell_print(&cells[1], c->config.cores > 1 ? "%ux%ux%u x %u" : "%ux%ux%u", c->config.batch,
                   c->config.block_in, c->config.block_out, c->config.cores);
    cli_cell_print(&cells[2], "%u", c->config.array_pump);
    cli_cell_print(&cells[3], "%s%s%u", c->config.table ? "t" : "-", c->config.loop_back ? "l" : "-",
                   c->config.depthwise_taps);
    cli_cell_print(&cells[4], "%u/%u/%u/%u", c->config.log_inp_buff, c->config.log_wgt_buff,
                   c->config.log_acc_buff, c->config.log_uop_buff);
    cli_cell_print(&cells[5], "%.1f", c->fps);
    cells[6].text = "-";
    if (e->power.count > 0) {
        cli_cell_print(&cells[6], "%.3g", 1e3 * e->power.watts / c->fps);
    }
    cli_cell_print(&cells[7], "%.3g", c->energy * 1e3);
    cli_cell_print(&cells[8], "%.0f", c->area.lut);
    cli_cell_print(&cells[9], "%.0f", c->area.dsp);
    cli_cell_print(&cells[10], "%.0f", c->area.bram);
    for (uint32_t n = 0; n < e->networks->count; n++) {
        cli_cell_print(&cells[CELLS + n], "%" PRIu64, c->networks[n].cycles);
    }
    if (shipped && e->fits[row - found][0] != '\0') {
        cells[CELLS + e->networks->count].text = e->fits[row - found];
    } else if (!shipped && row < e->proof_count) {
        cells[CELLS + e->networks->count].text = e->proofs[row].why;
    }
}

/* Finalists: cycles as the compiler foretells them and on tsim, and what Yosys counts beside the fit. */
static void print_finalists(const cli_explored *e)
{
    for (uint32_t f = 0; f < e->proof_count; f++) {
        const cli_proof *p = &e->proofs[f];
        const vtac_area *fit = &e->found->candidates[f].area;
        vta_str text = {0};
        for (uint32_t n = 0; n < e->networks->count && p->cycles[n] > 0; n++) {
            vta_str_printf(&text, "%s%s %" PRIu64 " cycles, foretold %" PRIu64 " (%+.1f %%)",
                           text.text != NULL ? ", " : "", e->networks->items[n].name, p->cycles[n],
                           p->predicted[n], 100 * ((double)p->predicted[n] / (double)p->cycles[n] - 1));
        }
        if (text.text != NULL) {
            cli_sentence(2, "best%u on tsim, compiled with more care than for the ranking: %s", f + 1,
                         text.text);
        }
        if (p->counted.lut > 0) {
            cli_sentence(2,
                         "best%u by Yosys: LUT %.0f (by the fit %+.1f %%), DSP %.0f (%+.1f %%), BRAM36 %.1f "
                         "(%+.1f %%)",
                         f + 1, p->counted.lut, 100 * (fit->lut / p->counted.lut - 1), p->counted.dsp,
                         p->counted.dsp > 0 ? 100 * (fit->dsp / p->counted.dsp - 1) : 0, p->counted.bram,
                         p->counted.bram > 0 ? 100 * (fit->bram / p->counted.bram - 1) : 0);
        }
        vta_str_free(&text);
    }
}

/* Prints the part that a search left alone, and times of several networks in turn. */
static void print_search(const cli_explored *e)
{
    const vtac_exploration *x = e->found;
    const vtac_candidate *best = &x->candidates[0];
    if (x->left > 0) {
        cli_sentence(0,
                     "by successive halving: %u of %u that programs tell apart were timed (%.1f %%); %u "
                     "configurations were left, which a fit to those foretells to be behind",
                     x->timed, x->distinct, 100.0 * x->timed / x->distinct, x->left);
    }
    for (uint32_t i = 0; i < x->count && x->candidates[i].compiled[0] > 0; i++) {
        vta_str text = {0};
        for (uint32_t n = 0; n < e->networks->count; n++) {
            vta_str_printf(&text, "%s%s %" PRIu64, n > 0 ? ", " : "", e->networks->items[n].name,
                           x->candidates[i].compiled[n]);
        }
        cli_sentence(2, "best%u as compiled at -O3, cycles: %s", i + 1, text.text != NULL ? text.text : "");
        vta_str_free(&text);
    }
    if (e->networks->count > 1) {
        cli_sentence(
            0,
            "in turn on one accelerator, launch by launch, each as often as it counts: %.4g ms a round on "
            "best1, and a network waits at most %.4g ms for one that runs",
            1e3 * best->round, 1e3 * best->latency);
    }
}

/* Cycles as compiled, where the search compiled the configuration, and the one that it is compared with. */
static double cycles_of(const vtac_candidate *c, const cli_explored *e, uint32_t network)
{
    for (uint32_t i = 0; i < e->found->count; i++) {
        const vtac_candidate *same = &e->found->candidates[i];
        if (same->compiled[network] > 0 && same->config.hash == c->config.hash &&
            same->config.array_pump == c->config.array_pump) {
            return (double)same->compiled[network];
        }
    }
    return (double)c->networks[network].cycles;
}

/* Prints the speed of the best configuration relative to the shipped ones that fit. */
static void print_beside(const cli_explored *e)
{
    const vtac_candidate *best = &e->found->candidates[0];
    for (uint32_t i = 0; i < e->shipped_count; i++) {
        const vtac_candidate *c = &e->shipped[i];
        vta_str text = {0};
        for (uint32_t n = 0; n < e->networks->count; n++) {
            const double times =
                cycles_of(c, e, n) / cycles_of(best, e, n) * best->config.clock_mhz / c->config.clock_mhz;
            vta_str_printf(&text, "%s%s %.4f", n > 0 ? ", " : "", e->networks->items[n].name, times);
        }
        if (c->runs && e->fits[i][0] == '\0' && text.text != NULL) {
            cli_sentence(0, "best1 beside %s, pictures a second: %s; chip energy %.3f", c->config.name,
                         text.text, best->energy / c->energy);
        }
        vta_str_free(&text);
    }
}

/* The memory, and what the best configuration reaches of it. */
static void print_memory(const cli_explored *e)
{
    const vtac_candidate *best = &e->found->candidates[0];
    vta_dram_kind kind;
    vta_str text = {0};
    if (vta_dram_choose(best->config.dram, &kind, NULL) != VTA_OK || kind.rate == 0) {
        cli_sentence(0,
                     "memory: %u MB/s for both directions, whatever the accesses; '--dram KIND' has banks, "
                     "refresh and turns of the bus",
                     best->config.mem_shared);
        return;
    }
    const double peak = (double)kind.rate * kind.width / 8;
    for (uint32_t n = 0; n < e->networks->count; n++) {
        const vtac_estimate *of = &best->networks[n];
        const double bytes = (double)(of->sum.bytes_read + of->sum.bytes_written);
        const double reached = bytes * best->config.clock_mhz / (double)of->cycles;
        vta_str_printf(&text, "%s%s %.0f MB/s (%.0f %%)", n > 0 ? ", " : "", e->networks->items[n].name,
                       reached, 100 * reached / peak);
    }
    cli_sentence(0, "memory: %s, %.0f MB/s at its peak, of which best1 takes in the mean over a run: %s",
                 kind.name, peak, text.text != NULL ? text.text : "");
    vta_str_free(&text);
}

static void print_clock(const cli_explored *e)
{
    char text[VTAC_CLOCK_TEXT];
    const vtac_clock clock = vtac_clock_of(e->part->name);
    vtac_clock_text(&clock, e->part->name, e->part->clock_mhz, text, sizeof text);
    cli_sentence(0, "%s", text);
}

/* The records of boards with the part, where the user has any. */
static void print_promises(const cli_explored *e)
{
    char text[VTAC_PROMISES_TEXT];
    if (e->promises.cycles.count > 0) {
        vtac_promises_text(&e->promises, e->part->name, text, sizeof text);
        cli_sentence(0, "%s", text);
    }
}

/* The board's energy: the time times watts that others measured, and how far off that has been. */
static void print_power(const cli_explored *e)
{
    char text[VTAC_POWER_TEXT];
    vtac_power_text(&e->power, e->part->name, text, sizeof text);
    cli_sentence(0, "mJ a picture: %s", text);
    for (size_t i = 0; i < e->powers->count; i++) {
        const vtac_power *p = &e->powers->items[i];
        if (strcmp(p->part, e->part->name) == 0) {
            cli_sentence(2, "  %.2f W: %s", p->watts, p->source);
        }
    }
}

/* The best configuration as a chip, network by network. */
static void print_chip(const cli_explored *e)
{
    const vtac_candidate *best = &e->found->candidates[0];
    for (uint32_t n = 0; n < e->networks->count; n++) {
        char text[VTAC_CHIP_LINES][VTAC_CHIP_TEXT];
        const vtac_estimate *of = &best->networks[n];
        const vtac_chip chip = vtac_chip_of(&best->config, &of->sum, of->cycles);
        vtac_chip_text(&chip, of->sum.macs, text);
        cli_sentence(2, "best1, %s %s", e->networks->items[n].name, text[0]);
        cli_sentence(2, "  %s", text[1]);
        if (n + 1 == e->networks->count) { /* the same for all */
            cli_sentence(2, "  %s", text[2]);
        }
    }
}

static void print_text(const cli_explored *e)
{
    cli_column columns[CLI_MAX_COLUMNS] = {{"", CLI_WORD},
                                           {"tile", CLI_WORD},
                                           {"pump", CLI_FIGURE},
                                           {"parts", CLI_WORD},
                                           {"inp/wgt/acc/uop", CLI_WORD},
                                           {"fps", CLI_FIGURE},
                                           {"mJ", CLI_FIGURE},
                                           {"chip mJ", CLI_FIGURE},
                                           {"LUT", CLI_FIGURE},
                                           {"DSP", CLI_FIGURE},
                                           {"BRAM36", CLI_FIGURE}};
    const vtac_exploration *x = e->found;
    const vtac_area *error = &x->area_model.error;
    for (uint32_t n = 0; n < e->networks->count; n++) {
        columns[CELLS + n] = (cli_column){e->networks->items[n].name, CLI_FIGURE};
    }
    columns[CELLS + e->networks->count] = (cli_column){"note", CLI_SENTENCE};
    const uint32_t found = x->count < SHOWN ? x->count : SHOWN;
    cli_table(columns, CELLS + 1 + e->networks->count, found + e->shipped_count, fill_row, e);
    cli_print("\n");
    cli_sentence(0,
                 "%" PRIu64 " configurations on %s, %" PRIu64
                 " of them around those that come with vtac: %" PRIu64 " not legal, %" PRIu64
                 " too large, %u judged (%u timed) on %u networks in %.1f s",
                 x->space, e->part->name, x->around, x->illegal, x->too_large, x->count, x->timed,
                 e->networks->count, e->seconds);
    print_search(e);
    print_finalists(e);
    print_beside(e);
    cli_sentence(0, "parts: t tables, l loop-back, taps of a depthwise step");
    for (uint32_t i = 0; i < x->outside_count; i++) {
        cli_print("  out by %s: %" PRIu64 "\n", x->outside[i].why, x->outside[i].count);
    }
    cli_sentence(
        0,
        "area by a fit to %u runs of Yosys; its error, each run against a fit to the others: LUT %.1f "
        "%%, DSP %.1f %%, BRAM36 %.1f %%",
        x->area_model.samples, 100 * error->lut, 100 * error->dsp, 100 * error->bram);
    if (e->part->family == VTAC_ECP5) {
        cli_sentence(0,
                     "on an ECP5 a LUT counts as %.2f LUT4, a DSP as %.0f multipliers: the mean of %u units "
                     "that Yosys maps to both; each is off by %.1f %%",
                     x->area_model.lut4, x->area_model.multiplier, x->area_model.units,
                     100 * x->area_model.lut4_error);
    } else {
        cli_sentence(
            0,
            "LUTs as they are placed: %.2f of those that Yosys counts, where pairs of small ones share one",
            x->area_model.placed);
    }
    print_memory(e);
    print_clock(e);
    print_promises(e);
    print_power(e);
    print_chip(e);
    cli_print_keys(e);
    const char *const *line = vtac_energy_sources();
    cli_sentence(0, "chip mJ, which rank configurations and leave the rest of a board out: %s", *line);
    while (*++line != NULL) {
        cli_sentence(2, "  %s", *line);
    }
}

static vta_status make_folder(const char *folder, vta_diag *diag)
{
    VTA_TRY(vta_folder_make(folder, 0777, diag));
    struct stat about;
    if (stat(folder, &about) == 0 && !S_ISDIR(about.st_mode)) {
        return vta_fail(diag, VTA_IO, "'%s' is no folder; name another one for the results", folder);
    }
    return access(folder, W_OK) == 0
               ? VTA_OK
               : vta_fail(diag, VTA_IO, "cannot write into '%s': %s", folder, strerror(errno));
}

static vta_status write_text(const char *folder, const char *name, char *text, vta_diag *diag)
{
    char path[PATH];
    if (text == NULL) {
        return vta_no_memory(diag);
    }
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    const vta_status status = vta_file_write(path, text, strlen(text), diag);
    free(text);
    return status;
}

/* Removes the configurations of an earlier exploration, which would look like this one's. */
static vta_status remove_configs(const char *folder, vta_diag *diag)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return vta_fail(diag, VTA_IO, "cannot read '%s': %s", folder, strerror(errno));
    }
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        const bool ours = strncmp(entry->d_name, "best", 4) == 0 && isdigit((unsigned char)entry->d_name[4]);
        char *end = NULL;
        if (ours) {
            (void)strtoul(entry->d_name + 4, &end, 10);
        }
        if (ours && strcmp(end, ".json") == 0) {
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
        }
    }
    (void)closedir(dir);
    return VTA_OK;
}

/* The front and the best: configurations that every other verb takes. */
static vta_status write_configs(const char *folder, const cli_explored *e, vta_diag *diag)
{
    for (uint32_t i = 0; i < e->found->count; i++) {
        vta_config config = e->found->candidates[i].config;
        char name[32];
        if (!e->found->candidates[i].runs || (i >= EXPLORE_FINALISTS && !e->found->candidates[i].front)) {
            continue;
        }
        (void)snprintf(name, sizeof name, "best%u.json", i + 1);
        (void)snprintf(config.name, sizeof config.name, "best%u", i + 1);
        VTA_TRY(write_text(folder, name, vta_config_to_json(&config), diag));
    }
    return VTA_OK;
}

static void show_progress(void *context, uint32_t done, uint32_t all)
{
    (void)context;
    cli_stage("timing configurations", "", done, all);
}

static vta_status write_files(const char *folder, const cli_explored *e, vta_diag *diag)
{
    VTA_TRY(write_text(folder, "front.json", cli_explore_json(e), diag));
    VTA_TRY(write_text(folder, "workers.txt", cli_schedule_text(e->found), diag));
    VTA_TRY(write_text(folder, "workers.svg", cli_schedule_drawing(e->found), diag));
    return write_text(folder, "front.html", cli_explore_page(e), diag);
}

/* Not one: by what. */
static vta_status nothing_found(const cli_explored *e, vta_diag *diag)
{
    const vtac_exploration *x = e->found;
    uint32_t n = 0;
    if (x->count == 0 && x->too_large == 0) {
        return vta_fail(diag, VTA_RANGE, "no configuration of %" PRIu64 " is legal; the first of them: %s",
                        x->space, x->illegal_why);
    }
    if (x->count == 0) {
        return vta_fail(diag, VTA_RANGE,
                        "no configuration of %" PRIu64
                        " fits %s within the budget: what is nearest to it takes %s; "
                        "name a larger '--part' or '--budget', or fix smaller values",
                        x->space, e->part->name, x->nearest);
    }
    if (x->candidates[0].runs) {
        const vtac_goal_clause *limit = &e->options->goal->clauses[x->candidates[0].broken];
        return vta_fail(
            diag, VTA_RANGE,
            "no configuration keeps '%.*s'; of %u judged '%s' is the best without: %.4g pictures a "
            "second, %.4g ms, %.4g mJ, LUT %.0f",
            (int)limit->length, e->options->goal->text + limit->at, x->count, x->candidates[0].config.name,
            x->candidates[0].fps, 1e3 * x->candidates[0].latency, 1e3 * e->power.watts / x->candidates[0].fps,
            x->candidates[0].area.lut);
    }
    while (n + 1 < e->networks->count && x->candidates[0].networks[n].cycles > 0) {
        n++;
    }
    return vta_fail(diag, VTA_RANGE,
                    "no configuration of %" PRIu64
                    " runs all networks; on the first of them '%s' does not: %s",
                    x->space, e->networks->items[n].name, x->candidates[0].networks[n].why);
}

/* Evaluates an exploration for its report: checks that it found anything, estimates the shipped
 * configurations beside it, and gathers layers. */
static vta_status evaluate_result(explore_job *j, cli_explored *e, vta_diag *diag)
{
    if (e->found->count == 0 || !e->found->candidates[0].runs || e->found->candidates[0].broken >= 0) {
        return nothing_found(e, diag);
    }
    VTA_TRY(cli_time_shipped(e, diag));
    VTA_TRY(cli_time_keys(e, j->how.options.workers, diag));
    if (cli_value(j->args, "-o") != NULL || cli_flag(j->args, "--json")) {
        cli_stage("layers of the front", "", 0, 0);
        VTA_TRY(cli_explore_layers(e, j->how.options.workers, diag));
    }
    return VTA_OK;
}

static vta_status write_all(explore_job *j, cli_explored *e, vta_diag *diag)
{
    const char *folder = j->folder;
    if (folder == NULL) {
        return VTA_OK;
    }
    VTA_TRY(remove_configs(folder, diag));
    VTA_TRY(write_configs(folder, e, diag));
    VTA_TRY(cli_prove_finalists(j->args, e, (uint32_t)j->finalists, folder, diag));
    size_t at = 0;
    for (const char *tool = cli_next(j->args, "--export", &at); tool != NULL;
         tool = cli_next(j->args, "--export", &at)) {
        VTA_TRY(cli_explore_export(e, tool, folder, diag));
    }
    return write_files(folder, e, diag);
}

/* Hash of everything that the pieces depend on. */
static uint64_t hash_of_space(const vtac_space *space, const vtac_part *part, uint64_t hash)
{
    char text[96];
    for (uint32_t a = 0; a < space->axis_count; a++) {
        hash = vta_hash_text(vta_hash_text(hash, space->axes[a].key), space->axes[a].given ? "=" : "~");
        for (uint32_t v = 0; v < space->axes[a].count; v++) {
            (void)snprintf(text, sizeof text, " %" PRIu32, space->axes[a].values[v]);
            hash = vta_hash_text(hash, text);
        }
    }
    hash = space->base.dram[0] != '\0' ? vta_hash_text(hash, space->base.dram) : hash;
    (void)snprintf(text, sizeof text, " %g %g %g", part->lut_max, part->dsp_max, part->bram_max);
    return vta_hash_text(hash, text);
}

static void keep_best(const explore_job *j, const cli_explored *e)
{
    const vtac_candidate *c = &e->found->candidates[0];
    explore_best *b = j->best;
    (void)snprintf(b->name, sizeof b->name, "%.50s: %ux%ux%u", c->config.name, c->config.batch,
                   c->config.block_in, c->config.block_out);
    b->fps = c->fps;
    b->mj = 1e3 * e->power.watts / c->fps;
    b->share = c->share;
    b->price = j->options.price;
    b->score = c->score;
}

static vta_status explore_space(explore_job *j, const cli_networks *networks, bool *leads, vta_diag *diag)
{
    char key[128];
    vtac_work *work = NULL;
    vtac_exploration found = {0};
    cli_explored e = {.part = j->options.part,
                      .options = &j->options,
                      .networks = networks,
                      .found = &found,
                      .powers = &j->powers,
                      .power = vtac_board_power_of(&j->powers, j->options.part->name)};
    VTA_TRY(vtac_promises_read(cli_value(j->args, "--promises"), j->options.part->name, &e.promises, diag));
    j->options.time = vtac_promises_time(&e.promises);
    const double begin = vta_now();
    const uint64_t space = hash_of_space(&j->space, &j->part, networks->hash);
    (void)snprintf(key, sizeof key, "vtac %s explore %s %016" PRIx64 " %" PRIu64 "\n", vta_version(),
                   j->options.part->name, space, j->options.limit);
    j->options.watts = e.power.watts;
    j->options.journal_key = key;
    VTA_TRY(cli_open_work(j->args, &j->how, key, vtac_explore_piece, &j->options, &work, diag));
    *leads = work != NULL;
    if (work == NULL) {
        return VTA_OK;
    }
    vta_status status = vtac_explore(&j->options, work, &found, diag);
    cli_close_work(work);
    e.seconds = vta_now() - begin;
    if (status == VTA_OK) {
        status = evaluate_result(j, &e, diag);
    }
    const bool found_some = status == VTA_OK;
    if (found_some) {
        status = write_all(j, &e, diag);
    }
    cli_stages_end();
    if (found_some && cli_flag(j->args, "--json")) {
        char *text = cli_explore_json(&e);
        cli_put(text != NULL ? text : "");
        free(text);
    } else if (found_some && !j->several) { /* also where it could not be written: it has taken its time */
        print_text(&e);
    }
    if (found_some && j->best != NULL) {
        keep_best(j, &e);
    }
    cli_free_explored(&e);
    vtac_exploration_free(&found);
    return status;
}

/* The configuration that networks are offloaded for: with functions on rows and weights of four bits, where
 * the space has them; where a configuration lacks them, layers that need them do not run, and the reason is
 * told. */
static vta_config widest_of(const vtac_space *space)
{
    vta_config c = space->base;
    for (uint32_t a = 0; a < space->axis_count; a++) {
        uint32_t *field = strcmp(space->axes[a].key, "ROWS") == 0   ? &c.rows
                          : strcmp(space->axes[a].key, "WGT4") == 0 ? &c.wgt4
                                                                    : NULL;
        for (uint32_t v = 0; field != NULL && v < space->axes[a].count; v++) {
            *field = v == 0 || space->axes[a].values[v] > *field ? space->axes[a].values[v] : *field;
        }
    }
    return c;
}

static vta_status explore_part(explore_job *j, bool *leads, vta_diag *diag)
{
    cli_networks networks = {0};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(read_space(j, diag));
    VTA_TRY_OUT(j->folder != NULL ? make_folder(j->folder, diag)
                                  : VTA_OK); /* before the work, not behind it */
    const vta_config widest = widest_of(&j->space);
    VTA_TRY_OUT(
        cli_load_networks(j->args, cli_value(j->args, "--models"), &widest, &j->shapes, &networks, diag));
    j->options.networks = networks.explored;
    j->options.network_count = networks.count;
    j->options.told = show_progress;
    VTA_TRY_OUT(explore_space(j, &networks, leads, diag));
out:
    cli_stages_end();
    cli_free_networks(&networks);
    return status;
}

static void fill_part(const void *context, uint32_t row, cli_cell *cells)
{
    const explore_best *b = &((const explore_best *)context)[row];
    cells[0].text = b->part;
    cells[6].text = b->why;
    if (b->why[0] != '\0') {
        return;
    }
    cells[1].text = b->name;
    cli_cell_print(&cells[2], "%.1f", b->fps);
    if (b->mj > 0) {
        cli_cell_print(&cells[3], "%.3g", b->mj);
    }
    cli_cell_print(&cells[4], "%.0f %%", 100 * b->share);
    if (b->price > 0) {
        cli_cell_print(&cells[5], "%g", b->price);
    }
}

static void print_parts(const explore_best *all, uint32_t count, const char *goal)
{
    static const cli_column columns[] = {{"part", CLI_WORD},    {"best1", CLI_WORD},  {"fps", CLI_FIGURE},
                                         {"mJ", CLI_FIGURE},    {"area", CLI_FIGURE}, {"price", CLI_FIGURE},
                                         {"note", CLI_SENTENCE}};
    const explore_best *best = NULL;
    cli_table(columns, sizeof columns / sizeof columns[0], count, fill_part, all);
    for (uint32_t i = 0; i < count; i++) {
        best = all[i].why[0] == '\0' && (best == NULL || all[i].score < best->score) ? &all[i] : best;
    }
    cli_print("\n");
    cli_sentence(0, "by '%s' the best part is %s", goal, best != NULL ? best->part : "none of them");
}

/* Several parts: each has a folder in that of the results; one on which nothing is found is told. */
static vta_status explore_parts(explore_job *j, const char *list, bool *leads, vta_diag *diag)
{
    explore_best all[EXPLORE_PARTS] = {{.part = ""}};
    char folder[PATH];
    uint32_t count = 0;
    const char *out = j->folder;
    VTA_TRY(out != NULL ? make_folder(out, diag) : VTA_OK);
    for (; *list != '\0' && count < EXPLORE_PARTS; count++) {
        explore_best *b = j->best = &all[count];
        vta_diag own = {0};
        (void)snprintf(b->part, sizeof b->part, "%.*s", (int)strcspn(list, ","), list);
        list += strcspn(list, ",");
        list += *list == ',';
        j->name = b->part;
        (void)snprintf(folder, sizeof folder, "%s/%s", out != NULL ? out : "", b->part);
        j->folder = out != NULL ? folder : NULL;
        const vta_status status = explore_part(j, leads, &own);
        (void)snprintf(b->why, sizeof b->why, "%.180s", status == VTA_RANGE ? own.text : "");
        if (status != VTA_OK && status != VTA_RANGE) {
            return vta_fail(diag, status, "%s", own.text);
        }
    }
    if (*leads && !cli_flag(j->args, "--json")) {
        print_parts(all, count, j->goal.text);
    }
    return VTA_OK;
}

static int run_explore(const cli_args *args)
{
    const char *parts = cli_value(args, "--part");
    explore_job j = {
        .args = args, .name = parts != NULL ? parts : "xc7z020", .folder = cli_value(args, "-o")};
    vta_diag diag = {0};
    bool leads = true;
    if (read_arguments(&j) != CLI_OK) {
        return CLI_USAGE;
    }
    j.several = strchr(j.name, ',') != NULL;
    if (j.several && (cli_value(args, "--resume") != NULL || j.how.options.folder != NULL)) {
        return cli_usage(args, "'--resume', '--slurm', '--folder' and '--join' are for one part at a time");
    }
    vta_status status = VTA_OK;
    cli_stages_begin();
    VTA_TRY_OUT(vtac_powers_read(cli_value(args, "--power"), &j.powers, &diag));
    VTA_TRY_OUT(j.several ? explore_parts(&j, j.name, &leads, &diag) : explore_part(&j, &leads, &diag));
out:
    cli_stages_end();
    vtac_powers_free(&j.powers);
    if (status != VTA_OK) {
        return cli_fail(args, &diag);
    }
    return leads ? cli_done(args) : CLI_OK;
}

const cli_verb cli_verb_explore = {
    .name = "explore",
    .operands = "--models A,B,... [-o DIR]",
    .summary = "find the hardware that is best for networks on a part",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 0,
    .max = 0,
    .run = run_explore,
};
