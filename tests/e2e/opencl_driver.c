/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for the loader of OpenCL's drivers, named libOpenCL.so.1: it hands all calls to the real one
 * (OPENCL_REAL), but for what OPENCL_STAND_IN asks to go wrong. "none": no driver; "empty": a driver without
 * a device; "old": a device of OpenCL 1.1; "small": memory that is not given; "refusing": a program that is
 * not built; "late": the run's launch fails; "lost": the device goes away within a run. "halves": nothing
 * goes wrong, and the device says that it computes with halves; "dots": it has products of four bytes.
 *
 * What was called is counted: OPENCL_STAND_IN_REPORT names a file that gets a line of it at the end.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef void cl_notify(const char *, const void *, size_t, void *);
typedef void cl_program_notify(void *, void *);

enum {
    CL_DEVICE_NOT_FOUND = -1,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_BUILD_PROGRAM_FAILURE = -11,
    CL_INVALID_COMMAND_QUEUE = -36,
    CL_PLATFORM_NOT_FOUND_KHR = -1001,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_EXTENSIONS = 0x1030,
    CL_DEVICE_HALF_FP_CONFIG = 0x1033
};

static void *real(const char *name)
{
    static void *file;
    const char *path = getenv("OPENCL_REAL");
    if (file == NULL && path != NULL) {
        file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    void *found = file != NULL ? dlsym(file, name) : NULL;
    if (found == NULL) {
        (void)fprintf(stderr, "the stand-in finds no '%s' in OPENCL_REAL\n", name);
        abort();
    }
    return found;
}

static int asks(const char *fault)
{
    const char *asked = getenv("OPENCL_STAND_IN");
    return asked != NULL && strcmp(asked, fault) == 0;
}

static struct {
    unsigned queues, launches, waits, buffers;
    unsigned late;   /* buffers after the first launch */
    unsigned halves; /* programs that are to compute with halves */
} use;

__attribute__((destructor)) static void report_use(void)
{
    const char *path = getenv("OPENCL_STAND_IN_REPORT");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file != NULL) {
        (void)fprintf(file, "queues %u launches %u waits %u buffers %u late %u halves %u\n", use.queues,
                      use.launches, use.waits, use.buffers, use.late, use.halves);
        (void)fclose(file);
    }
}

typedef cl_int clGetPlatformIDs_fn(cl_uint, void **, cl_uint *);
cl_int clGetPlatformIDs(cl_uint a, void **b, cl_uint *c);
cl_int clGetPlatformIDs(cl_uint a, void **b, cl_uint *c)
{
    if (asks("none")) {
        *c = 0;
        return CL_PLATFORM_NOT_FOUND_KHR;
    }
    clGetPlatformIDs_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c);
}

typedef cl_int clGetDeviceIDs_fn(void *, cl_ulong, cl_uint, void **, cl_uint *);
cl_int clGetDeviceIDs(void *a, cl_ulong b, cl_uint c, void **d, cl_uint *e);
cl_int clGetDeviceIDs(void *a, cl_ulong b, cl_uint c, void **d, cl_uint *e)
{
    if (asks("empty")) {
        *e = 0;
        return CL_DEVICE_NOT_FOUND;
    }
    clGetDeviceIDs_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, d, e);
}

typedef cl_int clGetDeviceInfo_fn(void *, cl_uint, size_t, void *, size_t *);
cl_int clGetDeviceInfo(void *a, cl_uint b, size_t c, void *d, size_t *e);
cl_int clGetDeviceInfo(void *a, cl_uint b, size_t c, void *d, size_t *e)
{
    if (asks("old") && b == CL_DEVICE_VERSION) {
        (void)snprintf(d, c, "OpenCL 1.1 stand-in");
        return 0;
    }
    if (asks("halves") && b == CL_DEVICE_EXTENSIONS) {
        (void)snprintf(d, c, "cl_khr_fp64 cl_khr_fp16");
        return 0;
    }
    if (asks("halves") && b == CL_DEVICE_HALF_FP_CONFIG) {
        const cl_ulong all = 7;
        memcpy(d, &all, sizeof all);
        return 0;
    }
    clGetDeviceInfo_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, d, e);
}

typedef void *clCreateContext_fn(const intptr_t *, cl_uint, void *const *, cl_notify *, void *, cl_int *);
void *clCreateContext(const intptr_t *a, cl_uint b, void *const *c, cl_notify *d, void *e, cl_int *f);
void *clCreateContext(const intptr_t *a, cl_uint b, void *const *c, cl_notify *d, void *e, cl_int *f)
{
    clCreateContext_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, d, e, f);
}

typedef cl_int clReleaseContext_fn(void *);
cl_int clReleaseContext(void *a);
cl_int clReleaseContext(void *a)
{
    clReleaseContext_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a);
}

typedef void *clCreateCommandQueue_fn(void *, void *, cl_ulong, cl_int *);
void *clCreateCommandQueue(void *a, void *b, cl_ulong c, cl_int *d);
void *clCreateCommandQueue(void *a, void *b, cl_ulong c, cl_int *d)
{
    use.queues++;
    clCreateCommandQueue_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, d);
}

typedef cl_int clReleaseCommandQueue_fn(void *);
cl_int clReleaseCommandQueue(void *a);
cl_int clReleaseCommandQueue(void *a)
{
    clReleaseCommandQueue_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a);
}

typedef void *clCreateBuffer_fn(void *, cl_ulong, size_t, void *, cl_int *);
void *clCreateBuffer(void *a, cl_ulong b, size_t c, void *d, cl_int *e);
void *clCreateBuffer(void *a, cl_ulong b, size_t c, void *d, cl_int *e)
{
    use.buffers++;
    use.late += use.launches > 0;
    if (asks("small")) {
        *e = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        return NULL;
    }
    clCreateBuffer_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, d, e);
}

typedef cl_int clReleaseMemObject_fn(void *);
cl_int clReleaseMemObject(void *a);
cl_int clReleaseMemObject(void *a)
{
    clReleaseMemObject_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a);
}

typedef cl_int clEnqueueWriteBuffer_fn(void *, void *, cl_uint, size_t, size_t, const void *, cl_uint,
                                       void *const *, void **);
cl_int clEnqueueWriteBuffer(void *a, void *b, cl_uint c, size_t d, size_t e, const void *f, cl_uint g,
                            void *const *h, void **i);
cl_int clEnqueueWriteBuffer(void *a, void *b, cl_uint c, size_t d, size_t e, const void *f, cl_uint g,
                            void *const *h, void **i)
{
    clEnqueueWriteBuffer_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, d, e, f, g, h, i);
}

typedef cl_int clEnqueueReadBuffer_fn(void *, void *, cl_uint, size_t, size_t, void *, cl_uint, void *const *,
                                      void **);
cl_int clEnqueueReadBuffer(void *a, void *b, cl_uint c, size_t d, size_t e, void *f, cl_uint g,
                           void *const *h, void **i);
cl_int clEnqueueReadBuffer(void *a, void *b, cl_uint c, size_t d, size_t e, void *f, cl_uint g,
                           void *const *h, void **i)
{
    clEnqueueReadBuffer_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, d, e, f, g, h, i);
}

typedef void *clCreateProgramWithSource_fn(void *, cl_uint, const char **, const size_t *, cl_int *);
void *clCreateProgramWithSource(void *a, cl_uint b, const char **c, const size_t *d, cl_int *e);
void *clCreateProgramWithSource(void *a, cl_uint b, const char **c, const size_t *d, cl_int *e)
{
    clCreateProgramWithSource_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, d, e);
}

typedef void *clCreateProgramWithBinary_fn(void *, cl_uint, void *const *, const size_t *,
                                           const unsigned char **, cl_int *, cl_int *);
void *clCreateProgramWithBinary(void *a, cl_uint b, void *const *c, const size_t *d, const unsigned char **e,
                                cl_int *f, cl_int *g);
void *clCreateProgramWithBinary(void *a, cl_uint b, void *const *c, const size_t *d, const unsigned char **e,
                                cl_int *f, cl_int *g)
{
    clCreateProgramWithBinary_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, d, e, f, g);
}

/* OpenCL's sum of four products, as a macro that an option defines. */
#define PRODUCT(A, B, I) A "(a)." I "*" B "(b)." I
#define SUM_OF_BYTES(N, A, B)                                                                                \
    " -Ddot_4x8packed_" N "_int(a,b)=(" PRODUCT(A, B, "x") "+" PRODUCT(A, B, "y") "+" PRODUCT(               \
        A, B, "z") "+" PRODUCT(A, B, "w") ")"

typedef cl_int clBuildProgram_fn(void *, cl_uint, void *const *, const char *, cl_program_notify *, void *);
cl_int clBuildProgram(void *a, cl_uint b, void *const *c, const char *d, cl_program_notify *e, void *f);
cl_int clBuildProgram(void *a, cl_uint b, void *const *c, const char *d, cl_program_notify *e, void *f)
{
    if (asks("refusing")) {
        return CL_BUILD_PROGRAM_FAILURE;
    }
    /* The real device has no such arithmetic: its program is built without. */
    static const char halves[] = " -DVTAC_HAS_HALVES";
    char options[256];
    (void)snprintf(options, sizeof options, "%s", d);
    char *asked = strstr(options, halves);
    if (asked != NULL) {
        use.halves++;
        *asked = '\0';
    }
    static const char dots[] = " -Dcl_khr_integer_dot_product" SUM_OF_BYTES("us", "as_uchar4", "as_char4")
        SUM_OF_BYTES("ss", "as_char4", "as_char4");
    char more[sizeof options + sizeof dots];
    (void)snprintf(more, sizeof more, "%s%s", options, asks("dots") ? dots : "");
    clBuildProgram_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, more, e, f);
}

typedef cl_int clGetProgramBuildInfo_fn(void *, void *, cl_uint, size_t, void *, size_t *);
cl_int clGetProgramBuildInfo(void *a, void *b, cl_uint c, size_t d, void *e, size_t *f);
cl_int clGetProgramBuildInfo(void *a, void *b, cl_uint c, size_t d, void *e, size_t *f)
{
    clGetProgramBuildInfo_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, d, e, f);
}

typedef cl_int clGetProgramInfo_fn(void *, cl_uint, size_t, void *, size_t *);
cl_int clGetProgramInfo(void *a, cl_uint b, size_t c, void *d, size_t *e);
cl_int clGetProgramInfo(void *a, cl_uint b, size_t c, void *d, size_t *e)
{
    clGetProgramInfo_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, d, e);
}

typedef cl_int clReleaseProgram_fn(void *);
cl_int clReleaseProgram(void *a);
cl_int clReleaseProgram(void *a)
{
    clReleaseProgram_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a);
}

typedef void *clCreateKernel_fn(void *, const char *, cl_int *);
void *clCreateKernel(void *a, const char *b, cl_int *c);
void *clCreateKernel(void *a, const char *b, cl_int *c)
{
    clCreateKernel_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c);
}

typedef cl_int clReleaseKernel_fn(void *);
cl_int clReleaseKernel(void *a);
cl_int clReleaseKernel(void *a)
{
    clReleaseKernel_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a);
}

typedef cl_int clSetKernelArg_fn(void *, cl_uint, size_t, const void *);
cl_int clSetKernelArg(void *a, cl_uint b, size_t c, const void *d);
cl_int clSetKernelArg(void *a, cl_uint b, size_t c, const void *d)
{
    clSetKernelArg_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, d);
}

typedef cl_int clEnqueueNDRangeKernel_fn(void *, void *, cl_uint, const size_t *, const size_t *,
                                         const size_t *, cl_uint, void *const *, void **);
cl_int clEnqueueNDRangeKernel(void *a, void *b, cl_uint c, const size_t *d, const size_t *e, const size_t *f,
                              cl_uint g, void *const *h, void **i);
cl_int clEnqueueNDRangeKernel(void *a, void *b, cl_uint c, const size_t *d, const size_t *e, const size_t *f,
                              cl_uint g, void *const *h, void **i)
{
    if (asks("late")) {
        return CL_OUT_OF_HOST_MEMORY;
    }
    use.launches++;
    clEnqueueNDRangeKernel_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, d, e, f, g, h, i);
}

typedef cl_int clFinish_fn(void *);
cl_int clFinish(void *a);
cl_int clFinish(void *a)
{
    use.waits++;
    if (asks("lost") && use.launches > 0) {
        return CL_INVALID_COMMAND_QUEUE;
    }
    clFinish_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a);
}

typedef cl_int clGetEventProfilingInfo_fn(void *, cl_uint, size_t, void *, size_t *);
cl_int clGetEventProfilingInfo(void *a, cl_uint b, size_t c, void *d, size_t *e);
cl_int clGetEventProfilingInfo(void *a, cl_uint b, size_t c, void *d, size_t *e)
{
    clGetEventProfilingInfo_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a, b, c, d, e);
}

typedef cl_int clReleaseEvent_fn(void *);
cl_int clReleaseEvent(void *a);
cl_int clReleaseEvent(void *a)
{
    clReleaseEvent_fn *call;
    void *found = real(__func__);
    memcpy(&call, &found, sizeof call);
    return call(a);
}
