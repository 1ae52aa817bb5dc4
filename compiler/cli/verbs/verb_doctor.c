/* SPDX-License-Identifier: Apache-2.0
 *
 * vtac doctor: what this machine and a device have and lack, line by line, with what to do.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli.h"
#include "format.h"
#include "promise.h"
#include "table.h"
#include "temporary.h"
#include "vta/doctor.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/kernels.h"
#include "vta/rtlbuild.h"
#include "vtac/promises.h"

static const cli_option options[] = {
    {"--device", "URI", CLI_DEVICE, "look at this device, too (default: fsim)"},
    {"--promise", "FILE", CLI_FILE, "promise.json of 'vtac build': run its networks there"},
    {"--promises", "FILE", CLI_FILE, "and add what they took, for 'vtac explore'"},
    {"--ci", NULL, CLI_FLAG, "what a build server needs for 'vtac regress'"},
    {"--json", NULL, CLI_FLAG, "print JSON"},
};

/* Programs that are called at run time. `schemes`: the devices that need them; NULL: compiling does. */
static const struct tool_row {
    const char *names; /* alternatives */
    const char *schemes;
    const char *package;
    const char *purpose;
} tools[] = {
    {"ld.lld-19 ld.lld-20 ld.lld-18 ld.lld-17 ld.lld-16 ld.lld", NULL, "lld-19", "'vtac compile'"},
    {"verilator", "tsim systemc", "verilator", "the RTL simulators"},
    {"g++", "tsim systemc", "g++", "the RTL simulators"},
    {"make", "tsim systemc", "make", "the RTL simulators"},
    {"ssh", "ssh", "openssh-client", "devices on other machines"},
};

/* Finds a program in PATH; false: there is none. */
static bool find_program(const char *name, size_t length, char *path, size_t size)
{
    const char *folders = getenv("PATH");
    for (const char *at = folders != NULL ? folders : ""; *at != '\0';) {
        const size_t folder = strcspn(at, ":");
        (void)snprintf(path, size, "%.*s/%.*s", (int)folder, at, (int)length, name);
        if (access(path, X_OK) == 0) {
            return true;
        }
        at += folder + (at[folder] == ':');
    }
    return false;
}

static bool find_any(const char *names, char *path, size_t size)
{
    for (const char *name = names; *name != '\0';) {
        const size_t length = strcspn(name, " ");
        if (find_program(name, length, path, size)) {
            return true;
        }
        name += length + (name[length] == ' ');
    }
    return false;
}

static bool names_word(const char *words, const char *word, size_t length)
{
    for (const char *at = words; *at != '\0';) {
        const size_t here = strcspn(at, " ");
        if (here == length && strncmp(at, word, length) == 0) {
            return true;
        }
        at += here + (at[here] == ' ');
    }
    return false;
}

typedef struct report {
    bool json;
    uint32_t lines, bad;
} report;

enum { TEXT_COLUMN = 24 };

static void print_row(report *r, const vta_doctor_row *row)
{
    static const char *const words[VTA_FINDINGS] = {"ok", "FAILED", "skipped"};
    static const cli_color colors[VTA_FINDINGS] = {CLI_GREEN, CLI_RED, CLI_USUAL};
    const bool fancy = cli_fancy(STDOUT_FILENO);
    r->bad += row->finding == VTA_FINDING_BAD;
    if (r->json) {
        cli_put(r->lines++ > 0 ? ",\n" : "{\"findings\": [\n");
        cli_print("  {\"name\": ");
        cli_json_string(row->name);
        cli_print(", \"finding\": \"%s\", \"text\": ", words[row->finding]);
        cli_json_string(row->text);
        cli_print("}");
        return;
    }
    cli_sentence(TEXT_COLUMN, "%s%-8s%s%-15s %s", cli_color_text(colors[row->finding], fancy),
                 words[row->finding], cli_color_text(CLI_USUAL, fancy), row->name, row->text);
    cli_flush();
}

static void check_tools(report *r, const char *uri)
{
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++) {
        vta_doctor_row row = {0};
        char path[4096];
        const char *scheme = tools[i].schemes;
        if (scheme != NULL && !names_word(scheme, uri, strcspn(uri, ":?"))) {
            continue;
        }
        (void)snprintf(row.name, sizeof row.name, "%.*s", (int)strcspn(tools[i].names, " "), tools[i].names);
        if (find_any(tools[i].names, path, sizeof path)) {
            (void)snprintf(row.text, sizeof row.text, "%.400s", path);
        } else {
            row.finding = VTA_FINDING_BAD;
            (void)snprintf(row.text, sizeof row.text, "not in PATH; %s need%s it: 'apt-get install %s'",
                           tools[i].purpose, tools[i].schemes == NULL ? "s" : "", tools[i].package);
        }
        print_row(r, &row);
    }
}

/* ---- a build server */

__attribute__((format(printf, 4, 5))) static void print_finding(report *r, bool good, const char *name,
                                                                const char *fmt, ...)
{
    vta_doctor_row row = {.finding = good ? VTA_FINDING_GOOD : VTA_FINDING_BAD};
    va_list list;
    va_start(list, fmt);
    (void)snprintf(row.name, sizeof row.name, "%s", name);
    (void)vsnprintf(row.text, sizeof row.text, fmt, list);
    va_end(list);
    print_row(r, &row);
}

static void check_folder(report *r, const char *name, const char *folder, uint64_t min_mib,
                         const char *purpose)
{
    struct statvfs room;
    if (statvfs(folder, &room) != 0 || access(folder, W_OK) != 0) {
        print_finding(r, false, name, "cannot write into '%.400s' (%s): %s", folder, purpose,
                      strerror(errno));
        return;
    }
    const uint64_t mib = (uint64_t)room.f_bavail * room.f_frsize >> 20;
    print_finding(r, mib >= min_mib, name, "%llu MiB free in '%.400s', at least %llu are needed for %s",
                  (unsigned long long)mib, folder, (unsigned long long)min_mib, purpose);
}

/* Checks that simulators can be built and kept, and models be compiled. */
static void check_runner(report *r)
{
    enum { MIN_MEMORY_MIB = 2048, MIN_CACHE_MIB = 512, MIN_TMP_MIB = 256 };
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) >> 20;
    const char *temporary = getenv("TMPDIR");
    char cache[4096];
    vta_config config;
    vta_diag diag = {0};
    const vta_progress *progress = cli_progress();
    print_finding(r, processors > 0, "processors", "%ld; 'vtac regress' runs as many commands at a time",
                  processors);
    print_finding(r, memory >= MIN_MEMORY_MIB, "memory",
                  "%llu MiB, at least %d are needed to build a simulator", (unsigned long long)memory,
                  MIN_MEMORY_MIB);
    if (vta_config_load("tiny", &config, &diag) == VTA_OK &&
        vta_rtlsim_locate("tsim", &config, progress->line, progress->context, cache, sizeof cache, &diag) ==
            VTA_OK) {
        for (int up = 0; up < 2; up++) { /* FOLDER/ENTRY/sim.so */
            char *slash = strrchr(cache, '/');
            *(slash != NULL ? slash : cache) = '\0';
        }
        check_folder(r, "cache", cache, MIN_CACHE_MIB, "simulators; keep it from run to run (VTAC_CACHE)");
    } else {
        print_finding(r, false, "cache", "%s", diag.text);
    }
    check_folder(r, "TMPDIR", temporary != NULL && *temporary != '\0' ? temporary : "/tmp", MIN_TMP_MIB,
                 "compiled models");
}

/* ---- devices that run kernels */

static void print_kernel_device(report *r, const vta_kernels_device *device)
{
    print_finding(r, true, device->uri, "%s, driver %s, %u units, %llu MiB", device->name, device->driver,
                  device->units, (unsigned long long)(device->bytes >> 20));
    if (!device->has_doubles) {
        vta_doctor_row row = {.finding = VTA_FINDING_SKIPPED, .name = "doubles"};
        (void)snprintf(row.text, sizeof row.text,
                       "it has no double precision: steps that need it stay on the host");
        print_row(r, &row);
    }
}

enum { MAX_FOUND = 16 };

static vta_status list_kernels(const char *uri, vta_kernels_device *found, uint32_t *count, vta_diag *diag)
{
    const vta_kernels_calls *calls;
    VTA_TRY(vta_kernels_get(&calls, diag));
    VTA_TRY(calls->list(uri, found, MAX_FOUND, count, diag));
    return *count > 0 ? VTA_OK : vta_fail(diag, VTA_RANGE, "the driver has no device");
}

static void check_kernels(report *r, const char *uri)
{
    vta_kernels_device found[MAX_FOUND];
    uint32_t count = 0;
    bool there = false;
    vta_diag diag = {0};
    if (list_kernels(uri, found, &count, &diag) != VTA_OK) {
        print_finding(r, false, "driver", "%s", diag.text);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(found[i].uri, uri) == 0 || (i == 0 && strchr(uri, ':') == NULL)) {
            there = true;
            print_kernel_device(r, &found[i]);
        }
    }
    if (!there) {
        print_finding(r, false, "device", "there is no '%.64s'; 'vtac devices' lists what is there", uri);
    }
}

/* ---- promises */

enum { TIMING_PERCENT = 2 }; /* by so much the timing model may miss a network (compiler/README.md) */

/* The clock that a board's kernel has set and the doctor has measured; 0: another device. */
static double clock_of(const vta_doctor_row *rows, uint32_t count)
{
    static const char before[] = "about ";
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(rows[i].name, "clock") == 0 && strstr(rows[i].text, "the kernel has set") != NULL &&
            strncmp(rows[i].text, before, sizeof before - 1) == 0) {
            return strtod(rows[i].text + sizeof before - 1, NULL);
        }
    }
    return 0;
}

/* Adds to a file of text, which need not be there. */
static vta_status add_lines(const char *path, const vta_str *lines, vta_diag *diag)
{
    enum { MAX_LINES = 1 << 22 };
    uint8_t *bytes = NULL;
    size_t size = 0;
    vta_str text = {0};
    VTA_TRY(access(path, F_OK) == 0 ? vta_file_read(path, MAX_LINES, &bytes, &size, diag) : VTA_OK);
    vta_str_printf(&text, "%.*s%s%s", (int)size, bytes != NULL ? (const char *)bytes : "",
                   bytes != NULL && size > 0 && bytes[size - 1] != '\n' ? "\n" : "", lines->text);
    free(bytes);
    const vta_status status =
        text.failed ? vta_no_memory(diag) : vta_file_write(path, text.text, text.size, diag);
    vta_str_free(&text);
    return status;
}

static void compare_clock(report *r, const cli_promise *promise, double mhz)
{
    if (mhz > 0) {
        const double off = 100 * (mhz / promise->mhz - 1);
        print_finding(r, off >= -TIMING_PERCENT, "promised clock", "%.2f MHz, %g were promised: %+.1f %%",
                      mhz, promise->mhz, off);
    }
}

/* Runs each network of the promise on the device, and puts what it took beside what was promised. */
static void compare_networks(report *r, const cli_promise *promise, const char *uri, double mhz,
                             const char *folder, vta_str *lines)
{
    for (uint32_t i = 0; i < promise->count; i++) {
        const cli_promised *network = &promise->items[i];
        vta_diag diag = {0};
        uint64_t counted = 0;
        if (cli_count_network(network->library, uri, folder, &counted, &diag) != VTA_OK) {
            print_finding(r, false, network->name, "%s", diag.text);
            continue;
        }
        const double off = 100 * ((double)counted / (double)network->cycles - 1);
        print_finding(
            r, off <= TIMING_PERCENT, network->name,
            "%" PRIu64 " cycles, %" PRIu64 " were promised: %+.2f %%%s", counted, network->cycles, off,
            off <= TIMING_PERCENT ? ""
                                  : "; the memory is slower than the configuration says (MEM_SHARED, DRAM)");
        vtac_promised row = {.promised = (double)network->cycles,
                             .counted = (double)counted,
                             .mhz = promise->mhz,
                             .measured_mhz = mhz};
        (void)snprintf(row.part, sizeof row.part, "%s", promise->part);
        (void)snprintf(row.words, sizeof row.words, "%.60s on %.60s", network->name, promise->config);
        vtac_promised_put(&row, lines);
    }
}

static vta_status check_promise(report *r, const cli_args *args, const char *uri, double mhz, vta_diag *diag)
{
    const char *path = cli_value(args, "--promise"), *kept = cli_value(args, "--promises");
    char folder[VTAC_TEMPORARY_PATH] = "";
    cli_promise promise;
    vta_str lines = {0};
    vta_status status = VTA_OK;
    VTA_TRY_OUT(cli_read_promise(path, &promise, diag));
    if (kept != NULL && promise.part[0] == '\0') {
        VTA_TRY_OUT(vta_fail(
            diag, VTA_INVALID,
            "%s: it is a simulator's, and '--promises' keeps what boards do: 'vtac build --board NAME'",
            path));
    }
    VTA_TRY_OUT(cli_temporary_folder("doctor", folder, diag));
    compare_clock(r, &promise, mhz);
    compare_networks(r, &promise, uri, mhz, folder, &lines);
    VTA_TRY_OUT(lines.failed ? vta_no_memory(diag) : VTA_OK);
    VTA_TRY_OUT(kept != NULL && lines.size > 0 ? add_lines(kept, &lines, diag) : VTA_OK);
out:
    if (folder[0] != '\0') {
        cli_temporary_remove(folder);
    }
    cli_free_promise(&promise);
    vta_str_free(&lines);
    return status;
}

static int run_doctor(const cli_args *args)
{
    const char *uri = cli_value(args, "--device");
    report r = {.json = cli_flag(args, "--json")};
    vta_doctor_row rows[VTA_DOCTOR_ROWS];
    uint32_t count;
    vta_diag diag = {0};
    if (cli_value(args, "--promises") != NULL && cli_value(args, "--promise") == NULL) {
        return cli_usage(args, "'--promises' goes with '--promise FILE'");
    }
    uri = uri != NULL                            ? uri
          : cli_value(args, "--promise") != NULL ? "tsim"
          : cli_flag(args, "--ci")               ? "tsim:tiny"
                                                 : "fsim";
    check_tools(&r, uri);
    if (cli_flag(args, "--ci")) {
        check_runner(&r);
    }
    cli_die_tidily();
    if (vta_kernels_is(uri)) {
        check_kernels(&r, uri);
        count = 0;
    } else {
        vta_doctor(uri, cli_progress(), rows, &count);
    }
    for (uint32_t i = 0; i < count; i++) {
        print_row(&r, &rows[i]);
    }
    const bool promised = cli_value(args, "--promise") != NULL;
    const vta_status status = promised ? check_promise(&r, args, uri, clock_of(rows, count), &diag) : VTA_OK;
    if (status != VTA_OK) {
        print_finding(&r, false, "promise", "%s", diag.text);
    }
    if (r.json) {
        cli_print("],\n \"failed\": %u}\n", r.bad);
    }
    const int done = cli_done(args);
    return r.bad > 0 ? CLI_FAILED : done;
}

const cli_verb cli_verb_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "find what is wrong with this machine or with a device",
    .more = "Tools, device nodes, permissions, memory, identification, a program whose\n"
            "answer is known, the clock. Each line that fails says what to do. --promise\n"
            "runs the networks that 'vtac build --models' has compiled for a board.\n\n"
            "  vtac doctor --device ssh://xilinx@pynq --promise DIR/promise.json\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run_doctor,
};
