/* SPDX-License-Identifier: Apache-2.0
 *
 * Options about passes, their table, and reading what they work on. See passes.h.
 */
#include "passes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "vta/file.h"
#include "vtac/states.h"

enum { MAX_TEXT = 1 << 30 };

static void print_report(void *context, const vtac_pass_report *r)
{
    (void)context;
    cli_say("pass %-24s %8.2f ms  %6u changes  %6u nodes\n", r->pass->name, r->seconds * 1e3, r->changes,
            r->nodes);
}

int cli_read_passes(const cli_args *args, vtac_pass_options *out)
{
    *out = (vtac_pass_options){.level = 3};
    uint64_t level = 3;
    const char *asked = cli_value(args, "-O");
    if (asked != NULL && (!cli_number(asked, &level) || level > 3)) {
        return cli_usage(args, "-O takes 0 to 3, not '%s'", asked);
    }
    out->level = (int)level;
    size_t at = 0;
    for (const char *name = cli_next(args, "--disable-pass", &at); name != NULL;
         name = cli_next(args, "--disable-pass", &at)) {
        vta_diag diag = {0};
        const vtac_pass pass = vtac_pass_find(name, &diag);
        if (pass == VTAC_PASS_COUNT) {
            return cli_usage(args, "--disable-pass: %s", diag.text);
        }
        out->disabled[pass] = true;
    }
    out->report = cli_flag(args, "--time-passes") ? print_report : NULL;
    return CLI_OK;
}

/* The verb that tells what importing assumes, and the file that it is told of. */
typedef struct teller {
    const char *verb, *path;
} teller;

static void print_note(void *context, const char *text)
{
    const teller *t = context;
    cli_say("vtac %s: %s: %s\n", t->verb, t->path, text);
}

static bool is_text(const char *path)
{
    const size_t length = strlen(path);
    return length >= 3 && strcmp(path + length - 3, ".ir") == 0;
}

static vta_status load_with(const char *path, const vtac_import_options *import, vtac_graph **out,
                            vta_diag *diag)
{
    uint8_t *text;
    size_t size;
    if (!is_text(path)) {
        return vtac_model_load(path, import, out, diag);
    }
    VTA_TRY(vta_file_read(path, MAX_TEXT, &text, &size, diag));
    vta_status status = vtac_graph_parse((const char *)text, size, path, out, diag);
    free(text);
    if (status == VTA_OK) {
        status = vtac_name_states(*out, import->state_names, import->state_name_count, diag);
    }
    return status;
}

vta_status cli_load_graph(const cli_args *args, const char *path, const cli_shapes *shapes, vtac_graph **out,
                          vta_diag *diag)
{
    teller t = {args->verb->name, path};
    vtac_import_options import = cli_import_options(shapes);
    import.note = print_note;
    import.context = &t;
    return load_with(path, &import, out, diag);
}

vta_status cli_load_graph_again(const char *path, const cli_shapes *shapes, vtac_graph **out, vta_diag *diag)
{
    const vtac_import_options import = cli_import_options(shapes);
    return load_with(path, &import, out, diag);
}

static void fill_row(const void *context, uint32_t row, cli_cell *cells)
{
    (void)context;
    const vtac_pass_info *pass = vtac_pass_get((vtac_pass)row);
    cli_cell_print(&cells[0], "-O%d", pass->level);
    cells[1].text = pass->name;
    cells[2].text = pass->doc;
}

int cli_list_passes(const cli_args *args)
{
    static const cli_column columns[] = {{"", CLI_WORD}, {"", CLI_WORD}, {"", CLI_SENTENCE}};
    if (!cli_flag(args, "--json")) {
        cli_table(columns, sizeof columns / sizeof columns[0], VTAC_PASS_COUNT, fill_row, NULL);
        return cli_done(args);
    }
    for (int i = 0; i < VTAC_PASS_COUNT; i++) {
        const vtac_pass_info *pass = vtac_pass_get((vtac_pass)i);
        cli_print("%s{\"name\": ", i == 0 ? "[" : ", ");
        cli_json_string(pass->name);
        cli_print(", \"level\": %d, \"doc\": ", pass->level);
        cli_json_string(pass->doc);
        cli_put("}");
    }
    cli_put("]\n");
    return cli_done(args);
}
