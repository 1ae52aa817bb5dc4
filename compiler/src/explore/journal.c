/* SPDX-License-Identifier: Apache-2.0
 *
 * A journal: a line that names the work, then for each piece a line with '=' and the piece, the lines of its
 * result, and a line with '.' alone. What was cut off at its end is left out.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "search.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/vec.h"

enum { MAX_JOURNAL = 1 << 30 };

typedef struct entry {
    const char *piece, *result; /* within the text */
} entry;

struct vtac_journal {
    char *text;   /* of the file as it was, cut into entries */
    vta_vec kept; /* entry, by piece */
    int file;     /* new ones go here */
    const char *path;
    vtac_work_done *done; /* of the run that is under way */
    void *context;
    const char *const *pieces;
    uint32_t *numbers; /* of the pieces that are done now */
    vta_status status;
    vta_diag *diag;
};

static int by_piece(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->piece, ((const entry *)b)->piece);
}

static int by_piece_and_place(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    const int order = by_piece(a, b);
    return order != 0 ? order : x->result < y->result ? -1 : x->result > y->result;
}

/* Sorts the entries. Of those of one piece, which several processes have written, the first in the file
 * stays.
 */
static void sort_entries(vta_vec *kept)
{
    entry *items = kept->items;
    size_t count = 0;
    if (kept->count > 0) {
        qsort(items, kept->count, sizeof *items, by_piece_and_place);
    }
    for (size_t i = 0; i < kept->count; i++) {
        if (count == 0 || by_piece(&items[count - 1], &items[i]) != 0) {
            items[count++] = items[i];
        }
    }
    kept->count = count;
}

/* Cuts the text behind its first line into entries; returns where the last whole one ends. */
static size_t cut_entries(char *text, size_t begin, vta_vec *out)
{
    size_t end = begin;
    for (char *at = text + begin; *at == '=';) {
        char *line = strchr(at, '\n');
        char *stop = line != NULL ? strstr(line, "\n.\n") : NULL;
        if (stop == NULL || vta_vec_push(out, &(entry){at + 1, line + 1}) == NULL) {
            break;
        }
        *line = '\0';
        stop[1] = '\0'; /* the result keeps its last line's end */
        at = stop + 3;
        end = (size_t)(at - text);
    }
    return end;
}

static vta_status read_entries(vtac_journal *j, const char *key, vta_diag *diag)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    VTA_TRY(vta_file_read(j->path, MAX_JOURNAL, &bytes, &size, diag));
    j->text = calloc(size + 1, 1);
    if (j->text != NULL) {
        memcpy(j->text, bytes, size);
    }
    vta_status status = vta_allocated(j->text != NULL, diag);
    VTA_TRY_OUT(status);
    if (strncmp(j->text, key, strlen(key)) != 0) {
        VTA_TRY_OUT(vta_fail(diag, VTA_INVALID,
                             "'%s' holds the results of other work; name another file, or remove it",
                             j->path));
    }
    const size_t whole = cut_entries(j->text, strlen(key), &j->kept);
    VTA_TRY_OUT(vta_file_write(j->path, bytes, whole, diag));
    sort_entries(&j->kept);
out:
    free(bytes);
    return status;
}

vta_status vtac_journal_open(const char *path, const char *key, vtac_journal **out, vta_diag *diag)
{
    *out = NULL;
    if (path == NULL) {
        return VTA_OK;
    }
    vtac_journal *j = *out = calloc(1, sizeof *j);
    VTA_TRY(vta_allocated(j != NULL, diag));
    *j = (vtac_journal){.path = path, .file = -1, .kept = {.item_size = sizeof(entry)}};
    VTA_TRY(access(path, F_OK) == 0 ? read_entries(j, key, diag)
                                    : vta_file_write(path, key, strlen(key), diag));
    j->file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return j->file >= 0 ? VTA_OK : vta_fail(diag, VTA_IO, "cannot write '%s'", path);
}

static vta_status add_entry(const vtac_journal *j, const char *piece, const char *result)
{
    vta_str text = {0};
    vta_str_printf(&text, "=%s\n%s.\n", piece, result);
    const bool ok = !text.failed && vta_write_all(j->file, text.text, text.size) == 0;
    vta_str_free(&text);
    return ok ? VTA_OK : vta_fail(j->diag, VTA_IO, "cannot write '%s'", j->path);
}

static void take_new(void *context, uint32_t number, const char *result, const char *why, double seconds)
{
    vtac_journal *j = context;
    const uint32_t own = j->numbers[number];
    if (result != NULL && j->status == VTA_OK) {
        j->status = add_entry(j, j->pieces[own], result);
    }
    j->done(j->context, own, result, why, seconds);
}

/* The pieces that the journal has are told; returns how many are left, in `rest` with their numbers. */
static uint32_t report_known(vtac_journal *j, uint32_t count, const char **rest)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        const entry wanted = {.piece = j->pieces[i]};
        const entry *known = j->kept.count > 0
                                 ? bsearch(&wanted, j->kept.items, j->kept.count, sizeof wanted, by_piece)
                                 : NULL;
        if (known != NULL) {
            j->done(j->context, i, known->result, NULL, 0);
        } else {
            j->numbers[left] = i;
            rest[left++] = j->pieces[i];
        }
    }
    return left;
}

vta_status vtac_journal_run(vtac_journal *j, vtac_work *work, const char *const *pieces, uint32_t count,
                            vtac_work_done *done, void *context, vta_diag *diag)
{
    if (j == NULL) {
        return vtac_work_run(work, pieces, count, done, context, diag);
    }
    const char **rest = calloc((size_t)count + 1, sizeof *rest);
    j->numbers = calloc((size_t)count + 1, sizeof *j->numbers);
    j->done = done;
    j->context = context;
    j->pieces = pieces;
    j->diag = diag;
    vta_status status = vta_allocated(rest != NULL && j->numbers != NULL, diag);
    VTA_TRY_OUT(status);
    const uint32_t left = report_known(j, count, rest);
    VTA_TRY_OUT(vtac_work_run(work, rest, left, take_new, j, diag));
    VTA_TRY_OUT(j->status);
out:
    free(rest);
    free(j->numbers);
    j->numbers = NULL;
    return status;
}

void vtac_journal_close(vtac_journal *j)
{
    if (j != NULL) {
        if (j->file >= 0) {
            (void)close(j->file);
        }
        vta_vec_free(&j->kept);
        free(j->text);
        free(j);
    }
}
