/* SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "vta/file.h"
#include "vta/inside.h"

enum { MAX_BYTES = 0x7fffffff, MAX_NAME = 256 };

static bool ends_with(const char *name, size_t length, const char *ending)
{
    const size_t size = strlen(ending);
    return length >= size && memcmp(name + length - size, ending, size) == 0;
}

/* The part of a name before the ending and, where there is such a mark, the mark and its digits. */
static size_t stem_of(const char *name, const char *ending, const char *mark)
{
    size_t length = strlen(name);
    length -= ends_with(name, length, ending) ? strlen(ending) : 0;
    size_t digits = length;
    while (mark != NULL && digits > 0 && isdigit((unsigned char)name[digits - 1]) != 0) {
        digits--;
    }
    const bool numbered = mark != NULL && digits < length && ends_with(name, digits, mark);
    return numbered ? digits - strlen(mark) : length;
}

/* The rank of a file by its name: 3 the same name, 2 the same name with a number, 1 only the ending; 0: not
 * at all. */
static int fit_of(const vtac_file_pair *pair, const char *own, size_t stem, const char *name)
{
    const size_t length = strlen(name);
    if (length >= MAX_NAME || !ends_with(name, length, pair->ending)) {
        return 0;
    }
    const size_t plain = length - strlen(pair->ending);
    if (plain == stem && memcmp(name, own, stem) == 0) {
        return 3;
    }
    const size_t other = stem_of(name, pair->ending, pair->numbered);
    if (other < plain && other == stem && memcmp(name, own, stem) == 0) {
        return 2;
    }
    return pair->only ? 1 : 0;
}

/* The file that fits best; of numbered ones the last. False: none, or more than one with the ending alone. */
static bool find_file(const char *folder, const vtac_file_pair *pair, const char *own, char *found)
{
    const size_t stem = stem_of(own, pair->own, pair->numbered);
    const struct dirent *entry;
    int best = 0;
    bool several = false;
    DIR *list = opendir(folder);
    while (list != NULL && (entry = readdir(list)) != NULL) {
        const int fit = fit_of(pair, own, stem, entry->d_name);
        several = (several && fit <= best) || (fit == 1 && best == 1);
        if (fit > best || (fit == best && fit == 2 && strcmp(entry->d_name, found) > 0)) {
            (void)snprintf(found, MAX_NAME, "%.255s", entry->d_name);
            best = fit;
        }
    }
    if (list != NULL) {
        (void)closedir(list);
    }
    return best > 0 && !several;
}

/* Reads the other file; *path and *bytes are owned (free()). */
static vta_status read_other(const vtac_model_file *file, const vtac_file_pair *pair, const char *given,
                             char **path, uint8_t **bytes, size_t *size, vta_diag *diag)
{
    char name[MAX_NAME] = "";
    char whole[4200];
    const char *slash = strrchr(file->path, '/');
    const char *own = slash == NULL ? file->path : slash + 1;
    *path = NULL;
    if (given != NULL) {
        VTA_TRY(vta_file_read(given, MAX_BYTES, bytes, size, diag));
        (void)snprintf(whole, sizeof whole, "%.4096s", given);
    } else if (file->folder == NULL || !find_file(file->folder, pair, own, name)) {
        return vta_fail(diag, VTA_INVALID,
                        "%s: %s is wanted beside it, as %.*s%s, or with --weights where this is the network",
                        file->path, pair->what, (int)stem_of(own, pair->own, pair->numbered), own,
                        pair->ending);
    } else {
        VTA_TRY(vta_inside_whole(file->folder, name, pair->what, MAX_BYTES, bytes, size, diag));
        (void)snprintf(whole, sizeof whole, "%.3900s/%s", file->folder, name);
    }
    *path = strdup(whole);
    if (*path == NULL) {
        free(*bytes);
        return vta_no_memory(diag);
    }
    return VTA_OK;
}

vta_status vtac_load_pair(const vtac_model_file *file, const vtac_file_pair *pair, vtac_pair_parse_fn *parse,
                          const vtac_import_options *options, vtac_graph **out, vta_diag *diag)
{
    const char *given = options != NULL && !pair->weights ? options->weights : NULL;
    vtac_model_file other = {.folder = file->folder};
    char *path;
    uint8_t *bytes;
    VTA_TRY(read_other(file, pair, given, &path, &bytes, &other.size, diag));
    other.path = path;
    other.bytes = bytes;
    const vtac_model_file *network = pair->weights ? &other : file;
    const vtac_model_file *weights = pair->weights ? file : &other;
    const vta_status status = parse(network, weights->bytes, weights->size, options, out, diag);
    free(path);
    free(bytes);
    return status;
}
