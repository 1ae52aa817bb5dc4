/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac devices: the registry, as `--device` takes it.
 */
#include <stdio.h>

#include "cli.h"
#include "table.h"
#include "vta/driver.h"
#include "vta/kernels.h"

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

enum { MAX_FOUND = 16 };

/* Devices that run kernels; none where no driver is there. */
static uint32_t find_kernel_devices(vta_kernels_device *out)
{
    const vta_kernels_calls *calls;
    uint32_t count = 0;
    return vta_kernels_get(&calls, NULL) == VTA_OK &&
                   calls->list(NULL, out, MAX_FOUND, &count, NULL) == VTA_OK
               ? count
               : 0;
}

static void fill_found(const void *context, uint32_t row, cli_cell *cells)
{
    const vta_kernels_device *device = (const vta_kernels_device *)context + row;
    cells[0].text = device->uri;
    cells[1].text = "available";
    cells[2].text = device->name;
}

static void print_found_json(const vta_kernels_device *found, uint32_t count, const char *between)
{
    for (uint32_t i = 0; i < count; i++) {
        cli_put(between);
        cli_print("  {\"scheme\": ");
        cli_json_string(found[i].uri);
        cli_print(", \"available\": true, \"doc\": ");
        cli_json_string(found[i].name);
        cli_print(", \"driver\": ");
        cli_json_string(found[i].driver);
        cli_print(", \"units\": %u, \"bytes\": %llu}", found[i].units, (unsigned long long)found[i].bytes);
        between = ",\n";
    }
}

static int run_devices(const cli_args *args)
{
    static const cli_column columns[] = {{"", CLI_WORD}, {"", CLI_WORD}, {"", CLI_SENTENCE}};
    const bool json = cli_flag(args, "--json");
    uint32_t count = 0;
    const vta_device_kind *kinds = vta_device_kinds(&count);
    const char *between = "[\n";
    const bool runnable = cli_flag(args, "--runnable");
    vta_kernels_device found[MAX_FOUND];
    const uint32_t found_count = runnable ? 0 : find_kernel_devices(found);
    for (uint32_t i = 0; i < count; i++) {
        const vta_device_kind *kind = &kinds[i];
        if (runnable && !(kind->available && kind->alone)) {
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
        } else if (runnable) {
            cli_print("%s\n", kind->scheme);
        }
    }
    if (!json && !runnable) {
        cli_table(columns, sizeof columns / sizeof columns[0], count, fill_row, kinds);
        cli_table(columns, sizeof columns / sizeof columns[0], found_count, fill_found, found);
    }
    if (json) {
        print_found_json(found, found_count, between);
    }
    cli_put(json ? "\n]\n" : "");
    return cli_done(args);
}

const cli_verb cli_verb_devices = {
    .name = "devices",
    .operands = "",
    .summary = "list the devices that programs can run on",
    .more = "A device is named by URI: 'fsim', 'fsim:tiny', 'fsim:my.json?strict=1'.\n"
            "Those of OpenCL run models that were compiled with '--target opencl', those of\n"
            "CUDA models of '--target cuda'; 'vtac doctor --device cuda:0' says why none\n"
            "is there.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run_devices,
};
