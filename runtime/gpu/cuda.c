/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA: through the driver libcuda.so.1, which is looked for when a model asks. The driver assembles the
 * kernels' PTX for the device, and keeps what it made for the next time. The few functions and numbers that
 * are needed are declared here; there is no header to build with.
 *
 * The context is the device's primary one, which a program's own CUDA code shares; it is current while a
 * function here runs, and the caller's is afterwards.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "vta/fail.h"
#include "vta/str.h"

enum {
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NO_DEVICE = 100,
    CUDA_UNITS = 16, /* attributes of a device */
    CUDA_MAJOR = 75,
    CUDA_MINOR = 76,
    CUDA_ERROR_LOG = 5, /* options of a module */
    CUDA_ERROR_LOG_BYTES = 6,
    CUDA_NO_BLOCKING_STREAM = 1,
    OLDEST_DRIVER = 11080 /* the first that reads PTX 7.8 */
};
enum { MAX_DEVICES = 16, GROUP = 64, GROUPS_PER_UNIT = 32 };

/* The functions, from the driver. */
typedef struct cu_calls {
#define CU_CALL(name, parameters) int(*name) parameters;
#include "cuda.def"
#undef CU_CALL
} cu_calls;

typedef struct cu_timer {
    void *start, *end;
    bool used;
} cu_timer;

typedef struct cu_device {
    const cu_calls *cu;
    vta_kernels_device about;
    int device, capability; /* capability: 75 is 7.5 */
    void *context, *stream, *module;
    void **kernels;
    cu_timer *timers;
    uint32_t timer_count;
} cu_device;

/* ---- the driver ---- */

static const struct {
    const char *name;
    size_t offset;
} call_rows[] = {
#define CU_CALL(name, parameters) {#name, offsetof(cu_calls, name)},
#include "cuda.def"
#undef CU_CALL
};

static vta_status find_calls(void *file, cu_calls *out, vta_diag *diag)
{
    for (size_t i = 0; i < sizeof call_rows / sizeof call_rows[0]; i++) {
        void *found = dlsym(file, call_rows[i].name);
        if (found == NULL) {
            return vta_fail(
                diag, VTA_UNSUPPORTED,
                "libcuda.so.1 has no '%s'; the driver of CUDA 11.8 (520) or a later one is needed",
                call_rows[i].name);
        }
        memcpy((char *)out + call_rows[i].offset, &found, sizeof found);
    }
    return VTA_OK;
}

static const char *error_name(const cu_calls *cu, int code)
{
    const char *name = NULL;
    return cu->cuGetErrorName(code, &name) == 0 && name != NULL ? name : "an unknown error";
}

static vta_status start_driver(const cu_calls *cu, vta_diag *diag)
{
    int version = 0;
    const int code = cu->cuInit(0);
    if (code == CUDA_NO_DEVICE) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "CUDA's driver is installed and finds no device ('nvidia-smi')");
    }
    if (code != 0) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "CUDA's driver does not start: %s (%d); 'nvidia-smi' may know why",
                        error_name(cu, code), code);
    }
    (void)cu->cuDriverGetVersion(&version);
    return version >= OLDEST_DRIVER
               ? VTA_OK
               : vta_fail(diag, VTA_UNSUPPORTED,
                          "the driver knows CUDA %d.%d; that of CUDA 11.8 (520) or a later one is needed",
                          version / 1000, version % 1000 / 10);
}

static vta_status load_calls(const cu_calls **out, vta_diag *diag)
{
    static cu_calls calls;
    void *file = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (file == NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "no CUDA: libcuda.so.1 cannot be loaded; it comes with NVIDIA's driver");
    }
    VTA_TRY(find_calls(file, &calls, diag));
    VTA_TRY(start_driver(&calls, diag));
    *out = &calls;
    return VTA_OK;
}

static vta_status get_calls(const cu_calls **out, vta_diag *diag)
{
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static const cu_calls *loaded;
    (void)pthread_mutex_lock(&guard);
    const vta_status status = loaded != NULL ? VTA_OK : load_calls(&loaded, diag);
    *out = loaded;
    (void)pthread_mutex_unlock(&guard);
    return status;
}

/* ---- devices ---- */

static int attribute_of(const cu_calls *cu, int device, int what)
{
    int value = 0;
    return cu->cuDeviceGetAttribute(&value, what, device) == 0 ? value : 0;
}

static vta_kernels_device describe(const cu_calls *cu, int device, uint32_t number)
{
    vta_kernels_device about = {.units = (uint32_t)attribute_of(cu, device, CUDA_UNITS), .has_doubles = true};
    size_t bytes = 0;
    int version = 0;
    (void)snprintf(about.uri, sizeof about.uri, "cuda:%u", number);
    (void)cu->cuDeviceGetName(about.name, (int)sizeof about.name - 1, device);
    (void)cu->cuDriverGetVersion(&version);
    (void)snprintf(about.driver, sizeof about.driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    (void)cu->cuDeviceTotalMem_v2(&bytes, device);
    about.bytes = bytes;
    return about;
}

static vta_status cuda_list(vta_kernels_device *out, uint32_t room, uint32_t *count, vta_diag *diag)
{
    const cu_calls *cu;
    int found = 0;
    *count = 0;
    VTA_TRY(get_calls(&cu, diag));
    (void)cu->cuDeviceGetCount(&found);
    for (int i = 0; i < found && *count < room; i++) {
        int device = 0;
        if (cu->cuDeviceGet(&device, i) == 0) {
            out[(*count)++] = describe(cu, device, (uint32_t)i);
        }
    }
    return VTA_OK;
}

static void cuda_describe(const void *self, vta_kernels_device *out)
{
    *out = ((const cu_device *)self)->about;
}

static vta_status failed(const cu_device *d, const char *what, int code, vta_diag *diag)
{
    const bool memory = code == CUDA_OUT_OF_MEMORY;
    return vta_fail(diag, memory ? VTA_NOMEM : VTA_IO, "device '%s' (%s): %s failed: %s (CUDA's error %d)%s",
                    d->about.uri, d->about.name, what, error_name(d->cu, code), code,
                    memory ? ", out of memory" : "");
}

static vta_status check_result(const cu_device *d, const char *what, int code, vta_diag *diag)
{
    return code == 0 ? VTA_OK : failed(d, what, code, diag);
}

/* The device's context is the thread's from here to leave_context. */
static void enter_context(const cu_device *d)
{
    (void)d->cu->cuCtxPushCurrent_v2(d->context);
}

static void leave_context(const cu_device *d)
{
    void *was = NULL;
    (void)d->cu->cuCtxPopCurrent_v2(&was);
}

static vta_status make_timers(cu_device *d, vta_diag *diag)
{
    for (uint32_t i = 0; i < d->timer_count; i++) {
        cu_timer *timer = &d->timers[i];
        VTA_TRY(check_result(d, "a timer", d->cu->cuEventCreate(&timer->start, 0), diag));
        VTA_TRY(check_result(d, "a timer", d->cu->cuEventCreate(&timer->end, 0), diag));
    }
    return VTA_OK;
}

static vta_status start_device(cu_device *d, vta_diag *diag)
{
    d->capability =
        10 * attribute_of(d->cu, d->device, CUDA_MAJOR) + attribute_of(d->cu, d->device, CUDA_MINOR);
    VTA_TRY(check_result(d, "its context", d->cu->cuDevicePrimaryCtxRetain(&d->context, d->device), diag));
    enter_context(d);
    vta_status status =
        check_result(d, "its queue", d->cu->cuStreamCreate(&d->stream, CUDA_NO_BLOCKING_STREAM), diag);
    if (status == VTA_OK) {
        status = make_timers(d, diag);
    }
    leave_context(d);
    return status;
}

static void release_timers(const cu_device *d)
{
    for (uint32_t i = 0; d->timers != NULL && i < d->timer_count; i++) {
        if (d->timers[i].start != NULL) {
            (void)d->cu->cuEventDestroy_v2(d->timers[i].start);
        }
        if (d->timers[i].end != NULL) {
            (void)d->cu->cuEventDestroy_v2(d->timers[i].end);
        }
    }
}

static void release_context(const cu_device *d)
{
    enter_context(d);
    if (d->stream != NULL) {
        (void)d->cu->cuStreamSynchronize(d->stream);
    }
    release_timers(d);
    if (d->module != NULL) {
        (void)d->cu->cuModuleUnload(d->module);
    }
    if (d->stream != NULL) {
        (void)d->cu->cuStreamDestroy_v2(d->stream);
    }
    leave_context(d);
    (void)d->cu->cuDevicePrimaryCtxRelease_v2(d->device);
}

static void cuda_close(void *self)
{
    cu_device *d = self;
    if (d->context != NULL) {
        release_context(d);
    }
    free(d->kernels);
    free(d->timers);
    free(d);
}

static vta_status find_device(cu_device *d, uint32_t number, vta_diag *diag)
{
    int count = 0;
    VTA_TRY(get_calls(&d->cu, diag));
    (void)d->cu->cuDeviceGetCount(&count);
    if (number >= (uint32_t)count || d->cu->cuDeviceGet(&d->device, (int)number) != 0) {
        return vta_fail(diag, VTA_RANGE, "device 'cuda:%u' does not exist; CUDA's driver has %d%s", number,
                        count, count > 0 ? ", from cuda:0 on ('vtac devices')" : "");
    }
    d->about = describe(d->cu, d->device, number);
    return start_device(d, diag);
}

static vta_status cuda_open(uint32_t number, uint32_t timers, void **self, vta_diag *diag)
{
    cu_device *d = calloc(1, sizeof *d);
    *self = NULL;
    if (d == NULL) {
        return vta_no_memory(diag);
    }
    d->timers = calloc((size_t)timers + 1, sizeof *d->timers);
    d->timer_count = timers;
    const vta_status status = d->timers != NULL ? find_device(d, number, diag) : vta_no_memory(diag);
    if (status != VTA_OK) {
        cuda_close(d);
        return status;
    }
    *self = d;
    return VTA_OK;
}

/* ---- memory: a device's address stands in a pointer ---- */

static uint64_t address_of(const vta_gpu_place *place)
{
    return (uint64_t)(uintptr_t)place->memory + place->offset;
}

static vta_status cuda_allocate(void *self, uint64_t bytes, void **memory, vta_diag *diag)
{
    cu_device *d = self;
    uint64_t address = 0;
    char what[96];
    enter_context(d);
    const int code = bytes <= SIZE_MAX ? d->cu->cuMemAlloc_v2(&address, (size_t)bytes) : CUDA_OUT_OF_MEMORY;
    leave_context(d);
    (void)snprintf(what, sizeof what, "room for a model, %llu of its %llu MiB in one piece,",
                   (unsigned long long)(bytes >> 20), (unsigned long long)(d->about.bytes >> 20));
    *memory = (void *)(uintptr_t)address;
    return check_result(d, what, code, diag);
}

static void cuda_release(void *self, void *memory)
{
    cu_device *d = self;
    enter_context(d);
    (void)d->cu->cuMemFree_v2((uint64_t)(uintptr_t)memory);
    leave_context(d);
}

static vta_status cuda_write(void *self, const vta_gpu_place *to, const void *from, uint64_t bytes,
                             vta_diag *diag)
{
    cu_device *d = self;
    enter_context(d);
    const int code =
        bytes == 0 ? 0 : d->cu->cuMemcpyHtoDAsync_v2(address_of(to), from, (size_t)bytes, d->stream);
    leave_context(d);
    return check_result(d, "a copy to it", code, diag);
}

static vta_status cuda_read(void *self, const vta_gpu_place *from, void *to, uint64_t bytes, vta_diag *diag)
{
    cu_device *d = self;
    enter_context(d);
    const int code =
        bytes == 0 ? 0 : d->cu->cuMemcpyDtoHAsync_v2(to, address_of(from), (size_t)bytes, d->stream);
    leave_context(d);
    return check_result(d, "a copy from it", code, diag);
}

/* ---- kernels ---- */

/* Kernels `first` to `last` - 1 as one text. */
static char *source_of(const vta_artifact_kernels *table, uint32_t first, uint32_t last)
{
    vta_str text = {0};
    vta_str_put(&text, table->prelude);
    for (uint32_t i = first; i < last; i++) {
        vta_str_printf(&text, ".visible .entry k%u%s", i, table->kernels[i].source);
    }
    return vta_str_take(&text);
}

/* Loads kernels; where the driver refuses them, the line of its log that names an error, or the first. */
static vta_status load_source(cu_device *d, char *source, void **module, char *line, size_t size, int *code,
                              vta_diag *diag)
{
    char log[8192] = "";
    int options[] = {CUDA_ERROR_LOG, CUDA_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    if (source == NULL) {
        return vta_no_memory(diag);
    }
    *code = d->cu->cuModuleLoadDataEx(module, source, 2, options, values);
    free(source);
    const char *error = strstr(log, "error");
    const char *start = error != NULL ? error : log + strspn(log, "\n ");
    while (start > log && start[-1] != '\n') {
        start--;
    }
    (void)snprintf(line, size, "%.*s", (int)strcspn(start, "\n"), start);
    return VTA_OK;
}

static vta_status refuse(const cu_device *d, const char *name, const char *line, int code, vta_diag *diag)
{
    return vta_fail(diag, VTA_UNSUPPORTED,
                    "device '%s' (%s) refuses the kernel of '%s': %s (%s, CUDA's error %d)", d->about.uri,
                    d->about.name, name, line[0] != '\0' ? line : "without a log", error_name(d->cu, code),
                    code);
}

/* Finds the kernel that the driver does not take, by loading each alone. */
static vta_status find_refused(cu_device *d, const vta_artifact_kernels *table, const char *whole_line,
                               int whole_code, vta_diag *diag)
{
    char line[256];
    for (uint32_t i = 0; i < table->kernel_count; i++) {
        void *module = NULL;
        int code = 0;
        VTA_TRY(load_source(d, source_of(table, i, i + 1), &module, line, sizeof line, &code, diag));
        if (code != 0) {
            return refuse(d, table->kernels[i].name, line, code, diag);
        }
        (void)d->cu->cuModuleUnload(module);
    }
    return refuse(d, "all steps", whole_line, whole_code, diag);
}

/* Refuses kernels for processors that came later than the device. */
static vta_status check_age(const cu_device *d, const vta_artifact_kernels *table, vta_diag *diag)
{
    const char *target = strstr(table->prelude, ".target sm_");
    const int needed = target != NULL ? (int)strtol(target + strlen(".target sm_"), NULL, 10) : 0;
    return d->capability >= needed
               ? VTA_OK
               : vta_fail(diag, VTA_UNSUPPORTED,
                          "device '%s' (%s) is an sm_%d, and the kernels are for sm_%d or later ones%s",
                          d->about.uri, d->about.name, d->capability, needed,
                          d->capability >= 70 ? "; compile for it with '--target cuda:sm_…'" : "");
}

static vta_status build_kernels(cu_device *d, const vta_artifact_kernels *table, vta_diag *diag)
{
    char line[256];
    int code = 0;
    VTA_TRY(
        load_source(d, source_of(table, 0, table->kernel_count), &d->module, line, sizeof line, &code, diag));
    if (code != 0) {
        return find_refused(d, table, line, code, diag);
    }
    for (uint32_t i = 0; i < table->kernel_count && code == 0; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "k%u", i);
        code = d->cu->cuModuleGetFunction(&d->kernels[i], d->module, name);
    }
    return check_result(d, "a kernel", code, diag);
}

static vta_status cuda_build(void *self, const vta_artifact_kernels *table, vta_diag *diag)
{
    cu_device *d = self;
    if (table->kernel_count == 0) {
        return VTA_OK;
    }
    d->kernels = calloc((size_t)table->kernel_count + 1, sizeof *d->kernels);
    VTA_TRY(vta_allocated(d->kernels != NULL, diag));
    VTA_TRY(check_age(d, table, diag));
    enter_context(d);
    const vta_status status = build_kernels(d, table, diag);
    leave_context(d);
    return status;
}

static vta_status queue_launch(cu_device *d, const vta_gpu_launch *launch, void **arguments, vta_diag *diag)
{
    cu_timer *timer = launch->timed && !d->timers[launch->timer].used ? &d->timers[launch->timer] : NULL;
    const vta_gpu_shape shape =
        vta_gpu_shape_of(launch, GROUP, (uint64_t)d->about.units * GROUPS_PER_UNIT * GROUP);
    int code = timer != NULL ? d->cu->cuEventRecord(timer->start, d->stream) : 0;
    if (code == 0) {
        code = d->cu->cuLaunchKernel(d->kernels[launch->kernel], (unsigned)(shape.items / shape.group), 1, 1,
                                     (unsigned)shape.group, 1, 1, 0, d->stream, arguments, NULL);
    }
    if (code == 0 && timer != NULL) {
        timer->used = true;
        code = d->cu->cuEventRecord(timer->end, d->stream);
    }
    return check_result(d, "a launch", code, diag);
}

static vta_status cuda_launch(void *self, const vta_gpu_launch *launch, vta_diag *diag)
{
    cu_device *d = self;
    uint64_t values[VTA_KERNEL_MAX_BUFFERS + 2];
    void *arguments[VTA_KERNEL_MAX_BUFFERS + 2];
    uint32_t n = 0;
    for (; n < launch->place_count; n++) {
        values[n] = address_of(&launch->places[n]);
    }
    values[n++] = (uint64_t)(uintptr_t)launch->scratch;
    values[n++] = launch->scratch_bytes;
    for (uint32_t i = 0; i < n; i++) {
        arguments[i] = &values[i];
    }
    enter_context(d);
    const vta_status status = queue_launch(d, launch, arguments, diag);
    leave_context(d);
    return status;
}

static vta_status cuda_wait(void *self, vta_diag *diag)
{
    cu_device *d = self;
    enter_context(d);
    const int code = d->cu->cuStreamSynchronize(d->stream);
    leave_context(d);
    return check_result(d, "what was queued", code, diag);
}

static double cuda_seconds(void *self, uint32_t number)
{
    cu_device *d = self;
    cu_timer *timer = &d->timers[number];
    float milliseconds = 0;
    if (!timer->used) {
        return 0;
    }
    timer->used = false;
    enter_context(d);
    const int code = d->cu->cuEventElapsedTime(&milliseconds, timer->start, timer->end);
    leave_context(d);
    return code == 0 ? 1e-3 * (double)milliseconds : 0;
}

const vta_gpu_ops vta_gpu_cuda = {
    .scheme = "cuda",
    .language = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .list = cuda_list,
    .describe = cuda_describe,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .build = cuda_build,
    .write = cuda_write,
    .read = cuda_read,
    .launch = cuda_launch,
    .wait = cuda_wait,
    .seconds = cuda_seconds,
};
