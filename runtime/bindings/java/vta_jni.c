/* SPDX-License-Identifier: Apache-2.0
 *
 * vta.Native: the calls of vta/model.h as Java sees them. What has a Java way to be said is said in
 * vta/Model.java and its neighbours.
 *
 * A handle is the address of a structure here. What a function of the program throws in the middle of a call
 * stays pending, and is thrown when the call is back in Java. Texts are bytes: the strings of JNI are not
 * UTF-8.
 */
#include <jni.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <vta/driver.h>
#include <vta/model.h>

#include "vta_jni.h"

/* A device or a model, and whom it tells while it waits for something. */
typedef struct {
    vta_device *device;
    vta_model *model;
    JavaVM *machine;
    jobject listener;
    vta_progress progress;
} object;

/* Classes and methods of Java that are called from here. */
static jclass native_class, exception_class, step_class;
static jmethodID tell_method, step_method, exception_method;

static jclass find(JNIEnv *env, const char *name)
{
    jclass found = (*env)->FindClass(env, name);
    return found != NULL ? (*env)->NewGlobalRef(env, found) : NULL;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *machine, void *reserved)
{
    JNIEnv *env = NULL;
    (void)reserved;
    if ((*machine)->GetEnv(machine, (void **)&env, JNI_VERSION_1_8) != JNI_OK) {
        return JNI_ERR;
    }
    native_class = find(env, "vta/Native");
    exception_class = find(env, "vta/VtaException");
    step_class = find(env, "vta/Step");
    if (native_class == NULL || exception_class == NULL || step_class == NULL) {
        return JNI_ERR;
    }
    tell_method = (*env)->GetStaticMethodID(env, native_class, "tell", "(Ljava/util/function/Consumer;[B)V");
    step_method = (*env)->GetStaticMethodID(env, native_class, "step", "([B[BZDJJJ)Lvta/Step;");
    exception_method = (*env)->GetStaticMethodID(env, exception_class, "of", "([B[B)Lvta/VtaException;");
    return tell_method != NULL && step_method != NULL && exception_method != NULL ? JNI_VERSION_1_8 : JNI_ERR;
}

jbyteArray vta_jni_bytes(JNIEnv *env, const char *text)
{
    const jsize size = (jsize)strlen(text);
    jbyteArray array = (*env)->NewByteArray(env, size);
    if (array != NULL) {
        (*env)->SetByteArrayRegion(env, array, 0, size, (const jbyte *)text);
    }
    return array;
}

char *vta_jni_text(JNIEnv *env, jbyteArray bytes)
{
    if (bytes == NULL) {
        return NULL;
    }
    const jsize size = (*env)->GetArrayLength(env, bytes);
    char *text = malloc((size_t)size);
    if (text != NULL) {
        (*env)->GetByteArrayRegion(env, bytes, 0, size, (jbyte *)text);
    }
    return text;
}

void vta_jni_refuse(JNIEnv *env, vta_status status, const vta_diag *diag)
{
    if (status == VTA_OK || (*env)->ExceptionCheck(env)) {
        return;
    }
    const char *why = vta_status_text(status);
    jbyteArray words[2] = {vta_jni_bytes(env, why), NULL};
    words[1] = words[0] != NULL ? vta_jni_bytes(env, diag->code != VTA_OK ? diag->text : why) : NULL;
    if (words[1] == NULL) {
        return; /* Java's own exception says why */
    }
    jthrowable thrown =
        (*env)->CallStaticObjectMethod(env, exception_class, exception_method, words[0], words[1]);
    if (!(*env)->ExceptionCheck(env) && thrown != NULL) {
        (*env)->Throw(env, thrown);
    }
}

static void tell(void *context, const char *line)
{
    object *o = context;
    JNIEnv *env = NULL;
    /* a thread that Java does not know has no one to throw to */
    if ((*o->machine)->GetEnv(o->machine, (void **)&env, JNI_VERSION_1_8) != JNI_OK ||
        (*env)->ExceptionCheck(env)) {
        return;
    }
    jbyteArray bytes = vta_jni_bytes(env, line);
    if (bytes != NULL) {
        (*env)->CallStaticVoidMethod(env, native_class, tell_method, o->listener, bytes);
        (void)(*env)->ExceptionCheck(env); /* it stays, and is thrown when the call is back in Java */
        (*env)->DeleteLocalRef(env, bytes);
    }
}

static void free_object(JNIEnv *env, object *o)
{
    if (o != NULL) {
        vta_model_destroy(o->model);
        vta_device_close(o->device);
        if (o->listener != NULL) {
            (*env)->DeleteGlobalRef(env, o->listener);
        }
        free(o);
    }
}

static object *new_object(JNIEnv *env, jobject listener)
{
    object *o = calloc(1, sizeof *o);
    if (o == NULL || listener == NULL) {
        return o;
    }
    o->listener = (*env)->NewGlobalRef(env, listener);
    if (o->listener == NULL || (*env)->GetJavaVM(env, &o->machine) != JNI_OK) {
        free_object(env, o);
        return NULL;
    }
    o->progress = (vta_progress){.line = tell, .context = o};
    return o;
}

static const vta_progress *listens(const object *o)
{
    return o->listener != NULL ? &o->progress : NULL;
}

static vta_status no_memory(vta_diag *diag)
{
    return vta_fail(diag, VTA_NOMEM, "out of memory");
}

/* The handle of the opened object; 0 with an exception. */
static jlong opened(JNIEnv *env, object *o, vta_status status, vta_diag *diag)
{
    vta_jni_refuse(env, status, diag);
    if ((*env)->ExceptionCheck(env)) {
        free_object(env, o);
        return 0;
    }
    return (jlong)(uintptr_t)o;
}

static object *object_of(jlong handle)
{
    return (object *)(uintptr_t)handle; /* Java has no pointers */
}

static vta_model *model_of(jlong handle)
{
    return object_of(handle)->model;
}

#define NATIVE(type, name) JNIEXPORT type JNICALL Java_vta_Native_##name

NATIVE(jbyteArray, version)(JNIEnv *env, jclass class)
{
    (void)class;
    return vta_jni_bytes(env, vta_version());
}

NATIVE(jlong, openDevice)(JNIEnv *env, jclass class, jbyteArray uri, jbyteArray config, jobject listener)
{
    (void)class;
    vta_diag diag = {0};
    vta_config expected;
    object *o = new_object(env, listener);
    char *uri_text = vta_jni_text(env, uri);
    char *config_text = vta_jni_text(env, config);
    vta_status status = VTA_OK;
    if (o == NULL || uri_text == NULL || (config != NULL && config_text == NULL)) {
        status = no_memory(&diag);
    }
    if (status == VTA_OK && config_text != NULL) {
        status = vta_config_load(config_text, &expected, &diag);
    }
    if (status == VTA_OK) {
        status = vta_device_open_progress(uri_text, config_text != NULL ? &expected : NULL, listens(o),
                                          &o->device, &diag);
    }
    free(uri_text);
    free(config_text);
    return opened(env, o, status, &diag);
}

NATIVE(void, closeDevice)(JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    free_object(env, object_of(handle));
}

NATIVE(jbyteArray, deviceUri)(JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    return vta_jni_bytes(env, vta_device_uri(object_of(handle)->device));
}

/* NOLINTNEXTLINE(readability-function-size): what Java passes, and two more */
NATIVE(jlong, load)
(JNIEnv *env, jclass class, jbyteArray path, jbyteArray uri, jlong shared, jint threads, jdouble timeout,
 jint priority, jobject listener)
{
    (void)class;
    vta_diag diag = {0};
    object *o = new_object(env, listener);
    char *path_text = vta_jni_text(env, path);
    char *uri_text = vta_jni_text(env, uri);
    vta_status status = VTA_OK;
    if (o == NULL || path_text == NULL || (uri != NULL && uri_text == NULL)) {
        status = no_memory(&diag);
    } else {
        const vta_model_options options = {.size = sizeof options,
                                           .threads = (uint32_t)threads,
                                           .device = uri_text,
                                           .progress = listens(o),
                                           .timeout_s = timeout,
                                           .shared = shared != 0 ? object_of(shared)->device : NULL,
                                           .priority = priority};
        status = vta_model_load(path_text, &options, &o->model, &diag);
    }
    free(path_text);
    free(uri_text);
    return opened(env, o, status, &diag);
}

NATIVE(void, close)(JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    free_object(env, object_of(handle));
}

NATIVE(jbyteArray, name)(JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    return vta_jni_bytes(env, vta_model_name(model_of(handle)));
}

NATIVE(jbyteArray, uri)(JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    return vta_jni_bytes(env, vta_model_device_uri(model_of(handle)));
}

NATIVE(jlong, cycles)(JNIEnv *env, jclass class, jlong handle)
{
    (void)env;
    (void)class;
    return (jlong)vta_model_cycles(model_of(handle));
}

static vta_tensor_info tensor_of(jlong handle, jboolean input, jint index)
{
    return input ? vta_model_input(model_of(handle), (uint32_t)index)
                 : vta_model_output(model_of(handle), (uint32_t)index);
}

NATIVE(jint, tensors)(JNIEnv *env, jclass class, jlong handle, jboolean input)
{
    (void)env;
    (void)class;
    return (jint)(input ? vta_model_input_count(model_of(handle)) : vta_model_output_count(model_of(handle)));
}

NATIVE(jbyteArray, tensorName)(JNIEnv *env, jclass class, jlong handle, jboolean input, jint index)
{
    (void)class;
    return vta_jni_bytes(env, tensor_of(handle, input, index).name);
}

NATIVE(jlongArray, tensorNumbers)(JNIEnv *env, jclass class, jlong handle, jboolean input, jint index)
{
    (void)class;
    const vta_tensor_info info = tensor_of(handle, input, index);
    jlongArray numbers = (*env)->NewLongArray(env, 3 + (jsize)info.rank);
    if (numbers != NULL) {
        const jlong head[3] = {info.dtype_code, info.dtype_bits, (jlong)info.bytes};
        (*env)->SetLongArrayRegion(env, numbers, 0, 3, head);
        for (jsize i = 0; i < (jsize)info.rank; i++) {
            const jlong size = info.dim[i];
            (*env)->SetLongArrayRegion(env, numbers, 3 + i, 1, &size);
        }
    }
    return numbers;
}

/* NOLINTNEXTLINE(readability-function-size): as above */
NATIVE(void, bind)
(JNIEnv *env, jclass class, jlong handle, jboolean input, jint index, jobject memory, jlong position,
 jlong bytes)
{
    (void)class;
    vta_diag diag = {0};
    uint8_t *data = (*env)->GetDirectBufferAddress(env, memory);
    vta_status status = VTA_OK;
    if (data == NULL) {
        status = vta_fail(&diag, VTA_INVALID, "memory that is bound must be a direct buffer");
    } else if (input) {
        status =
            vta_model_bind_input(model_of(handle), (uint32_t)index, data + position, (size_t)bytes, &diag);
    } else {
        status =
            vta_model_bind_output(model_of(handle), (uint32_t)index, data + position, (size_t)bytes, &diag);
    }
    vta_jni_refuse(env, status, &diag);
}

NATIVE(void, reshape)(JNIEnv *env, jclass class, jlong handle, jint index, jlongArray shape)
{
    enum { MAX = 64 }; /* more axes than any tensor has; the library says how many it takes */
    (void)class;
    int64_t dim[MAX];
    vta_diag diag = {0};
    const jsize rank = (*env)->GetArrayLength(env, shape);
    for (jsize i = 0; i < rank && i < MAX; i++) {
        jlong size;
        (*env)->GetLongArrayRegion(env, shape, i, 1, &size);
        dim[i] = size;
    }
    vta_jni_refuse(
        env,
        rank > MAX ? vta_fail(&diag, VTA_RANGE, "no tensor has %d axes", (int)rank)
                   : vta_model_set_input_shape(model_of(handle), (uint32_t)index, dim, (uint32_t)rank, &diag),
        &diag);
}

NATIVE(jbyteArray, fetch)(JNIEnv *env, jclass class, jlong handle, jint index, jobject memory)
{
    (void)class;
    const void *data = vta_model_output_data(model_of(handle), (uint32_t)index);
    if (data == (*env)->GetDirectBufferAddress(env, memory)) {
        return NULL;
    }
    const size_t bytes = vta_model_output(model_of(handle), (uint32_t)index).bytes;
    if (bytes > INT32_MAX) {
        vta_diag diag = {0};
        vta_jni_refuse(env,
                       vta_fail(&diag, VTA_RANGE, "an output has %zu bytes; Java takes %d", bytes, INT32_MAX),
                       &diag);
        return NULL;
    }
    jbyteArray made = (*env)->NewByteArray(env, (jsize)bytes);
    if (made != NULL) {
        (*env)->SetByteArrayRegion(env, made, 0, (jsize)bytes, data);
    }
    return made;
}

NATIVE(void, run)(JNIEnv *env, jclass class, jlong handle, jboolean profiled)
{
    (void)class;
    vta_diag diag = {0};
    const vta_step_profile *steps;
    uint32_t count;
    vta_jni_refuse(env,
                   profiled ? vta_model_profile(model_of(handle), &steps, &count, &diag)
                            : vta_model_run(model_of(handle), &diag),
                   &diag);
}

NATIVE(void, start)(JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    vta_diag diag = {0};
    vta_jni_refuse(env, vta_model_start(model_of(handle), &diag), &diag);
}

NATIVE(jboolean, await)(JNIEnv *env, jclass class, jlong handle, jdouble seconds)
{
    (void)class;
    vta_diag diag = {0};
    const vta_status status = vta_model_wait(model_of(handle), seconds, &diag);
    if (status == VTA_TIMEOUT && diag.code == VTA_OK) {
        return JNI_FALSE;
    }
    vta_jni_refuse(env, status, &diag);
    return JNI_TRUE;
}

NATIVE(void, cancel)(JNIEnv *env, jclass class, jlong handle)
{
    (void)env;
    (void)class;
    vta_model_cancel(model_of(handle));
}

NATIVE(void, interrupt)(JNIEnv *env, jclass class, jlong handle)
{
    (void)env;
    (void)class;
    vta_model_interrupt(model_of(handle));
}

/* NULL with an exception. */
static jobject step_of(JNIEnv *env, const vta_step_profile *row)
{
    jbyteArray name = vta_jni_bytes(env, row->name);
    jbyteArray op = name != NULL ? vta_jni_bytes(env, row->op) : NULL;
    if (op == NULL) {
        return NULL;
    }
    jobject step = (*env)->CallStaticObjectMethod(
        env, native_class, step_method, name, op, (jboolean)(row->on_accelerator != 0), row->seconds,
        (jlong)row->cycles, (jlong)row->predicted, (jlong)row->flops);
    return (*env)->ExceptionCheck(env) ? NULL : step;
}

NATIVE(jobjectArray, steps)(JNIEnv *env, jclass class, jlong handle)
{
    (void)class;
    uint32_t count;
    const vta_step_profile *rows = vta_model_steps(model_of(handle), &count);
    jobjectArray steps = (*env)->NewObjectArray(env, (jsize)count, step_class, NULL);
    for (uint32_t i = 0; steps != NULL && i < count; i++) {
        if ((*env)->PushLocalFrame(env, 8) != 0) {
            return NULL;
        }
        jobject step = step_of(env, &rows[i]);
        if (step != NULL) {
            (*env)->SetObjectArrayElement(env, steps, (jsize)i, step);
        }
        (*env)->PopLocalFrame(env, NULL);
        if (step == NULL) {
            return NULL;
        }
    }
    return steps;
}
