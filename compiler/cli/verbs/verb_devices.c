/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac devices: the registry, as `--device` takes it.
 */
#include <stdio.h>

#include "cli.h"
#include "table.h"
#include "vta/driver.h"

static const cli_option options[] = {
    {"--runnable", NULL, CLI_FLAG, "only those that open by name alone, one a line"},
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

static void fill_row(const void *context, uint32_t row, cli_cell *cells)
{
    const vta_device_kind *kind = (const vta_device_kind *)context + row;
    cells[0].text = kind->scheme;
    cells[1].text = kind->available ? "available" : "not available";
    cells[2].text = kind->doc;
}

static int run_devices(const cli_args *args)
{
    static const cli_column columns[] = {{"", CLI_WORD}, {"", CLI_WORD}, {"", CLI_SENTENCE}};
    const bool json = cli_flag(args, "--json");
    uint32_t count = 0;
    const vta_device_kind *kinds = vta_device_kinds(&count);
    const char *between = "[\n";
    for (uint32_t i = 0; i < count; i++) {
        const vta_device_kind *kind = &kinds[i];
        if (cli_flag(args, "--runnable") && !(kind->available && kind->alone)) {
            continue;
        }
        if (json) {
            cli_put(between);
            cli_print("  {\"scheme\": ");
            cli_json_string(kind->scheme);
            cli_print(", \"available\": %s, \"doc\": ", kind->available ? "true" : "false");
            cli_json_string(kind->doc);
            cli_print("}");
            between = ",\n";
        } else if (cli_flag(args, "--runnable")) {
            cli_print("%s\n", kind->scheme);
        }
    }
    if (!json && !cli_flag(args, "--runnable")) {
        cli_table(columns, sizeof columns / sizeof columns[0], count, fill_row, kinds);
    }
    cli_put(json ? "\n]\n" : "");
    return cli_done(args);
}

const cli_verb cli_verb_devices = {
    .name = "devices",
    .operands = "",
    .summary = "list the devices that programs can run on",
    .more = "A device is named by URI: 'fsim', 'fsim:tiny', 'fsim:my.json?strict=1'.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run_devices,
};
