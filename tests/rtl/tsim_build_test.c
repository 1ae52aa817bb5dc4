/* SPDX-License-Identifier: Apache-2.0
 *
 * The builder of simulators: what it finds again, what it builds again, and what it says when it cannot. The
 * RTL is a small copy engine, so that a build takes seconds.
 */
#include <setjmp.h>
#include <signal.h>
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

#include "build_internal.h"
#include "simlab.h"
#include "vta/clock.h"

static simlab lab;

static int open_lab(void **state)
{
    (void)state;
    simlab_open(&lab);
    return 0;
}

static int close_lab(void **state)
{
    (void)state;
    simlab_close(&lab);
    return 0;
}

static void assert_located(void)
{
    assert_string_equal(lab.diag.text, "");
    assert_int_equal(access(lab.path, R_OK), 0);
}

static void assert_works(void)
{
    static simlab_sim sim;
    const vta_rtlsim_options options = {.latency = 4, .bandwidth = 8};
    assert_true(simlab_load(&sim, lab.path, &options));
    simlab_run(&sim, SIMLAB_BASE, SIMLAB_BASE + 0x2000, 8);
    assert_memory_equal(sim.memory, sim.memory + 0x2000, 64);
    assert_null(sim.rtl->failure(sim.self));
    simlab_unload(&sim);
}

static bool built(void)
{
    return strstr(lab.said, "building the tsim simulator of 'pynq', once") != NULL;
}

static void test_found_again(void **state)
{
    (void)state;
    char first[SIMLAB_PATH];
    assert_int_equal(simlab_locate(&lab, "tsim"), VTA_OK);
    assert_located();
    assert_true(built());
    assert_works();
    memcpy(first, lab.path, sizeof first);
    assert_int_equal(simlab_locate(&lab, "tsim"), VTA_OK);
    assert_string_equal(lab.path, first);
    assert_string_equal(lab.said, "");
    assert_int_equal(simlab_count(&lab, ".tmp."), 0);
}

static void test_corrupt_object(void **state)
{
    (void)state;
    assert_int_equal(simlab_locate(&lab, "tsim"), VTA_OK);
    FILE *file = fopen(lab.path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 5000, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, 5000, SEEK_SET), 0);
    fputc(byte ^ 1, file); /* one bit */
    assert_int_equal(fclose(file), 0);
    assert_int_equal(simlab_locate(&lab, "tsim"), VTA_OK);
    assert_located();
    assert_true(built());
    assert_works();
}

static void test_cut_manifest(void **state)
{
    (void)state;
    char manifest[SIMLAB_PATH + 16];
    assert_int_equal(simlab_locate(&lab, "tsim"), VTA_OK);
    snprintf(manifest, sizeof manifest, "%.*s/manifest", (int)(strrchr(lab.path, '/') - lab.path), lab.path);
    assert_int_equal(truncate(manifest, 20), 0);
    assert_int_equal(simlab_locate(&lab, "tsim"), VTA_OK);
    assert_located();
    assert_true(built());
}

static void test_changed_source(void **state)
{
    (void)state;
    char first[SIMLAB_PATH], source[SIMLAB_PATH + 32];
    assert_int_equal(simlab_locate(&lab, "tsim"), VTA_OK);
    memcpy(first, lab.path, sizeof first);
    snprintf(source, sizeof source, "%s/rtl/top/vta_top.v", lab.hw);
    simlab_copy(VTA_COPIER, source, "// one more line\n");
    assert_int_equal(simlab_locate(&lab, "tsim"), VTA_OK);
    assert_located();
    assert_true(built());
    assert_string_not_equal(lab.path, first);
    simlab_copy(VTA_COPIER, source, ""); /* back again: the first one is still there */
    assert_int_equal(simlab_locate(&lab, "tsim"), VTA_OK);
    assert_string_equal(lab.path, first);
    assert_string_equal(lab.said, "");
}

/* A child that locates and writes its progress lines to a file; fails with its exit status. */
static pid_t locate_in_child(const char *report)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        setpgid(0, 0);
        signal(SIGINT, SIG_DFL); /* a script's background jobs are deaf to it */
        const vta_status status = simlab_locate(&lab, "tsim");
        FILE *file = fopen(report, "w");
        if (file != NULL) {
            fputs(lab.said, file);
            fclose(file);
        }
        _exit(status == VTA_OK ? 0 : 1);
    }
    setpgid(pid, pid);
    return pid;
}

static void read_report(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void new_source(const char *line)
{
    char source[SIMLAB_PATH + 32];
    snprintf(source, sizeof source, "%s/rtl/top/vta_top.v", lab.hw);
    simlab_copy(VTA_COPIER, source, line);
}

/* The hash of a configuration does not cover the width of addresses; the simulator's name does. */
static void test_other_addresses(void **state)
{
    (void)state;
    char first[SIMLAB_PATH];
    vta_config config;
    vta_config_default(&config);
    assert_int_equal(config.addr_bits, 32); /* the board's */
    assert_int_equal(simlab_locate(&lab, "tsim"), VTA_OK);
    memcpy(first, lab.path, sizeof first);
    config.addr_bits = 40;
    assert_int_equal(simlab_locate_with(&lab, "tsim", &config), VTA_OK);
    assert_true(built());
    assert_string_not_equal(lab.path, first);
    assert_works();
    config.addr_bits = 32;
    assert_int_equal(simlab_locate_with(&lab, "tsim", &config), VTA_OK);
    assert_string_equal(lab.path, first);
}

static void test_two_processes(void **state)
{
    (void)state;
    char reports[2][SIMLAB_PATH + 32], texts[2][4096];
    pid_t pids[2];
    new_source("// for two\n");
    for (int i = 0; i < 2; i++) {
        snprintf(reports[i], sizeof reports[i], "%s/report%d", lab.folder, i);
        pids[i] = locate_in_child(reports[i]);
    }
    uint32_t builders = 0, waiters = 0;
    for (int i = 0; i < 2; i++) {
        int result = 0;
        assert_int_equal(waitpid(pids[i], &result, 0), pids[i]);
        assert_true(WIFEXITED(result));
        assert_int_equal(WEXITSTATUS(result), 0);
        read_report(reports[i], texts[i], sizeof texts[i]);
        builders += strstr(texts[i], "building the tsim simulator") != NULL;
        waiters +=
            strstr(texts[i], "another process builds the tsim simulator of 'pynq'; waiting for it") != NULL;
    }
    assert_int_equal(builders, 1);
    assert_int_equal(waiters, 1);
    assert_int_equal(simlab_locate(&lab, "tsim"), VTA_OK);
    assert_string_equal(lab.said, "");
    assert_works();
    new_source("");
}

/* A builder that is stopped in the middle, by Ctrl-C or a signal for it alone, leaves nothing; one that is
 * killed leaves nothing that stands in the next one's way. */
static void test_stopped_builder(void **state)
{
    (void)state;
    static const struct {
        int number;
        bool alone; /* not for its tools */
        const char *line;
    } signals[] = {{SIGINT, false, "// stopped by SIGINT\n"},
                   {SIGTERM, true, "// stopped by SIGTERM\n"},
                   {SIGKILL, false, "// stopped by SIGKILL\n"}};
    char report[SIMLAB_PATH + 16];
    snprintf(report, sizeof report, "%s/report", lab.folder);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        new_source(signals[i].line);
        const pid_t pid = locate_in_child(report);
        const struct timespec pause = {0, 10000000};
        for (int n = 0; n < 1000 && simlab_count(&lab, ".tmp.") == 0; n++) {
            nanosleep(&pause, NULL);
        }
        assert_int_equal(simlab_count(&lab, ".tmp."), 1);
        assert_int_equal(kill(signals[i].alone ? pid : -pid, signals[i].number), 0);
        int result = 0;
        assert_int_equal(waitpid(pid, &result, 0), pid);
        assert_true(WIFSIGNALED(result));
        assert_int_equal(WTERMSIG(result), signals[i].number);
        if (signals[i].number != SIGKILL) {
            assert_int_equal(simlab_count(&lab, ".tmp."), 0);
            for (int n = 0; n < 1000 && kill(-pid, 0) == 0; n++) { /* its tools end with it */
                nanosleep(&pause, NULL);
            }
            assert_int_equal(kill(-pid, 0), -1);
        }
        if (signals[i].number == SIGINT) {
            continue;
        }
        assert_int_equal(simlab_locate(&lab, "tsim"), VTA_OK);
        assert_located();
        assert_true(built());
        assert_null(strstr(lab.said, "waiting"));
        assert_int_equal(simlab_count(&lab, ".tmp."), 0);
        assert_works();
    }
    new_source("");
}

/* ---- what it says when it cannot */

static void assert_says(vta_status status, vta_status expected, const char *begin)
{
    assert_int_equal(status, expected);
    if (strncmp(lab.diag.text, begin, strlen(begin)) != 0) {
        fail_msg("'%s' does not begin with '%s'", lab.diag.text, begin);
    }
}

static void test_broken_rtl(void **state)
{
    (void)state;
    new_source("module broken(;\n");
    assert_says(simlab_locate(&lab, "tsim"), VTA_IO, "translating the RTL failed; the log is '");
    assert_non_null(strstr(lab.diag.text, "syntax error"));
    assert_int_equal(simlab_count(&lab, ".tmp."), 0);
    const char *begin = strchr(lab.diag.text, '\'') + 1;
    char log[SIMLAB_PATH];
    snprintf(log, sizeof log, "%.*s", (int)strcspn(begin, "'"), begin);
    assert_int_equal(access(log, R_OK), 0);
    new_source("");
}

static void test_missing_tools(void **state)
{
    (void)state;
    char path[SIMLAB_PATH], link[SIMLAB_PATH + 32], folder[SIMLAB_PATH + 16];
    snprintf(path, sizeof path, "%s", getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    assert_says(
        simlab_locate(&lab, "tsim"), VTA_NO_DEVICE,
        "'verilator' is not in PATH and the simulator must be built; install the Debian package 'verilator'");
    snprintf(folder, sizeof folder, "%s/bin", lab.folder);
    snprintf(link, sizeof link, "%s/verilator", folder);
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(symlink("/bin/true", link), 0);
    setenv("PATH", folder, 1);
    assert_says(simlab_locate(&lab, "tsim"), VTA_NO_DEVICE,
                "'g++' is not in PATH and the simulator must be built; install the Debian package 'g++'");
    setenv("PATH", path, 1);
}

/* A limit on the size of files stands for a disk that is full; the tools inherit it. */
static void test_full_disk(void **state)
{
    (void)state;
    struct rlimit was;
    char source[64];
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (rlim_t bytes = 0; bytes <= 100000; bytes = bytes * 10 + 10) {
        const struct rlimit limit = {bytes, was.rlim_max};
        (void)snprintf(source, sizeof source, "// in %lu bytes\n", (unsigned long)bytes);
        new_source(source);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        const vta_status status = simlab_locate(&lab, "tsim");
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
        assert_int_not_equal(status, VTA_OK);
        if (strstr(lab.diag.text, "disk full") == NULL && strstr(lab.diag.text, "File too large") == NULL) {
            fail_msg("in %lu bytes: '%s'", (unsigned long)bytes, lab.diag.text);
        }
        assert_int_equal(simlab_count(&lab, ".tmp."), 0);
    }
    (void)signal(SIGXFSZ, handler);
    new_source("");
    assert_int_equal(simlab_locate(&lab, "tsim"), VTA_OK);
    assert_works();
}

/* Nothing says where a cache might be. */
static void test_homeless(void)
{
    static const char *const names[] = {"VTAC_CACHE", "XDG_CACHE_HOME", "HOME"};
    char *values[3];
    for (int i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        values[i] = value != NULL ? strdup(value) : NULL;
        unsetenv(names[i]);
    }
    assert_says(simlab_locate(&lab, "tsim"), VTA_IO,
                "no cache folder: neither VTAC_CACHE nor XDG_CACHE_HOME nor HOME names one");
    for (int i = 0; i < 3; i++) {
        if (values[i] != NULL) {
            setenv(names[i], values[i], 1);
            free(values[i]);
        }
    }
}

static void test_refusals(void **state)
{
    (void)state;
    assert_says(
        simlab_locate(&lab, "verilator"), VTA_INVALID,
        "no simulator is called 'verilator'; there are tsim and systemc, with +built, +trace or both");
    assert_says(simlab_locate(&lab, "tsim+waves"), VTA_INVALID, "no simulator is called 'tsim+waves'");
    setenv("VTAC_HW", "/nonexistent", 1);
    assert_says(simlab_locate(&lab, "tsim"), VTA_NO_DEVICE,
                "no RTL in '/nonexistent'; VTAC_HW names the folder that has 'rtl'");
    setenv("VTAC_HW", lab.hw, 1);
    setenv("VTAC_CACHE", "/proc/nowhere", 1);
    assert_says(simlab_locate(&lab, "tsim"), VTA_IO, "cannot make the folder '/proc/nowhere': ");
    assert_non_null(strstr(lab.diag.text, "; VTAC_CACHE names another place"));
    char name[8192];
    memset(name, 'n', sizeof name - 1);
    name[0] = '/';
    name[sizeof name - 1] = '\0';
    setenv("VTAC_CACHE", name, 1);
    assert_says(simlab_locate(&lab, "tsim"), VTA_RANGE, "the path of the cache folder is longer than ");
    test_homeless();
    setenv("VTAC_CACHE", lab.cache, 1);
    setenv("VTAC_HW", name, 1);
    assert_says(simlab_locate(&lab, "tsim"), VTA_RANGE, "the path of the RTL sources is longer than ");
    setenv("VTAC_HW", lab.hw, 1);
    vta_config config;
    vta_config_default(&config);
    char tiny[8];
    lab.diag = (vta_diag){0};
    assert_says(vta_rtlsim_locate("tsim", &config, NULL, NULL, tiny, sizeof tiny, &lab.diag), VTA_RANGE,
                "the simulator's path needs ");
}

static void count_line(void *context, const char *line)
{
    assert_non_null(strstr(line, "still building the tsim simulator of 'pynq' (sleeping): "));
    ++*(int *)context;
}

/* A build that takes long says so again and again, one that is quick says nothing. */
static void test_reports(void **state)
{
    (void)state;
    static build_job job; /* large */
    vta_config config;
    int lines = 0;
    vta_config_default(&config);
    job = (build_job){.config = &config,
                      .kind = "tsim",
                      .report_every = 0.05,
                      .progress = count_line,
                      .context = &lines,
                      .diag = &lab.diag};
    strcpy(job.log, "/dev/null");
    for (int seconds = 0; seconds <= 1; seconds++) {
        build_command command = {0};
        vta_build_arg(&command, "/bin/sleep");
        vta_build_arg(&command, "%d", seconds);
        job.began = job.reported = vta_now();
        job.report_every = seconds == 0 ? 60.0 : 0.05;
        assert_int_equal(vta_build_run(&job, "sleeping", &command, 1, 1), VTA_OK);
        assert_true(seconds == 0 ? lines == 0 : lines >= 2 && lines <= 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reports),        cmocka_unit_test(test_found_again),
        cmocka_unit_test(test_corrupt_object), cmocka_unit_test(test_cut_manifest),
        cmocka_unit_test(test_changed_source), cmocka_unit_test(test_other_addresses),
        cmocka_unit_test(test_two_processes),  cmocka_unit_test(test_stopped_builder),
        cmocka_unit_test(test_broken_rtl),     cmocka_unit_test(test_missing_tools),
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, open_lab, close_lab);
}
