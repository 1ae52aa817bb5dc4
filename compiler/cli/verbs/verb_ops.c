/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac ops: the operators, from the tables that the compiler works by.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli.h"
#include "table.h"
#include "vtac/codegen.h"
#include "vtac/flow.h"
#include "vtac/onnx.h"
#include "vtac/partition.h"

static const cli_option options[] = {
    {"--markdown", NULL, CLI_FLAG, "print the table of compiler/OPERATORS.md"},
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

enum { OLDEST_OPSET = 1 }; /* that models may have */

/* Entry of the list: an operator of the table, or one that the importer composes. */
typedef struct operator_entry {
    const char *name, *domain;
    uint32_t since;
    const char *types, *host, *accelerator, *limits, *open;
    const char *inputs; /* their names, "x, weight, [bias]"; empty: the table does not name them */
} operator_entry;

enum { MAX_ENTRIES = 1024, MAX_NAMES = 256 };
static operator_entry entries[MAX_ENTRIES];
static char names[VTAC_OP_COUNT][MAX_NAMES]; /* of inputs, by operator */

static void add_entry(uint32_t *count, operator_entry e)
{
    e.open = vtac_flow_takes(e.domain, e.name) ? "yes" : "";
    e.domain = e.domain[0] == '\0' ? "ai.onnx" : e.domain;
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(entries[i].name, e.name) == 0 && strcmp(entries[i].domain, e.domain) == 0) {
            entries[i].since = e.since < entries[i].since ? e.since : entries[i].since;
            return; /* a form of another opset */
        }
    }
    if (*count < MAX_ENTRIES) {
        entries[(*count)++] = e;
    }
}

/* Appends a name in small letters, with what stands before and behind it. */
static void append_name(char *text, size_t *size, const char *before, const char *name, const char *behind)
{
    *size += (size_t)snprintf(text + *size, MAX_NAMES - *size, "%s", before);
    for (const char *c = name; *c != '\0' && *size + 2 < MAX_NAMES; c++) {
        text[(*size)++] = (char)tolower((unsigned char)*c);
    }
    *size += (size_t)snprintf(text + *size, MAX_NAMES - *size, "%s", behind);
}

/* Writes the names of an operator's inputs, those that may be absent in brackets; "..." stands for more. */
static const char *name_inputs(vtac_op id)
{
    const vtac_op_info *op = vtac_op_get(id);
    const uint16_t named = op->in_max == VTAC_MANY ? op->input_count : op->in_max;
    char *text = names[id];
    size_t size = 0;
    for (uint16_t i = 0; i < named; i++) {
        const bool absent = i >= op->in_min && op->in_max != VTAC_MANY;
        append_name(text, &size,
                    i == 0   ? (absent ? "[" : "")
                    : absent ? ", ["
                             : ", ",
                    op->inputs[i], absent ? "]" : "");
    }
    (void)snprintf(text + size, MAX_NAMES - size, "%s", op->in_max == VTAC_MANY ? ", ..." : "");
    return text;
}

static int by_name(const void *a, const void *b)
{
    const operator_entry *x = a;
    const operator_entry *y = b;
    const int domain = strcmp(x->domain, y->domain);
    return domain != 0 ? domain : strcasecmp(x->name, y->name);
}

/* Fills `entries` with what models may hold (the compiler's own operators are not among it); returns their
 * number. */
static uint32_t collect_entries(void)
{
    uint32_t count = 0;
    for (int i = 0; i < VTAC_OP_COUNT; i++) {
        const vtac_op_info *op = vtac_op_get((vtac_op)i);
        if (!vtac_op_is_internal((vtac_op)i)) {
            add_entry(&count, (operator_entry){op->name, op->domain, op->since, vtac_op_types((vtac_op)i),
                                               "kernel", vtac_op_has_layer((vtac_op)i) ? "quantized" : "",
                                               vtac_op_limits((vtac_op)i), NULL, name_inputs((vtac_op)i)});
        }
    }
    vtac_composition made;
    for (uint32_t i = 0; vtac_composition_get(i, &made); i++) {
        add_entry(&count, (operator_entry){made.name, made.domain, made.since, "of its parts", "composed",
                                           "its parts", made.limits, NULL, ""});
    }
    vtac_flow_only code;
    for (uint32_t i = 0; (code = vtac_flow_only_get(i)).name != NULL; i++) {
        add_entry(&count, (operator_entry){code.name, code.domain, code.since, "any", "at run time", "",
                                           code.limits, NULL, ""});
    }
    qsort(entries, count, sizeof entries[0], by_name);
    return count;
}

static void print_json(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        cli_put(i == 0 ? "[" : ",\n ");
        cli_print(
            "{\"name\": \"%s\", \"domain\": \"%s\", \"since\": %u, \"compiled\": true, \"types\": \"%s\", "
            "\"host\": \"%s\", \"accelerator\": \"%s\", \"open_sizes\": %s, \"limits\": ",
            entries[i].name, entries[i].domain, entries[i].since, entries[i].types, entries[i].host,
            entries[i].accelerator, entries[i].open[0] != '\0' ? "true" : "false");
        cli_json_string(entries[i].limits);
        cli_print(", \"inputs\": \"%s\"}", entries[i].inputs);
    }
    cli_print("]\n");
}

static void fill_row(const void *context, uint32_t row, cli_cell *cells)
{
    const operator_entry *e = (const operator_entry *)context + row;
    cells[0].text = e->name;
    cells[1].text = e->domain;
    cli_cell_print(&cells[2], "%u", e->since);
    cells[3].text = e->types;
    cells[4].text = e->host;
    cells[5].text = e->accelerator;
    cells[6].text = e->open;
    cells[7].text = e->limits;
}

static void print_list(uint32_t count)
{
    static const cli_column columns[] = {{"operator", CLI_NAME},   {"domain", CLI_WORD},
                                         {"since", CLI_FIGURE},    {"types", CLI_WORD},
                                         {"host", CLI_WORD},       {"accelerator", CLI_WORD},
                                         {"open sizes", CLI_WORD}, {"limits", CLI_SENTENCE}};
    cli_table(columns, sizeof columns / sizeof columns[0], count, fill_row, entries);
}

static bool same_row(uint32_t a, uint32_t b)
{
    return strcmp(entries[a].limits, entries[b].limits) == 0 &&
           strcmp(entries[a].types, entries[b].types) == 0 && strcmp(entries[a].host, entries[b].host) == 0 &&
           entries[a].open[0] == entries[b].open[0] &&
           strcmp(entries[a].accelerator, entries[b].accelerator) == 0 &&
           strcmp(entries[a].domain, entries[b].domain) == 0;
}

/* Operators of one domain with the same limits share a row. */
static void print_markdown(uint32_t count)
{
    cli_print("| domain | operators | types | host | accelerator | open sizes | limits "
              "|\n|---|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < count; i++) {
        bool listed = false;
        for (uint32_t k = 0; k < i && !listed; k++) {
            listed = same_row(i, k);
        }
        for (uint32_t k = i; k < count && !listed; k++) {
            if (k == i) {
                cli_print("| %s | ", entries[i].domain);
            }
            if (same_row(i, k)) {
                cli_print("%s%s", k == i ? "" : ", ", entries[k].name);
                if (entries[k].since > OLDEST_OPSET) {
                    cli_print(" %u", entries[k].since);
                }
            }
        }
        if (!listed) {
            cli_print(" | %s | %s | %s | %s | %s |\n", entries[i].types, entries[i].host,
                      entries[i].accelerator, entries[i].open, entries[i].limits);
        }
    }
}

/* Prints the names of inputs, one row for all operators that have the same. */
static void print_inputs(uint32_t count)
{
    cli_print("\n| inputs | operators |\n|---|---|\n");
    for (uint32_t i = 0; i < count; i++) {
        bool listed = entries[i].inputs[0] == '\0';
        for (uint32_t k = 0; k < i && !listed; k++) {
            listed = strcmp(entries[k].inputs, entries[i].inputs) == 0;
        }
        for (uint32_t k = i; k < count && !listed; k++) {
            if (k == i) {
                cli_print("| %s | %s", entries[i].inputs, entries[i].name);
            } else if (strcmp(entries[k].inputs, entries[i].inputs) == 0) {
                cli_print(", %s", entries[k].name);
            }
        }
        cli_put(listed ? "" : " |\n");
    }
}

static int run_ops(const cli_args *args)
{
    const uint32_t count = collect_entries();
    if (cli_flag(args, "--json")) {
        print_json(count);
    } else if (cli_flag(args, "--markdown")) {
        print_markdown(count);
        print_inputs(count);
    } else {
        print_list(count);
    }
    return cli_done(args);
}

const cli_verb cli_verb_ops = {
    .name = "ops",
    .operands = "",
    .summary = "list the operators: from which opset on, types, where, limits",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .min = 0,
    .max = 0,
    .run = run_ops,
};
