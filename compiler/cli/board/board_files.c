/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a virtual board.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "board.h"
#include "vta/file.h"
#include "vta/regs.h"

#define UIO    "sys/class/uio/uio0"
#define MEMORY "sys/class/u-dma-buf/udmabuf0"
#define CLOCK  "sys/bus/platform/devices/amba:vta-clock"

/* Made in this order, removed in the other. */
static const char *const folders[] = {
    "",
    "dev",
    "sys",
    "sys/class",
    "sys/class/uio",
    UIO,
    (UIO "/maps"),
    (UIO "/maps/map0"),
    (UIO "/maps/map1"),
    "sys/class/u-dma-buf",
    MEMORY,
    "sys/bus",
    "sys/bus/platform",
    "sys/bus/platform/devices",
    CLOCK,
};
static const char *const files[] = {
    "dev/uio0",
    "dev/uio0.irq",
    "dev/uio0.unmask",
    (UIO "/name"),
    (UIO "/event"),
    (UIO "/maps/map0/size"),
    (UIO "/maps/map1/addr"),
    (UIO "/maps/map1/size"),
    (CLOCK "/set_rate"),
    "dev/udmabuf0",
    (MEMORY "/phys_addr"),
    (MEMORY "/size"),
    (MEMORY "/dma_coherent"),
    (MEMORY "/sync_for_cpu"),
    (MEMORY "/sync_for_device"),
    (MEMORY "/sync_done"),
};
enum { LOCK = 2 }; /* a byte of the page that no driver locks: whoever serves the board does */
enum {
    FOLDERS = sizeof folders / sizeof folders[0],
    FILES = sizeof files / sizeof files[0],
    NAME = 96,
    PATH = 4300
};

static const char *path_of(const cli_board_options *options, const char *file, char *path)
{
    (void)snprintf(path, PATH, "%s/%s", options->dir, file);
    return path;
}

/* True for the files that each core has; the tables above have the first one's. */
static bool is_each_core_s(const char *file)
{
    return strstr(file, "/uio0") != NULL;
}

/* The name of a file of the first core, as another one has it. */
static const char *name_of(uint32_t core, const char *file, char *name)
{
    const size_t length = strlen(file);
    name[0] = '\0';
    if (length < NAME) {
        memcpy(name, file, length + 1);
    }
    char *number = strstr(name, "/uio0");
    if (number != NULL) {
        number[sizeof "/uio0" - 2] = (char)('0' + core);
    }
    return name;
}

static vta_status fail_errno(const char *what, const char *path, vta_diag *diag)
{
    return vta_fail(diag, VTA_IO, "cannot %s '%s': %s", what, path, strerror(errno));
}

static vta_status make_text(const cli_board_options *options, const char *file, const char *text,
                            vta_diag *diag)
{
    char path[PATH];
    return vta_file_write(path_of(options, file, path), text, strlen(text), diag);
}

static vta_status make_number(const cli_board_options *options, const char *file, const char *format,
                              uint64_t value, vta_diag *diag)
{
    char text[32];
    (void)snprintf(text, sizeof text, format[0] == 'x' ? "0x%016" PRIx64 "\n" : "%" PRIu64 "\n", value);
    return make_text(options, file, text, diag);
}

static vta_status make_fifo(const cli_board_options *options, const char *file, int *fd, vta_diag *diag)
{
    char path[PATH];
    if (mkfifo(path_of(options, file, path), 0600) != 0) {
        return fail_errno("make", path, diag);
    }
    *fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return *fd >= 0 ? VTA_OK : fail_errno("open", path, diag);
}

static vta_status make_map(const cli_board_options *options, const char *file, uint64_t bytes, int *fd,
                           void **mapped, vta_diag *diag)
{
    char path[PATH];
    *fd = open(path_of(options, file, path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (*fd < 0) {
        return fail_errno("make", path, diag);
    }
    if (ftruncate(*fd, (off_t)bytes) != 0) {
        return fail_errno("make", path, diag);
    }
    *mapped = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    return *mapped != MAP_FAILED ? VTA_OK : fail_errno("map", path, diag);
}

static vta_status make_syncs(const cli_board_options *o, cli_board_files *f, vta_diag *diag)
{
    VTA_TRY(make_fifo(o, MEMORY "/sync_for_cpu", &f->sync_cpu, diag));
    VTA_TRY(make_fifo(o, MEMORY "/sync_for_device", &f->sync_device, diag));
    return make_fifo(o, MEMORY "/sync_done", &f->sync_done, diag);
}

static vta_status make_memory(const cli_board_options *o, cli_board_files *f, vta_diag *diag)
{
    if (o->plain) {
        VTA_TRY(make_number(o, UIO "/maps/map1/addr", "x", o->addr, diag));
        return make_number(o, UIO "/maps/map1/size", "x", o->memory, diag);
    }
    void *mapped = NULL;
    VTA_TRY(make_number(o, MEMORY "/phys_addr", "x", o->addr, diag));
    VTA_TRY(make_number(o, MEMORY "/size", "u", o->memory, diag));
    VTA_TRY(make_number(o, MEMORY "/dma_coherent", "u", o->coherent, diag));
    VTA_TRY(make_syncs(o, f, diag));
    VTA_TRY(make_map(o, "dev/udmabuf0", o->memory, &f->memory_fd, &mapped, diag));
    f->memory = mapped;
    return VTA_OK;
}

static uint64_t page_bytes(const cli_board_options *o, uint32_t core)
{
    return VTA_REG_PAGE_BYTES + (o->plain && core == 0 ? o->memory : 0);
}

static vta_status make_page(const cli_board_options *o, uint32_t core, cli_board_files *f, vta_diag *diag)
{
    cli_board_page *page = &f->pages[core];
    char name[NAME], text[16];
    VTA_TRY(make_fifo(o, name_of(core, "dev/uio0.irq", name), &page->irq, diag));
    VTA_TRY(make_fifo(o, name_of(core, "dev/uio0.unmask", name), &page->unmask, diag));
    VTA_TRY(
        make_map(o, name_of(core, "dev/uio0", name), page_bytes(o, core), &page->fd, &page->mapping, diag));
    page->page = page->mapping;
    if (o->plain && core == 0) {
        f->memory = (uint8_t *)page->mapping + VTA_REG_PAGE_BYTES;
    }
    VTA_TRY(make_number(o, name_of(core, UIO "/event", name), "u", 0, diag));
    VTA_TRY(make_number(o, name_of(core, UIO "/maps/map0/size", name), "x", VTA_REG_PAGE_BYTES, diag));
    (void)snprintf(text, sizeof text, core > 0 ? "vta%u\n" : "vta\n", core);
    return make_text(o, name_of(core, UIO "/name", name), text, diag);
}

/* The number of a file or folder of the tables: one a core, or one. */
static uint32_t count_of(const char *file, uint32_t cores)
{
    return is_each_core_s(file) ? cores : 1;
}

static void remove_files(const cli_board_options *o)
{
    char path[PATH], name[NAME];
    for (size_t i = 0; i < FILES; i++) {
        for (uint32_t core = 0; core < count_of(files[i], VTA_CORES_MAX); core++) {
            (void)unlink(path_of(o, name_of(core, files[i], name), path));
        }
    }
}

/* Removes the files of a killed board. A living board holds a lock on the page. */
static vta_status take_folder(const cli_board_options *o, vta_diag *diag)
{
    char path[PATH], name[NAME];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK, .l_len = 1};
    const int old = open(path_of(o, files[0], path), O_RDWR | O_CLOEXEC);
    if (old >= 0) {
        const bool alive = fcntl(old, F_SETLK, &lock) != 0;
        (void)close(old);
        if (alive) {
            return vta_fail(diag, VTA_BUSY, "another board is served in '%s'", o->dir);
        }
    }
    remove_files(o);
    for (size_t i = 0; i < FOLDERS; i++) {
        for (uint32_t core = 0; core < count_of(folders[i], o->config.cores); core++) {
            if (mkdir(path_of(o, name_of(core, folders[i], name), path), 0700) != 0 && errno != EEXIST) {
                return fail_errno("make", path, diag);
            }
        }
    }
    return VTA_OK;
}

vta_status cli_board_files_make(const cli_board_options *options, cli_board_files *out, vta_diag *diag)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK, .l_len = 1};
    *out = (cli_board_files){.memory_fd = -1, .sync_cpu = -1, .sync_device = -1, .sync_done = -1};
    for (uint32_t core = 0; core < VTA_CORES_MAX; core++) {
        out->pages[core] = (cli_board_page){-1, -1, -1, NULL, NULL};
    }
    VTA_TRY(take_folder(options, diag));
    VTA_TRY(make_memory(options, out, diag));
    VTA_TRY(
        make_number(options, CLOCK "/set_rate", "u", UINT64_C(1000000) * options->config.clock_mhz, diag));
    for (uint32_t core = options->config.cores;
         core-- > 0;) { /* the first one last: with it the board is there */
        VTA_TRY(make_page(options, core, out, diag));
    }
    return fcntl(out->pages[0].fd, F_SETLK, &lock) == 0 ? VTA_OK : fail_errno("lock", options->dir, diag);
}

uint64_t cli_board_files_rate(const cli_board_options *options)
{
    char path[PATH];
    char text[32] = "";
    FILE *file = fopen(path_of(options, CLOCK "/set_rate", path), "re");
    const bool read = file != NULL && fgets(text, sizeof text, file) != NULL;
    if (file != NULL) {
        (void)fclose(file);
    }
    return read ? strtoull(text, NULL, 10) : 0;
}

void cli_board_files_count(const cli_board_options *options, uint32_t core, uint32_t interrupts)
{
    char name[NAME];
    (void)make_number(options, name_of(core, UIO "/event", name), "u", interrupts, NULL);
}

static void close_all(const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
}

static void close_page(const cli_board_options *options, uint32_t core, const cli_board_page *page)
{
    const int fds[] = {page->fd, page->irq, page->unmask};
    close_all(fds, sizeof fds / sizeof fds[0]);
    if (page->page != NULL) {
        (void)munmap(page->mapping, (size_t)page_bytes(options, core));
    }
}

void cli_board_files_remove(const cli_board_options *options, cli_board_files *f)
{
    char path[PATH], name[NAME];
    const int fds[] = {f->memory_fd, f->sync_cpu, f->sync_device, f->sync_done};
    if (f->pages[0].fd < 0) {
        return; /* the folder is another's, or was never made */
    }
    remove_files(options);
    for (size_t i = FOLDERS; i-- > 0;) {
        for (uint32_t core = 0; core < count_of(folders[i], VTA_CORES_MAX); core++) {
            /* only where nothing else is in it */
            (void)rmdir(path_of(options, name_of(core, folders[i], name), path));
        }
    }
    close_all(fds, sizeof fds / sizeof fds[0]);
    for (uint32_t core = 0; core < options->config.cores; core++) {
        close_page(options, core, &f->pages[core]);
    }
    if (f->memory != NULL && !options->plain) {
        (void)munmap(f->memory, (size_t)options->memory);
    }
}
