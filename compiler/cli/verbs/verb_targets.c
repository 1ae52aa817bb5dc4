/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac targets: the hosts that `compile --host` takes by name.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "table.h"
#include "vta/fail.h"
#include "vtac/codegen.h"

static const cli_option options[] = {
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

static void print_json(const vtac_target *target, const char *doc)
{
    const struct {
        const char *key, *value;
    } members[] = {{"name", target->name},         {"triple", target->triple},     {"cpu", target->cpu},
                   {"features", target->features}, {"required", target->required}, {"doc", doc}};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        cli_print("%s\"%s\": ", i == 0 ? "{" : ", ", members[i].key);
        cli_json_string(members[i].value);
    }
    cli_print(", \"vector_bytes\": %u}", target->vector_bytes);
}

typedef struct target_rows {
    const vtac_target_row *row;
    vtac_target *target; /* what each row stands for here */
} target_rows;

/* This machine's features in LLVM's words fill a screen. */
static void fill_row(const void *context, uint32_t i, cli_cell *cells)
{
    const target_rows *r = context;
    cells[0].text = r->target[i].name;
    cells[1].text = r->target[i].triple;
    cells[2].text = r->target[i].cpu;
    cells[3].text = r->row[i].features != NULL ? r->target[i].features : "its own";
    cells[4].text = r->row[i].doc;
}

static vta_status find_all(const vtac_target_row *row, size_t count, vtac_target **out, vta_diag *diag)
{
    *out = calloc(count, sizeof **out);
    if (*out == NULL) {
        return vta_no_memory(diag);
    }
    for (size_t i = 0; i < count; i++) {
        VTA_TRY(vtac_target_find(row[i].name, &(*out)[i], diag));
    }
    return VTA_OK;
}

static int run_targets(const cli_args *args)
{
    static const cli_column columns[] = {{"name", CLI_WORD},
                                         {"triple", CLI_NAME},
                                         {"cpu", CLI_WORD},
                                         {"features", CLI_NAME},
                                         {"", CLI_SENTENCE}};
    vta_diag diag = {0};
    size_t count = 0;
    target_rows r = {.row = vtac_targets(&count)};
    const vta_status status = find_all(r.row, count, &r.target, &diag);
    if (status == VTA_OK && !cli_flag(args, "--json")) {
        cli_table(columns, sizeof columns / sizeof columns[0], (uint32_t)count, fill_row, &r);
    } else if (status == VTA_OK) {
        for (size_t i = 0; i < count; i++) {
            cli_put(i == 0 ? "[\n  " : ",\n  ");
            print_json(&r.target[i], r.row[i].doc);
        }
        cli_print("\n]\n");
    }
    free(r.target);
    return status == VTA_OK ? cli_done(args) : cli_fail(args, &diag);
}

const cli_verb cli_verb_targets = {
    .name = "targets",
    .operands = "",
    .summary = "list the hosts that models can be compiled for",
    .more = "`vtac compile --host` takes a name, or TRIPLE,cpu=NAME,features=+A,-B, as in\n"
            "aarch64-linux-gnu,cpu=cortex-a72,features=+neon,-crypto.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run_targets,
};
