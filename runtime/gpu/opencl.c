/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenCL 1.2, of any vendor: through the loader libOpenCL.so.1, which is looked for when a model asks. The
 * few functions and numbers that are needed are declared here; there is no header to build with.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "device.h"
#include "vta/fail.h"
#include "vta/str.h"

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef void cl_notify(const char *, const void *, size_t, void *);
typedef void cl_program_notify(void *, void *);

enum {
    CL_SUCCESS = 0,
    CL_DEVICE_NOT_FOUND = -1,
    CL_DEVICE_NOT_AVAILABLE = -2,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_INVALID_DEVICE = -33,
    CL_INVALID_CONTEXT = -34,
    CL_INVALID_COMMAND_QUEUE = -36,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_NAME = 0x102B,
    CL_DRIVER_VERSION = 0x102D,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_EXTENSIONS = 0x1030,
    CL_DEVICE_HALF_FP_CONFIG = 0x1033,
    CL_PROGRAM_BINARY_SIZES = 0x1165,
    CL_PROGRAM_BINARIES = 0x1166,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_PROFILING_COMMAND_START = 0x1282,
    CL_PROFILING_COMMAND_END = 0x1283
};
#define CL_DEVICE_TYPE_ALL        UINT64_C(0xffffffff)
#define CL_DEVICE_TYPE_CPU        UINT64_C(2)
#define CL_CORRECTLY_ROUNDED      UINT64_C(0x80)
#define CL_ALL_HALVES             UINT64_C(7) /* subnormal ones, infinities, rounding to nearest */
#define CL_QUEUE_PROFILING_ENABLE UINT64_C(2)
#define CL_MEM_READ_WRITE         UINT64_C(1)

enum { MAX_DEVICES = 16, GROUP = 64, GROUPS_PER_UNIT = 32, OPTIONS = 96 };

/* The functions, from the loader. */
typedef struct cl_calls {
#define CL_CALL(name, result, parameters) result(*name) parameters;
#include "opencl.def"
#undef CL_CALL
} cl_calls;

typedef struct cl_device {
    const cl_calls *cl;
    vta_kernels_device about;
    void *device, *context, *queue, *program;
    void **kernels;
    uint32_t kernel_count;
    void **events; /* of timed launches; NULL: none */
    uint32_t event_count;
    cl_ulong max_allocation;
    size_t group; /* items of a work group */
    bool is_cpu;
    char options[OPTIONS]; /* of the driver's compiler */
} cl_device;

/* ---- the loader ---- */

static const struct {
    const char *name;
    size_t offset;
} call_rows[] = {
#define CL_CALL(name, result, parameters) {#name, offsetof(cl_calls, name)},
#include "opencl.def"
#undef CL_CALL
};

static vta_status find_calls(void *file, cl_calls *out, vta_diag *diag)
{
    for (size_t i = 0; i < sizeof call_rows / sizeof call_rows[0]; i++) {
        void *found = dlsym(file, call_rows[i].name);
        if (found == NULL) {
            return vta_fail(diag, VTA_UNSUPPORTED, "libOpenCL.so.1 has no '%s'; OpenCL 1.2 is needed",
                            call_rows[i].name);
        }
        memcpy((char *)out + call_rows[i].offset, &found, sizeof found);
    }
    return VTA_OK;
}

static vta_status load_calls(const cl_calls **out, vta_diag *diag)
{
    static cl_calls calls;
    void *file = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (file == NULL) {
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "no OpenCL: libOpenCL.so.1 cannot be loaded; 'apt-get install ocl-icd-libopencl1' and the "
            "driver of the device (for the processor: pocl-opencl-icd)");
    }
    VTA_TRY(find_calls(file, &calls, diag));
    *out = &calls;
    return VTA_OK;
}

static vta_status get_calls(const cl_calls **out, vta_diag *diag)
{
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static const cl_calls *loaded;
    (void)pthread_mutex_lock(&guard);
    const vta_status status = loaded != NULL ? VTA_OK : load_calls(&loaded, diag);
    *out = loaded;
    (void)pthread_mutex_unlock(&guard);
    return status;
}

/* ---- devices ---- */

static cl_ulong number_of(const cl_calls *cl, void *device, cl_uint what)
{
    cl_ulong value = 0; /* shorter ones fill its lower half: all machines with OpenCL are little-endian */
    return cl->clGetDeviceInfo(device, what, sizeof value, &value, NULL) == CL_SUCCESS ? value : 0;
}

static void text_of(const cl_calls *cl, void *device, cl_uint what, char *out, size_t size)
{
    char text[4096] = "";
    if (cl->clGetDeviceInfo(device, what, sizeof text - 1, text, NULL) != CL_SUCCESS) {
        text[0] = '\0';
    }
    (void)snprintf(out, size, "%s", text);
}

static bool has_extension(const cl_calls *cl, void *device, const char *name)
{
    char all[8192];
    text_of(cl, device, CL_DEVICE_EXTENSIONS, all, sizeof all);
    return strstr(all, name) != NULL;
}

static vta_kernels_device describe(const cl_calls *cl, void *device, uint32_t number)
{
    vta_kernels_device about = {.bytes = number_of(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE),
                                .units = (uint32_t)number_of(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS),
                                .has_doubles = has_extension(cl, device, "cl_khr_fp64")};
    (void)snprintf(about.uri, sizeof about.uri, "opencl:%u", number);
    text_of(cl, device, CL_DEVICE_NAME, about.name, sizeof about.name);
    text_of(cl, device, CL_DRIVER_VERSION, about.driver, sizeof about.driver);
    return about;
}

/* Devices of all platforms, in the loader's order. */
static vta_status find_devices(const cl_calls *cl, void **devices, uint32_t *count, vta_diag *diag)
{
    void *platforms[MAX_DEVICES];
    cl_uint platform_count = 0;
    *count = 0;
    if (cl->clGetPlatformIDs(MAX_DEVICES, platforms, &platform_count) != CL_SUCCESS || platform_count == 0) {
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "no OpenCL driver is installed; that of a GPU comes with it, that of the processor is "
            "pocl-opencl-icd");
    }
    for (cl_uint i = 0; i < platform_count && i < MAX_DEVICES; i++) {
        cl_uint found = 0;
        if (cl->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MAX_DEVICES - *count, devices + *count,
                               &found) == CL_SUCCESS) {
            *count = *count + found < MAX_DEVICES ? *count + found : MAX_DEVICES;
        }
        if (*count == MAX_DEVICES) {
            break;
        }
    }
    return VTA_OK;
}

static vta_status opencl_list(vta_kernels_device *out, uint32_t room, uint32_t *count, vta_diag *diag)
{
    const cl_calls *cl;
    void *devices[MAX_DEVICES];
    uint32_t found;
    *count = 0;
    VTA_TRY(get_calls(&cl, diag));
    VTA_TRY(find_devices(cl, devices, &found, diag));
    for (uint32_t i = 0; i < found && i < room; i++) {
        out[(*count)++] = describe(cl, devices[i], i);
    }
    return VTA_OK;
}

static void opencl_describe(const void *self, vta_kernels_device *out)
{
    *out = ((const cl_device *)self)->about;
}

static vta_status failed(const cl_device *d, const char *what, cl_int code, vta_diag *diag)
{
    const bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
                        code == CL_OUT_OF_HOST_MEMORY;
    const bool lost = code == CL_DEVICE_NOT_AVAILABLE || code == CL_INVALID_DEVICE ||
                      code == CL_INVALID_CONTEXT || code == CL_INVALID_COMMAND_QUEUE;
    return vta_fail(diag, memory ? VTA_NOMEM : VTA_IO, "device '%s' (%s): %s failed: OpenCL's error %d%s",
                    d->about.uri, d->about.name, what, code,
                    memory ? ", out of memory"
                    : lost ? ", the device is lost"
                           : "");
}

/* Kernels are in OpenCL C 1.2. */
static vta_status check_version(const cl_device *d, vta_diag *diag)
{
    char text[128];
    text_of(d->cl, d->device, CL_DEVICE_VERSION, text, sizeof text);
    const size_t word = strlen("OpenCL ");
    char *end = text;
    const unsigned long major = strncmp(text, "OpenCL ", word) == 0 ? strtoul(text + word, &end, 10) : 0;
    const unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return major > 1 || (major == 1 && minor >= 2)
               ? VTA_OK
               : vta_fail(diag, VTA_UNSUPPORTED, "device '%s' (%s) knows '%.40s'; OpenCL 1.2 is needed",
                          d->about.uri, d->about.name, text);
}

/* The driver of a processor reads its library of functions into each context, which takes longer than a small
 * model: models of one process share a processor's context, and it stays. Other devices get theirs back. */
static void *shared_context(const cl_device *d, cl_int *code)
{
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        const void *device;
        void *context;
    } rows[MAX_DEVICES];
    size_t at = 0;
    (void)pthread_mutex_lock(&guard);
    while (at < MAX_DEVICES - 1 && rows[at].device != NULL && rows[at].device != d->device) {
        at++;
    }
    if (rows[at].device != d->device) {
        rows[at].context = d->cl->clCreateContext(NULL, 1, &d->device, NULL, NULL, code);
        rows[at].device = rows[at].context != NULL ? d->device : NULL;
    }
    void *context = rows[at].context;
    (void)pthread_mutex_unlock(&guard);
    return context;
}

/* Kernels compute with halves where the device rounds them to nearest and has all of them, small ones and
 * infinities, too; else with the floats that they are widened to. */
static void write_options(cl_device *d)
{
    const bool divides =
        (number_of(d->cl, d->device, CL_DEVICE_SINGLE_FP_CONFIG) & CL_CORRECTLY_ROUNDED) != 0;
    const bool halves =
        has_extension(d->cl, d->device, "cl_khr_fp16") &&
        (number_of(d->cl, d->device, CL_DEVICE_HALF_FP_CONFIG) & CL_ALL_HALVES) == CL_ALL_HALVES;
    (void)snprintf(d->options, sizeof d->options, "-cl-std=CL1.2%s%s",
                   divides ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
                   halves ? " -DVTAC_HAS_HALVES" : "");
}

static vta_status start_device(cl_device *d, vta_diag *diag)
{
    cl_int code = CL_SUCCESS;
    VTA_TRY(check_version(d, diag));
    const size_t max = (size_t)number_of(d->cl, d->device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    d->is_cpu = (number_of(d->cl, d->device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
    d->group = d->is_cpu ? 1 : max < GROUP ? max : GROUP;
    d->max_allocation = number_of(d->cl, d->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    write_options(d);
    d->context =
        d->is_cpu ? shared_context(d, &code) : d->cl->clCreateContext(NULL, 1, &d->device, NULL, NULL, &code);
    if (d->context == NULL) {
        return failed(d, "its context", code, diag);
    }
    d->queue = d->cl->clCreateCommandQueue(d->context, d->device, CL_QUEUE_PROFILING_ENABLE, &code);
    return d->queue != NULL ? VTA_OK : failed(d, "its queue", code, diag);
}

static void opencl_close(void *self)
{
    cl_device *d = self;
    if (d->queue != NULL) {
        (void)d->cl->clFinish(d->queue);
    }
    for (uint32_t i = 0; d->kernels != NULL && i < d->kernel_count; i++) {
        if (d->kernels[i] != NULL) {
            (void)d->cl->clReleaseKernel(d->kernels[i]);
        }
    }
    if (d->program != NULL) {
        (void)d->cl->clReleaseProgram(d->program);
    }
    if (d->queue != NULL) {
        (void)d->cl->clReleaseCommandQueue(d->queue);
    }
    if (d->context != NULL && !d->is_cpu) {
        (void)d->cl->clReleaseContext(d->context);
    }
    free(d->kernels);
    free(d->events);
    free(d);
}

static vta_status find_device(cl_device *d, uint32_t number, vta_diag *diag)
{
    void *devices[MAX_DEVICES];
    uint32_t count;
    VTA_TRY(get_calls(&d->cl, diag));
    VTA_TRY(find_devices(d->cl, devices, &count, diag));
    if (number >= count) {
        return vta_fail(diag, VTA_RANGE, "device 'opencl:%u' does not exist; OpenCL's drivers have %u%s",
                        number, count, count > 0 ? ", from opencl:0 on ('vtac devices')" : "");
    }
    d->device = devices[number];
    d->about = describe(d->cl, d->device, number);
    return start_device(d, diag);
}

static vta_status opencl_open(uint32_t number, uint32_t timers, void **self, vta_diag *diag)
{
    cl_device *d = calloc(1, sizeof *d);
    *self = NULL;
    if (d == NULL) {
        return vta_no_memory(diag);
    }
    d->events = calloc((size_t)timers + 1, sizeof *d->events);
    d->event_count = timers;
    const vta_status status = d->events != NULL ? find_device(d, number, diag) : vta_no_memory(diag);
    if (status != VTA_OK) {
        opencl_close(d);
        return status;
    }
    *self = d;
    return VTA_OK;
}

/* ---- memory ---- */

static vta_status opencl_allocate(void *self, uint64_t bytes, void **memory, vta_diag *diag)
{
    cl_device *d = self;
    cl_int code = CL_SUCCESS;
    if (bytes > d->about.bytes || bytes > d->max_allocation) {
        return vta_fail(diag, VTA_NOMEM,
                        "device '%s' (%s): the model needs %llu MiB in one piece, it gives %llu of its %llu",
                        d->about.uri, d->about.name, (unsigned long long)(bytes >> 20),
                        (unsigned long long)(d->max_allocation >> 20),
                        (unsigned long long)(d->about.bytes >> 20));
    }
    *memory = d->cl->clCreateBuffer(d->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &code);
    return *memory != NULL ? VTA_OK : failed(d, "room for a model", code, diag);
}

static void opencl_release(void *self, void *memory)
{
    (void)((cl_device *)self)->cl->clReleaseMemObject(memory);
}

static vta_status opencl_write(void *self, const vta_gpu_place *to, const void *from, uint64_t bytes,
                               vta_diag *diag)
{
    cl_device *d = self;
    const cl_int code = bytes == 0 ? CL_SUCCESS
                                   : d->cl->clEnqueueWriteBuffer(d->queue, to->memory, 0, (size_t)to->offset,
                                                                 (size_t)bytes, from, 0, NULL, NULL);
    return code == CL_SUCCESS ? VTA_OK : failed(d, "a copy to it", code, diag);
}

static vta_status opencl_read(void *self, const vta_gpu_place *from, void *to, uint64_t bytes, vta_diag *diag)
{
    cl_device *d = self;
    const cl_int code = bytes == 0
                            ? CL_SUCCESS
                            : d->cl->clEnqueueReadBuffer(d->queue, from->memory, 0, (size_t)from->offset,
                                                         (size_t)bytes, to, 0, NULL, NULL);
    return code == CL_SUCCESS ? VTA_OK : failed(d, "a copy from it", code, diag);
}

/* ---- kernels ---- */

static bool is_wanted(const cl_device *d, const vta_artifact_kernel *kernel)
{
    return d->about.has_doubles || (kernel->needs & VTA_KERNEL_DOUBLES) == 0;
}

/* Kernels `first` to `last` - 1 as one text. */
static char *source_of(const cl_device *d, const vta_artifact_kernels *table, uint32_t first, uint32_t last)
{
    vta_str text = {0};
    vta_str_put(&text, table->prelude);
    for (uint32_t i = first; i < last; i++) {
        if (is_wanted(d, &table->kernels[i])) {
            vta_str_printf(&text, "__kernel void k%u%s", i, table->kernels[i].source);
        }
    }
    return vta_str_take(&text);
}

static vta_status build_source(cl_device *d, const char *source, void **program, cl_int *code, vta_diag *diag)
{
    *program = d->cl->clCreateProgramWithSource(d->context, 1, &source, NULL, code);
    if (*program == NULL) {
        return failed(d, "a program", *code, diag);
    }
    *code = d->cl->clBuildProgram(*program, 1, &d->device, d->options, NULL, NULL);
    return VTA_OK;
}

/* ---- what the driver built, kept in the cache */

/* All that a built program depends on but its text. */
static void describe_driver(const cl_device *d, char *out, size_t size)
{
    (void)snprintf(out, size, "%s\n%s\n%s\n", d->about.name, d->about.driver, d->options);
}

/* A program as it was built before; NULL: none was, or the driver does not take it any more. */
static void *program_before(cl_device *d, const char *driver, const char *source)
{
    uint8_t *bytes;
    size_t size;
    cl_int code = CL_SUCCESS;
    cl_int taken = CL_SUCCESS;
    if (!vta_gpu_cache_read(driver, source, &bytes, &size)) {
        return NULL;
    }
    const unsigned char *binary = bytes;
    void *program =
        d->cl->clCreateProgramWithBinary(d->context, 1, &d->device, &size, &binary, &taken, &code);
    free(bytes);
    if (program != NULL &&
        d->cl->clBuildProgram(program, 1, &d->device, d->options, NULL, NULL) != CL_SUCCESS) {
        (void)d->cl->clReleaseProgram(program);
        program = NULL;
    }
    if (program == NULL) {
        vta_gpu_cache_drop(driver, source);
    }
    return program;
}

static void keep_program(const cl_device *d, const char *driver, const char *source)
{
    size_t size = 0;
    if (!vta_gpu_cache_is_there() || /* asking may compile all kernels once more */
        d->cl->clGetProgramInfo(d->program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) !=
            CL_SUCCESS ||
        size == 0) {
        return;
    }
    unsigned char *bytes = malloc(size);
    if (bytes != NULL && d->cl->clGetProgramInfo(d->program, CL_PROGRAM_BINARIES, sizeof bytes,
                                                 (void *)&bytes, NULL) == CL_SUCCESS) {
        vta_gpu_cache_write(driver, source, bytes, size);
    }
    free(bytes);
}

/* The line of a log that names an error, or its first one. */
static void first_error(char *log, char *out, size_t size)
{
    char *error = strstr(log, "error");
    char *line = error != NULL ? error : log + strspn(log, "\n ");
    while (error != NULL && line > log && line[-1] != '\n') {
        line--;
    }
    (void)snprintf(out, size, "%.*s", (int)strcspn(line, "\n"), line);
}

static vta_status refuse(cl_device *d, const char *name, void *program, cl_int code, vta_diag *diag)
{
    char log[8192] = "";
    char line[256];
    (void)d->cl->clGetProgramBuildInfo(program, d->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    first_error(log, line, sizeof line);
    return vta_fail(diag, VTA_UNSUPPORTED,
                    "device '%s' (%s) refuses the kernel of '%s': %s (OpenCL's error %d)", d->about.uri,
                    d->about.name, name, line[0] != '\0' ? line : "without a log", code);
}

/* Finds the kernel that the driver does not take, by building each alone. */
static vta_status find_refused(cl_device *d, const vta_artifact_kernels *table, void *whole,
                               cl_int whole_code, vta_diag *diag)
{
    for (uint32_t i = 0; i < table->kernel_count; i++) {
        void *program = NULL;
        cl_int code = CL_SUCCESS;
        if (!is_wanted(d, &table->kernels[i])) {
            continue;
        }
        char *source = source_of(d, table, i, i + 1);
        const vta_status built =
            source != NULL ? build_source(d, source, &program, &code, diag) : vta_no_memory(diag);
        free(source);
        VTA_TRY(built);
        const vta_status status =
            code != CL_SUCCESS ? refuse(d, table->kernels[i].name, program, code, diag) : VTA_OK;
        (void)d->cl->clReleaseProgram(program);
        VTA_TRY(status);
    }
    return refuse(d, "all steps", whole, whole_code, diag);
}

static vta_status make_kernels(cl_device *d, const vta_artifact_kernels *table, vta_diag *diag)
{
    d->kernels = calloc((size_t)table->kernel_count + 1, sizeof *d->kernels);
    d->kernel_count = table->kernel_count;
    if (d->kernels == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < table->kernel_count; i++) {
        char name[16];
        cl_int code = CL_SUCCESS;
        (void)snprintf(name, sizeof name, "k%u", i);
        d->kernels[i] =
            is_wanted(d, &table->kernels[i]) ? d->cl->clCreateKernel(d->program, name, &code) : NULL;
        if (code != CL_SUCCESS) {
            return refuse(d, table->kernels[i].name, d->program, code, diag);
        }
    }
    return VTA_OK;
}

static vta_status build_all(cl_device *d, const vta_artifact_kernels *table, const char *source,
                            vta_diag *diag)
{
    char driver[512];
    cl_int code = CL_SUCCESS;
    describe_driver(d, driver, sizeof driver);
    d->program = program_before(d, driver, source);
    if (d->program != NULL) {
        return make_kernels(d, table, diag);
    }
    VTA_TRY(build_source(d, source, &d->program, &code, diag));
    if (code != CL_SUCCESS) {
        return find_refused(d, table, d->program, code, diag);
    }
    VTA_TRY(make_kernels(d, table, diag));
    keep_program(d, driver, source);
    return VTA_OK;
}

static vta_status opencl_build(void *self, const vta_artifact_kernels *table, vta_diag *diag)
{
    if (table->kernel_count == 0) {
        return VTA_OK;
    }
    char *source = source_of(self, table, 0, table->kernel_count);
    const vta_status status = source != NULL ? build_all(self, table, source, diag) : vta_no_memory(diag);
    free(source);
    return status;
}

static vta_status set_arguments(const cl_device *d, void *kernel, const vta_gpu_launch *launch,
                                vta_diag *diag)
{
    cl_uint n = 0;
    cl_int code = CL_SUCCESS;
    for (uint32_t i = 0; i < launch->place_count && code == CL_SUCCESS; i++) {
        const cl_ulong offset = launch->places[i].offset;
        code = d->cl->clSetKernelArg(kernel, n++, sizeof(void *), &launch->places[i].memory);
        code = code == CL_SUCCESS ? d->cl->clSetKernelArg(kernel, n++, sizeof offset, &offset) : code;
    }
    code = code == CL_SUCCESS ? d->cl->clSetKernelArg(kernel, n++, sizeof(void *), &launch->scratch) : code;
    code = code == CL_SUCCESS
               ? d->cl->clSetKernelArg(kernel, n++, sizeof launch->scratch_bytes, &launch->scratch_bytes)
               : code;
    return code == CL_SUCCESS ? VTA_OK : failed(d, "an argument of a kernel", code, diag);
}

static vta_status opencl_launch(void *self, const vta_gpu_launch *launch, vta_diag *diag)
{
    cl_device *d = self;
    void *kernel = d->kernels[launch->kernel];
    /* A processor takes each item as a group of its own; a GPU as many as keep it busy. */
    const uint64_t busy = d->is_cpu ? UINT64_MAX : (uint64_t)d->about.units * GROUPS_PER_UNIT * d->group;
    const vta_gpu_shape shape = vta_gpu_shape_of(launch, d->group, busy);
    const size_t items = (size_t)shape.items;
    const size_t group = (size_t)shape.group;
    VTA_TRY(set_arguments(d, kernel, launch, diag));
    void **event = launch->timed && d->events[launch->timer] == NULL ? &d->events[launch->timer] : NULL;
    const cl_int code =
        d->cl->clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &items, &group, 0, NULL, event);
    return code == CL_SUCCESS ? VTA_OK : failed(d, "a launch", code, diag);
}

static vta_status opencl_wait(void *self, vta_diag *diag)
{
    cl_device *d = self;
    const cl_int code = d->cl->clFinish(d->queue);
    return code == CL_SUCCESS ? VTA_OK : failed(d, "what was queued", code, diag);
}

static double opencl_seconds(void *self, uint32_t timer)
{
    cl_device *d = self;
    cl_ulong at[2] = {0, 0};
    void *event = d->events[timer];
    if (event == NULL) {
        return 0;
    }
    (void)d->cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof at[0], &at[0], NULL);
    (void)d->cl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof at[1], &at[1], NULL);
    (void)d->cl->clReleaseEvent(event);
    d->events[timer] = NULL;
    return at[1] > at[0] ? 1e-9 * (double)(at[1] - at[0]) : 0;
}

const vta_gpu_ops vta_gpu_opencl = {
    .scheme = "opencl",
    .language = "opencl",
    .open = opencl_open,
    .close = opencl_close,
    .list = opencl_list,
    .describe = opencl_describe,
    .allocate = opencl_allocate,
    .release = opencl_release,
    .build = opencl_build,
    .write = opencl_write,
    .read = opencl_read,
    .launch = opencl_launch,
    .wait = opencl_wait,
    .seconds = opencl_seconds,
};
