/* SPDX-License-Identifier: Apache-2.0
 *
 * The root of the dependency graph: arena, growable arrays, strings, files, diagnostics.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "temporary.h"
#include "vta/arena.h"
#include "vta/cache.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hash.h"
#include "vta/hold.h"
#include "vta/lines.h"
#include "vta/number.h"
#include "vta/order.h"
#include "vta/status.h"
#include "vta/str.h"
#include "vta/untrusted.h"
#include "vta/vec.h"

/* Each element says where it belongs. */
static void columns_become_rows(void **state)
{
    static const int64_t shapes[][3] = {{2, 3, 4}, {5, 1, 7}, {1, 1, 1}, {3, 0, 2}, {INT64_C(1) << 62, 4, 0}};
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const int64_t *d = shapes[s];
        uint16_t columns[64] = {0};
        uint16_t rows[64] = {0};
        uint16_t next = 0;
        for (int64_t c = 0; c < d[2]; c++) {
            for (int64_t b = 0; b < d[1]; b++) {
                for (int64_t a = 0; a < d[0]; a++) {
                    columns[next++] = (uint16_t)((a * d[1] + b) * d[2] + c);
                }
            }
        }
        vta_order_rows(d, 3, sizeof columns[0], columns, rows);
        for (uint16_t i = 0; i < next; i++) {
            assert_int_equal(rows[i], i);
        }
    }
}

static void arena_gives_zeroed_aligned_memory(void **state)
{
    (void)state;
    vta_arena arena = {0};
    for (int round = 0; round < 2; round++) {
        for (size_t size = 0; size < 100000; size = size * 2 + 1) {
            unsigned char *bytes = vta_arena_alloc(&arena, size);
            assert_non_null(bytes);
            assert_int_equal((uintptr_t)bytes % _Alignof(max_align_t), 0);
            for (size_t i = 0; i < size; i++) {
                assert_int_equal(bytes[i], 0);
            }
            memset(bytes, 0xa5, size);
        }
        assert_string_equal(vta_arena_string(&arena, "tile-size", 4), "tile");
        vta_arena_free(&arena);
    }
}

static void arena_refuses_overflow(void **state)
{
    (void)state;
    vta_arena arena = {0};
    assert_null(vta_arena_alloc(&arena, SIZE_MAX));
    assert_null(vta_arena_alloc(&arena, SIZE_MAX - 64));
    assert_null(vta_arena_array(&arena, SIZE_MAX / 2, 4));
    assert_null(vta_arena_string(&arena, "", SIZE_MAX));
    assert_non_null(vta_arena_array(&arena, 3, 4));
    vta_arena_free(&arena);
}

static void vec_keeps_its_items(void **state)
{
    (void)state;
    vta_vec vec = {.item_size = sizeof(uint32_t)};
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 10000; i++) {
            const uint32_t item = i * 7 + (uint32_t)round;
            assert_non_null(vta_vec_push(&vec, &item));
        }
        assert_int_equal(vec.count, 10000);
        for (uint32_t i = 0; i < 10000; i++) {
            assert_int_equal(*(uint32_t *)vta_vec_at(&vec, i), i * 7 + (uint32_t)round);
        }
        vta_vec_free(&vec);
        assert_int_equal(vec.count, 0);
    }
}

static void vec_refuses_overflow(void **state)
{
    (void)state;
    vta_vec vec = {.item_size = 16};
    assert_non_null(vta_vec_add(&vec, 2));
    assert_null(vta_vec_add(&vec, SIZE_MAX));
    assert_null(vta_vec_add(&vec, SIZE_MAX / 16));
    assert_int_equal(vec.count, 2);
    vta_vec_free(&vec);
}

static void str_builds_and_hands_over(void **state)
{
    (void)state;
    vta_str str = {0};
    for (int i = 0; i < 1000; i++) {
        vta_str_printf(&str, "%d,", i % 10);
    }
    vta_str_put(&str, "end");
    assert_int_equal(str.size, 2003);
    char *text = vta_str_take(&str);
    assert_int_equal(strlen(text), 2003);
    assert_string_equal(text + 1998, "9,end");
    free(text);
    text = vta_str_take(&str);
    assert_string_equal(text, "");
    free(text);
}

static void str_failure_is_sticky(void **state)
{
    (void)state;
    vta_str str = {0};
    vta_str_put(&str, "before");
    vta_str_append(&str, "", SIZE_MAX - 2);
    vta_str_put(&str, "after");
    assert_true(str.failed);
    assert_null(vta_str_take(&str));
}

static void nearest_finds_the_slip(void **state)
{
    (void)state;
    static const char *const names[] = {"LOG_BATCH", "LOG_BLOCK_IN", "LOG_BLOCK_OUT", "MEM_LATENCY"};
    assert_string_equal(vta_nearest("LOG_BACTH", names, 4), "LOG_BATCH");
    assert_string_equal(vta_nearest("log_block_out", names, 4), "LOG_BLOCK_OUT");
    assert_string_equal(vta_nearest("LOG_BLOCKIN", names, 4), "LOG_BLOCK_IN");
    assert_string_equal(vta_nearest("MEM_LATENCYS", names, 4), "MEM_LATENCY");
    assert_null(vta_nearest("zzzzzzzzzzzzzz", names, 4));
    static const char *const keys[] = {"LOG_BATCH", "LOG_BUS_WIDTH", "LOG_BLOCK_IN", "TABLE"};
    assert_string_equal(vta_nearest("LOG_BUS", keys, 4), "LOG_BUS_WIDTH"); /* a prefix beats a short edit */
    assert_string_equal(vta_nearest("log_bl", keys, 4), "LOG_BLOCK_IN");
    assert_string_equal(vta_nearest("LOG_BATCH", keys, 4), "LOG_BATCH");
    assert_null(vta_nearest("a word so long that nobody could have meant any of these names", names, 4));
}

static void files_round_trip(void **state)
{
    (void)state;
    char path[TEMPORARY_PATH];
    assert_true(temporary_file(path, ".bin"));
    vta_diag diag = {0};
    for (size_t size = 0; size < 20000; size = size * 3 + 1) {
        uint8_t *data = malloc(size + 1);
        assert_non_null(data);
        for (size_t i = 0; i < size; i++) {
            data[i] = (uint8_t)(i * 31 + size);
        }
        assert_int_equal(vta_file_write(path, data, size, &diag), VTA_OK);
        uint8_t *back = NULL;
        size_t got = 0;
        assert_int_equal(vta_file_read(path, size, &back, &got, &diag), VTA_OK);
        assert_int_equal(got, size);
        assert_memory_equal(back, data, size);
        assert_int_equal(back[size], 0);
        free(back);
        free(data);
    }
    uint8_t *back = NULL;
    size_t got = 0;
    assert_int_equal(vta_file_read(path, 10, &back, &got, &diag), VTA_RANGE);
    assert_non_null(strstr(diag.text, "is too long (limit: 10 bytes)"));
    assert_null(back);
    assert_int_equal(remove(path), 0);
}

static void file_errors_name_the_file(void **state)
{
    (void)state;
    vta_diag diag = {0};
    uint8_t *back = NULL;
    size_t got = 0;
    assert_int_equal(vta_file_read("/no/such/file", 10, &back, &got, &diag), VTA_IO);
    assert_string_equal(diag.text, "cannot open '/no/such/file': No such file or directory");
    diag = (vta_diag){0};
    assert_int_equal(vta_file_write("/no/such/folder/x", "a", 1, &diag), VTA_IO);
    assert_string_equal(diag.text, "cannot write '/no/such/folder/x': No such file or directory");
    assert_int_equal(vta_file_write("/dev/null", "a", 1, NULL), VTA_OK);
    assert_int_equal(vta_file_write("/dev/null", "a", 1, NULL), VTA_OK);
}

static void assert_holds(const char *path, const char *text)
{
    uint8_t *bytes;
    size_t size;
    assert_int_equal(vta_file_read(path, 1 << 24, &bytes, &size, NULL), VTA_OK);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
    free(bytes);
}

static void a_writer_makes_a_whole_file_or_none(void **state)
{
    (void)state;
    char folder[TEMPORARY_PATH];
    char path[TEMPORARY_PATH + 16];
    char link[TEMPORARY_PATH + 16];
    vta_writer w = {0};
    vta_writer_drop(&w);
    assert_true(temporary_folder(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
    (void)snprintf(link, sizeof link, "%s/link", folder);
    vta_str expected = {0};
    assert_int_equal(vta_writer_open(path, &w, NULL), VTA_OK);
    assert_int_not_equal(access(path, F_OK), 0); /* until it is closed */
    for (size_t size = 0; size < 200000; size = size * 2 + 1) {
        char *bytes = malloc(size + 1);
        assert_non_null(bytes);
        memset(bytes, 'a' + (int)(size % 26), size);
        vta_writer_put(&w, bytes, size);
        vta_str_append(&expected, bytes, size);
        free(bytes);
    }
    assert_int_equal(vta_writer_close(&w, NULL), VTA_OK);
    assert_holds(path, expected.text);
    vta_str_free(&expected);
    assert_int_equal(vta_writer_open(path, &w, NULL), VTA_OK);
    vta_writer_put(&w, "lost", 4);
    vta_writer_drop(&w);
    assert_int_equal(symlink("file", link), 0); /* who names a link to a file means the file */
    assert_int_equal(vta_file_write(link, "linked", 6, NULL), VTA_OK);
    assert_holds(path, "linked");
    struct stat info;
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static mode_t mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 07777;
}

/* A file that only its owner may read stays so, by whichever way another takes its place. */
static void a_replaced_file_hands_its_mode_on(void **state)
{
    (void)state;
    static const mode_t modes[] = {0600, 0640, 0755, 0400};
    char folder[TEMPORARY_PATH];
    char path[TEMPORARY_PATH + 16];
    char made[TEMPORARY_PATH + 16];
    char link[TEMPORARY_PATH + 16];
    assert_true(temporary_folder(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
    (void)snprintf(made, sizeof made, "%s/made", folder);
    (void)snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink("file", link), 0);
    const mode_t mask = umask(022);
    assert_int_equal(vta_file_write(path, "new", 3, NULL), VTA_OK);
    assert_int_equal(mode_of(path), 0644);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_int_equal(vta_file_write(i % 2 == 0 ? path : link, "written", 7, NULL), VTA_OK);
        assert_int_equal(mode_of(path), modes[i]);
        assert_int_equal(vta_file_write(made, "published", 9, NULL), VTA_OK);
        assert_int_equal(chmod(made, 0777), 0);
        assert_int_equal(vta_file_publish(made, i % 2 == 0 ? link : path, NULL), VTA_OK);
        assert_int_equal(mode_of(path), modes[i]);
        assert_int_not_equal(access(made, F_OK), 0);
    }
    struct stat info;
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    (void)umask(mask);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* A file that never ends, and one that is longer than any memory, are read no further than they must. */
static void an_endless_file_is_too_long(void **state)
{
    (void)state;
    char path[TEMPORARY_PATH];
    uint8_t *bytes = NULL;
    size_t size;
    vta_diag diag = {0};
    assert_int_equal(vta_file_read("/dev/zero", SIZE_MAX / 2, &bytes, &size, &diag), VTA_RANGE);
    assert_non_null(strstr(diag.text, "'/dev/zero' is too long (limit: 536870912 bytes)"));
    assert_null(bytes);
    assert_int_equal(vta_file_read("/dev/zero", 5, &bytes, &size, NULL), VTA_RANGE);
    assert_true(temporary_file(path, ".bin"));
    if (truncate(path, (off_t)1 << 42) == 0) {
        diag = (vta_diag){0};
        assert_int_equal(vta_file_read(path, (size_t)1 << 40, &bytes, &size, &diag), VTA_RANGE);
        assert_null(bytes);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(vta_file_read("/proc/self/status", 1 << 20, &bytes, &size, NULL), VTA_OK);
    assert_true(size > 100); /* though it says that it has none */
    free(bytes);
}

static void hear_signal(int number)
{
    (void)number;
}

/* Sends a signal to its parent every millisecond until it is ended. */
static pid_t start_interrupter(void)
{
    const pid_t child = fork();
    while (child == 0) {
        (void)usleep(1000);
        (void)kill(getppid(), SIGUSR1);
    }
    return child;
}

/* The other end of a pipe: takes all bytes, with pauses, and says whether byte i is i mod 251. */
static pid_t start_slow_reader(const int *ends, size_t size)
{
    const pid_t child = fork();
    if (child != 0) {
        return child;
    }
    (void)close(ends[1]);
    static uint8_t bytes[30000];
    size_t count = 0;
    bool right = true;
    for (ssize_t got; (got = read(ends[0], bytes, sizeof bytes)) > 0; count += (size_t)got) {
        for (ssize_t i = 0; i < got; i++) {
            right = right && bytes[i] == (count + (size_t)i) % 251;
        }
        (void)usleep(2000);
    }
    _exit(right && count == size ? 0 : 1);
}

/* Signals every millisecond, a reader that is slow, a pipe that does not wait: all bytes arrive. */
static void all_bytes_are_written(void **state)
{
    (void)state;
    const struct sigaction interrupts = {.sa_handler = hear_signal}; /* without SA_RESTART */
    const size_t size = 1000003;
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(i % 251);
    }
    assert_int_equal(sigaction(SIGUSR1, &interrupts, NULL), 0);
    for (int flags = 0; flags <= O_NONBLOCK; flags += O_NONBLOCK) {
        int ends[2];
        int result;
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(fcntl(ends[1], F_SETFL, flags), 0);
        const pid_t reader = start_slow_reader(ends, size);
        const pid_t interrupter = start_interrupter();
        assert_int_equal(vta_write_all(ends[1], bytes, size), 0);
        assert_int_equal(kill(interrupter, SIGKILL), 0);
        assert_int_equal(waitpid(interrupter, NULL, 0), interrupter);
        (void)close(ends[1]);
        (void)close(ends[0]);
        assert_int_equal(waitpid(reader, &result, 0), reader);
        assert_int_equal(result, 0);
    }
    (void)signal(SIGUSR1, SIG_DFL);
    const int full = open("/dev/full", O_WRONLY);
    assert_int_equal(vta_write_all(full, bytes, size), ENOSPC);
    assert_int_equal(vta_write_all(full, bytes, 0), 0);
    (void)close(full);
    assert_int_equal(vta_write_all(-1, bytes, size), EBADF);
    free(bytes);
}

/* A disk that is full, as a limit on the size of files: the old file stays, nothing else is left. */
static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    static char bytes[200000];
    char folder[TEMPORARY_PATH];
    char path[TEMPORARY_PATH + 16];
    vta_diag diag = {0};
    assert_true(temporary_folder(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
    assert_int_equal(vta_file_write(path, "old", 3, NULL), VTA_OK);
    struct rlimit was;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (rlim_t limit = 0; limit < sizeof bytes; limit = limit * 3 + 1) {
        const struct rlimit now = {limit, was.rlim_max};
        diag = (vta_diag){0};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
        const vta_status status = vta_file_write(path, bytes, sizeof bytes, &diag);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
        assert_int_equal(status, VTA_IO);
        assert_non_null(strstr(diag.text, "cannot write '"));
        assert_non_null(strstr(diag.text, "File too large"));
        assert_holds(path, "old");
    }
    (void)signal(SIGXFSZ, handler);
    diag = (vta_diag){0};
    assert_int_equal(vta_file_write("/dev/full", bytes, sizeof bytes, &diag), VTA_IO);
    assert_string_equal(diag.text, "cannot write '/dev/full': No space left on device");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* A pipe that is full keeps its writer waiting: a signal ends the wait. */
static void a_signal_ends_the_wait_for_a_pipe(void **state)
{
    (void)state;
    static const uint8_t bytes[1 << 17]; /* more than a pipe holds */
    char folder[TEMPORARY_PATH];
    char path[TEMPORARY_PATH + 16];
    int status = 0;
    assert_true(temporary_folder(folder));
    (void)snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    struct pollfd begun = {.fd = open(path, O_RDONLY | O_NONBLOCK), .events = POLLIN};
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(60);
        (void)vta_file_write(path, bytes, sizeof bytes, NULL);
        _exit(0);
    }
    assert_int_equal(poll(&begun, 1, 60000), 1);
    assert_int_equal(kill(child, SIGTERM), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_int_equal(close(begun.fd), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void a_fork_has_no_say_about_a_file(void **state)
{
    (void)state;
    char folder[TEMPORARY_PATH];
    char path[TEMPORARY_PATH + 16];
    vta_writer w;
    assert_true(temporary_folder(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
    for (int drops = 0; drops < 2; drops++) {
        assert_int_equal(vta_writer_open(path, &w, NULL), VTA_OK);
        vta_writer_put(&w, "parent", 6);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            vta_writer_put(&w, "child", 5);
            if (drops) {
                vta_writer_drop(&w);
            } else {
                (void)vta_writer_close(&w, NULL);
            }
            _exit(0);
        }
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_int_not_equal(access(path, F_OK), 0);
        assert_int_equal(vta_writer_close(&w, NULL), VTA_OK);
        assert_holds(path, "parent");
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* The lines of a file of these bytes, or why there are none. */
static vta_status lines_of(const void *bytes, size_t size, vta_lines *out, vta_diag *diag)
{
    char path[TEMPORARY_PATH];
    *diag = (vta_diag){0};
    assert_true(temporary_file(path, ".txt"));
    assert_int_equal(vta_file_write(path, bytes, size, NULL), VTA_OK);
    const vta_status status = vta_lines_read(path, 1000, out, diag);
    assert_int_equal(remove(path), 0);
    return status;
}

static void lines_are_those_of_any_editor(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        const char *lines[3];
        bool open;
    } rows[] = {
        {"", 0, {NULL}, false},
        {"\xef\xbb\xbf", 0, {NULL}, false},
        {"\n", 1, {""}, false},
        {"a\nb\n", 2, {"a", "b"}, false},
        {"a\n\nb", 3, {"a", "", "b"}, true},
        {"\xef\xbb\xbf"
         "a\r\nb\r\n",
         2,
         {"a", "b"},
         false},
        {"\r\nK\xc3\xa4se\r", 2, {"", "K\xc3\xa4se"}, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vta_diag diag;
        vta_lines lines;
        assert_int_equal(lines_of(rows[i].bytes, strlen(rows[i].bytes), &lines, &diag), VTA_OK);
        assert_int_equal(lines.count, rows[i].count);
        assert_int_equal(lines.open, rows[i].open);
        for (size_t k = 0; k < lines.count; k++) {
            assert_string_equal(lines.line[k], rows[i].lines[k]);
        }
        vta_lines_free(&lines);
    }
}

static void what_is_no_text_has_no_lines(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *why;
    } rows[] = {
        {"\xff\xfe"
         "a\0\n\0b\0\n\0",
         10, "is UTF-16"},
        {"\xfe\xff\0a\0\n", 6, "is UTF-16"},
        {"a\nb\0c\nd\n", 8, "line 2: byte 3 is 0"},
        {"\0\n\0\n\0\n", 6, "line 1: byte 0 is 0"},
        {"a\nb\rc\rd\n", 8, "line 2 has a carriage return"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vta_diag diag;
        vta_lines lines;
        assert_int_equal(lines_of(rows[i].bytes, rows[i].size, &lines, &diag), VTA_SYNTAX);
        assert_non_null(strstr(diag.text, rows[i].why));
        assert_null(lines.line);
        assert_null(lines.text);
    }
}

static void a_name_becomes_fit_for_a_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *name, *plain;
    } rows[] = {
        {"", ""},
        {"conv1/bias:0", "conv1/bias:0"},
        {"K\xc3\xa4se \xe6\xbc\xa2 \xf0\x9f\x98\x80", "K\xc3\xa4se \xe6\xbc\xa2 \xf0\x9f\x98\x80"},
        {"a\tb\nc\r\n", "a b c"},
        {"\033[31mred\007\177", "?[31mred??"},
        {"\xc2\x9b"
         "31m \xc2\x85 \xc2\x80 \xc2\xa0",
         "?31m ? ? \xc2\xa0"},
        {"\xe2\x80\xae"
         "cod\xe2\x81\xa6 \xd8\x9c \xe2\x80\x8f \xe2\x80\xa8",
         "?cod? ? ? ?"},
        {"\xef\xbb\xbf \xf3\xa0\x81\x81", "? ?"},
        {"\x9b"
         "1m \xff \xc0\xaf \xe0\x80\xaf \xed\xa0\x80 \xf4\x90\x80\x80",
         "?1m ? ?? ??? ??? ????"},
        {"half \xe2\x82", "half ??"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char out[64];
        const size_t size = strlen(rows[i].name);
        assert_string_equal(vta_make_plain(rows[i].name, size, out, sizeof out), rows[i].plain);
        memcpy(out, rows[i].name, size + 1);
        assert_string_equal(vta_make_plain(out, size, out, size + 1), rows[i].plain); /* in its own place */
        for (size_t room = 0; room <= size; room++) {
            memset(out, 'x', sizeof out);
            (void)vta_make_plain(rows[i].name, size, out, room);
            assert_int_equal(out[room], 'x');
            assert_true(room == 0 || strlen(out) < room);
        }
    }
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

static void held_signals_arrive_later(void **state)
{
    (void)state;
    const struct sigaction count = {.sa_handler = count_signal};
    struct sigaction before;
    assert_int_equal(sigaction(SIGTERM, &count, &before), 0);
    for (int round = 1; round <= 2; round++) {
        sigset_t outer;
        sigset_t inner;
        vta_hold_signals(&outer);
        vta_hold_signals(&inner);
        assert_int_equal(raise(SIGTERM), 0);
        vta_release_signals(&inner);
        assert_int_equal(signals, round - 1);
        vta_release_signals(&outer);
        assert_int_equal(signals, round);
    }
    assert_int_equal(sigaction(SIGTERM, &before, NULL), 0);
}

_Noreturn static void write_for_ever(const char *path)
{
    static char bytes[4 << 20];
    (void)signal(SIGTERM, SIG_DFL);
    for (;;) {
        if (vta_file_write(path, bytes, sizeof bytes, NULL) != VTA_OK) {
            _exit(1);
        }
    }
}

static void an_ended_writer_leaves_no_temporary_file(void **state)
{
    (void)state;
    char folder[TEMPORARY_PATH];
    char path[TEMPORARY_PATH + 8];
    assert_true(temporary_folder(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
    for (long round = 0; round < 20; round++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            write_for_ever(path);
        }
        const struct timespec moment = {.tv_nsec = 20000000 + round * 700000};
        (void)nanosleep(&moment, NULL);
        int status = 0;
        assert_int_equal(kill(child, SIGTERM), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGTERM);
    }
    (void)unlink(path);
    assert_int_equal(rmdir(folder), 0); /* fails where anything else is left */
}

static void diag_keeps_the_first_failure(void **state)
{
    (void)state;
    vta_diag diag = {0};
    assert_int_equal(vta_fail(&diag, VTA_RANGE, "value %d", 7), VTA_RANGE);
    assert_int_equal(vta_fail(&diag, VTA_IO, "later"), VTA_IO);
    assert_int_equal(vta_context(&diag, "file '%s'", "x"), VTA_RANGE);
    assert_string_equal(diag.text, "file 'x': value 7");
    assert_string_equal(vta_status_text(VTA_TIMEOUT), "timeout");
    assert_string_equal(vta_status_text((vta_status)1000), "unknown status");
}

static void a_cache_is_its_users(void **state)
{
    (void)state;
    char folder[TEMPORARY_PATH];
    char path[TEMPORARY_PATH + 16];
    struct stat about;
    vta_diag diag = {0};
    const mode_t was = umask(0);
    assert_true(temporary_folder(folder));
    (void)snprintf(path, sizeof path, "%s/a", folder);
    assert_int_equal(vta_cache_make(path, &diag), VTA_OK);
    (void)umask(was);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    assert_int_equal(chown(path, (uid_t)-1, getegid()), 0);
    assert_int_equal(chmod(path, 0770), 0);
    assert_int_equal(vta_cache_make(path, &diag), VTA_OK);
    assert_int_equal(chmod(path, 0772), 0);
    assert_int_equal(vta_cache_make(path, &diag), VTA_IO);
    assert_non_null(strstr(diag.text, "others may write"));
    assert_int_equal(chmod(path, 0700), 0);
    if (geteuid() == 0) { /* nobody else can give a folder away */
        assert_int_equal(chown(path, 65534, (gid_t)-1), 0);
        diag = (vta_diag){0};
        assert_int_equal(vta_cache_make(path, &diag), VTA_IO);
        assert_non_null(strstr(diag.text, "others may write"));
    }
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void a_file_is_no_folder(void **state)
{
    (void)state;
    char folder[TEMPORARY_PATH];
    char path[TEMPORARY_PATH + 16];
    vta_diag diag = {0};
    assert_true(temporary_folder(folder));
    (void)snprintf(path, sizeof path, "%s/a", folder);
    assert_int_equal(vta_folder_make(path, 0700, &diag), VTA_OK);
    assert_int_equal(vta_folder_make(path, 0700, &diag), VTA_OK); /* it is there */
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(vta_file_write(path, "x", 1, &diag), VTA_OK);
    assert_int_equal(vta_folder_make(path, 0700, &diag), VTA_IO);
    assert_non_null(strstr(diag.text, "cannot make the folder"));
    assert_non_null(strstr(diag.text, "Not a directory"));
    (void)unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

/* Each set of standard descriptors that a program may be started without. */
static void standard_numbers_are_held(void **state)
{
    (void)state;
    for (unsigned closed = 0; closed < 8; closed++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            char byte = 0;
            int wrong = 0;
            for (int i = 0; i < 3; i++) {
                wrong |= (closed >> i & 1) != 0 && close(i) != 0;
            }
            wrong |= vta_standard_hold() != 0;
            for (int i = 0; i < 3; i++) {
                if ((closed >> i & 1) != 0) {
                    const ssize_t moved = i == 0 ? read(i, &byte, 1) : write(i, &byte, 1);
                    wrong |= moved != -1 || errno != EBADF;
                }
            }
            _exit(wrong != 0 || open("/dev/null", O_RDONLY | O_CLOEXEC) < 3);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

/* The numbers are those that the authors of FNV publish for their 64 and 32 bits. */
static void hashes_are_fnv(void **state)
{
    (void)state;
    assert_true(vta_hash_text(VTA_HASH_START, "") == UINT64_C(0xcbf29ce484222325));
    assert_true(vta_hash_text(VTA_HASH_START, "a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(vta_hash_text(VTA_HASH_START, "foobar") == UINT64_C(0x85944171f73967e8));
    assert_true(vta_hash_bytes(VTA_HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
    assert_int_equal(vta_hash32_bytes(VTA_HASH32_START, "a", 1), 0xe40c292c);
    assert_int_equal(vta_hash32_bytes(VTA_HASH32_START, "foobar", 6), 0xbf9cf968);
    const uint32_t number = UINT32_C(0x6f6f66ff); /* "\xfffoo", the lowest byte first */
    assert_true(vta_hash_u32(VTA_HASH_START, number) == vta_hash_text(VTA_HASH_START, "\xff"
                                                                                      "foo"));
    assert_true(vta_hash_word(VTA_HASH_START, 'a') == vta_hash_text(VTA_HASH_START, "a"));
}

static void numbers_at_their_limits(void **state)
{
    (void)state;
    assert_true(vta_min(INT64_MIN, 3) == INT64_MIN && vta_max(INT64_MIN, 3) == 3);
    assert_true(vta_min_u(UINT64_MAX, 3) == 3 && vta_max_u(UINT64_MAX, 3) == UINT64_MAX);
    assert_true(vta_clamp(-9, -4, 4) == -4 && vta_clamp(9, -4, 4) == 4 && vta_clamp(0, -4, 4) == 0);
    for (int64_t unit = 1; unit < 9; unit++) {
        for (int64_t n = 0; n < 70; n++) {
            const int64_t up = vta_round_up(n, unit);
            assert_true(up >= n && up < n + unit && up % unit == 0 && vta_ceil_div(n, unit) == up / unit);
            assert_true(vta_round_up_u((uint64_t)n, (uint64_t)unit) == (uint64_t)up);
            assert_true(vta_ceil_div_u((uint64_t)n, (uint64_t)unit) == (uint64_t)(up / unit));
        }
    }
    assert_true(vta_add_saturated(UINT64_MAX - 1, 1) == UINT64_MAX);
    assert_true(vta_add_saturated(UINT64_MAX - 1, 2) == UINT64_MAX && vta_add_saturated(4, 5) == 9);
    assert_int_equal(vta_log2(-1), 0);
    assert_int_equal(vta_log2(1), 0);
    for (int log = 1; log < 63; log++) {
        assert_int_equal(vta_log2(INT64_C(1) << log), log);
        assert_int_equal(vta_log2((INT64_C(1) << log) - 1), log - 1);
    }
}

/* The outcome of three steps, of which number `bad` fails; counts the steps and the cleanups. */
static vta_status run_steps(int bad, int *steps, int *cleanups, vta_diag *diag)
{
    vta_status status = VTA_OK;
    for (*steps = 0; *steps < 3; (*steps)++) {
        VTA_TRY_OUT(vta_allocated(*steps != bad, diag));
    }
out:
    (*cleanups)++;
    return status;
}

static void failure_cleans_up_once(void **state)
{
    (void)state;
    for (int bad = 0; bad < 4; bad++) {
        vta_diag diag = {0};
        int steps = 0, cleanups = 0;
        assert_int_equal(run_steps(bad, &steps, &cleanups, &diag), bad < 3 ? VTA_NOMEM : VTA_OK);
        assert_int_equal(steps, bad);
        assert_int_equal(cleanups, 1);
        assert_string_equal(diag.text, bad < 3 ? "out of memory" : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_become_rows),
        cmocka_unit_test(arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(arena_refuses_overflow),
        cmocka_unit_test(vec_keeps_its_items),
        cmocka_unit_test(vec_refuses_overflow),
        cmocka_unit_test(str_builds_and_hands_over),
        cmocka_unit_test(str_failure_is_sticky),
        cmocka_unit_test(nearest_finds_the_slip),
        cmocka_unit_test(files_round_trip),
        cmocka_unit_test(file_errors_name_the_file),
        cmocka_unit_test(a_writer_makes_a_whole_file_or_none),
        cmocka_unit_test(a_replaced_file_hands_its_mode_on),
        cmocka_unit_test(an_endless_file_is_too_long),
        cmocka_unit_test(all_bytes_are_written),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(a_signal_ends_the_wait_for_a_pipe),
        cmocka_unit_test(a_fork_has_no_say_about_a_file),
        cmocka_unit_test(lines_are_those_of_any_editor),
        cmocka_unit_test(what_is_no_text_has_no_lines),
        cmocka_unit_test(a_name_becomes_fit_for_a_terminal),
        cmocka_unit_test(held_signals_arrive_later),
        cmocka_unit_test(an_ended_writer_leaves_no_temporary_file),
        cmocka_unit_test(diag_keeps_the_first_failure),
        cmocka_unit_test(a_file_is_no_folder),
        cmocka_unit_test(a_cache_is_its_users),
        cmocka_unit_test(standard_numbers_are_held),
        cmocka_unit_test(hashes_are_fnv),
        cmocka_unit_test(numbers_at_their_limits),
        cmocka_unit_test(failure_cleans_up_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
