/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run has done: expectations compared, counts by unit, and time.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec.h"
#include "format.h"
#include "table.h"

/* The bytes of one value of a symbol as it stands in DRAM. */
static uint32_t value_bytes(const vta_symbol *symbol)
{
    return symbol->memory == VTA_MEM_ACC || symbol->memory == VTA_MEM_UOP ? 4 : 1;
}

static int64_t value_at(const vta_symbol *symbol, const uint8_t *bytes, uint64_t index)
{
    if (value_bytes(symbol) == 1) {
        return (int8_t)bytes[index];
    }
    uint32_t value = 0;
    for (uint32_t i = 0; i < 4; i++) {
        value |= (uint32_t)bytes[4 * index + i] << (8 * i);
    }
    return symbol->memory == VTA_MEM_UOP ? (int64_t)value : (int32_t)value;
}

static cli_match compare_symbol(const vta_symbol *symbol, const uint8_t *got)
{
    cli_match match = {.symbol = symbol, .values = symbol->size / value_bytes(symbol)};
    if (memcmp(got, symbol->expect, (size_t)symbol->size) == 0) {
        return match;
    }
    for (uint64_t i = 0; i < match.values; i++) {
        const int64_t expected = value_at(symbol, symbol->expect, i);
        const int64_t value = value_at(symbol, got, i);
        if (expected != value && match.differing++ == 0) {
            match.index = i;
            match.expected = expected;
            match.got = value;
        }
    }
    return match;
}

vta_status cli_compare(cli_result *result, const cli_image *image, const vta_program *program, vta_diag *diag)
{
    result->matches = calloc((size_t)program->symbol_count + 1, sizeof *result->matches);
    if (result->matches == NULL) {
        return vta_fail(diag, VTA_NOMEM, "out of memory for the report");
    }
    for (uint32_t i = 0; i < program->symbol_count; i++) {
        const vta_symbol *symbol = &program->symbols[i];
        if (symbol->expect != NULL) {
            const cli_match match = compare_symbol(symbol, cli_image_symbol(image, symbol));
            result->matches[result->match_count++] = match;
            result->mismatches += match.differing > 0;
        }
    }
    return VTA_OK;
}

/* ---- counts: what is shown, and where; a row begins where the unit is not NULL */

static const struct {
    const char *unit, *what;
    size_t offset;
} counts[] = {
#define AT(member) offsetof(vta_counters, member)
    {"fetch", "instructions", AT(fetch_insns)}, {NULL, "bytes", AT(fetch_bytes)},
    {"load", "instructions", AT(load_insns)},   {NULL, "inp bytes", AT(inp_bytes)},
    {NULL, "wgt bytes", AT(wgt_bytes)},         {"compute", "instructions", AT(compute_insns)},
    {NULL, "gemm tiles", AT(gemm_steps)},       {NULL, "depthwise input tiles", AT(depthwise_steps)},
    {NULL, "alu tiles", AT(alu_steps)},         {NULL, "requant tiles", AT(requant_steps)},
    {NULL, "uop bytes", AT(uop_bytes)},         {NULL, "acc bytes", AT(acc_bytes)},
    {"store", "instructions", AT(store_insns)}, {NULL, "out bytes", AT(out_bytes)},
};

/* Only where the device has a clock. */
static const struct {
    const char *unit;
    size_t busy, token, mem;
} stalls[] = {
    {"load", AT(load_busy), AT(load_token), AT(load_mem)},
    {"compute", AT(compute_busy), AT(compute_token), AT(compute_mem)},
    {"store", AT(store_busy), AT(store_token), AT(store_mem)},
#undef AT
};

static uint64_t counter_at(const vta_counters *counters, size_t offset)
{
    return *(const uint64_t *)(const void *)((const char *)counters + offset);
}

static void print_counts(const vta_counters *counters)
{
    enum { INDENT = 10, COUNTS = sizeof counts / sizeof counts[0] };
    char text[400];
    size_t used = 0;
    for (size_t i = 0; i < COUNTS; i++) {
        const uint64_t value = counter_at(counters, counts[i].offset);
        if (counts[i].unit != NULL) {
            used = (size_t)snprintf(text, sizeof text, "%-*s%" PRIu64 " %s", INDENT, counts[i].unit, value,
                                    counts[i].what);
        } else if (value > 0) {
            used +=
                (size_t)snprintf(text + used, sizeof text - used, ", %" PRIu64 " %s", value, counts[i].what);
        }
        if (i + 1 == COUNTS || counts[i + 1].unit != NULL) {
            cli_sentence(INDENT, "%s", text);
        }
    }
}

static void print_clock(const vta_counters *counters, uint32_t clock_mhz)
{
    cli_print("cycles    %" PRIu64 ", %.3f ms at %" PRIu32 " MHz\n", counters->cycles,
              (double)counters->cycles / (1e3 * clock_mhz), clock_mhz);
    for (size_t i = 0; i < sizeof stalls / sizeof stalls[0]; i++) {
        cli_print("          %s: busy %" PRIu64 " (waiting for memory %" PRIu64
                  "), waiting for tokens %" PRIu64 "\n",
                  stalls[i].unit, counter_at(counters, stalls[i].busy), counter_at(counters, stalls[i].mem),
                  counter_at(counters, stalls[i].token));
    }
}

static void print_match(const cli_match *match)
{
    const bool color = cli_fancy(STDOUT_FILENO);
    const char *end = cli_color_text(CLI_USUAL, color);
    if (match->differing == 0) {
        cli_print("expect    %s: %sok%s, %" PRIu64 " values\n", match->symbol->name,
                  cli_color_text(CLI_GREEN, color), end, match->values);
        return;
    }
    cli_print("expect    %s: %swrong%s at index %" PRIu64 ": expected %" PRId64 ", got %" PRId64 " (%" PRIu64
              " of %" PRIu64 " values differ)\n",
              match->symbol->name, cli_color_text(CLI_RED, color), end, match->index, match->expected,
              match->got, match->differing, match->values);
}

void cli_report_text(const cli_result *result, const vta_program *program)
{
    cli_print("program   %s: %" PRIu32 " instructions for '%s'\n", result->path, program->insn_count,
              program->config.name);
    cli_print("device    %s\n", result->device);
    for (size_t i = 0; i < result->match_count; i++) {
        print_match(&result->matches[i]);
    }
    if (result->match_count == 0) {
        cli_print("expect    nothing: the program has no '.expect'\n");
    }
    print_counts(&result->report.counters);
    cli_print("time      %.6f s\n", result->seconds);
    if (result->report.counters.cycles > 0) {
        print_clock(&result->report.counters, program->config.clock_mhz);
    }
}

/* "inp bytes" of load becomes "load_inp_bytes". */
static void print_key(const char *unit, const char *what)
{
    cli_print("\"%s_", unit);
    for (const char *c = what; *c != '\0'; c++) {
        cli_print("%c", *c == ' ' ? '_' : *c);
    }
    cli_print("\"");
}

static void json_counts(const cli_result *result)
{
    const vta_counters *counters = &result->report.counters;
    const char *unit = "";
    cli_print("  \"counts\": {");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        unit = counts[i].unit != NULL ? counts[i].unit : unit;
        cli_print("%s", i > 0 ? ", " : "");
        print_key(unit, counts[i].what);
        cli_print(": %" PRIu64, counter_at(counters, counts[i].offset));
    }
    cli_print("},\n  \"seconds\": %.9f", result->seconds);
    if (counters->cycles > 0) {
        cli_print(",\n  \"cycles\": {\"total\": %" PRIu64, counters->cycles);
        for (size_t i = 0; i < sizeof stalls / sizeof stalls[0]; i++) {
            const char *name = stalls[i].unit;
            cli_print(", \"%s_busy\": %" PRIu64 ", \"%s_token\": %" PRIu64 ", \"%s_mem\": %" PRIu64, name,
                      counter_at(counters, stalls[i].busy), name, counter_at(counters, stalls[i].token), name,
                      counter_at(counters, stalls[i].mem));
        }
        cli_print("}");
    }
}

void cli_report_json(const cli_result *result, const vta_program *program)
{
    cli_print("{\n  \"ok\": %s,\n  \"program\": ", result->mismatches == 0 ? "true" : "false");
    cli_json_string(result->path);
    cli_print(",\n  \"config\": ");
    cli_json_string(program->config.name);
    cli_print(",\n  \"device\": ");
    cli_json_string(result->device);
    cli_print(",\n  \"expect\": [");
    for (size_t i = 0; i < result->match_count; i++) {
        const cli_match *match = &result->matches[i];
        cli_print("%s\n    {\"symbol\": ", i > 0 ? "," : "");
        cli_json_string(match->symbol->name);
        cli_print(", \"equal\": %s, \"values\": %" PRIu64 ", \"differing\": %" PRIu64,
                  match->differing == 0 ? "true" : "false", match->values, match->differing);
        if (match->differing > 0) {
            cli_print(", \"index\": %" PRIu64 ", \"expected\": %" PRId64 ", \"got\": %" PRId64, match->index,
                      match->expected, match->got);
        }
        cli_print("}");
    }
    cli_print("],\n");
    json_counts(result);
    cli_print("\n}\n");
}
