/* SPDX-License-Identifier: Apache-2.0
 *
 * A host of libvtac with names, handlers and threads of its own. It fails where a call changes the signals,
 * the locale or the open files of its host, leaves files behind, calls a function of the host by its name, or
 * does not end when its host wants no more. Arguments: FLOAT.onnx INT8.onnx CASE
 * CONVOLUTIONS.onnx. It prints by write alone.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vtac.h>

#define MINE(name)                                                                                           \
    int name(void);                                                                                          \
    int name(void)                                                                                           \
    {                                                                                                        \
        abort();                                                                                             \
    }
/* NOLINTBEGIN: names that a program may have */
MINE(child_start)
MINE(read_all)
MINE(open_device)
MINE(cli_print)
MINE(cli_here)
MINE(vta_fail)
MINE(vtac_compile)
MINE(vtac_quantize)
MINE(cli_verb_find)
MINE(vta_str_put)
MINE(vta_file_read)
/* NOLINTEND */

/* `answer` is what the call gives, and is read after it. */
#define EXPECT(call, wanted, part)                                                                           \
    do {                                                                                                     \
        const int status_ = (call);                                                                          \
        expect(status_, answer, wanted, part);                                                               \
        libvtac_free(answer);                                                                                \
        answer = NULL;                                                                                       \
    } while (0)

#define CHECK(good)                                                                                          \
    do {                                                                                                     \
        if (!(good)) {                                                                                       \
            fail(__LINE__, #good);                                                                           \
        }                                                                                                    \
    } while (0)

static void say(const char *text)
{
    if (write(3, text, strlen(text)) < 0) {
        _exit(2);
    }
}

static void fail(int line, const char *what)
{
    char text[512];
    (void)snprintf(text, sizeof text, "compiler.c:%d: %s\n", line, what);
    say(text);
    _exit(1);
}

/* ---- the host as it is */

static void handler(int number)
{
    (void)number;
}

typedef struct state {
    struct sigaction actions[32];
    sigset_t mask;
    int files, left; /* open; and below TMPDIR */
} state;

static int entries(const char *folder)
{
    DIR *dir = opendir(folder);
    int count = 0;
    while (dir != NULL && readdir(dir) != NULL) {
        count++;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

static void look(state *s)
{
    memset(s, 0, sizeof *s);
    for (int i = 1; i < 32; i++) {
        sigaction(i, NULL, &s->actions[i]);
    }
    pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
    s->files = entries("/proc/self/fd");
    s->left = entries(getenv("TMPDIR"));
}

static void check_unchanged(const state *was)
{
    state now;
    look(&now);
    for (int i = 1; i < 32; i++) {
        CHECK(now.actions[i].sa_handler == was->actions[i].sa_handler);
    }
    CHECK(memcmp(&now.mask, &was->mask, sizeof now.mask) == 0);
    CHECK(now.files == was->files);
    CHECK(now.left == was->left);
}

/* ---- calls */

typedef struct watch {
    int calls, end_at; /* end_at < 0: never */
    int lines;
    pthread_t thread;
} watch;

static int at(void *context, const char *stage, const char *item, unsigned done, unsigned total)
{
    watch *w = context;
    CHECK(pthread_equal(pthread_self(), w->thread) && stage[0] != '\0' && item != NULL);
    CHECK(total == 0 || done <= total);
    return w->calls++ == w->end_at;
}

static void line(void *context, const char *text)
{
    CHECK(strchr(text, '\n') == NULL);
    ((watch *)context)->lines++;
}

static libvtac_options options_of(watch *w, const char *output)
{
    libvtac_options o;
    memset(&o, 0, sizeof o);
    o.size = sizeof o;
    o.output = output;
    o.say = line;
    o.at = at;
    o.context = w;
    w->thread = pthread_self();
    return o;
}

static const char *float_model, *int_model, *conv_model;

static void expect(int status, const char *answer, int wanted, const char *part)
{
    if (status != wanted || answer == NULL || strstr(answer, part) == NULL) {
        char text[1024];
        (void)snprintf(text, sizeof text, "status %d, not %d, or no '%s' in: %s", status, wanted, part,
                       answer != NULL ? answer : "(nothing)");
        fail(0, text);
    }
}

static void compile_one(const char *output, const char *target, watch *w)
{
    char *answer = NULL;
    libvtac_options o = options_of(w, output);
    o.target = target;
    const int status = libvtac_compile(int_model, &o, &answer);
    expect(status, answer, LIBVTAC_OK, "\"steps\"");
    libvtac_free(answer);
}

static void *compile_in_thread(void *output)
{
    watch w = {0, -1, 0, pthread_self()};
    for (int i = 0; i < 3; i++) {
        compile_one(output, i == 1 ? "llvm" : "vta", &w);
    }
    return NULL;
}

static void quantize_twice(void)
{
    static const char *const per_tensor[] = {"--per-tensor", "--keep-float", "none of these", NULL};
    watch w = {0, -1, 0, pthread_self()};
    char *answer = NULL;
    libvtac_options o = options_of(&w, "q.onnx");
    int status = libvtac_quantize(float_model, &o, &answer);
    expect(status, answer, LIBVTAC_OK, "\"samples\"");
    CHECK(w.calls > 5 && w.lines > 0); /* it warns of made-up inputs */
    libvtac_free(answer);
    o.more = per_tensor;
    o.output = "never.onnx";
    status = libvtac_quantize(float_model, &o, &answer);
    expect(status, answer, LIBVTAC_INVALID, "none of these");
    libvtac_free(answer);
    o.more = per_tensor + 3;
    status = libvtac_quantize("q.onnx", &o, NULL); /* nothing of floats is left, or what is, is */
    CHECK(status == LIBVTAC_OK || status == LIBVTAC_UNSUPPORTED);
    remove("never.onnx");
}

static void misuse(const char *folder)
{
    char *answer = NULL;
    libvtac_options o;
    memset(&o, 0, sizeof o);
    EXPECT(libvtac_compile(int_model, &o, &answer), LIBVTAC_INVALID, "options.size");
    o.size = sizeof o;
    o.host = "pink";
    EXPECT(libvtac_compile(int_model, &o, &answer), LIBVTAC_INVALID, "unknown host 'pink'");
    o.size = offsetof(libvtac_options, host); /* of a caller that knows no hosts */
    o.output = "older.so";
    EXPECT(libvtac_compile(int_model, &o, &answer), LIBVTAC_OK, "older.so");
    EXPECT(libvtac_compile("none.onnx", NULL, &answer), LIBVTAC_IO, "none.onnx");
    EXPECT(libvtac_compile("--help", NULL, &answer), LIBVTAC_IO, "--help");
    CHECK(libvtac_compile(NULL, NULL, &answer) != LIBVTAC_OK && answer != NULL);
    libvtac_free(answer);
    CHECK(libvtac_compile("none.onnx", NULL, NULL) == LIBVTAC_IO);
    o.size = sizeof o;
    o.host = NULL;
    o.log = "x.jsonl";
    EXPECT(libvtac_compile(int_model, &o, &answer), LIBVTAC_INVALID, "'--log'");
    const char *const board[] = {"board", "--dir", "b", NULL};
    EXPECT(libvtac_verb(board, NULL, &answer), LIBVTAC_INVALID, "'board'");
    EXPECT(libvtac_verb(NULL, NULL, &answer), LIBVTAC_INVALID, "no verb");
    const char *const explain[] = {"explain", int_model, NULL};
    EXPECT(libvtac_verb(explain, NULL, &answer), LIBVTAC_OK, "region 0");
    const char *const good[] = {folder, NULL};
    EXPECT(libvtac_verify(good, NULL, &answer), LIBVTAC_OK, "\"passed\": 1, \"failed\": 0");
    const char *const bad[] = {folder, "no folder", NULL};
    EXPECT(libvtac_verify(bad, NULL, &answer), LIBVTAC_INVALID, "\"passed\": 1, \"failed\": 1");
    o.log = NULL;
    o.output = "c.onnx";
    EXPECT(libvtac_convert(int_model, &o, &answer), LIBVTAC_OK, "");
    EXPECT(libvtac_diff(int_model, NULL, &answer), LIBVTAC_OK, "{");
}

/* A host that wants no more, at each of its chances: the call ends there, and leaves no output. */
static int end_everywhere(void)
{
    for (int chance = 0;; chance += chance < 20 ? 1 : chance / 4) {
        watch w = {0, chance, 0, pthread_self()};
        char *answer = NULL;
        libvtac_options o = options_of(&w, "ended.so");
        o.target = "vta";
        const int status = libvtac_compile(int_model, &o, &answer);
        if (status == LIBVTAC_OK) {
            CHECK(w.calls <= chance && access("ended.so", F_OK) == 0);
            libvtac_free(answer);
            return w.calls;
        }
        expect(status, answer, LIBVTAC_INTERRUPTED, "interrupted");
        CHECK(access("ended.so", F_OK) != 0);
        libvtac_free(answer);
    }
}

static void tune(void)
{
    static const char *const few[] = {"--trials", "2",      "--tuner", "grid", "--repeat",
                                      "1",        "--jobs", "1",       NULL};
    for (int ends = 0; ends < 2; ends++) {
        watch w = {0, ends ? 2 : -1, 0, pthread_self()};
        char *answer = NULL;
        libvtac_options o = options_of(&w, NULL);
        o.log = "t.jsonl";
        o.more = few;
        const int status = libvtac_tune(conv_model, &o, &answer);
        expect(status, answer, ends ? LIBVTAC_INTERRUPTED : LIBVTAC_OK, ends ? "interrupted" : "1.00");
        libvtac_free(answer);
    }
    CHECK(access("t.jsonl", F_OK) == 0);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0); /* no child is left */
}

int main(int argc, char **argv)
{
    state was;
    char text[256];
    watch w = {0, -1, 0, pthread_self()};
    CHECK(argc == 5 && strcmp(libvtac_version(), "1.0.0") == 0);
    float_model = argv[1];
    int_model = argv[2];
    conv_model = argv[4];
    signal(SIGINT, handler);
    signal(SIGCHLD, handler);
    signal(SIGPIPE, SIG_DFL);
    compile_one("once.so", "vta", &w); /* what LLVM opens once */
    look(&was);
    compile_one("-again.so", "vta", &w);
    compile_one("host.so", NULL, &w);
    quantize_twice();
    misuse(argv[3]);
    check_unchanged(&was);
    const int chances = end_everywhere();
    check_unchanged(&was);
    tune();
    check_unchanged(&was);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, compile_in_thread, "thread0.so");
    pthread_create(&threads[1], NULL, compile_in_thread, "thread1.so");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    const pid_t child = fork();
    if (child == 0) {
        watch own = {0, -1, 0, pthread_self()};
        compile_one("child.so", "vta", &own);
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    check_unchanged(&was);
    (void)snprintf(text, sizeof text,
                   "compiler: %d calls of its host, ended at as many of them as were tried\n", chances);
    say(text);
    return 0;
}
