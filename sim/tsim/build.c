/* SPDX-License-Identifier: Apache-2.0
 *
 * vta_rtlsim_locate: from a configuration to a shared object, through the cache.
 *
 *   sources, tools ─► key ─► entry good? ──yes──────────────────────────► path
 *                              no └► lock ─► good now? ─► build ─► publish ┘
 *
 * A build is one run of Verilator, a few compilations, two at a time, and a link. The model's own code is
 * compiled as one file with -O2 for this machine (-O3 takes a sixth longer and makes nothing quicker); what
 * runs once (constructors, tracing tables) as another with Verilator's run-time library, whose headers are
 * most of both, with -O0, which halves what a user waits for beside the model.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "build_internal.h"
#include "vta/clock.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hold.h"

enum { PARALLEL = 2, REPORT_SECONDS = 30 };

static const char model_flags[] =
    "-std=c++17 -fPIC -fvisibility=hidden -fno-gnu-unique -fno-plt "
    "-fno-strict-aliasing -Wno-bool-operation -Wno-uninitialized -DNDEBUG"
#ifdef __x86_64__
    " -mprefer-vector-width=512" /* the array's lanes are one loop; no effect without AVX-512 */
#endif
    ;
static const char verilator_flags[] =
    "-O3 --x-assign fast --x-initial unique -fno-const-bit-op-tree --output-split 0 "
    "--noassert -Wno-fatal -Wno-lint -Wno-style";
/* The quick form lets units sleep; in the one that is built all clocks are one net, and assertions stay. */
static const char quick_flags[] = "+define+VTA_CLOCK_PINS";
static const char built_flags[] = "+define+SYNTHESIS +define+VTA_CHECKED";

const char *const *vta_build_products(const build_job *job, uint32_t *count)
{
    static const char *const names[BUILD_FILES] = {"sim.so", "platform"};
    *count = job->systemc ? 2 : 1;
    return names;
}

/* ---- Verilator */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Every folder of hw/rtl as -y, and the file of the top module. */
static vta_status add_rtl(build_job *job, build_command *command)
{
    char rtl[BUILD_PATH], path[BUILD_PATH], top[BUILD_PATH] = "";
    struct dirent *item;
    DIR *dir = vta_build_path(rtl, "%s/rtl", job->hw) ? opendir(rtl) : NULL;
    while (dir != NULL && (item = readdir(dir)) != NULL) {
        if (item->d_name[0] == '.' || !vta_build_path(path, "%s/%s", rtl, item->d_name) || !is_folder(path)) {
            continue;
        }
        vta_build_arg(command, "-y");
        vta_build_arg(command, "%s", path);
        vta_build_arg(command, "-I%s", path);
        char file[BUILD_PATH];
        if (vta_build_path(file, "%s/vta_top.v", path) && access(file, R_OK) == 0) {
            memcpy(top, file, sizeof top);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    if (top[0] == '\0') {
        return vta_fail(job->diag, VTA_NO_DEVICE, "no 'vta_top.v' in the folders of '%s'", rtl);
    }
    vta_build_arg(command, "%s", top);
    return VTA_OK;
}

static void add_parameters(const build_job *job, build_command *command)
{
    const vta_config *c = job->config;
    const struct {
        const char *name;
        uint32_t value;
    } parameters[] = {
#define VTA_RTL_PARAM(name, value) {name, value},
#include "vta/rtl_params.def"
#undef VTA_RTL_PARAM
    };
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
        vta_build_arg(command, "-G%s=%u", parameters[i].name, parameters[i].value);
    }
    vta_build_arg(command, "-GCONFIG_HASH=64'h%016" PRIx64, c->hash);
    if (job->built) {
        vta_build_arg(command, "-GLANE_DSPS=%u", c->alu_dsps);
    }
}

static vta_status verilate(build_job *job)
{
    build_command command = {0};
    vta_build_arg(&command, "%s", job->verilator);
    vta_build_arg(&command, "--cc");
    vta_build_arg(&command, "--top-module");
    vta_build_arg(&command, "vta_top");
    vta_build_words(&command, verilator_flags);
    vta_build_words(&command, job->built ? built_flags : quick_flags);
    if (job->trace) {
        vta_build_words(&command, "--trace-fst --trace-max-width 4096 --trace-max-array 64");
    }
    vta_build_arg(&command, "--Mdir");
    vta_build_arg(&command, "%s/obj", job->work);
    vta_build_arg(&command, "-I%s/include", job->hw);
    vta_build_arg(&command, "-I%s", job->headers);
    add_parameters(job, &command);
    const vta_status status = add_rtl(job, &command);
    if (status != VTA_OK) {
        vta_str_free(&command.args);
        return status;
    }
    return vta_build_run(job, "translating the RTL", &command, 1, 1);
}

/* -- C++
 * -----------------------------------------------------------------------------------------------------------
 */

static bool ends_with(const char *text, const char *end)
{
    const size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_cpp(const struct dirent *item)
{
    return ends_with(item->d_name, ".cpp");
}

/* Verilator's run-time library, and what writes waves. */
static const char *const runtime_sources[] = {"verilated.cpp", "verilated_threads.cpp"};
static const char waves_source[] = "verilated_fst_c.cpp";
enum { RUNTIME_SOURCES = sizeof runtime_sources / sizeof runtime_sources[0], MAX_COMMANDS = 16 };

/* The generated files as two: what runs in every cycle, and the rest. */
static vta_status write_units(build_job *job)
{
    char path[BUILD_PATH];
    struct dirent **items = NULL;
    vta_str fast = {0}, slow = {0};
    const int count = vta_build_path(path, "%s/obj", job->work) ? scandir(path, &items, is_cpp, by_name) : -1;
    for (int i = 0; i < count; i++) {
        const char *name = items[i]->d_name;
        const bool once = strstr(name, "__Slow") != NULL || strstr(name, "__Syms") != NULL;
        vta_str_printf(once ? &slow : &fast, "#include \"obj/%s\"\n", name);
        free(items[i]);
    }
    free(items);
    for (uint32_t i = 0; i < RUNTIME_SOURCES; i++) {
        vta_str_printf(&slow, "#include <%s>\n", runtime_sources[i]);
    }
    vta_str_put(&fast, "#include \"rtl_model.cc\"\n");
    vta_str_put(&fast, job->systemc ? "#include \"platform.cc\"\n" : "#include \"tsim.cc\"\n");
    vta_status status = count > 0 && !fast.failed && !slow.failed ? VTA_OK : VTA_IO;
    if (status == VTA_OK && vta_build_path(path, "%s/model_fast.cc", job->work)) {
        status = vta_file_write_scratch(path, fast.text, fast.size, job->diag);
    }
    if (status == VTA_OK && vta_build_path(path, "%s/model_slow.cc", job->work)) {
        status = vta_file_write_scratch(path, slow.text != NULL ? slow.text : "", slow.size, job->diag);
    }
    vta_str_free(&fast);
    vta_str_free(&slow);
    return status == VTA_OK ? VTA_OK
                            : vta_fail(job->diag, status, "Verilator left no model in '%s/obj'", job->work);
}

/* The folder of Verilator's own sources, from the makefile that it writes. */
static vta_status verilator_root(build_job *job, char *root)
{
    char path[BUILD_PATH];
    uint8_t *bytes = NULL;
    size_t count = 0;
    if (!vta_build_path(path, "%s/obj/Vvta_top.mk", job->work)) {
        return vta_fail(job->diag, VTA_RANGE, "path too long");
    }
    VTA_TRY(vta_file_read(path, BUILD_MODEL_LIMIT, &bytes, &count, job->diag));
    static const char label[] = "VERILATOR_ROOT = ";
    const char *at = strstr((const char *)bytes, label);
    const bool found = at != NULL && vta_build_path(root, "%.*s", (int)strcspn(at + sizeof label - 1, "\r\n"),
                                                    at + sizeof label - 1);
    free(bytes);
    return found ? VTA_OK
                 : vta_fail(job->diag, VTA_IO,
                            "'%s' has %zu bytes and does not name Verilator's folder; is the disk full?",
                            path, count);
}

typedef struct compiler {
    build_job *job;
    const char *verilator;
} compiler;

static void add_folders(const compiler *c, build_command *command)
{
    const build_job *job = c->job;
    static const char *const folders[] = {"sim/tsim", "sim/systemc", "sim/include", "isa/include",
                                          "isa/base/include"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        vta_build_arg(command, "-I%s/%s", job->root, folders[i]);
    }
}

static const char *processor_of(const build_job *job)
{
    return job->portable ? VTA_BUILD_PORTABLE : "-march=native";
}

static void add_model_facts(const build_job *job, build_command *command)
{
    const vta_config *config = job->config;
    vta_build_arg(command, "-DVTA_MODEL_HASH=UINT64_C(0x%016" PRIx64 ")", config->hash);
    vta_build_arg(command, "-DVTA_MODEL_BUS_BYTES=%u", 1U << (config->log_bus_width - 3));
    vta_build_arg(command, "-DVTA_MODEL_PUMP=%u", job->built ? config->array_pump : 1);
}

static build_command compile_cxx(const compiler *c, const char *optimize, const char *source,
                                 const char *object)
{
    const build_job *job = c->job;
    build_command command = {0};
    vta_build_arg(&command, "%s", job->gxx);
    vta_build_words(&command, model_flags);
    vta_build_words(&command, processor_of(job));
    vta_build_words(&command, optimize);
    vta_build_words(&command, job->flags.text != NULL ? job->flags.text : "");
    add_folders(c, &command);
    vta_build_arg(&command, "-I%s", job->work);
    vta_build_arg(&command, "-I%s/obj", job->work);
    vta_build_arg(&command, "-isystem");
    vta_build_arg(&command, "%s/include", c->verilator);
    vta_build_arg(&command, "-isystem");
    vta_build_arg(&command, "%s/include/vltstd", c->verilator);
    vta_build_words(&command, "-DVM_COVERAGE=0 -DVM_SC=0 -DVM_TIMING=0 -include verilated_hooks.h");
    vta_build_words(&command, job->trace
                                  ? "-DVM_TRACE=1 -DVM_TRACE_FST=1 -DVM_TRACE_VCD=0 -DVTA_MODEL_TRACE=1"
                                  : "-DVM_TRACE=0 -DVM_TRACE_FST=0 -DVM_TRACE_VCD=0");
    add_model_facts(job, &command);
    vta_build_words(&command, "-c");
    vta_build_arg(&command, "%s", source);
    vta_build_words(&command, "-o");
    vta_build_arg(&command, "%s/obj/%s", job->work, object);
    return command;
}

static build_command compile_c(const compiler *c, const char *source, const char *object)
{
    build_command command = {0};
    vta_build_arg(&command, "%s", c->job->gcc);
    add_model_facts(c->job, &command);
    vta_build_words(&command, "-std=c17 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -D_GNU_SOURCE -O3 -fPIC "
                              "-fvisibility=hidden -fno-plt -DNDEBUG");
    vta_build_words(&command, processor_of(c->job));
    add_folders(c, &command);
    vta_build_arg(&command, "-c");
    vta_build_arg(&command, "%s/sim/%s", c->job->root, source);
    vta_build_arg(&command, "-o");
    vta_build_arg(&command, "%s/obj/%s", c->job->work, object);
    return command;
}

/* The C sources that both kinds share, then those of the platform. */
static const char *const c_sources[] = {
    "tsim/harness.c",    "tsim/axi_mem.c", "tsim/timeline.c",       "tsim/account.c",   "tsim/recorder.c",
    "tsim/dram_queue.c", "systemc/wire.c", "systemc/dram_timing.c", "systemc/server.c", "systemc/client.c"};
enum { SHARED_SOURCES = 6, C_SOURCES = sizeof c_sources / sizeof c_sources[0] };

/* "tsim/harness.c" gives "harness.c.o". */
static const char *object_name(const char *source, char *object)
{
    const char *slash = strrchr(source, '/');
    return vta_build_path(object, "%s.o", slash != NULL ? slash + 1 : source) ? object : "";
}

static uint32_t c_count(const build_job *job)
{
    return job->systemc ? C_SOURCES : SHARED_SOURCES;
}

static vta_status compile(const compiler *c)
{
    build_command commands[MAX_COMMANDS];
    char path[BUILD_PATH], object[BUILD_PATH];
    uint32_t count = 0;
    if (vta_build_path(path, "%s/model_slow.cc", c->job->work)) {
        commands[count++] = compile_cxx(c, "-O0", path, "model_slow.o");
    }
    if (vta_build_path(path, "%s/model_fast.cc", c->job->work)) {
        commands[count++] = compile_cxx(c, "-O2", path, "model_fast.o");
    }
    if (c->job->trace && vta_build_path(path, "%s/include/%s", c->verilator, waves_source)) {
        commands[count++] = compile_cxx(c, "-O0 -include waves_hooks.h", path, object_name(path, object));
    }
    for (uint32_t i = 0; i < c_count(c->job); i++) {
        commands[count++] = compile_c(c, c_sources[i], object_name(c_sources[i], object));
    }
    return vta_build_run(c->job, "compiling the simulator", commands, count, PARALLEL);
}

static void add_object(const build_job *job, build_command *command, const char *source)
{
    char object[BUILD_PATH];
    vta_build_arg(command, "%s/obj/%s", job->work, object_name(source, object));
}

static void add_model(const build_job *job, build_command *command)
{
    add_object(job, command, "model_fast");
    add_object(job, command, "model_slow");
    if (job->trace) {
        add_object(job, command, waves_source);
    }
    for (uint32_t i = 0; i < SHARED_SOURCES; i++) {
        add_object(job, command, c_sources[i]);
    }
}

static build_command link_to(const build_job *job, const char *flags, const char *name)
{
    build_command command = {0};
    vta_build_arg(&command, "%s", job->gxx);
    vta_build_words(&command, flags);
    vta_build_arg(&command, "-o");
    vta_build_arg(&command, "%s/%s", job->work, name);
    return command;
}

static const char link_shared[] = "-shared -Wl,-Bsymbolic -Wl,-z,now";

static vta_status link_tsim(build_job *job)
{
    build_command command = link_to(job, link_shared, "sim.so");
    add_model(job, &command);
    vta_build_words(&command, job->trace ? "-lz -lpthread" : "-lpthread");
    return vta_build_run(job, "linking the simulator", &command, 1, 1);
}

/* Two files: the platform with all its SystemC, and the shared object that talks to it. */
static vta_status link_systemc(build_job *job)
{
    build_command commands[2] = {link_to(job, "-pie", "platform"), link_to(job, link_shared, "sim.so")};
    add_model(job, &commands[0]);
    add_object(job, &commands[0], "wire.c");
    add_object(job, &commands[0], "dram_timing.c");
    add_object(job, &commands[0], "server.c");
    vta_build_words(&commands[0], job->trace ? "-lsystemc -lz -lpthread" : "-lsystemc -lpthread");
    add_object(job, &commands[1], "client.c");
    add_object(job, &commands[1], "wire.c");
    add_object(job, &commands[1], "axi_mem.c");
    add_object(job, &commands[1], "dram_queue.c");
    return vta_build_run(job, "linking the platform", commands, 2, PARALLEL);
}

static vta_status build(build_job *job)
{
    char verilator[BUILD_PATH];
    VTA_TRY(verilate(job));
    VTA_TRY(verilator_root(job, verilator));
    VTA_TRY(write_units(job));
    VTA_TRY(vta_build_write_clocks(job));
    const compiler c = {job, verilator};
    VTA_TRY(compile(&c));
    return job->systemc ? link_systemc(job) : link_tsim(job);
}

/* ---- the steps */

static vta_status build_entry(build_job *job)
{
    VTA_TRY(vta_build_lock(job));
    vta_status status = VTA_OK;
    if (!vta_build_entry_good(job)) {
        job->began = job->reported = vta_now();
        vta_build_say(job, "building the %s simulator of '%s'%s, once; this takes one to four minutes",
                      job->kind, job->config->name, job->built ? ", as built" : "");
        sigset_t was; /* what ends the process waits until the folder is whole or gone */
        vta_hold_signals(&was);
        status = vta_build_begin(job);
        status = status == VTA_OK ? build(job) : status;
        status = status == VTA_OK ? vta_build_publish(job) : status;
        if (status != VTA_OK) {
            vta_build_abandon(job);
        }
        vta_release_signals(&was);
        if (status == VTA_OK) {
            vta_build_say(job, "the %s simulator of '%s' is ready after %.0f s", job->kind, job->config->name,
                          vta_now() - job->began);
        }
    }
    vta_build_unlock(job);
    return status;
}

/* Takes `word` from the front of `*text`. */
static bool take_word(const char **text, const char *word)
{
    const bool there = strncmp(*text, word, strlen(word)) == 0;
    *text += there ? strlen(word) : 0;
    return there;
}

static vta_status parse_kind(build_job *job, const char *kind)
{
    const char *rest = kind;
    job->systemc = take_word(&rest, "systemc");
    const bool known = job->systemc || take_word(&rest, "tsim");
    job->built = take_word(&rest, "+built");
    job->trace = take_word(&rest, "+trace");
    if (!known || *rest != '\0') {
        return vta_fail(
            job->diag, VTA_INVALID,
            "no simulator is called '%s'; there are tsim and systemc, with +built, +trace or both", kind);
    }
    (void)snprintf(job->kind, sizeof job->kind, "%s", job->systemc ? "systemc" : "tsim");
    return VTA_OK;
}

static vta_status name_file(build_job *job, char *path, size_t size)
{
    const int length = snprintf(path, size, "%s/sim.so", job->entry);
    if (length < 0 || (size_t)length >= size) {
        return vta_fail(job->diag, VTA_RANGE, "the simulator's path needs %d bytes", length + 1);
    }
    return VTA_OK;
}

static vta_status locate(build_job *job, const char *kind, char *path, size_t size)
{
    VTA_TRY(parse_kind(job, kind));
    VTA_TRY(vta_build_find_sources(job));
    const char *extra = getenv("VTAC_CXXFLAGS");
    if ((extra == NULL || extra[0] == '\0') && vta_build_find_shipped(job)) {
        return name_file(job, path, size);
    }
    VTA_TRY(vta_build_find_tools(job));
    if (extra != NULL) {
        vta_str_put(&job->flags, extra);
    }
    VTA_TRY(vta_build_make_key(job));
    VTA_TRY(vta_build_open_cache(job));
    if (!vta_build_entry_good(job)) {
        VTA_TRY(build_entry(job));
    }
    char file[BUILD_PATH];
    if (vta_build_path(file, "%s/manifest", job->entry)) {
        utimensat(AT_FDCWD, file, NULL, 0); /* used now: spared longest */
    }
    return name_file(job, path, size);
}

static build_job *job_of(const vta_config *config, void (*progress)(void *context, const char *line),
                         void *context, vta_diag *diag)
{
    build_job *job = calloc(1, sizeof *job);
    if (job != NULL) {
        job->config = config;
        job->report_every = REPORT_SECONDS;
        job->progress = progress;
        job->context = context;
        job->diag = diag;
        job->lock = -1;
    }
    return job;
}

static void free_job(build_job *job)
{
    vta_build_unlock(job);
    vta_str_free(&job->flags);
    free(job);
}

vta_status vta_rtlsim_locate(const char *kind, const vta_config *config,
                             void (*progress)(void *context, const char *line), void *context, char *path,
                             size_t size, vta_diag *diag)
{
    build_job *job = job_of(config, progress, context, diag);
    if (job == NULL) {
        return vta_no_memory(diag);
    }
    const vta_status status = locate(job, kind, path, size);
    free_job(job);
    return status;
}

static vta_status prebuild(build_job *job, const char *folder)
{
    VTA_TRY(parse_kind(job, "tsim"));
    VTA_TRY(vta_build_find_sources(job));
    VTA_TRY(vta_build_find_tools(job));
    job->portable = true;
    VTA_TRY(vta_build_make_key(job));
    VTA_TRY(vta_build_open_folder(job, folder));
    return vta_build_entry_good(job) ? VTA_OK : build_entry(job);
}

vta_status vta_rtlsim_prebuild(const char *folder, const vta_config *config,
                               void (*progress)(void *context, const char *line), void *context, char *entry,
                               size_t size, vta_diag *diag)
{
    build_job *job = job_of(config, progress, context, diag);
    if (job == NULL) {
        return vta_no_memory(diag);
    }
    const vta_status status = prebuild(job, folder);
    (void)snprintf(entry, size, "%s", status == VTA_OK ? job->entry : "");
    free_job(job);
    return status;
}

vta_status vta_rtlsim_sources(vta_rtl_sources *out, vta_diag *diag)
{
    build_job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        return vta_no_memory(diag);
    }
    job->diag = diag;
    job->lock = -1;
    const vta_status status = vta_build_find_sources(job);
    memcpy(out->root, job->root, sizeof out->root);
    memcpy(out->hw, job->hw, sizeof out->hw);
    memcpy(out->headers, job->headers, sizeof out->headers);
    free(job);
    return status;
}
