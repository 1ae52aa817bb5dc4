/* SPDX-License-Identifier: Apache-2.0
 *
 * A program with names, signals and threads of its own, which uses the installed library: whatever the
 * library does, it must leave all that alone. Arguments: DEVICE MODEL OTHER INTERRUPTIONS; OTHER is a model
 * of the same configuration
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vta/model.h>

#define CHECK(what)                                                                                          \
    do {                                                                                                     \
        if (!(what)) {                                                                                       \
            (void)fprintf(stderr, "guest: %s:%d: %s (%s)\n", __FILE__, __LINE__, #what, diag.text);          \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static vta_diag diag;

/* ---- names that the library uses inside, too: ours must be called by nobody */

#define OURS(name)                                                                                           \
    void name(void);                                                                                         \
    void name(void)                                                                                          \
    {                                                                                                        \
        abort();                                                                                             \
    }
OURS(child_start)
OURS(child_end)
OURS(check_walk)
OURS(build_run)
OURS(uio_lock)
OURS(vta_pool_run)
OURS(vta_turns_take)
OURS(vta_here_load)
OURS(vta_str_printf)
OURS(vta_log)

/* ---- data */

static uint32_t next_number(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

/* Values that every element type takes: small integers, numbers from 0 to 1. */
static void fill(const vta_tensor_info *info, void *data, uint32_t seed)
{
    const size_t element = info->dtype_bits / 8U;
    for (size_t i = 0; i < info->bytes / element; i++) {
        const float real = (float)(next_number(&seed) % 256) / 255;
        const int64_t whole = (int64_t)(next_number(&seed) % 100);
        if (info->dtype_code == 2 && element == 4) {
            memcpy((char *)data + i * element, &real, element);
        } else {
            memcpy((char *)data + i * element, &whole, element);
        }
    }
}

typedef struct results {
    size_t bytes;
    uint8_t *data;
} results;

static vta_model *load(const char *path, const vta_model_options *options)
{
    vta_model *model = NULL;
    CHECK(vta_model_load(path, options, &model, &diag) == VTA_OK);
    return model;
}

static void set(vta_model *model, uint32_t seed)
{
    for (uint32_t i = 0; i < vta_model_input_count(model); i++) {
        const vta_tensor_info info = vta_model_input(model, i);
        fill(&info, vta_model_input_data(model, i), seed + i);
    }
}

static results get(vta_model *model)
{
    results r = {vta_model_output(model, 0).bytes, NULL};
    r.data = malloc(r.bytes);
    CHECK(r.data != NULL && vta_model_get_output(model, 0, r.data, r.bytes, &diag) == VTA_OK);
    return r;
}

static bool same(const results *a, vta_model *model)
{
    results b = get(model);
    const bool equal = a->bytes == b.bytes && memcmp(a->data, b.data, a->bytes) == 0;
    free(b.data);
    return equal;
}

/* The model's results for the input that `seed` draws. */
static results expected(vta_model *model, uint32_t seed)
{
    set(model, seed);
    CHECK(vta_model_run(model, &diag) == VTA_OK);
    return get(model);
}

/* ---- started runs, the caller's memory, a descriptor */

static void started(vta_model *model)
{
    results want[2] = {expected(model, 1), expected(model, 2)};
    const int ready = vta_model_descriptor(model, &diag);
    CHECK(ready >= 0 && memcmp(want[0].data, want[1].data, want[0].bytes) != 0);
    CHECK(vta_model_wait(model, 0, NULL) == VTA_INVALID);
    const vta_tensor_info in = vta_model_input(model, 0), out = vta_model_output(model, 0);
    char *mine = malloc(in.bytes + 8), *result = malloc(out.bytes + 8);
    CHECK(mine != NULL && result != NULL);
    for (uint32_t round = 0; round < 4; round++) {
        struct pollfd slot = {.fd = ready, .events = POLLIN};
        fill(&in, mine + 4, 1 + round % 2); /* at no more than an element's alignment */
        memset(result, 0xA5, out.bytes + 8);
        CHECK(vta_model_bind_input(model, 0, mine + 4, in.bytes, &diag) == VTA_OK);
        CHECK(vta_model_bind_output(model, 0, result + 4, out.bytes, &diag) == VTA_OK);
        CHECK(poll(&slot, 1, 0) == 0);
        CHECK(vta_model_start(model, &diag) == VTA_OK);
        CHECK(vta_model_start(model, NULL) == VTA_BUSY && vta_model_run(model, NULL) == VTA_BUSY);
        CHECK(vta_model_set_input(model, 0, mine, in.bytes, NULL) == VTA_BUSY);
        CHECK(vta_model_bind_output(model, 0, result, out.bytes, NULL) == VTA_BUSY);
        CHECK(poll(&slot, 1, 100000) == 1);
        CHECK(vta_model_wait(model, 0, &diag) == VTA_OK && poll(&slot, 1, 0) == 0);
        CHECK(memcmp(result + 4, want[round % 2].data, out.bytes) == 0);
        CHECK((uint8_t)result[3] == 0xA5 && (uint8_t)result[4 + out.bytes] == 0xA5);
    }
    CHECK(vta_model_bind_input(model, 0, mine + 1, in.bytes, NULL) == VTA_INVALID);
    CHECK(vta_model_bind_input(model, 0, mine, in.bytes - 1, NULL) == VTA_INVALID);
    CHECK(vta_model_bind_output(model, 9, result, out.bytes, NULL) == VTA_RANGE);
    vta_dl_tensor tensor = vta_model_input_tensor(model, 0);
    tensor.data = mine;
    tensor.byte_offset = 4;
    CHECK(vta_model_bind_input_tensor(model, 0, &tensor, &diag) == VTA_OK);
    tensor.dtype.bits = 64;
    CHECK(vta_model_bind_input_tensor(model, 0, &tensor, NULL) == VTA_INVALID);
    CHECK(vta_model_run(model, &diag) == VTA_OK && memcmp(result + 4, want[1].data, out.bytes) == 0);
    CHECK(vta_model_bind_output(model, 0, NULL, 0, &diag) == VTA_OK);
    CHECK(vta_model_bind_input(model, 0, NULL, 0, &diag) == VTA_OK);
    free(mine);
    free(result);
    free(want[0].data);
    free(want[1].data);
}

/* ---- one interruption ends one run */

typedef struct runner {
    vta_model *model;
    atomic_bool over;
    atomic_int ended, whole;
} runner;

static void *run_on(void *context)
{
    runner *r = context;
    while (!atomic_load(&r->over)) {
        const vta_status status = vta_model_run(r->model, NULL);
        atomic_fetch_add(status == VTA_INTERRUPTED ? &r->ended : &r->whole, 1);
    }
    return NULL;
}

static void interrupted(vta_model *model, int count)
{
    runner r = {.model = model};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run_on, &r) == 0);
    for (int i = 0; i < count; i++) {
        vta_model_interrupt(model);
        while (i % 3 == 0 && atomic_load(&r.ended) <= i) { /* some are waited for, others come in pairs */
            (void)usleep((useconds_t)(i % 500));
        }
    }
    while (atomic_load(&r.ended) < count) {
        (void)usleep(1000);
    }
    const int whole = atomic_load(&r.whole);
    while (atomic_load(&r.whole) < whole + 3) {
        (void)usleep(1000);
    }
    atomic_store(&r.over, true);
    CHECK(pthread_join(thread, NULL) == 0);
    (void)printf("guest: %d interruptions ended %d runs\n", count, atomic_load(&r.ended));
    CHECK(atomic_load(&r.ended) == count);
}

static void cancelled(vta_model *model)
{
    results want = expected(model, 3);
    int ended = 0;
    const bool slow_to_hear =
        strncmp(vta_model_device_uri(model), "pipe:", 5) == 0; /* slower than the model */
    for (int i = 0; i < 40 || (i < 4000 && ended == 0 && !slow_to_hear); i++) {
        CHECK(vta_model_start(model, &diag) == VTA_OK);
        if (i % 4 != 0) { /* at once, or at some time of the run */
            (void)usleep((useconds_t)(i % 40 * 500));
        }
        vta_model_cancel(model);
        const vta_status status = vta_model_wait(model, -1, NULL);
        CHECK(status == VTA_OK || status == VTA_INTERRUPTED);
        ended += status == VTA_INTERRUPTED;
    }
    vta_model_cancel(model); /* nothing runs: it ends nothing */
    CHECK((ended > 0 || slow_to_hear) && vta_model_run(model, &diag) == VTA_OK && same(&want, model));
    free(want.data);
}

/* ---- several threads and models on one device */

typedef struct user {
    const char *path;
    vta_device *device;
    int32_t priority;
    const results *want;
} user;

static void *use(void *context)
{
    const user *u = context;
    const vta_model_options options = {
        .size = sizeof options, .shared = u->device, .priority = u->priority, .threads = 1};
    vta_model *model = load(u->path, &options);
    for (uint32_t i = 0; i < 4; i++) {
        set(model, 1 + i % 2);
        CHECK(vta_model_run(model, &diag) == VTA_OK && same(&u->want[i % 2], model));
    }
    vta_model_destroy(model);
    return NULL;
}

static void shared(const char *uri, const char *const *paths)
{
    enum { USERS = 4 };
    vta_device *device = NULL;
    results want[2][2];
    for (int i = 0; i < 2; i++) {
        const vta_model_options options = {.size = sizeof options, .device = uri};
        vta_model *model = load(paths[i], &options);
        for (uint32_t k = 0; k < 2; k++) {
            want[i][k] = expected(model, 1 + k);
        }
        if (device == NULL) {
            CHECK(vta_device_open(uri, vta_device_config(vta_model_device(model)), &device, &diag) == VTA_OK);
        }
        vta_model_destroy(model);
    }
    pthread_t threads[USERS];
    user users[USERS];
    for (int i = 0; i < USERS; i++) {
        users[i] = (user){paths[i % 2], device, i - 1, want[i % 2]};
        CHECK(pthread_create(&threads[i], NULL, use, &users[i]) == 0);
    }
    for (int i = 0; i < USERS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    vta_device_close(device);
    for (int i = 0; i < 4; i++) {
        free(want[i / 2][i % 2].data);
    }
}

/* ---- processes, signals, descriptors */

static void forked(vta_model *model)
{
    results want[2] = {expected(model, 5), expected(model, 6)};
    const bool copy = strncmp(vta_model_device_uri(model), "fsim", 4) == 0 ||
                      strncmp(vta_model_device_uri(model), "tsim", 4) == 0;
    CHECK(vta_model_start(model, &diag) == VTA_OK && vta_model_wait(model, -1, &diag) == VTA_OK);
    const pid_t child = fork();
    if (child == 0) {
        for (uint32_t i = 0; copy && i < 2; i++) {
            set(model, 5 + i);
            CHECK(vta_model_run(model, &diag) == VTA_OK && same(&want[i], model));
            CHECK(vta_model_start(model, &diag) == VTA_OK && vta_model_wait(model, -1, &diag) == VTA_OK);
            CHECK(same(&want[i], model));
        }
        CHECK(copy || vta_model_run(model, NULL) == VTA_BUSY);
        vta_model_destroy(model);
        _exit(0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    set(model, 6);
    CHECK(vta_model_run(model, &diag) == VTA_OK && same(&want[1], model));
    free(want[0].data);
    free(want[1].data);
}

static atomic_int signals;

static void count_signal(int number)
{
    atomic_fetch_add(&signals, number != SIGCHLD); /* which a child of our own raises, too */
}

static const int watched[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGALRM, SIGUSR1, SIGUSR2};
enum { WATCHED = sizeof watched / sizeof watched[0] };

static void watch_signals(void)
{
    const struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    for (int i = 0; i < WATCHED; i++) {
        CHECK(sigaction(watched[i], &action, NULL) == 0);
    }
}

/* Our handlers still stand, our mask is as it was, and no thread but the first takes signals. */
static void signals_are_ours(void)
{
    sigset_t mask;
    struct sigaction action;
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
    for (int i = 0; i < WATCHED; i++) {
        CHECK(sigaction(watched[i], NULL, &action) == 0 && action.sa_handler == count_signal);
        CHECK(sigismember(&mask, watched[i]) == 0);
    }
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    int threads = 0;
    for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        char path[300], line[256];
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = atoi(entry->d_name) > 0 && atoi(entry->d_name) != getpid() ? fopen(path, "re") : NULL;
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            unsigned long long blocked;
            if (sscanf(line, "SigBlk: %llx", &blocked) == 1) {
                threads++;
                for (int i = 0; i < WATCHED; i++) {
                    CHECK((blocked >> (watched[i] - 1) & 1) == 1);
                }
            }
        }
        if (file != NULL) {
            (void)fclose(file);
        }
    }
    (void)closedir(tasks);
    (void)printf("guest: %d threads of the library, which take no signals\n", threads);
}

static bool inherited[1024];

static void note_descriptors(void)
{
    for (int fd = 0; fd < 1024; fd++) {
        inherited[fd] = fcntl(fd, F_GETFD) >= 0;
    }
}

static void descriptors_close_on_exec(void)
{
    DIR *open_ones = opendir("/proc/self/fd");
    CHECK(open_ones != NULL);
    for (const struct dirent *entry; (entry = readdir(open_ones)) != NULL;) {
        const int fd = atoi(entry->d_name);
        CHECK((fd < 1024 && inherited[fd]) || (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    }
    (void)closedir(open_ones);
}

/* ---- options and the log */

static atomic_int lines;

static void count_line(void *context, vta_log_level level, const char *line)
{
    CHECK(context == &lines && level >= VTA_LOG_WARNING && level <= VTA_LOG_INFO &&
          strchr(line, '\n') == NULL);
    atomic_fetch_add(&lines, 1);
}

static void options(const char *path, const char *uri)
{
    struct {
        vta_model_options known;
        int64_t later;
    } newer = {.known = {.device = uri}, .later = 0};
    newer.known.size = sizeof newer;
    vta_log_to(VTA_LOG_INFO, count_line, &lines);
    vta_model_destroy(load(path, &newer.known));
    CHECK(atomic_load(&lines) >= 1);
    vta_log_to(VTA_LOG_NOTHING, NULL, NULL);
    const int before = atomic_load(&lines);
    newer.later = 1;
    vta_model *model = (vta_model *)&newer;
    CHECK(vta_model_load(path, &newer.known, &model, NULL) == VTA_UNSUPPORTED && model == NULL);
    newer.known.size = 3;
    CHECK(vta_model_load(path, &newer.known, &model, NULL) == VTA_UNSUPPORTED && model == NULL);
    CHECK(atomic_load(&lines) == before);
}

/* ---- memory that a descriptor stands for: a dma-buf where the kernel makes such, else a file of memory */

static int buffer_of(size_t bytes, bool *is_dma)
{
    const int memory = memfd_create("guest", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(memory >= 0 && ftruncate(memory, (off_t)bytes) == 0 &&
          fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    const int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
    const struct udmabuf_create how = {
        .memfd = (uint32_t)memory, .flags = UDMABUF_FLAGS_CLOEXEC, .size = bytes};
    const int buffer = device >= 0 ? ioctl(device, UDMABUF_CREATE, &how) : -1;
    *is_dma = buffer >= 0;
    if (device >= 0) {
        (void)close(device);
    }
    if (buffer < 0) {
        return memory;
    }
    (void)close(memory);
    return buffer;
}

/* The processor's use of a dma-buf begins and ends. */
static void sync_buffer(int buffer, bool is_dma, uint64_t flags)
{
    const struct dma_buf_sync sync = {.flags = flags | DMA_BUF_SYNC_RW};
    CHECK(!is_dma || ioctl(buffer, DMA_BUF_IOCTL_SYNC, &sync) == 0);
}

static void mapped(vta_model *model)
{
    results want[2] = {expected(model, 8), expected(model, 9)};
    const vta_tensor_info in = vta_model_input(model, 0), out = vta_model_output(model, 0);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t at = (in.bytes + 63) / 64 * 64, bytes = (at + out.bytes + page - 1) / page * page;
    bool is_dma;
    const int buffer = buffer_of(bytes, &is_dma);
    char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, buffer, 0);
    CHECK(map != MAP_FAILED);
    CHECK(vta_model_bind_input(model, 0, map, in.bytes, &diag) == VTA_OK);
    CHECK(vta_model_bind_output(model, 0, map + at, out.bytes, &diag) == VTA_OK);
    for (uint32_t round = 0; round < 2; round++) {
        sync_buffer(buffer, is_dma, DMA_BUF_SYNC_START);
        fill(&in, map, 8 + round);
        CHECK(vta_model_run(model, &diag) == VTA_OK);
        CHECK(memcmp(map + at, want[round].data, out.bytes) == 0);
        sync_buffer(buffer, is_dma, DMA_BUF_SYNC_END);
        free(want[round].data);
    }
    CHECK(vta_model_bind_input(model, 0, NULL, 0, &diag) == VTA_OK);
    CHECK(vta_model_bind_output(model, 0, NULL, 0, &diag) == VTA_OK);
    (void)munmap(map, bytes);
    (void)close(buffer);
    (void)printf("guest: bound to %s\n", is_dma ? "a dma-buf" : "a file of memory; no /dev/udmabuf here");
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        return 2;
    }
    const char *const paths[] = {argv[2], argv[3]};
    const vta_model_options how = {.size = sizeof how, .device = argv[1], .threads = 3};
    note_descriptors();
    watch_signals();
    options(paths[0], argv[1]);
    vta_model *model = load(paths[0], &how);
    started(model);
    mapped(model);
    descriptors_close_on_exec();
    signals_are_ours();
    forked(model);
    interrupted(model, atoi(argv[4]));
    cancelled(model);
    vta_model_destroy(model);
    if (strncmp(argv[1], "pipe:", 5) != 0) {
        shared(argv[1], paths);
    }
    signals_are_ours();
    CHECK(atomic_load(&signals) == 0);
    (void)printf("guest: %s: good\n", argv[1]);
    return 0;
}
