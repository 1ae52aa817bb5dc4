/* SPDX-License-Identifier: Apache-2.0
 *
 * vta-params: prints the parameters of vta_top for one configuration, so that every Verilog tool builds from
 * the JSON.
 *
 *   vta-params TOOL CONFIG [TOP]    TOOL: verilator, icarus, yosys, plain; CONFIG: a shipped name or a file
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "vta/isa.h"

typedef struct parameter {
    const char *name;
    uint64_t value;
    bool is_hash;
} parameter;

static int put_parameter(const char *tool, const char *top, const parameter *p)
{
    char value[32];
    (void)snprintf(value, sizeof value, p->is_hash ? "64'h%016" PRIx64 : "%" PRIu64, p->value);
    if (strcmp(tool, "verilator") == 0) {
        (void)printf("-G%s=%s\n", p->name, value);
    } else if (strcmp(tool, "icarus") == 0) {
        (void)printf("-P%s.%s=%s\n", top, p->name, value);
    } else if (strcmp(tool, "yosys") == 0) {
        (void)printf("-set %s %s\n", p->name, value);
    } else if (strcmp(tool, "plain") == 0) {
        (void)printf("%s=%s\n", p->name, value);
    } else {
        (void)fprintf(stderr, "vta-params: unknown tool '%s'; verilator, icarus, yosys or plain\n", tool);
        return 1;
    }
    return 0;
}

static int print_params(const char *tool, const char *name, const char *top)
{
    vta_config config;
    vta_diag diag = {0};
    if (vta_config_load(name, &config, &diag) != VTA_OK) {
        (void)fprintf(stderr, "vta-params: %s\n", diag.text);
        return 1;
    }
    const vta_config *c = &config;
    const parameter parameters[] = {
#define VTA_RTL_PARAM(name, value) {name, value, false},
#include "vta/rtl_params.def"
#undef VTA_RTL_PARAM
        {"CONFIG_HASH", c->hash, true},
        {"LANE_DSPS", c->alu_dsps, false},
    };
    int result = 0;
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0] && result == 0; i++) {
        result = put_parameter(tool, top, &parameters[i]);
    }
    return result;
}

int main(int argc, char **argv)
{
    if (argc == 3 || argc == 4) {
        return print_params(argv[1], argv[2], argc == 4 ? argv[3] : "vta_top");
    }
    (void)fprintf(stderr, "usage: vta-params verilator|icarus|yosys|plain CONFIG [TOP]\n");
    return 2;
}
