/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac diff: where two ways of running a model first disagree. The model is compiled with every integer value
 * that it computes as an output, run on both sides with the same inputs, and compared in the order in which
 * the values are made.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "calib.h"
#include "probe.h"
#include "stages.h"
#include "tensors.h"
#include "vta/fail.h"
#include "watch.h"

static const cli_option options[] = {
    {"--a", "DEVICE", CLI_DEVICE, "one side: a device, or llvm (default fsim)"},
    {"--b", "DEVICE", CLI_DEVICE, "the other side (default llvm)"},
    {"--config", "NAME|FILE", CLI_CONFIG, "the accelerator's configuration (default pynq)"},
    {"--offload", "HOW", CLI_TEXT, "what pays, or all that it can (default)"},
    CLI_CALIB_OPTIONS,
    CLI_INPUT_OPTIONS,
    {"--shape", "NAME=AxBxC", CLI_TEXT, "size of a dynamic input (may be repeated)"},
    CLI_CONTEXT_OPTION,
    CLI_MODEL_OPTIONS,
    {"-O", "N", CLI_TEXT, "0 to 3 (default 3)"},
    {"--all", NULL, CLI_FLAG, "count the differing elements of every value first"},
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

typedef struct side {
    const char *device; /* NULL: llvm */
    const char *name;
    cli_probe probe;
} side;

typedef struct comparison {
    const cli_args *args;
    cli_probe_options options;
    side sides[2];
    uint32_t outputs; /* of the model itself; those behind them are its inner values */
} comparison;

static vta_status prepare_side(comparison *c, side *s, vta_diag *diag)
{
    VTA_TRY(cli_probe_import(c->args, &c->options, &s->probe.graph, diag));
    c->outputs = s->probe.graph->output_count;
    VTA_TRY(cli_probe_show(s->probe.graph, diag));
    VTA_TRY(cli_probe_load(&s->probe, &c->options, s->device, diag));
    return cli_probe_bind(&c->options, s->probe.loaded.model, diag);
}

typedef struct difference {
    const char *name;
    vtac_type type;
    uint64_t differing;
    int64_t element, a, b;
    const vtac_vta_layer *layer; /* NULL: the host made it on both sides */
    uint32_t insn;               /* layer: that stored the element, */
    uint64_t row, column;        /* in this tile of what it stores */
    bool has_insn;
    char text[160];
} difference;

/* ---- from an element to the instruction that wrote it */

static uint64_t byte_of(const vtac_partition *p, const vtac_vta_tensor *t, int64_t element)
{
    const int64_t rows = p->config.batch;
    const int64_t lanes = vtac_vta_block(&p->config);
    const int64_t x = element % t->w;
    const int64_t y = element / t->w % t->h;
    const int64_t c = element / (t->w * t->h) % t->c;
    const int64_t n = element / (t->w * t->h * t->c);
    const int64_t block = n / rows * ((t->c + lanes - 1) / lanes) + c / lanes;
    const int64_t place = (block * t->h + y) * t->w + x;
    return t->offset + (uint64_t)(place * rows * lanes + n % rows * lanes + c % lanes);
}

/* The last STORE of a region's program that covers a byte of what it works in, and which of its tiles. */
static bool find_store(const vtac_vta_image *image, uint64_t byte, difference *d)
{
    enum { WORK = 1 };
    const vta_program *program = &image->program;
    const uint64_t tile = program->config.elem_bytes[VTA_MEM_OUT];
    for (uint32_t i = program->insn_count; i-- > 0;) {
        vta_insn store;
        if (vta_insn_decode_raw(&program->config, program->insns[i], &store) != VTA_ERROR_NONE ||
            store.opcode != VTA_OP_STORE || store.mem.segment != WORK || store.mem.x_size == 0) {
            continue;
        }
        const uint64_t element = byte / tile;
        const uint64_t first = (uint64_t)store.mem.dram_base;
        for (int64_t y = 0; y < store.mem.y_size; y++) {
            const uint64_t row = first + (uint64_t)(y * store.mem.x_stride);
            if (element >= row && element < row + (uint64_t)store.mem.x_size) {
                d->insn = i;
                d->row = (uint64_t)y;
                d->column = element - row;
                return true;
            }
        }
    }
    return false;
}

static void explain_difference(const comparison *c, difference *d)
{
    const vtac_partition *p =
        c->sides[0].probe.partition != NULL ? c->sides[0].probe.partition : c->sides[1].probe.partition;
    for (uint32_t r = 0; p != NULL && r < p->region_count; r++) {
        const vtac_vta_region *region = &p->regions[r].region;
        for (uint32_t i = 0; i < region->layer_count; i++) {
            const vtac_vta_tensor *t = &region->tensors[region->layers[i].output];
            if (strcmp(t->name, d->name) != 0) {
                continue;
            }
            const vtac_vta_image *image = &p->regions[r].image;
            d->layer = &region->layers[i];
            d->has_insn = find_store(image, byte_of(p, t, d->element), d);
            if (d->has_insn) {
                vta_insn_print(&p->config, image->program.insns[d->insn], d->text, sizeof d->text);
            }
        }
    }
}

/* ---- comparing */

static bool compare_output(const comparison *c, uint32_t i, difference *d)
{
    const vta_tensor_info info = vta_model_output(c->sides[0].probe.loaded.model, i);
    const vtac_tensor a = cli_as_tensor(&info, vta_model_output_data(c->sides[0].probe.loaded.model, i));
    const vtac_tensor b = cli_as_tensor(&info, vta_model_output_data(c->sides[1].probe.loaded.model, i));
    *d = (difference){.name = info.name, .type = a.type};
    if (memcmp(a.data, b.data, info.bytes) == 0 || vtac_dtype_kind(a.type.dtype) == 'f') {
        return false;
    }
    for (int64_t e = vtac_type_elements(&a.type); e-- > 0;) {
        const int64_t x = vtac_tensor_int(&a, e);
        const int64_t y = vtac_tensor_int(&b, e);
        if (x != y) {
            d->differing++;
            d->element = e;
            d->a = x;
            d->b = y;
        }
    }
    return d->differing > 0;
}

static void print_index(const difference *d)
{
    int64_t rest = d->element;
    int64_t index[VTAC_MAX_RANK];
    for (uint32_t i = d->type.rank; i-- > 0;) {
        index[i] = rest % d->type.dim[i];
        rest /= d->type.dim[i];
    }
    for (uint32_t i = 0; i < d->type.rank; i++) {
        cli_print("%s%" PRId64, i > 0 ? ", " : "", index[i]);
    }
}

static void print_text(const comparison *c, const difference *d, uint32_t count)
{
    cli_print("value '%s'%s%s%s: %" PRIu64 " of %" PRId64 " elements differ, first [", d->name,
              d->layer != NULL ? " of layer '" : "", d->layer != NULL ? d->layer->name : "",
              d->layer != NULL ? "'" : "", d->differing, vtac_type_elements(&d->type));
    print_index(d);
    cli_print("]: %s %" PRId64 ", %s %" PRId64 "\n", c->sides[0].name, d->a, c->sides[1].name, d->b);
    if (d->has_insn) {
        cli_print("instruction %u wrote it, row %" PRIu64 ", tile %" PRIu64 ": %s\n", d->insn, d->row,
                  d->column, d->text);
    }
    cli_print("all %u values before it are equal\n", count);
}

static void print_json(const comparison *c, const difference *d, uint32_t count)
{
    cli_print("{\"equal\": %s, \"equal_values\": %u", d == NULL ? "true" : "false", count);
    if (d != NULL) {
        cli_print(", \"value\": ");
        cli_json_string(d->name);
        cli_print(", \"layer\": ");
        cli_json_string(d->layer != NULL ? d->layer->name : "");
        cli_print(", \"differing\": %" PRIu64 ", \"index\": [", d->differing);
        print_index(d);
        cli_print("], \"a\": %" PRId64 ", \"b\": %" PRId64, d->a, d->b);
        if (d->has_insn) {
            cli_print(", \"instruction\": %u, \"tile\": [%" PRIu64 ", %" PRIu64 "], \"text\": ", d->insn,
                      d->row, d->column);
            cli_json_string(d->text);
        }
    }
    cli_print(", \"sides\": [");
    cli_json_string(c->sides[0].name);
    cli_print(", ");
    cli_json_string(c->sides[1].name);
    cli_print("]}\n");
}

static void print_all(const comparison *c, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        difference d;
        const bool differs = compare_output(c, (k + c->outputs) % count, &d);
        cli_print("%10" PRIu64 " of %10" PRId64 "  %s\n", differs ? d.differing : 0,
                  vtac_type_elements(&d.type), d.name);
    }
}

static int compare_sides(const comparison *c)
{
    const bool json = cli_flag(c->args, "--json");
    const uint32_t count = vta_model_output_count(c->sides[0].probe.loaded.model);
    difference d;
    if (cli_flag(c->args, "--all") && !json) {
        print_all(c, count);
    }
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t i = (k + c->outputs) % count; /* inner values first */
        if (compare_output(c, i, &d)) {
            explain_difference(c, &d);
            if (json) {
                print_json(c, &d, k);
            } else {
                print_text(c, &d, k);
            }
            (void)cli_done(c->args);
            return CLI_FAILED;
        }
    }
    if (json) {
        print_json(c, NULL, count);
    } else {
        cli_print("%s and %s agree on all %u values\n", c->sides[0].name, c->sides[1].name, count);
    }
    return cli_done(c->args);
}

static int run_both(comparison *c)
{
    vta_diag diag = {0};
    vta_status status = VTA_OK;
    for (int i = 0; i < 2 && status == VTA_OK; i++) {
        side *s = &c->sides[i];
        cli_stages_begin();
        status = prepare_side(c, s, &diag);
        cli_stages_end();
        if (status == VTA_OK) {
            status = cli_watch_model(s->probe.loaded.model, &diag);
        }
    }
    if (status != VTA_OK) {
        return cli_fail_model(c->args, &diag);
    }
    return compare_sides(c);
}

static int run_diff(const cli_args *args)
{
    comparison c = {.args = args};
    if (cli_read_probe(args, &c.options) != CLI_OK) {
        return CLI_USAGE;
    }
    const char *given[] = {cli_value(args, "--a"), cli_value(args, "--b")};
    static const char *const otherwise[] = {"fsim", "llvm"};
    for (int i = 0; i < 2; i++) {
        c.sides[i].name = given[i] != NULL ? given[i] : otherwise[i];
        c.sides[i].device = strcmp(c.sides[i].name, "llvm") == 0 ? NULL : c.sides[i].name;
    }
    const int result = run_both(&c);
    for (int i = 0; i < 2; i++) {
        cli_probe_free(&c.sides[i].probe);
    }
    return result;
}

const cli_verb cli_verb_diff = {
    .name = "diff",
    .operands = "MODEL",
    .summary = "find where two devices (or llvm) first disagree on a model",
    .more = "Example: vtac diff m.onnx --a tsim --b llvm --config tiny\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 1,
    .max = 1,
    .run = run_diff,
};
