/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel shows of a board's temperature and of the accelerator's clock, which the accelerator itself
 * cannot know. Where it shows nothing, that is no fault.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "uio.h"
#include "vta/str.h"

/* ---- temperature */

typedef struct heat {
    vta_str text;
    double max; /* degrees Celsius */
} heat;

static void note(heat *h, const char *sensor, double degrees)
{
    vta_str_printf(&h->text, "%s%s %.1f °C", h->text.size > 0 ? ", " : "", sensor, degrees);
    h->max = degrees > h->max ? degrees : h->max;
}

/* Documentation/ABI/testing/sysfs-class-thermal: millidegrees. */
static void look_at_zone(const char *zone, heat *h)
{
    char type[UIO_NAME];
    double value;
    if (vta_uio_read_real(zone, "temp", &value)) {
        note(h, vta_uio_read_line(zone, "type", type, sizeof type) ? type : "a zone", value / 1e3);
    }
}

/* Documentation/ABI/testing/sysfs-bus-iio: (raw + offset) * scale are millidegrees, and so is input. */
static void look_at_channel(const char *sensor, const char *channel, heat *h)
{
    char file[2 * UIO_NAME];
    char name[UIO_NAME];
    double raw;
    double offset = 0;
    double scale = 1;
    if (!vta_uio_read_line(sensor, "name", name, sizeof name)) {
        (void)snprintf(name, sizeof name, "a sensor");
    }
    (void)snprintf(file, sizeof file, "%s_input", channel);
    if (vta_uio_read_real(sensor, file, &raw)) {
        note(h, name, raw / 1e3);
        return;
    }
    (void)snprintf(file, sizeof file, "%s_raw", channel);
    if (!vta_uio_read_real(sensor, file, &raw)) {
        return;
    }
    (void)snprintf(file, sizeof file, "%s_offset", channel);
    (void)vta_uio_read_real(sensor, file, &offset);
    (void)snprintf(file, sizeof file, "%s_scale", channel);
    (void)vta_uio_read_real(sensor, file, &scale);
    note(h, name, (raw + offset) * scale / 1e3);
}

/* A channel is what is before "_raw" or "_input" of a name that begins with in_temp. */
static void look_at_sensor(const char *sensor, heat *h)
{
    static const char *const ends[] = {"_raw", "_input"};
    DIR *folder = opendir(sensor);
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL;
         entry = readdir(folder)) {
        const size_t size = strlen(entry->d_name);
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
            const size_t end = strlen(ends[i]);
            char channel[UIO_NAME];
            if (strncmp(entry->d_name, "in_temp", 7) == 0 && size > end && size < sizeof channel &&
                strcmp(entry->d_name + size - end, ends[i]) == 0) {
                (void)snprintf(channel, sizeof channel, "%.*s", (int)(size - end), entry->d_name);
                look_at_channel(sensor, channel, h);
            }
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
}

vta_status vta_uio_temperature(const char *dir, char *text, size_t size, vta_diag *diag)
{
    static const struct {
        const char *folder;
        void (*look)(const char *entry, heat *h);
    } places[] = {{"class/thermal", look_at_zone}, {"bus/iio/devices", look_at_sensor}};
    const double limit = 100; /* beyond what any of the parts is specified for */
    enum { MAX = 32 };
    char names[MAX][UIO_NAME];
    heat h = {.max = -1000};
    for (size_t p = 0; p < sizeof places / sizeof places[0]; p++) {
        const uint32_t count = vta_uio_list(dir, places[p].folder, names, MAX);
        for (uint32_t i = 0; i < count; i++) {
            char entry[UIO_PATH];
            if (snprintf(entry, sizeof entry, "%s/sys/%s/%s", dir, places[p].folder, names[i]) <
                (int)sizeof entry) {
                places[p].look(entry, &h);
            }
        }
    }
    (void)snprintf(text, size, "%s", h.text.size > 0 ? h.text.text : "this kernel shows none");
    vta_str_free(&h.text);
    return h.max < limit
               ? VTA_OK
               : vta_fail(
                     diag, VTA_IO,
                     "%s: at %g °C and more no part keeps its timing; let it cool, and give it a fan or a "
                     "slower clock",
                     text, limit);
}

/* ---- the clock */

/* The file of the driver of 'xlnx,fclk' for the clock of our device tree; false: there is none. */
static bool find_rate(const char *dir, char path[UIO_PATH])
{
    enum { MAX = 256 };
    char(*names)[UIO_NAME] = calloc(MAX, sizeof *names);
    const uint32_t count = names != NULL ? vta_uio_list(dir, "bus/platform/devices", names, MAX) : 0;
    bool found = false;
    for (uint32_t i = 0; i < count && !found; i++) {
        found = strstr(names[i], "vta-clock") != NULL &&
                snprintf(path, UIO_PATH, "%s/sys/bus/platform/devices/%s", dir, names[i]) < UIO_PATH;
    }
    free(names);
    return found;
}

bool vta_uio_clock_rate(const char *dir, double *hertz)
{
    char path[UIO_PATH];
    return find_rate(dir, path) && vta_uio_read_real(path, "set_rate", hertz) && *hertz > 0;
}

bool vta_uio_clock_set(const char *dir, double hertz)
{
    char path[UIO_PATH];
    char file[UIO_PATH + 16];
    char text[32];
    if (!find_rate(dir, path)) {
        return false;
    }
    (void)snprintf(file, sizeof file, "%s/set_rate", path);
    const int size = snprintf(text, sizeof text, "%.0f\n", hertz);
    const int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);
    const bool good = fd >= 0 && write(fd, text, (size_t)size) == size;
    if (fd >= 0) {
        (void)close(fd);
    }
    return good;
}
