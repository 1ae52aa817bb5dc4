/* SPDX-License-Identifier: Apache-2.0
 *
 * Work in a folder that all machines see, and nothing else between them:
 *
 *     key          what the work is
 *     pieces/N     a piece; N counts from 0
 *     claims/N     somebody does it, who touches the file every second
 *     results/N    "ok SECONDS HASH" or "failed SECONDS HASH" (of the piece), a newline, the text
 *     beat         the leader lives: it touches it every second
 *     end          there is nothing more to do
 *     log/         what jobs print
 *
 * A file appears whole, by its rename. A claim that is not touched any more is taken away, and the piece is
 * anybody's again. Results stay: whoever comes again with the same work goes on from them. Results of other
 * pieces that had the same number are done again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine.h"
#include "vta/clock.h"
#include "vta/file.h"
#include "vta/hash.h"
#include "vta/inside.h"

extern char **environ;

enum { PATH = 4096, MAX_TEXT = 1 << 30, MAX_SUBMITTED = 5, NAME = 32 };
static const double look_s = 0.1, beat_s = 1.0, stale_s = 20.0, check_jobs_s = 5.0,
                    orphan_s = VTAC_WORK_PATIENCE, again_s = 5.0;

static void path_in(const vtac_work *w, char *path, const char *name)
{
    if (snprintf(path, PATH, "%s/%s", w->options.folder, name) >= PATH) {
        path[0] = '\0'; /* no file has this name */
    }
}

static void path_of(const vtac_work *w, char *path, const char *kind, uint32_t number)
{
    char name[NAME];
    (void)snprintf(name, sizeof name, "%s/%08" PRIu32, kind, number);
    path_in(w, path, name);
}

/* Reads a file of the folder, in which others write, too: a regular one, or none. */
static bool read_entry(const vtac_work *w, const char *path, uint8_t **bytes, size_t *size)
{
    const size_t folder = strlen(w->options.folder) + 1;
    return strlen(path) > folder && vta_inside_whole(w->options.folder, path + folder, "the file", MAX_TEXT,
                                                     bytes, size, NULL) == VTA_OK;
}

static bool touch_file(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0) {
        return false;
    }
    const bool good = futimens(fd, NULL) == 0;
    return close(fd) == 0 && good;
}

/* When a file was touched last, as an observer knows it. */
typedef struct sight {
    struct timespec touched; /* by whatever clock the folder's machine has */
    double since;            /* our own clock when that was first seen, which nobody sets */
    bool seen;
} sight;

/* Seconds that a file has gone untouched since this observer looks at it; -1: there is none. No two clocks
 * are compared, and none that can be set. */
static double age_of(sight *s, const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        s->seen = false;
        return -1.0;
    }
    const bool same =
        s->seen && info.st_mtim.tv_sec == s->touched.tv_sec && info.st_mtim.tv_nsec == s->touched.tv_nsec;
    if (!same) {
        *s = (sight){info.st_mtim, vta_now(), true};
    }
    return vta_now() - s->since;
}

/* ---- a worker */

typedef struct heart {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool stops;
    const char *path;
} heart;

static void *beat_heart(void *argument)
{
    heart *h = argument;
    (void)pthread_mutex_lock(&h->lock);
    while (!h->stops) {
        struct timespec until;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += (time_t)beat_s;
        (void)pthread_cond_timedwait(&h->change, &h->lock, &until);
        const int fd = h->stops ? -1 : open(h->path, O_WRONLY | O_CLOEXEC);
        if (fd >= 0) { /* else it was taken away: what comes of it is the same */
            (void)futimens(fd, NULL);
            (void)close(fd);
        }
    }
    (void)pthread_mutex_unlock(&h->lock);
    return NULL;
}

static vta_status write_result(const vtac_work *w, uint32_t number, uint64_t hash,
                               const vtac_work_result *result, vta_diag *diag)
{
    char path[PATH];
    vta_str text = {0};
    path_of(w, path, "results", number);
    vta_str_printf(&text, "%s %.9f %016" PRIx64 "\n", result->header.failed != 0 ? "failed" : "ok",
                   result->header.processor, hash);
    vta_str_append(&text, result->text, result->header.size);
    const vta_status status = text.failed ? vta_fail(diag, VTA_NOMEM, "no memory for a result")
                                          : vta_file_write_scratch(path, text.text, text.size, diag);
    vta_str_free(&text);
    return status;
}

/* A failure is that of the folder: the piece is then somebody else's, who may have room there. */
static vta_status do_piece(const vtac_work *w, uint32_t number, vta_diag *diag)
{
    char path[PATH];
    char claim[PATH];
    uint8_t *piece = NULL;
    size_t size = 0;
    vtac_work_result result;
    path_of(w, path, "pieces", number);
    path_of(w, claim, "claims", number);
    if (!read_entry(w, path, &piece, &size)) {
        (void)unlink(claim); /* its text is being changed */
        return VTA_OK;
    }
    vta_status status = VTA_OK;
    heart h = {.path = claim};
    (void)pthread_mutex_init(&h.lock, NULL);
    pthread_condattr_t clock;
    (void)pthread_condattr_init(&clock);
    (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&h.change, &clock);
    (void)pthread_condattr_destroy(&clock);
    const bool beats = pthread_create(&h.thread, NULL, beat_heart, &h) == 0;
    if (vtac_work_do(w->fn, w->context, number, (const char *)piece, &result) == VTA_OK) {
        status = write_result(w, number, vta_hash_text(VTA_HASH_START, (const char *)piece), &result, diag);
    }
    free(result.text);
    free(piece);
    (void)pthread_mutex_lock(&h.lock);
    h.stops = true;
    (void)pthread_cond_signal(&h.change);
    (void)pthread_mutex_unlock(&h.lock);
    if (beats) {
        (void)pthread_join(h.thread, NULL);
    }
    (void)pthread_cond_destroy(&h.change);
    (void)pthread_mutex_destroy(&h.lock);
    return status;
}

static bool there_is(const vtac_work *w, const char *kind, uint32_t number)
{
    char path[PATH];
    path_of(w, path, kind, number);
    return access(path, F_OK) == 0;
}

static bool claim_piece(const vtac_work *w, uint32_t number)
{
    char path[PATH];
    path_of(w, path, "claims", number);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return fd >= 0 && close(fd) == 0;
}

/* Does each piece that nobody has claimed, once through from the first that may be open. */
static vta_status do_open_pieces(const vtac_work *w, uint32_t *first, bool *any, vta_diag *diag)
{
    *any = false;
    for (uint32_t n = *first; there_is(w, "pieces", n); n++) {
        if (there_is(w, "results", n)) {
            *first += n == *first;
        } else if (claim_piece(w, n)) {
            VTA_TRY(do_piece(w, n, diag));
            *any = true;
        }
    }
    return VTA_OK;
}

/* Refuses workers that were started with other words than the leader: they would do other work. */
static vta_status check_joined(const vtac_work *w, vta_diag *diag)
{
    char path[PATH];
    uint8_t *bytes = NULL;
    size_t size = 0;
    const char *key = w->options.key;
    path_in(w, path, "key");
    if (key == NULL || access(path, F_OK) != 0 || !read_entry(w, path, &bytes, &size)) {
        return VTA_OK; /* its leader has not come */
    }
    const bool same = size == strlen(key) && memcmp(bytes, key, size) == 0;
    free(bytes);
    return same
               ? VTA_OK
               : vta_fail(diag, VTA_INVALID,
                          "the work in '%s' is another than that of these words; join it by the command that "
                          "leads it, of the same vtac, with '--join' in the place of '--folder'",
                          w->options.folder);
}

static vta_status join_leader(const vtac_work *w, vta_diag *diag)
{
    char end[PATH];
    char leader[PATH];
    uint32_t first = 0;
    bool any;
    const double begin = vta_now();
    double from_first = begin;
    sight lead = {.seen = false};
    path_in(w, end, "end");
    path_in(w, leader, "beat");
    VTA_TRY(check_joined(w, diag));
    while (access(end, F_OK) != 0) {
        VTA_TRY(check_joined(w, diag));
        VTA_TRY(do_open_pieces(w, &first, &any, diag));
        if (!any) {
            if (vta_now() - from_first > again_s) { /* a result that was there may have been taken away */
                from_first = vta_now();
                first = 0;
            }
            const double age = age_of(&lead, leader);
            if (age < 0 && vta_now() - begin > orphan_s) {
                return vta_fail(
                    diag, VTA_TIMEOUT,
                    "'%s': nobody has led work there for %.0f s; lead it with '--folder', or join "
                    "another",
                    w->options.folder, orphan_s);
            }
            if (age > orphan_s) {
                return vta_fail(diag, VTA_TIMEOUT, "'%s': nobody leads this work any more",
                                w->options.folder);
            }
            vtac_work_pause(look_s);
        }
    }
    return VTA_OK;
}

/* ---- the leader */

static vta_status make_folders(const vtac_work *w, vta_diag *diag)
{
    static const char *const names[] = {".", "pieces", "claims", "results", "log"};
    char path[PATH];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        path_in(w, path, names[i]);
        if (mkdir(i == 0 ? w->options.folder : path, 0777) != 0 && errno != EEXIST) {
            return vta_fail(diag, VTA_IO, "cannot make '%s': %s", path, strerror(errno));
        }
    }
    return VTA_OK;
}

/* A folder that holds other work stays as it is. */
static vta_status check_key(const vtac_work *w, vta_diag *diag)
{
    char path[PATH];
    uint8_t *bytes = NULL;
    size_t size = 0;
    const char *key = w->options.key != NULL ? w->options.key : "";
    path_in(w, path, "key");
    if (access(path, F_OK) != 0) {
        return vta_file_write_scratch(path, key, strlen(key), diag);
    }
    if (!read_entry(w, path, &bytes, &size)) {
        return vta_fail(diag, VTA_IO, "cannot read '%s', which must be a file; name another folder", path);
    }
    const bool same = size == strlen(key) && memcmp(bytes, key, size) == 0;
    free(bytes);
    return same ? VTA_OK
                : vta_fail(diag, VTA_INVALID,
                           "'%s' holds the results of other work; name another folder, or remove it",
                           w->options.folder);
}

static vta_status run_command(const char *const *words, char *answer, size_t size, vta_diag *diag)
{
    int ends[2];
    pid_t pid = 0;
    int status = 0;
    posix_spawn_file_actions_t actions;
    if (pipe(ends) != 0 || fcntl(ends[0], F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(ends[1], F_SETFD, FD_CLOEXEC) != 0 || posix_spawn_file_actions_init(&actions) != 0) {
        return vta_fail(diag, VTA_IO, "cannot start '%s'", words[0]);
    }
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    const int error = posix_spawnp(&pid, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    size_t used = 0;
    ssize_t got = 0;
    while (error == 0 && used + 1 < size && (got = read(ends[0], answer + used, size - 1 - used)) > 0) {
        used += (size_t)got;
    }
    answer[used] = '\0';
    (void)close(ends[0]);
    if (error != 0) {
        return vta_fail(diag, VTA_UNSUPPORTED, "cannot run '%s': %s", words[0], strerror(error));
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    answer[strcspn(answer, "\n")] = '\0';
    return status == 0 ? VTA_OK : vta_fail(diag, VTA_IO, "'%s' failed: %s", words[0], answer);
}

static vta_status submit(vtac_work *w, vta_diag *diag)
{
    char answer[1024];
    VTA_TRY(run_command(w->options.submit, answer, sizeof answer, diag));
    answer[strcspn(answer, ";")] = '\0'; /* "12;cluster" */
    (void)snprintf(w->job, sizeof w->job, "%.60s", answer);
    return VTA_OK;
}

vta_status vtac_folder_open(vtac_work *w, bool *leads, vta_diag *diag)
{
    *leads = !w->options.joins;
    if (!*leads) {
        return join_leader(w, diag);
    }
    char end[PATH];
    char live[PATH];
    VTA_TRY(make_folders(w, diag));
    VTA_TRY(check_key(w, diag));
    path_in(w, end, "end");
    (void)unlink(end);
    path_in(w, live, "beat");
    return touch_file(live) ? VTA_OK : vta_fail(diag, VTA_IO, "cannot write '%s': %s", live, strerror(errno));
}

static bool jobs_are_left(const vtac_work *w)
{
    char answer[1024];
    const char *words[] = {"squeue", "-h", "-o", "%i", "-j", w->job, NULL};
    return run_command(words, answer, sizeof answer, NULL) == VTA_OK && answer[0] != '\0';
}

typedef struct folder_state {
    vtac_work *w;
    const char *const *pieces;
    vtac_work_piece *state;
    sight *claims; /* by piece */
    uint32_t count, left, submitted;
    vtac_work_done *done;
    void *context;
} folder_state;

static void take_away(const vtac_work *w, const char *kind, uint32_t number)
{
    char path[PATH];
    path_of(w, path, kind, number);
    (void)unlink(path);
}

static void collect_result(folder_state *r, uint32_t index)
{
    char path[PATH];
    char word[16];
    double seconds = 0.0;
    uint64_t hash = 0;
    uint8_t *bytes = NULL;
    size_t size = 0;
    path_of(r->w, path, "results", r->w->base + index);
    if (access(path, F_OK) != 0) {
        return;
    }
    const char *text = read_entry(r->w, path, &bytes, &size) ? memchr(bytes, '\n', size) : NULL;
    if (text == NULL || sscanf((const char *)bytes, "%15s %lf %" SCNx64, word, &seconds, &hash) != 3 ||
        hash != vta_hash_text(VTA_HASH_START, r->pieces[index])) { /* of another piece: it is anybody's */
        take_away(r->w, "results", r->w->base + index);
        take_away(r->w, "claims", r->w->base + index);
    } else {
        const bool failed = strcmp(word, "ok") != 0;
        r->state[index].done = true;
        r->left--;
        r->done(r->context, index, failed ? NULL : text + 1, failed ? text + 1 : NULL, seconds);
    }
    free(bytes);
}

/* Claims that nobody touches any more. */
static void free_claim(folder_state *r, uint32_t index)
{
    char path[PATH];
    path_of(r->w, path, "claims", r->w->base + index);
    const double limit = r->w->options.stale_s > 0 ? r->w->options.stale_s : stale_s;
    if (age_of(&r->claims[index], path) <= limit || there_is(r->w, "results", r->w->base + index)) {
        return;
    }
    r->w->lost++;
    if (++r->state[index].losses >= r->w->options.tries) {
        r->state[index].done = true;
        r->left--;
        r->done(r->context, index, NULL, "its workers were lost", 0.0);
        return;
    }
    (void)unlink(path);
}

static vta_status post(const folder_state *r, uint32_t index, vta_diag *diag)
{
    char path[PATH];
    uint8_t *bytes = NULL;
    size_t size = 0;
    const char *piece = r->pieces[index];
    path_of(r->w, path, "pieces", r->w->base + index);
    if (access(path, F_OK) == 0) {
        const bool same =
            read_entry(r->w, path, &bytes, &size) && size == strlen(piece) && memcmp(bytes, piece, size) == 0;
        free(bytes);
        if (same) {
            return VTA_OK;
        }
        (void)unlink(path); /* whoever does the other one brings what nobody takes */
        take_away(r->w, "claims", r->w->base + index);
    }
    return vta_file_write_scratch(path, piece, strlen(piece), diag);
}

/* Every so often: are there still jobs that could do it? */
static vta_status look_after_jobs(folder_state *r, vta_diag *diag)
{
    if (r->w->options.submit == NULL || (r->w->job[0] != '\0' && jobs_are_left(r->w))) {
        return VTA_OK;
    }
    if (r->submitted++ >= MAX_SUBMITTED) {
        return vta_fail(diag, VTA_IO, "the jobs end with %" PRIu32 " pieces left; '%s/log' says why", r->left,
                        r->w->options.folder);
    }
    return submit(r->w, diag);
}

static vta_status do_all(folder_state *r, vta_diag *diag)
{
    const double stale = r->w->options.stale_s > 0 ? r->w->options.stale_s : stale_s;
    const double every = stale / 2 < check_jobs_s ? stale / 2 : check_jobs_s;
    double checked = 0.0;
    double alive = vta_now();
    char live[PATH];
    path_in(r->w, live, "beat");
    for (uint32_t i = 0; i < r->count; i++) {
        collect_result(r, i);
        VTA_TRY(r->state[i].done ? VTA_OK : post(r, i, diag));
    }
    while (r->left > 0) {
        if (atomic_load(&r->w->stopped)) {
            return vta_fail(diag, VTA_INTERRUPTED, "interrupted; the same command goes on");
        }
        if (vta_now() - checked > every) {
            VTA_TRY(look_after_jobs(r, diag));
            for (uint32_t i = 0; i < r->count; i++) {
                if (!r->state[i].done) {
                    free_claim(r, i);
                }
            }
            checked = vta_now();
        }
        if (touch_file(live)) {
            alive = vta_now();
        } else if (vta_now() - alive > stale) {
            return vta_fail(diag, VTA_IO, "'%s' is not there any more: cannot write '%s': %s",
                            r->w->options.folder, live, strerror(errno));
        }
        for (uint32_t i = 0; i < r->count; i++) {
            if (!r->state[i].done) {
                collect_result(r, i);
            }
        }
        vtac_work_pause(r->left > 0 ? look_s : 0.0);
    }
    return VTA_OK;
}

vta_status vtac_folder_run(vtac_work *w, const char *const *pieces, uint32_t count, vtac_work_done *done,
                           void *context, vta_diag *diag)
{
    folder_state r = {
        .w = w, .pieces = pieces, .count = count, .left = count, .done = done, .context = context};
    r.state = calloc((size_t)count + 1, sizeof *r.state);
    r.claims = calloc((size_t)count + 1, sizeof *r.claims);
    const vta_status status = r.state != NULL && r.claims != NULL
                                  ? do_all(&r, diag)
                                  : vta_fail(diag, VTA_NOMEM, "no memory for %" PRIu32 " pieces", count);
    free(r.state);
    free(r.claims);
    return status;
}

void vtac_folder_close(vtac_work *w)
{
    char end[PATH];
    if (!w->options.joins && w->options.folder != NULL) {
        path_in(w, end, "end");
        (void)touch_file(end);
    }
}
