/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac ops: the operators, from the tables that the compiler works by.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "table.h"
#include "vtac/codegen.h"

static const cli_option options[] = {
    {"--markdown", NULL, CLI_FLAG, "print the table of compiler/OPERATORS.md"},
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

enum { OLDEST_OPSET = 7 }; /* that models may have */

static const char *domain_of(const vtac_op_info *op)
{
    return op->domain[0] == '\0' ? "ai.onnx" : op->domain;
}

/* Operators that models may hold: the compiler's own are not among them. */
static bool is_public(const vtac_op_info *op)
{
    return op->domain[0] == '\0' || strcmp(op->domain, "com.microsoft") == 0;
}

static void print_json(void)
{
    bool first = true;
    for (int i = 0; i < VTAC_OP_COUNT; i++) {
        const vtac_op_info *op = vtac_op_get((vtac_op)i);
        const char *limits = vtac_op_limits((vtac_op)i);
        if (is_public(op)) {
            (void)printf(
                "%s{\"name\": \"%s\", \"domain\": \"%s\", \"since\": %d, \"compiled\": %s, \"limits\": ",
                first ? "[" : ",\n ", op->name, domain_of(op), op->since, limits == NULL ? "false" : "true");
            cli_json_string(limits == NULL ? "" : limits);
            (void)printf("}");
            first = false;
        }
    }
    (void)printf("]\n");
}

/* The operators that the list has, by row; returns their number. */
static uint32_t public_ops(vtac_op *ops)
{
    uint32_t count = 0;
    for (int i = 0; i < VTAC_OP_COUNT; i++) {
        if (is_public(vtac_op_get((vtac_op)i))) {
            ops[count++] = (vtac_op)i;
        }
    }
    return count;
}

static void fill_row(const void *context, uint32_t row, cli_cell *cells)
{
    const vtac_op which = ((const vtac_op *)context)[row];
    const vtac_op_info *op = vtac_op_get(which);
    const char *limits = vtac_op_limits(which);
    cells[0].text = op->name;
    cells[1].text = domain_of(op);
    cli_cell_print(&cells[2], "%d", op->since);
    cells[3].text = limits == NULL ? "no" : "yes";
    cells[4].text = limits == NULL ? "" : limits;
}

static void print_list(void)
{
    static const cli_column columns[] = {
        {"", CLI_NAME}, {"", CLI_WORD}, {"", CLI_FIGURE}, {"", CLI_WORD}, {"", CLI_SENTENCE}};
    vtac_op ops[VTAC_OP_COUNT];
    cli_table(columns, sizeof columns / sizeof columns[0], public_ops(ops), fill_row, ops);
}

static bool same_row(int a, int b)
{
    const char *x = vtac_op_limits((vtac_op)a);
    const char *y = vtac_op_limits((vtac_op)b);
    const bool limits = x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
    return limits && is_public(vtac_op_get((vtac_op)b)) &&
           strcmp(vtac_op_get((vtac_op)a)->domain, vtac_op_get((vtac_op)b)->domain) == 0;
}

/* The operators from `first` on that share its row. */
static void print_row(int first)
{
    const char *limits = vtac_op_limits((vtac_op)first);
    (void)printf("| %s | ", domain_of(vtac_op_get((vtac_op)first)));
    for (int k = first; k < VTAC_OP_COUNT; k++) {
        const vtac_op_info *op = vtac_op_get((vtac_op)k);
        if (!same_row(first, k)) {
            continue;
        }
        (void)printf("%s%s", k == first ? "" : ", ", op->name);
        if (op->since > OLDEST_OPSET) {
            (void)printf(" %d", op->since);
        }
    }
    (void)printf(" | %s |\n", limits == NULL ? "not compiled" : limits);
}

/* Operators of one domain with the same limits share a row. */
static void print_markdown(void)
{
    (void)printf("| domain | operators | limits |\n|---|---|---|\n");
    for (int i = 0; i < VTAC_OP_COUNT; i++) {
        bool listed = !is_public(vtac_op_get((vtac_op)i));
        for (int k = 0; k < i && !listed; k++) {
            listed = same_row(i, k);
        }
        if (!listed) {
            print_row(i);
        }
    }
}

static int run(const cli_args *args)
{
    if (cli_flag(args, "--json")) {
        print_json();
    } else if (cli_flag(args, "--markdown")) {
        print_markdown();
    } else {
        print_list();
    }
    return cli_done(args);
}

const cli_verb cli_verb_ops = {
    .name = "ops",
    .operands = "",
    .summary = "list the operators, from which opset on, and what is compiled",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .least = 0,
    .most = 0,
    .run = run,
};
