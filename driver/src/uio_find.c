/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a board's nodes are, from what the kernel says in /sys.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "uio.h"
#include "vta/str.h"

/* Names are short: vta_uio_open_node and opendir say so where one is not. */
__attribute__((format(printf, 3, 4))) static void print_name(char *out, size_t room, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(out, room, fmt, args);
    va_end(args);
}

bool vta_uio_read_line(const char *folder, const char *file, char *text, size_t room)
{
    char path[UIO_PATH + 32];
    print_name(path, sizeof path, "%s/%s", folder, file);
    FILE *stream = fopen(path, "re");
    text[0] = '\0';
    const bool good = stream != NULL && fgets(text, (int)room, stream) != NULL;
    if (stream != NULL) {
        (void)fclose(stream);
    }
    text[strcspn(text, "\n")] = '\0';
    return good;
}

/* Decimal, or hexadecimal with 0x, as the kernel writes both. */
static bool read_number(const char *folder, const char *file, uint64_t *out)
{
    char text[64];
    char *end = text;
    errno = 0;
    *out = vta_uio_read_line(folder, file, text, sizeof text) ? strtoull(text, &end, 0) : 0;
    return errno == 0 && end != text;
}

/* Digits, and more behind a point: strtod would heed the program's locale. */
bool vta_uio_read_real(const char *folder, const char *file, double *out)
{
    char text[64];
    if (!vta_uio_read_line(folder, file, text, sizeof text)) {
        return false;
    }
    const bool negative = text[0] == '-';
    const char *at = text + negative;
    double value = 0;
    double unit = 1;
    bool behind = false;
    for (; (*at >= '0' && *at <= '9') || (*at == '.' && !behind); at++) {
        if (*at == '.') {
            behind = true;
        } else {
            unit /= behind ? 10 : 1;
            value = behind ? value + unit * (*at - '0') : 10 * value + (*at - '0');
        }
    }
    *out = negative ? -value : value;
    return at > text + negative && *at == '\0';
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

uint32_t vta_uio_list(const char *dir, const char *below, char (*names)[UIO_NAME], uint32_t max)
{
    char path[UIO_PATH];
    uint32_t count = 0;
    print_name(path, sizeof path, "%s/sys/%s", dir, below);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return 0;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL && count < max; entry = readdir(folder)) {
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < UIO_NAME) {
            print_name(names[count++], UIO_NAME, "%s", entry->d_name);
        }
    }
    (void)closedir(folder);
    qsort(names, count, UIO_NAME, by_text);
    return count;
}

static vta_status check_dir(const char *dir, vta_diag *diag)
{
    struct stat info;
    if (strlen(dir) > UIO_PATH / 2) {
        return vta_fail(diag, VTA_RANGE, "the name of the folder is longer than %d bytes", UIO_PATH / 2);
    }
    return *dir == '\0' || (stat(dir, &info) == 0 && S_ISDIR(info.st_mode))
               ? VTA_OK
               : vta_fail(diag, VTA_NO_DEVICE, "there is no folder '%s'; 'vtac board --dir %s' makes one",
                          dir, dir);
}

/* The entry in /sys of the UIO device of that name; false: `others` says what there is instead. */
static bool find_entry(const char *dir, const char *name, char sys[UIO_PATH], char node[UIO_PATH],
                       vta_str *others)
{
    enum { MAX = 64 };
    char nodes[MAX][UIO_NAME];
    const uint32_t count = vta_uio_list(dir, "class/uio", nodes, MAX);
    for (uint32_t i = 0; i < count; i++) {
        char found[UIO_NAME];
        print_name(sys, UIO_PATH, "%s/sys/class/uio/%s", dir, nodes[i]);
        print_name(node, UIO_PATH, "%s/dev/%s", dir, nodes[i]);
        if (vta_uio_read_line(sys, "name", found, sizeof found) && strcmp(found, name) == 0) {
            return true;
        }
        vta_str_printf(others, "%s'%s'", others->size > 0 ? ", " : "", found);
    }
    return false;
}

vta_status vta_uio_find(const char *dir, const char *name, uio_node *out, vta_diag *diag)
{
    char sys[UIO_PATH];
    vta_str others = {0};
    VTA_TRY(check_dir(dir, diag));
    vta_status status = VTA_OK;
    if (!find_entry(dir, name, sys, out->node, &others)) {
        status = vta_fail(
            diag, VTA_NO_DEVICE, "no UIO device is called '%s' (%s%s); 'sudo vta-load' on the board makes it",
            name, others.size > 0 ? "there is " : "there is none", others.size > 0 ? others.text : "");
    } else if (!read_number(sys, "maps/map0/size", &out->bytes)) {
        status =
            vta_fail(diag, VTA_NO_DEVICE, "'%s' has no register page (%s/maps/map0/size)", out->node, sys);
    }
    vta_str_free(&others);
    return status;
}

void vta_uio_core_name(const char *name, uint32_t core, char out[UIO_NAME])
{
    print_name(out, UIO_NAME, core > 0 ? "%s%u" : "%s", name, core);
}

uint32_t vta_uio_count(const char *dir, const char *name)
{
    char sys[UIO_PATH], node[UIO_PATH], core[UIO_NAME];
    bool found = true;
    uint32_t count = 0;
    while (found && count < VTA_CORES_MAX) {
        vta_str others = {0};
        vta_uio_core_name(name, count, core);
        found = find_entry(dir, core, sys, node, &others);
        vta_str_free(&others);
        count += found;
    }
    return count;
}

/* The class is called u-dma-buf since version 2 of the module, udmabuf before. */
static const char *const memory_classes[] = {"class/u-dma-buf", "class/udmabuf"};

static bool is_wanted(const char *found, const char *name)
{
    return name != NULL ? strcmp(found, name) == 0
                        : strncmp(found, "udmabuf", 7) == 0 || strncmp(found, "vta", 3) == 0;
}

static bool describe_memory(const char *dir, const char *class, const char *name, uio_memory_node *out)
{
    uint64_t coherent = 0;
    *out = (uio_memory_node){0};
    print_name(out->name, sizeof out->name, "%s", name);
    print_name(out->node, sizeof out->node, "%s/dev/%s", dir, name);
    print_name(out->sys, sizeof out->sys, "%s/sys/%s/%s", dir, class, name);
    (void)read_number(out->sys, "dma_coherent", &coherent);
    out->coherent = coherent != 0;
    if (!read_number(out->sys, "phys_addr", &out->addr) || !read_number(out->sys, "size", &out->bytes)) {
        return false;
    }
    if (!out->coherent &&
        out->bytes > UIO_SYNC_BYTES) { /* what is behind them cannot be named to the caches */
        out->bytes = UIO_SYNC_BYTES;
    }
    return true;
}

/* UIO finds its map of number N at page N of the node. */
static bool describe_map(const char *dir, const char *device, uio_memory_node *out)
{
    vta_str others = {0};
    char sys[UIO_PATH];
    *out = (uio_memory_node){.name = UIO_MAP, .at = (uint64_t)sysconf(_SC_PAGESIZE), .copied = true};
    const bool found = find_entry(dir, device, sys, out->node, &others);
    vta_str_free(&others);
    print_name(out->sys, sizeof out->sys, "%s/maps/" UIO_MAP, sys);
    return found && read_number(out->sys, "addr", &out->addr) && read_number(out->sys, "size", &out->bytes);
}

vta_status vta_uio_find_memory(const char *dir, const char *device, const char *name, uio_memory_node *out,
                               uint32_t *count, vta_diag *diag)
{
    enum { MAX = 64 };
    char nodes[MAX][UIO_NAME];
    *count = 0;
    VTA_TRY(check_dir(dir, diag));
    for (size_t c = 0; c < sizeof memory_classes / sizeof memory_classes[0]; c++) {
        const uint32_t found = vta_uio_list(dir, memory_classes[c], nodes, MAX);
        for (uint32_t i = 0; i < found && *count < UIO_MEMORIES; i++) {
            *count +=
                is_wanted(nodes[i], name) && describe_memory(dir, memory_classes[c], nodes[i], &out[*count]);
        }
    }
    if (*count == 0 && (name == NULL || strcmp(name, UIO_MAP) == 0)) {
        *count = describe_map(dir, device, out);
    }
    return *count > 0
               ? VTA_OK
               : vta_fail(diag, VTA_NO_DEVICE,
                          "there is no contiguous memory%s%s%s in %s/sys/class/u-dma-buf; load the kernel "
                          "module: 'modprobe u-dma-buf udmabuf0=67108864'",
                          name != NULL ? " '" : "", name != NULL ? name : "", name != NULL ? "'" : "", dir);
}

vta_status vta_uio_open_node(const char *path, int flags, int *fd, vta_diag *diag)
{
    *fd = open(path, flags | O_CLOEXEC);
    if (*fd >= 0) {
        return VTA_OK;
    }
    const char *advice = errno == EACCES || errno == EPERM
                             ? "; install the udev rule 70-vta.rules and join the group 'vta' ('sudo usermod "
                               "-aG vta $USER', then log in again)"
                             : "";
    return vta_fail(diag, VTA_IO, "cannot open '%s': %s%s", path, strerror(errno), advice);
}

bool vta_uio_is_virtual(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && !S_ISCHR(info.st_mode);
}
