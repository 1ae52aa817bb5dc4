/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for NVIDIA's driver, libcuda.so.1, for machines without a card: the calls that
 * runtime/gpu/cuda.c makes. It believes what its author believes of the driver; what it does prove is that
 * the PTX that is in an artifact computes what the host computes, since it runs that PTX (ptx.py makes C of
 * it), and that the calls come in an order, with a context, sizes and addresses that can work.
 *
 * Copies and launches wait in their stream until somebody waits for them. Every access to memory is looked
 * at: it lies within one allocation, and begins at a multiple of its size. Kernels with barriers run as
 * coroutines, one for each item of a group.
 *
 * CUDA_STAND_IN=FAULT: none (no device), broken (cuInit fails), old (the driver), old-card, small (16 KiB of
 * memory), lost (the device, at the second launch). CUDA_STAND_IN_TOOLS: the command that makes a shared
 * object of PTX. CUDA_STAND_IN_REPORT: a file that gets a line for each process, what it used and what it
 * left.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    INVALID_PTX = 218,
    NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700,
    SYSTEM_NOT_READY = 802,
    CAPABILITY = 75,
    MAX_ALLOCATIONS = 256,
    MAX_QUEUE = 4096,
    MAX_PARAMETERS = 64,
    MAX_GROUP = 1024,
    STACK = 1 << 20
};

struct item {
    uint32_t tid, ntid, ctaid, nctaid;
    char *shared;
    void (*barrier)(void);
    void (*check)(uint64_t address, uint32_t bytes);
};
typedef void kernel_fn(const uint64_t *parameters, const struct item *item);

typedef struct function {
    kernel_fn *run;
    const uint32_t *facts; /* has barriers, bytes of shared memory, items of a group, parameters */
} function;

typedef struct event {
    double at;
    bool recorded;
} event;

typedef struct work {
    enum { COPY, LAUNCH, EVENT } kind;
    void *to;
    const void *from;
    size_t bytes;
    function *kernel;
    uint64_t parameters[MAX_PARAMETERS];
    uint32_t groups, group;
    event *event;
} work;

static struct {
    char *start;
    size_t bytes;
} allocations[MAX_ALLOCATIONS];
static size_t allocated_bytes;
static work *queue;
static uint32_t queued;
static void *current; /* the context */
static int dummy_context, dummy_stream;
static int lost;
static struct {
    int contexts, streams, modules, events, memory; /* that are there */
    unsigned launches, waits, allocations, longest_queue;
    bool launched;
    unsigned late; /* allocations between launches */
} use;

static bool has_fault(const char *name)
{
    const char *fault = getenv("CUDA_STAND_IN");
    return fault != NULL && strcmp(fault, name) == 0;
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("CUDA_STAND_IN_REPORT");
    FILE *file = path != NULL ? fopen(path, "ae") : NULL;
    if (file != NULL) {
        (void)fprintf(
            file,
            "launches %u waits %u queued %u late %u left: contexts %d streams %d modules %d events %d "
            "memory %d queue %u\n",
            use.launches, use.waits, use.longest_queue, use.late, use.contexts, use.streams, use.modules,
            use.events, use.memory, queued);
        (void)fclose(file);
    }
}

/* ---- memory */

static bool is_inside(uint64_t address, size_t bytes)
{
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        const uint64_t start = (uint64_t)(uintptr_t)allocations[i].start;
        if (start != 0 && address >= start && address + bytes <= start + allocations[i].bytes) {
            return true;
        }
    }
    return false;
}

static bool went_astray;
static void check_access(uint64_t address, uint32_t bytes)
{
    static uint64_t first, last; /* of the allocation that was right before */
    if (address >= first && address + bytes <= last) {
        return;
    }
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        const uint64_t start = (uint64_t)(uintptr_t)allocations[i].start;
        if (start != 0 && address >= start && address + bytes <= start + allocations[i].bytes) {
            first = start;
            last = start + allocations[i].bytes;
            return;
        }
    }
    if (!went_astray) {
        (void)fprintf(stderr, "stand-in: a kernel touches %u bytes at %llx, in no allocation\n", bytes,
                      (unsigned long long)address);
    }
    went_astray = true;
    _exit(99); /* what follows would be a wild access of this process */
}

/* ---- running a kernel */

static ucontext_t scheduler, fibers[MAX_GROUP];
static uint32_t running;
static bool ended[MAX_GROUP];
static const work *at_work;
static struct item items[MAX_GROUP];

static void wait_for_others(void)
{
    (void)swapcontext(&fibers[running], &scheduler);
}

static void run_fiber(void)
{
    at_work->kernel->run(at_work->parameters, &items[running]);
    ended[running] = true;
}

/* Items go on in turn from barrier to barrier, the last one first. */
static void run_group_with_barriers(const work *w)
{
    static char *stacks;
    volatile uint32_t i, left = w->group; /* a fiber comes back as if a call returned twice */
    stacks = stacks != NULL ? stacks : malloc((size_t)MAX_GROUP * STACK);
    at_work = w;
    for (i = 0; i < w->group; i++) {
        (void)getcontext(&fibers[i]);
        fibers[i].uc_stack.ss_sp = stacks + (size_t)i * STACK;
        fibers[i].uc_stack.ss_size = STACK;
        fibers[i].uc_link = &scheduler;
        ended[i] = false;
        makecontext(&fibers[i], run_fiber, 0);
    }
    while (left > 0) {
        for (i = w->group; i-- > 0;) {
            running = i;
            if (!ended[i]) {
                (void)swapcontext(&scheduler, &fibers[i]);
                left -= ended[i];
            }
        }
    }
}

static void run_launch(const work *w)
{
    static char shared[1 << 16] __attribute__((aligned(128)));
    for (uint32_t g = 0; g < w->groups; g++) {
        memset(shared, 0x5a, sizeof shared);
        for (uint32_t i = 0; i < w->group; i++) {
            items[i] = (struct item){i, w->group, g, w->groups, shared, wait_for_others, check_access};
        }
        if (w->kernel->facts[0] != 0) {
            run_group_with_barriers(w);
        } else {
            for (uint32_t i = w->group; i-- > 0;) {
                w->kernel->run(w->parameters, &items[i]);
            }
        }
    }
}

static void run_queue(void)
{
    for (uint32_t i = 0; i < queued; i++) {
        const work *w = &queue[i];
        if (w->kind == COPY) {
            memcpy(w->to, w->from, w->bytes);
        } else if (w->kind == LAUNCH) {
            run_launch(w);
        } else {
            w->event->at = now();
        }
    }
    queued = 0;
}

static work *add_work(void)
{
    queue = queue != NULL ? queue : calloc(MAX_QUEUE, sizeof *queue);
    if (queued == MAX_QUEUE) {
        run_queue();
    }
    queued++;
    use.longest_queue = queued > use.longest_queue ? queued : use.longest_queue;
    return &queue[queued - 1];
}

/* ---- the driver's functions */

#define CALL __attribute__((visibility("default"))) int

CALL cuInit(unsigned flags);
CALL cuInit(unsigned flags)
{
    return flags != 0            ? INVALID_VALUE
           : has_fault("none")   ? NO_DEVICE
           : has_fault("broken") ? SYSTEM_NOT_READY
                                 : 0;
}

CALL cuDriverGetVersion(int *version);
CALL cuDriverGetVersion(int *version)
{
    *version = has_fault("old") ? 11040 : 12020;
    return 0;
}

CALL cuDeviceGetCount(int *count);
CALL cuDeviceGetCount(int *count)
{
    *count = 1;
    return 0;
}

CALL cuDeviceGet(int *device, int number);
CALL cuDeviceGet(int *device, int number)
{
    *device = 7;
    return number == 0 ? 0 : INVALID_DEVICE;
}

CALL cuDeviceGetName(char *name, int size, int device);
CALL cuDeviceGetName(char *name, int size, int device)
{
    (void)snprintf(name, (size_t)size, "Stand-in");
    return device == 7 ? 0 : INVALID_DEVICE;
}

CALL cuDeviceTotalMem_v2(size_t *bytes, int device);
CALL cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = has_fault("small") ? (size_t)1 << 14 : (size_t)1 << 32;
    return device == 7 ? 0 : INVALID_DEVICE;
}

CALL cuDeviceGetAttribute(int *value, int what, int device);
CALL cuDeviceGetAttribute(int *value, int what, int device)
{
    const int capability = has_fault("old-card") ? 61 : CAPABILITY;
    *value = what == 16 ? 1 : what == 75 ? capability / 10 : what == 76 ? capability % 10 : -1;
    return *value < 0 ? INVALID_VALUE : device == 7 ? 0 : INVALID_DEVICE;
}

CALL cuDevicePrimaryCtxRetain(void **context, int device);
CALL cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &dummy_context;
    use.contexts++;
    return device == 7 ? 0 : INVALID_DEVICE;
}

CALL cuDevicePrimaryCtxRelease_v2(int device);
CALL cuDevicePrimaryCtxRelease_v2(int device)
{
    use.contexts--;
    return device == 7 ? 0 : INVALID_DEVICE;
}

CALL cuCtxPushCurrent_v2(void *context);
CALL cuCtxPushCurrent_v2(void *context)
{
    if (context != &dummy_context || current != NULL) {
        return INVALID_CONTEXT;
    }
    current = context;
    return 0;
}

CALL cuCtxPopCurrent_v2(void **context);
CALL cuCtxPopCurrent_v2(void **context)
{
    *context = current;
    current = NULL;
    return *context != NULL ? 0 : INVALID_CONTEXT;
}

/* Code of a call that needs a context, on a device that is there. */
static int context_code(void)
{
    return current == NULL ? INVALID_CONTEXT : lost;
}

CALL cuStreamCreate(void **stream, unsigned flags);
CALL cuStreamCreate(void **stream, unsigned flags)
{
    *stream = &dummy_stream;
    use.streams++;
    return flags > 1 ? INVALID_VALUE : context_code();
}

CALL cuStreamDestroy_v2(void *stream);
CALL cuStreamDestroy_v2(void *stream)
{
    use.streams--;
    return stream == &dummy_stream ? context_code() : INVALID_VALUE;
}

CALL cuStreamSynchronize(void *stream);
CALL cuStreamSynchronize(void *stream)
{
    use.waits++;
    if (stream != &dummy_stream || context_code() != 0) {
        queued = 0;
        return stream != &dummy_stream ? INVALID_VALUE : context_code();
    }
    run_queue();
    return 0;
}

CALL cuMemAlloc_v2(uint64_t *address, size_t bytes);
CALL cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    enum { SMALL = 1 << 14 };
    if (bytes == 0 || context_code() != 0) {
        return bytes == 0 ? INVALID_VALUE : context_code();
    }
    allocated_bytes += bytes;
    if (has_fault("small") && allocated_bytes > SMALL) {
        return OUT_OF_MEMORY;
    }
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        if (allocations[i].start == NULL) {
            allocations[i].start = aligned_alloc(256, (bytes + 255) / 256 * 256);
            allocations[i].bytes = bytes;
            memset(allocations[i].start, 0x5a, bytes);
            *address = (uint64_t)(uintptr_t)allocations[i].start;
            use.memory++;
            use.late += use.launched;
            return 0;
        }
    }
    return OUT_OF_MEMORY;
}

CALL cuMemFree_v2(uint64_t address);
CALL cuMemFree_v2(uint64_t address)
{
    for (int i = 0; i < MAX_ALLOCATIONS; i++) {
        if (address != 0 && (uint64_t)(uintptr_t)allocations[i].start == address) {
            free(allocations[i].start);
            allocations[i].start = NULL;
            use.memory--;
            return context_code();
        }
    }
    return INVALID_VALUE;
}

CALL cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
CALL cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    if (stream != &dummy_stream || !is_inside(to, bytes) || context_code() != 0) {
        return context_code() != 0 ? context_code() : INVALID_VALUE;
    }
    *add_work() = (work){.kind = COPY, .to = (void *)(uintptr_t)to, .from = from, .bytes = bytes};
    return 0;
}

CALL cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
CALL cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    if (stream != &dummy_stream || !is_inside(from, bytes) || context_code() != 0) {
        return context_code() != 0 ? context_code() : INVALID_VALUE;
    }
    *add_work() = (work){.kind = COPY, .to = to, .from = (const void *)(uintptr_t)from, .bytes = bytes};
    return 0;
}

/* ---- modules */

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    if (file != NULL) {
        (void)fputs(text, file);
        (void)fclose(file);
    }
}

/* Runs the tools on a text; their words go into the log. */
static void *assemble(const char *text, char *log, size_t room)
{
    char folder[] = "/tmp/stand-in-XXXXXX";
    char path[64];
    char command[2048];
    if (mkdtemp(folder) == NULL) {
        return NULL;
    }
    (void)snprintf(path, sizeof path, "%s/m.ptx", folder);
    write_text(path, text);
    (void)snprintf(command, sizeof command, "%s %s", getenv("CUDA_STAND_IN_TOOLS"), folder);
    FILE *pipe = popen(command, "re");
    const size_t got = pipe != NULL && room > 0 ? fread(log, 1, room - 1, pipe) : 0;
    if (room > 0) {
        log[got] = '\0';
    }
    (void)snprintf(path, sizeof path, "%s/m.so", folder);
    void *file = pipe != NULL && pclose(pipe) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    (void)!system(command);
    return file;
}

CALL cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values);
CALL cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values)
{
    char *log = NULL;
    size_t room = 0;
    for (unsigned i = 0; i < count; i++) {
        log = options[i] == 5 ? values[i] : log;
        room = options[i] == 6 ? (size_t)(uintptr_t)values[i] : room;
    }
    if (context_code() != 0) {
        return context_code();
    }
    *module = assemble(image, log, log != NULL ? room : 0);
    use.modules += *module != NULL;
    return *module != NULL ? 0 : INVALID_PTX;
}

CALL cuModuleUnload(void *module);
CALL cuModuleUnload(void *module)
{
    use.modules--;
    return dlclose(module) == 0 ? context_code() : INVALID_VALUE;
}

CALL cuModuleGetFunction(void **out, void *module, const char *name);
CALL cuModuleGetFunction(void **out, void *module, const char *name)
{
    static function functions[MAX_QUEUE];
    static uint32_t count;
    char facts[64];
    (void)snprintf(facts, sizeof facts, "%s_facts", name);
    void *found = dlsym(module, name);
    if (found == NULL || count == MAX_QUEUE) {
        return NOT_FOUND;
    }
    function *f = &functions[count++];
    memcpy(&f->run, &found, sizeof found);
    f->facts = dlsym(module, facts);
    *out = f;
    return context_code();
}

CALL cuLaunchKernel(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                    unsigned bz, unsigned shared, void *stream, void **parameters, void **extra);
CALL cuLaunchKernel(void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                    unsigned bz, unsigned shared, void *stream, void **parameters, void **extra)
{
    function *f = kernel;
    if (gx == 0 || gy != 1 || gz != 1 || bx == 0 || bx > MAX_GROUP || by != 1 || bz != 1 || shared != 0 ||
        stream != &dummy_stream || extra != NULL || (f->facts[2] != 0 && f->facts[2] != bx)) {
        return INVALID_VALUE;
    }
    use.launches++;
    use.launched = true;
    if (has_fault("lost") && use.launches >= 2) {
        lost = ILLEGAL_ADDRESS;
    }
    work *w = add_work();
    *w = (work){.kind = LAUNCH, .kernel = f, .groups = gx, .group = bx};
    for (uint32_t i = 0; i < MAX_PARAMETERS && i < f->facts[3]; i++) {
        memcpy(&w->parameters[i], parameters[i], sizeof w->parameters[i]);
    }
    return lost == 0 || use.launches == 2 ? context_code() == INVALID_CONTEXT ? INVALID_CONTEXT : 0 : lost;
}

/* ---- events */

CALL cuEventCreate(void **out, unsigned flags);
CALL cuEventCreate(void **out, unsigned flags)
{
    *out = calloc(1, sizeof(event));
    use.events++;
    return flags != 0 ? INVALID_VALUE : context_code();
}

CALL cuEventDestroy_v2(void *e);
CALL cuEventDestroy_v2(void *e)
{
    use.events--;
    free(e);
    return context_code();
}

CALL cuEventRecord(void *e, void *stream);
CALL cuEventRecord(void *e, void *stream)
{
    if (stream != &dummy_stream || context_code() != 0) {
        return context_code() != 0 ? context_code() : INVALID_VALUE;
    }
    ((event *)e)->recorded = true;
    *add_work() = (work){.kind = EVENT, .event = e};
    return 0;
}

CALL cuEventElapsedTime(float *milliseconds, void *start, void *end);
CALL cuEventElapsedTime(float *milliseconds, void *start, void *end)
{
    const event *a = start;
    const event *b = end;
    if (!a->recorded || !b->recorded || queued > 0) {
        return INVALID_VALUE;
    }
    *milliseconds = (float)(1e3 * (b->at - a->at));
    return context_code();
}

CALL cuGetErrorName(int code, const char **name);
CALL cuGetErrorName(int code, const char **name)
{
    *name = code == INVALID_VALUE      ? "CUDA_ERROR_INVALID_VALUE"
            : code == OUT_OF_MEMORY    ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == INVALID_CONTEXT  ? "CUDA_ERROR_INVALID_CONTEXT"
            : code == INVALID_PTX      ? "CUDA_ERROR_INVALID_PTX"
            : code == ILLEGAL_ADDRESS  ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : code == SYSTEM_NOT_READY ? "CUDA_ERROR_SYSTEM_NOT_READY"
                                       : NULL;
    return *name != NULL ? 0 : INVALID_VALUE;
}
