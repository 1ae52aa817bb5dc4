/* SPDX-License-Identifier: Apache-2.0
 *
 * The bench that simlab.h describes.
 */
#include "simlab.h"

#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "vta/file.h"

static void join(char *out, const char *folder, const char *name)
{
    const int length = snprintf(out, SIMLAB_PATH, "%s/%s", folder, name);
    assert_in_range(length, 1, SIMLAB_PATH - 1);
}

void simlab_copy(const char *from, const char *to, const char *extra)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    assert_int_equal(vta_file_read(from, 1 << 20, &bytes, &size, NULL), VTA_OK);
    FILE *file = fopen(to, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fputs(extra, file);
    assert_int_equal(fclose(file), 0);
    free(bytes);
}

void simlab_open(simlab *lab)
{
    char path[SIMLAB_PATH];
    memset(lab, 0, sizeof *lab);
    const char *tmp = getenv("TMPDIR");
    join(lab->folder, tmp != NULL ? tmp : "/tmp", "simlab.XXXXXX");
    assert_non_null(mkdtemp(lab->folder));
    join(lab->cache, lab->folder, "cache");
    join(lab->hw, lab->folder, "hw");
    assert_int_equal(mkdir(lab->hw, 0777), 0);
    join(path, lab->hw, "rtl");
    assert_int_equal(mkdir(path, 0777), 0);
    join(path, lab->hw, "rtl/top");
    assert_int_equal(mkdir(path, 0777), 0);
    join(path, lab->hw, "rtl/top/vta_top.v");
    simlab_copy(VTA_COPIER, path, "");
    assert_int_equal(setenv("VTAC_CACHE", lab->cache, 1), 0);
    assert_int_equal(setenv("VTAC_HW", lab->hw, 1), 0);
    assert_int_equal(setenv("VTAC_CXXFLAGS", "-O0", 1), 0); /* builds are what is tested, not speed */
}

void simlab_close(simlab *lab)
{
    char command[SIMLAB_PATH + 32];
    snprintf(command, sizeof command, "rm -rf '%s'", lab->folder);
    assert_int_equal(system(command), 0);
}

static void say(void *context, const char *line)
{
    simlab *lab = context;
    const size_t used = strlen(lab->said);
    snprintf(lab->said + used, sizeof lab->said - used, "%s\n", line);
}

vta_status simlab_locate_with(simlab *lab, const char *kind, const vta_config *config)
{
    lab->diag = (vta_diag){0};
    lab->said[0] = lab->path[0] = '\0';
    return vta_rtlsim_locate(kind, config, say, lab, lab->path, sizeof lab->path, &lab->diag);
}

vta_status simlab_locate(simlab *lab, const char *kind)
{
    vta_config config;
    vta_config_default(&config);
    return simlab_locate_with(lab, kind, &config);
}

uint32_t simlab_count(const simlab *lab, const char *text)
{
    char path[SIMLAB_PATH];
    join(path, lab->cache, "rtlsim");
    DIR *dir = opendir(path);
    uint32_t count = 0;
    const struct dirent *item;
    while (dir != NULL && (item = readdir(dir)) != NULL) {
        count += strstr(item->d_name, text) != NULL;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

static void *map(void *context, uint64_t addr, uint64_t size)
{
    simlab_sim *sim = context;
    const bool inside =
        addr >= SIMLAB_BASE && size <= SIMLAB_MEMORY && addr - SIMLAB_BASE <= SIMLAB_MEMORY - size;
    return inside ? sim->memory + (addr - SIMLAB_BASE) : NULL;
}

bool simlab_load(simlab_sim *sim, const char *path, const vta_rtlsim_options *options)
{
    for (uint32_t i = 0; i < SIMLAB_MEMORY; i++) {
        sim->memory[i] = (uint8_t)(i * 13 + i / 199);
    }
    sim->bus = (vta_bus){map, sim};
    sim->message[0] = '\0';
    sim->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(sim->object);
    void *symbol = dlsym(sim->object, "vta_rtlsim_entry");
    assert_non_null(symbol);
    const vta_rtlsim *(*entry)(void) = NULL;
    memcpy(&entry, &symbol, sizeof entry);
    sim->rtl = entry();
    assert_int_equal(sim->rtl->abi, VTA_RTLSIM_ABI);
    sim->self = sim->rtl->create(options, &sim->bus, sim->message, sizeof sim->message);
    return sim->self != NULL;
}

void simlab_unload(simlab_sim *sim)
{
    sim->rtl->destroy(sim->self);
    dlclose(sim->object);
}

uint64_t simlab_run(simlab_sim *sim, uint32_t from, uint32_t to, uint32_t beats)
{
    sim->rtl->write(sim->self, COPIER_FROM, from);
    sim->rtl->write(sim->self, COPIER_TO, to);
    sim->rtl->write(sim->self, COPIER_BEATS, beats);
    sim->rtl->write(sim->self, COPIER_START, 1);
    return sim->rtl->step(sim->self, 100000);
}
