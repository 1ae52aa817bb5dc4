/* SPDX-License-Identifier: Apache-2.0
 *
 * What a simulator is made of: sources, tools, flags, this machine's CPU; and the hash over them.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_internal.h"
#include "vta/file.h"

enum { SOURCE_LIMIT = 16 << 20, DEPTH_LIMIT = 8, FORMAT = 1 };

uint64_t vta_build_hash(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *byte = bytes;
    hash ^= size;
    while (size > 0) {
        uint64_t word = 0;
        const size_t step = size < sizeof word ? size : sizeof word;
        memcpy(&word, byte, step);
        hash = (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
        hash ^= hash >> 32;
        byte += step;
        size -= step;
    }
    return hash;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return vta_build_hash(hash, text, strlen(text));
}

/* ---- where things are */

static bool has_file(const char *folder, const char *name)
{
    char path[BUILD_PATH];
    return vta_build_path(path, "%s/%s", folder, name) && access(path, R_OK) == 0;
}

/* The file that this code was loaded from: the program, or the shared library. */
static bool own_file(char *path)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL) {
        return false;
    }
    const uintptr_t here = (uintptr_t)hash_text ^ 0;
    char line[BUILD_PATH + 128];
    bool found = false;
    while (!found && fgets(line, sizeof line, maps) != NULL) {
        char *dash = NULL;
        const unsigned long long begin = strtoull(line, &dash, 16);
        const unsigned long long end = *dash == '-' ? strtoull(dash + 1, NULL, 16) : 0;
        const char *name = strchr(line, '/');
        if (name != NULL && here >= begin && here < end) {
            found = vta_build_path(path, "%.*s", (int)strcspn(name, "\n"), name);
        }
    }
    (void)fclose(maps);
    return found;
}

/* share/vtac of the prefix in which the program (bin) or the library (lib, lib/ARCH) stands. */
static bool installed_root(char *root)
{
    char path[BUILD_PATH];
    if (!own_file(path)) {
        return false;
    }
    for (int up = 0; up < 3; up++) {
        char *slash = strrchr(path, '/');
        if (slash == NULL) {
            return false;
        }
        *slash = '\0';
        if (vta_build_path(root, "%s/share/vtac", path) && has_file(root, "sim/tsim/tsim.cc")) {
            return true;
        }
    }
    return false;
}

vta_status vta_build_find_sources(build_job *job)
{
    const char *override = getenv("VTAC_HW");
    bool fits = true;
    if (installed_root(job->root)) {
        fits = vta_build_path(job->headers, "%s/hw/include", job->root);
    } else {
        fits =
            vta_build_path(job->root, "%s", VTA_SOURCE_DIR) && vta_build_path(job->headers, "%s", VTA_VH_DIR);
    }
    if (override != NULL && override[0] != '\0') {
        fits = fits && vta_build_path(job->hw, "%s", override);
    } else {
        fits = fits && vta_build_path(job->hw, "%s/hw", job->root);
    }
    if (!fits) {
        return vta_fail(job->diag, VTA_RANGE, "the path of the RTL sources is longer than %d bytes",
                        BUILD_PATH);
    }
    if (!has_file(job->root, "sim/tsim/tsim.cc")) {
        return vta_fail(job->diag, VTA_NO_DEVICE,
                        "the simulator's sources are not in '%s'; install them or keep the source tree",
                        job->root);
    }
    if (!has_file(job->hw, "rtl")) {
        return vta_fail(job->diag, VTA_NO_DEVICE, "no RTL in '%s'; VTAC_HW names the folder that has 'rtl'",
                        job->hw);
    }
    if (!has_file(job->headers, "vta_isa.vh")) {
        return vta_fail(job->diag, VTA_NO_DEVICE,
                        "no 'vta_isa.vh' in '%s'; build the target vta_verilog_headers", job->headers);
    }
    return VTA_OK;
}

static vta_status find_tool(build_job *job, const char *name, const char *package, char *path)
{
    const char *list = getenv("PATH");
    for (const char *at = list != NULL ? list : "/usr/bin:/bin"; *at != '\0';) {
        const size_t length = strcspn(at, ":");
        if (vta_build_path(path, "%.*s/%s", (int)length, at, name) && access(path, X_OK) == 0) {
            return VTA_OK;
        }
        at += length + (at[length] == ':');
    }
    return vta_fail(job->diag, VTA_NO_DEVICE,
                    "'%s' is not in PATH and the simulator must be built; install the Debian package '%s'",
                    name, package);
}

static vta_status need_header(build_job *job, const char *header, const char *package)
{
    if (access(header, R_OK) == 0) {
        return VTA_OK;
    }
    return vta_fail(job->diag, VTA_NO_DEVICE, "'%s' is missing; install the Debian package '%s'", header,
                    package);
}

vta_status vta_build_find_tools(build_job *job)
{
    VTA_TRY(find_tool(job, "verilator", "verilator", job->verilator));
    VTA_TRY(find_tool(job, "g++", "g++", job->gxx));
    VTA_TRY(find_tool(job, "gcc", "gcc", job->gcc));
    if (job->trace) {
        VTA_TRY(need_header(job, "/usr/include/zlib.h", "zlib1g-dev"));
    }
    if (job->systemc) {
        VTA_TRY(need_header(job, "/usr/include/systemc.h", "libsystemc-dev"));
    }
    return VTA_OK;
}

/* ---- the key */

static uint64_t hash_tool(uint64_t hash, const char *path)
{
    struct stat st;
    hash = hash_text(hash, path);
    if (stat(path, &st) == 0) {
        const int64_t facts[] = {(int64_t)st.st_size, (int64_t)st.st_mtime, (int64_t)st.st_ino};
        hash = vta_build_hash(hash, facts, sizeof facts);
    }
    return hash;
}

static vta_status hash_file(build_job *job, const char *path, uint64_t *hash)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    VTA_TRY(vta_file_read(path, SOURCE_LIMIT, &bytes, &size, job->diag));
    *hash = vta_build_hash(*hash, bytes, size);
    free(bytes);
    return VTA_OK;
}

static bool is_source(const char *name)
{
    static const char *const endings[] = {".v", ".vh", ".h", ".c", ".cc", ".def"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && i < sizeof endings / sizeof endings[0]; i++) {
        if (strcmp(dot, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* All sources below a folder; the sum of their hashes does not depend on the order of a directory. */
static vta_status hash_folder(build_job *job, const char *folder, int depth, uint64_t *sum)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return VTA_OK;
    }
    vta_status status = VTA_OK;
    struct dirent *item;
    while (status == VTA_OK && (item = readdir(dir)) != NULL) {
        char path[BUILD_PATH];
        struct stat st;
        if (item->d_name[0] == '.' || !vta_build_path(path, "%s/%s", folder, item->d_name) ||
            stat(path, &st) != 0) {
            continue;
        }
        if (S_ISDIR(st.st_mode) && depth < DEPTH_LIMIT) {
            status = hash_folder(job, path, depth + 1, sum);
        } else if (S_ISREG(st.st_mode) && is_source(item->d_name)) {
            uint64_t hash = hash_text(1, item->d_name);
            status = hash_file(job, path, &hash);
            *sum += hash;
        }
    }
    closedir(dir);
    return status;
}

static vta_status hash_sources(build_job *job, uint64_t *hash)
{
    static const char *const below_root[] = {"sim/tsim", "sim/systemc", "sim/include", "isa/include",
                                             "isa/base/include"};
    char path[BUILD_PATH];
    for (size_t i = 0; i < sizeof below_root / sizeof below_root[0]; i++) {
        uint64_t sum = 0;
        if (strcmp(below_root[i], "sim/systemc") == 0 && !job->systemc) {
            continue;
        }
        if (vta_build_path(path, "%s/%s", job->root, below_root[i])) {
            VTA_TRY(hash_folder(job, path, 0, &sum));
        }
        *hash = vta_build_hash(*hash, &sum, sizeof sum);
    }
    uint64_t rtl = 0, headers = 0;
    if (vta_build_path(path, "%s/rtl", job->hw)) {
        VTA_TRY(hash_folder(job, path, 0, &rtl));
    }
    /* headers: one sum over both folders, since an installed tree keeps the generated one beside the others
     */
    if (vta_build_path(path, "%s/include", job->hw)) {
        VTA_TRY(hash_folder(job, path, 0, &headers));
        if (strcmp(path, job->headers) != 0) {
            VTA_TRY(hash_folder(job, job->headers, DEPTH_LIMIT, &headers));
        }
    }
    *hash = vta_build_hash(*hash, &rtl, sizeof rtl);
    *hash = vta_build_hash(*hash, &headers, sizeof headers);
    return VTA_OK;
}

/* The lines of /proc/cpuinfo that say which instructions "-march=native" may use, of the first CPU. */
static uint64_t hash_cpu(uint64_t hash)
{
    static const char *const names[] = {"vendor_id", "cpu family",      "model",    "flags",
                                        "Features",  "CPU implementer", "CPU part", "isa"};
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (file == NULL) {
        return hash;
    }
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) > 1) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            if (strncmp(line, names[i], strlen(names[i])) == 0) {
                hash = hash_text(hash, line);
                break;
            }
        }
    }
    free(line);
    (void)fclose(file);
    return hash;
}

vta_status vta_build_make_key(build_job *job)
{
    uint64_t hash = hash_text(FORMAT, job->kind);
    const uint64_t facts[] = {job->trace, job->config->hash, job->config->addr_bits};
    hash = vta_build_hash(hash, facts, sizeof facts);
    if (job->built) {
        const uint64_t form[] = {job->config->array_pump, job->config->alu_dsps};
        hash = vta_build_hash(hash, form, sizeof form);
    }
    VTA_TRY(hash_sources(job, &hash));
    if (job->portable) { /* whoever has it needs no tools */
        job->key = hash_text(hash, VTA_BUILD_PORTABLE);
        return VTA_OK;
    }
    hash = hash_tool(hash, job->verilator);
    hash = hash_tool(hash, job->gxx);
    hash = hash_tool(hash, job->gcc);
    hash = hash_text(hash, job->flags.text != NULL ? job->flags.text : "");
    job->key = hash_cpu(hash);
    return VTA_OK;
}
