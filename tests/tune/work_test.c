/* SPDX-License-Identifier: Apache-2.0
 *
 * Handing out work: whatever workers do, die of or lose, the results are those of one process. Under mpirun
 * the same program is all of its ranks.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "seed.h"
#include "temporary.h"
#include "vta/clock.h"
#include "vtac/work.h"

enum { PIECES = 150, ROUNDS = 2, SLOW_PIECES = 3 };

/* The ways of a worker that gets "NUMBER HOW". The result is a function of the number alone. */
typedef struct ways {
    uint64_t seed;
    uint32_t deaths; /* of so many in 16 pieces, a worker dies: */
    pid_t leader;
    bool slow; /* in `long_text` */
} ways;

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ (x >> 29);
}

static vta_status square(void *context, const char *piece, vta_str *result, vta_diag *diag)
{
    const ways *w = context;
    const uint64_t n = strtoull(piece, NULL, 10);
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (mixed((uint64_t)now.tv_nsec ^ w->seed ^ n) % 16 < w->deaths) {
        (void)raise(SIGKILL);
    }
    if (n % 50 == 49) {
        return vta_fail(diag, VTA_RANGE, "number %llu is not liked", (unsigned long long)n);
    }
    for (uint64_t i = 0; i <= n % 7; i++) { /* of different lengths */
        vta_str_printf(result, "%llu\n", (unsigned long long)mixed(n * (i + 1)));
    }
    return VTA_OK;
}

typedef struct results {
    char *text[PIECES * 2];
    uint32_t count;
    double seconds;
} results;

static void take(void *context, uint32_t number, const char *result, const char *why, double seconds)
{
    results *r = context;
    vta_str text = {0};
    assert_null(r->text[number]);
    vta_str_printf(&text, "%s%s", why != NULL ? "failed: " : "", why != NULL ? why : result);
    r->text[number] = vta_str_take(&text);
    assert_non_null(r->text[number]);
    r->count++;
    r->seconds += seconds;
}

static void free_results(results *r)
{
    for (uint32_t i = 0; i < PIECES * 2; i++) {
        free(r->text[i]);
    }
    *r = (results){0};
}

static void make_pieces(char (*text)[32], const char **pieces, uint32_t round)
{
    for (uint32_t i = 0; i < PIECES; i++) {
        (void)snprintf(text[i], sizeof text[i], "%u", i + round * 1000);
        pieces[i] = text[i];
    }
}

/* The reference: a loop. */
static void check(const results *r, const char *const *pieces)
{
    const ways alive = {0};
    assert_int_equal(r->count, PIECES);
    for (uint32_t i = 0; i < PIECES; i++) {
        vta_str expected = {0};
        vta_str own = {0};
        vta_diag diag = {0};
        const vta_status status = square((void *)(uintptr_t)&alive, pieces[i], &own, &diag);
        vta_str_printf(&expected, "%s%s",
                       status == VTA_OK ? "" : "failed: ", status == VTA_OK ? own.text : diag.text);
        assert_string_equal(r->text[i], expected.text);
        vta_str_free(&own);
        vta_str_free(&expected);
    }
}

static void run_rounds(vtac_work *work)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        char text[PIECES][32];
        const char *pieces[PIECES];
        results r = {0};
        vta_diag diag = {0};
        make_pieces(text, pieces, round);
        const vta_status status = vtac_work_run(work, pieces, PIECES, take, &r, &diag);
        if (status != VTA_OK) {
            fail_msg("%s", diag.text);
        }
        check(&r, pieces);
        free_results(&r);
    }
}

static void run_processes(uint32_t workers, uint32_t deaths)
{
    const uint64_t seed = test_seed("work");
    vtac_work *work = NULL;
    ways w = {.seed = seed, .deaths = deaths};
    const vtac_work_options options = {.workers = workers, .tries = deaths > 0 ? 100 : 0};
    assert_int_equal(vtac_work_open(&options, square, &w, &work, NULL), VTA_OK);
    assert_int_equal(vtac_work_workers(work), workers);
    run_rounds(work);
    assert_true(deaths == 0 ? vtac_work_lost(work) == 0 : vtac_work_lost(work) > 0);
    vtac_work_close(work);
}

static void processes(void **state)
{
    (void)state;
    run_processes(1, 0);
    run_processes(4, 0);
}

static void processes_that_die(void **state)
{
    (void)state;
    run_processes(3, 4);
}

/* A piece that always kills is given up, and says so; the others are done. */
static vta_status deadly(void *context, const char *piece, vta_str *result, vta_diag *diag)
{
    (void)context;
    (void)diag;
    if (strcmp(piece, "die") == 0) {
        (void)raise(SIGKILL);
    } else if (strcmp(piece, "leave") == 0) {
        _exit(3);
    } else if (strcmp(piece, "hang") == 0) {
        for (;;) {
            (void)pause();
        }
    }
    vta_str_put(result, piece);
    return VTA_OK;
}

static void hopeless_pieces(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a", "die", "b", "hang", "c", "leave", "d"};
    vtac_work *work = NULL;
    results r = {0};
    const vtac_work_options options = {.workers = 2, .tries = 2, .timeout_s = 0.5};
    assert_int_equal(vtac_work_open(&options, deadly, NULL, &work, NULL), VTA_OK);
    assert_int_equal(vtac_work_run(work, pieces, 7, take, &r, NULL), VTA_OK);
    assert_string_equal(r.text[0], "a");
    assert_string_equal(r.text[1], "failed: its worker was ended by signal 9");
    assert_string_equal(r.text[2], "b");
    assert_string_equal(r.text[3], "failed: it was not done within 0.5 s");
    assert_string_equal(r.text[4], "c");
    assert_string_equal(r.text[5], "failed: its worker ended with status 3");
    assert_string_equal(r.text[6], "d");
    assert_int_equal(vtac_work_lost(work), 6);
    vtac_work_close(work);
    free_results(&r);
}

static void *stop_soon(void *work)
{
    (void)usleep(100000);
    vtac_work_stop(work);
    return NULL;
}

static void interrupted(void **state)
{
    (void)state;
    static const char *const pieces[] = {"hang"};
    vtac_work *work = NULL;
    results r = {0};
    pthread_t thread;
    assert_int_equal(vtac_work_open(&(vtac_work_options){.workers = 1}, deadly, NULL, &work, NULL), VTA_OK);
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, work), 0);
    assert_int_equal(vtac_work_run(work, pieces, 1, take, &r, NULL), VTA_INTERRUPTED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    vtac_work_close(work);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
}

/* ---- a folder */

static void make_folder(char path[TEMPORARY_PATH])
{
    assert_true(temporary_folder(path));
    (void)rmdir(path);
}

static void remove_folder(const char *path)
{
    char command[TEMPORARY_PATH + 16];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

static pid_t start_helper(const char *folder, uint32_t deaths)
{
    const uint64_t seed = test_seed("work_folder");
    const pid_t pid = fork();
    if (pid == 0) {
        vtac_work *work = NULL;
        ways w = {.seed = seed, .deaths = deaths};
        const vtac_work_options options = {.engine = VTAC_WORK_FOLDER, .folder = folder, .joins = true};
        _exit(vtac_work_open(&options, square, &w, &work, NULL) == VTA_OK && work == NULL ? 0 : 1);
    }
    return pid;
}

/* Starts a new helper for each that dies, until it is told that all is done. */
static void *keep_helpers(void *argument)
{
    const char *folder = argument;
    for (;;) {
        int status = 0;
        const pid_t pid = start_helper(folder, 1);
        (void)waitpid(pid, &status, 0);
        if (WIFEXITED(status)) {
            assert_int_equal(WEXITSTATUS(status), 0);
            return NULL;
        }
    }
}

static void folder_with_deaths(void **state)
{
    (void)state;
    char folder[TEMPORARY_PATH];
    vtac_work *work = NULL;
    pthread_t threads[2];
    make_folder(folder);
    const vtac_work_options options = {
        .engine = VTAC_WORK_FOLDER, .folder = folder, .key = "one", .stale_s = 1.5, .tries = 100};
    assert_int_equal(vtac_work_open(&options, square, NULL, &work, NULL), VTA_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, keep_helpers, folder), 0);
    }
    run_rounds(work);
    vtac_work_close(work);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }

    /* Once more: nobody helps, and nobody need. */
    assert_int_equal(vtac_work_open(&options, square, NULL, &work, NULL), VTA_OK);
    run_rounds(work);
    vtac_work_close(work);

    vta_diag diag = {0};
    vtac_work_options other = options;
    other.key = "another";
    assert_int_equal(vtac_work_open(&other, square, NULL, &work, &diag), VTA_INVALID);
    assert_non_null(strstr(diag.text, "other work"));
    other.joins = true; /* whoever was started for other work would bring other results */
    diag = (vta_diag){0};
    assert_int_equal(vtac_work_open(&other, square, NULL, &work, &diag), VTA_INVALID);
    assert_non_null(strstr(diag.text, "another than that of these words"));
    remove_folder(folder);
}

static void *help(void *argument)
{
    int status = 0;
    const pid_t pid = start_helper(argument, 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return NULL;
}

/* Work that goes on may have other pieces under the old numbers, as a search has that knows more now: their
 * results are not those of the pieces before. */
static void folder_with_other_pieces(void **state)
{
    (void)state;
    char folder[TEMPORARY_PATH];
    make_folder(folder);
    for (uint32_t time = 0; time < 2; time++) {
        vtac_work *work = NULL;
        pthread_t thread;
        char text[PIECES][32];
        const char *pieces[PIECES];
        results r = {0};
        vta_diag diag = {0};
        const vtac_work_options options = {.engine = VTAC_WORK_FOLDER, .folder = folder, .key = "one"};
        make_pieces(text, pieces, time);
        assert_int_equal(vtac_work_open(&options, square, NULL, &work, NULL), VTA_OK);
        assert_int_equal(pthread_create(&thread, NULL, help, folder), 0);
        const vta_status status = vtac_work_run(work, pieces, PIECES, take, &r, &diag);
        vtac_work_close(work);
        assert_int_equal(status, VTA_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        check(&r, pieces);
        free_results(&r);
    }
    remove_folder(folder);
}

/* A leader over a folder of its own. */
typedef struct led_work {
    char folder[TEMPORARY_PATH];
    vtac_work *work;
    char text[PIECES][32];
    const char *pieces[PIECES];
    results r;
} led_work;

static void open_led(led_work *led, vtac_work_fn *work, double stale_s)
{
    *led = (led_work){.work = NULL};
    make_folder(led->folder);
    make_pieces(led->text, led->pieces, 0);
    const vtac_work_options options = {
        .engine = VTAC_WORK_FOLDER, .folder = led->folder, .key = "one", .stale_s = stale_s};
    assert_int_equal(vtac_work_open(&options, work, NULL, &led->work, NULL), VTA_OK);
}

/* Removes the folder once its last piece is there. */
static void *remove_posted(void *folder)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    char path[TEMPORARY_PATH + 32];
    (void)snprintf(path, sizeof path, "%s/pieces/%08d", (const char *)folder, PIECES - 1);
    while (access(path, F_OK) != 0) {
        (void)nanosleep(&pause, NULL);
    }
    remove_folder(folder);
    return NULL;
}

/* The leader does not wait for ever for what nobody can bring. */
static void folder_that_vanishes(void **state)
{
    (void)state;
    led_work led;
    pthread_t thread;
    vta_diag diag = {0};
    open_led(&led, square, 0.5);
    assert_int_equal(pthread_create(&thread, NULL, remove_posted, led.folder), 0);
    assert_int_equal(vtac_work_run(led.work, led.pieces, PIECES, take, &led.r, &diag), VTA_IO);
    assert_non_null(strstr(diag.text, "is not there any more"));
    assert_int_equal(led.r.count, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    vtac_work_close(led.work);
}

/* A machine whose clock is an hour behind and stands still but for nanoseconds: all that it touches. */
static _Atomic bool clock_runs;

static void *set_clocks_back(void *argument)
{
    struct timespec times[2] = {{0}};
    const struct timespec pause = {.tv_nsec = 20000000};
    (void)clock_gettime(CLOCK_REALTIME, &times[1]);
    times[1].tv_sec -= 3600;
    times[1].tv_nsec = 0;
    while (clock_runs) {
        for (uint32_t i = 0; i < SLOW_PIECES; i++) {
            char path[TEMPORARY_PATH + 32];
            (void)snprintf(path, sizeof path, "%s/claims/%08u", (const char *)argument, i);
            times[0] = times[1];
            (void)utimensat(AT_FDCWD, path, times, 0);
        }
        times[1].tv_nsec++;
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

static vta_status slow_square(void *context, const char *piece, vta_str *result, vta_diag *diag)
{
    const struct timespec long_time = {.tv_sec = 1, .tv_nsec = 200000000};
    (void)nanosleep(&long_time, NULL);
    return square(context, piece, result, diag);
}

static void *help_slowly(void *argument)
{
    vtac_work *work = NULL;
    ways w = {.deaths = 0};
    const vtac_work_options options = {.engine = VTAC_WORK_FOLDER, .folder = argument, .joins = true};
    const pid_t pid = fork();
    if (pid == 0) {
        _exit(vtac_work_open(&options, slow_square, &w, &work, NULL) == VTA_OK ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return NULL;
}

/* Workers whose machine has another clock than the leader's, or one that is set, are not given up. */
static void folder_with_other_clocks(void **state)
{
    (void)state;
    led_work led;
    pthread_t helper;
    pthread_t spoiler;
    open_led(&led, slow_square, 5.0);
    clock_runs = true;
    assert_int_equal(pthread_create(&helper, NULL, help_slowly, led.folder), 0);
    assert_int_equal(pthread_create(&spoiler, NULL, set_clocks_back, led.folder), 0);
    assert_int_equal(vtac_work_run(led.work, led.pieces, SLOW_PIECES, take, &led.r, NULL), VTA_OK);
    assert_int_equal(vtac_work_lost(led.work), 0);
    assert_int_equal(led.r.count, SLOW_PIECES);
    vtac_work_close(led.work);
    clock_runs = false;
    assert_int_equal(pthread_join(spoiler, NULL), 0);
    assert_int_equal(pthread_join(helper, NULL), 0);
    free_results(&led.r);
    remove_folder(led.folder);
}

/* ---- ranks */

/* Longer than what MPI sends before somebody takes it; one rank is slow. */
static vta_status long_text(void *context, const char *piece, vta_str *result, vta_diag *diag)
{
    const ways *w = context;
    const struct timespec slowly = {.tv_sec = 8};
    (void)diag;
    if (w->slow) {
        (void)nanosleep(&slowly, NULL);
    }
    for (int i = 0; i < 100000; i++) {
        vta_str_put(result, piece);
    }
    return VTA_OK;
}

/* A rank that is slow: its pieces are done by others, the leader leaves, and nobody takes its result. If it
 * waited for that, this would not end. */
static int slow_main(void)
{
    enum { COUNT = 9 };
    vtac_work *work = NULL;
    vta_diag diag = {0};
    results got = {0};
    char text[PIECES][32];
    const char *pieces[PIECES];
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    ways w = {.slow = rank != NULL && strcmp(rank, "1") == 0};
    const vtac_work_options options = {.engine = VTAC_WORK_MPI, .plugin = getenv("VTAC_TEST_MPI")};
    make_pieces(text, pieces, 1);
    if (vtac_work_open(&options, long_text, &w, &work, &diag) != VTA_OK) {
        (void)fprintf(stderr, "%s\n", diag.text);
        return 1;
    }
    if (work != NULL) {
        assert_int_equal(vtac_work_run(work, pieces, COUNT, take, &got, &diag), VTA_OK);
        vtac_work_close(work);
        assert_int_equal(got.count, COUNT);
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_int_equal(strlen(got.text[i]), 100000 * strlen(pieces[i]));
            assert_memory_equal(got.text[i], pieces[i], strlen(pieces[i]));
        }
        free_results(&got);
        (void)printf("one was slow\n");
        (void)fflush(stdout);
    }
    return 0;
}

/* Pieces that take all ranks longer than the leader has patience with a first one: idle ranks get them, too,
 * and are at work on them when the results are there. No rank is lost, and mpirun must not say so. */
static vta_status late(void *context, const char *piece, vta_str *result, vta_diag *diag)
{
    const struct timespec long_time = {.tv_sec = 2, .tv_nsec = 700000000};
    (void)context;
    (void)diag;
    (void)nanosleep(&long_time, NULL);
    vta_str_put(result, piece);
    return VTA_OK;
}

static int late_main(void)
{
    enum { COUNT = 2 };
    vtac_work *work = NULL;
    vta_diag diag = {0};
    results got = {0};
    static const char *const pieces[COUNT] = {"1", "2"};
    const vtac_work_options options = {.engine = VTAC_WORK_MPI, .plugin = getenv("VTAC_TEST_MPI")};
    if (vtac_work_open(&options, late, NULL, &work, &diag) != VTA_OK) {
        (void)fprintf(stderr, "%s\n", diag.text);
        return 1;
    }
    if (work != NULL) {
        assert_int_equal(vtac_work_run(work, pieces, COUNT, take, &got, &diag), VTA_OK);
        vtac_work_close(work);
        assert_int_equal(got.count, COUNT);
        free_results(&got);
        (void)printf("all were late\n");
        (void)fflush(stdout);
    }
    return 0;
}

static int rank_main(uint32_t deaths)
{
    const uint64_t seed = test_seed("work_ranks");
    vtac_work *work = NULL;
    vta_diag diag = {0};
    ways w = {.seed = seed, .deaths = deaths};
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    /* The leader's own process stays, so that there is an end. */
    w.deaths = rank != NULL && strcmp(rank, "0") != 0 ? deaths : 0;
    const vtac_work_options options = {.engine = VTAC_WORK_MPI, .plugin = getenv("VTAC_TEST_MPI")};
    if (vtac_work_open(&options, square, &w, &work, &diag) != VTA_OK) {
        (void)fprintf(stderr, "%s\n", diag.text);
        return 1;
    }
    if (work != NULL) {
        assert_true(vtac_work_is_rank());
        run_rounds(work);
        const uint32_t workers = vtac_work_workers(work);
        vtac_work_close(work);
        (void)printf("%u workers, as one process\n", workers);
        (void)fflush(stdout);
    }
    return 0;
}

static void simulated(void **state)
{
    (void)state;
    static const double times[] = {4, 1, 1, 1, 1, 4};
    assert_true(vtac_work_simulate(times, 6, 1, 0.0) == 12.0);
    assert_true(vtac_work_simulate(times, 6, 2, 0.0) == 8.0); /* 4+4 beside 1+1+1+1 */
    assert_true(vtac_work_simulate(times, 6, 1000, 0.0) == 4.0);
    assert_true(vtac_work_simulate(times, 6, 1000, 1.0) == 10.0); /* the last is handed out at 6 */
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        _exit(strcmp(argv[1], "slow") == 0   ? slow_main()
              : strcmp(argv[1], "late") == 0 ? late_main()
                                             : rank_main((uint32_t)atoi(argv[1])));
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes),
        cmocka_unit_test(processes_that_die),
        cmocka_unit_test(hopeless_pieces),
        cmocka_unit_test(interrupted),
        cmocka_unit_test(folder_with_deaths),
        cmocka_unit_test(folder_with_other_pieces),
        cmocka_unit_test(folder_that_vanishes),
        cmocka_unit_test(folder_with_other_clocks),
        cmocka_unit_test(simulated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
