/* SPDX-License-Identifier: Apache-2.0
 *
 * vta.Generator's part of vta.Native: the calls of vta/generate.h as Java sees them. A handle is the address
 * of a structure here, which has the model and the tokenizer, too.
 */
#include <jni.h>
#include <stdint.h>
#include <stdlib.h>

#include <vta/generate.h>

#include "vta_jni.h"

typedef struct {
    vta_model *model;
    vta_tokenizer *tokenizer;
    vta_generator *generator;
} java_speaker;

#define NATIVE(type, name) JNIEXPORT type JNICALL Java_vta_Native_##name

static java_speaker *speaker_of(jlong handle)
{
    return (java_speaker *)(uintptr_t)handle; /* Java has no pointers */
}

static void free_speaker(java_speaker *s)
{
    if (s != NULL) {
        vta_generator_destroy(s->generator);
        vta_model_destroy(s->model);
        vta_tokenizer_destroy(s->tokenizer);
        free(s);
    }
}

static vta_status open_speaker(java_speaker *s, const char *path, const char *tokenizer,
                               const vta_model_options *options, vta_diag *diag)
{
    if (tokenizer != NULL) {
        VTA_TRY(vta_tokenizer_load(tokenizer, &s->tokenizer, diag));
    }
    VTA_TRY(vta_model_load(path, options, &s->model, diag));
    return vta_generator_create(s->model, s->tokenizer, &s->generator, diag);
}

/* NOLINTNEXTLINE(readability-function-size): what Java passes, and two more */
NATIVE(jlong, openGenerator)
(JNIEnv *env, jclass class, jbyteArray path, jbyteArray tokenizer, jbyteArray uri, jint threads,
 jdouble timeout)
{
    (void)class;
    vta_diag diag = {0};
    java_speaker *s = calloc(1, sizeof *s);
    char *path_text = vta_jni_text(env, path), *words = vta_jni_text(env, tokenizer);
    char *uri_text = vta_jni_text(env, uri);
    const vta_model_options options = {
        .size = sizeof options, .threads = (uint32_t)threads, .device = uri_text, .timeout_s = timeout};
    const bool there = s != NULL && path_text != NULL && (tokenizer == NULL || words != NULL) &&
                       (uri == NULL || uri_text != NULL);
    const vta_status status = there ? open_speaker(s, path_text, words, &options, &diag)
                                    : vta_fail(&diag, VTA_NOMEM, "out of memory");
    free(path_text);
    free(words);
    free(uri_text);
    vta_jni_refuse(env, status, &diag);
    if ((*env)->ExceptionCheck(env)) {
        free_speaker(s);
        return 0;
    }
    return (jlong)(uintptr_t)s;
}

NATIVE(void, closeGenerator)(JNIEnv *env, jclass class, jlong handle)
{
    (void)env;
    (void)class;
    free_speaker(speaker_of(handle));
}

NATIVE(void, cancelGenerator)(JNIEnv *env, jclass class, jlong handle)
{
    (void)env;
    (void)class;
    vta_generator_cancel(speaker_of(handle)->generator);
}

NATIVE(jlong, vocabulary)(JNIEnv *env, jclass class, jlong handle)
{
    (void)env;
    (void)class;
    return (jlong)vta_generator_vocabulary(speaker_of(handle)->generator);
}

NATIVE(jlong, context)(JNIEnv *env, jclass class, jlong handle)
{
    (void)env;
    (void)class;
    return (jlong)vta_generator_context(speaker_of(handle)->generator);
}

/* A copy of Java's numbers, at least one long; NULL: no memory, with an exception. */
static uint32_t *to_tokens(JNIEnv *env, jintArray ids, size_t *count)
{
    *count = ids == NULL ? 0 : (size_t)(*env)->GetArrayLength(env, ids);
    uint32_t *copy = malloc((*count + 1) * sizeof *copy);
    if (copy == NULL) {
        vta_diag diag = {0};
        vta_jni_refuse(env, vta_fail(&diag, VTA_NOMEM, "out of memory"), &diag);
    } else if (*count > 0) {
        (*env)->GetIntArrayRegion(env, ids, 0, (jsize)*count, (jint *)copy);
    }
    return copy;
}

/* The text has a 0 behind it, which is none of it. */
NATIVE(jintArray, encode)(JNIEnv *env, jclass class, jlong handle, jbyteArray text, jboolean begin)
{
    (void)class;
    vta_diag diag = {0};
    uint32_t *ids = NULL;
    size_t count = 0;
    char *chars = vta_jni_text(env, text);
    const vta_status status = chars == NULL
                                  ? vta_fail(&diag, VTA_NOMEM, "out of memory")
                                  : vta_tokenizer_encode(speaker_of(handle)->tokenizer, chars,
                                                         (size_t)(*env)->GetArrayLength(env, text) - 1,
                                                         begin != JNI_FALSE, &ids, &count, &diag);
    free(chars);
    vta_jni_refuse(env, status, &diag);
    jintArray made = status == VTA_OK ? (*env)->NewIntArray(env, (jsize)count) : NULL;
    if (made != NULL) {
        (*env)->SetIntArrayRegion(env, made, 0, (jsize)count, (const jint *)ids);
    }
    free(ids);
    return made;
}

static jbyteArray sized_bytes(JNIEnv *env, const char *text, size_t size)
{
    jbyteArray made = (*env)->NewByteArray(env, (jsize)size);
    if (made != NULL) {
        (*env)->SetByteArrayRegion(env, made, 0, (jsize)size, (const jbyte *)text);
    }
    return made;
}

NATIVE(jbyteArray, decode)(JNIEnv *env, jclass class, jlong handle, jintArray ids)
{
    (void)class;
    vta_diag diag = {0};
    char *text = NULL;
    size_t count, size = 0;
    uint32_t *copy = to_tokens(env, ids, &count);
    if (copy == NULL) {
        return NULL;
    }
    const vta_status status =
        vta_tokenizer_decode(speaker_of(handle)->tokenizer, copy, count, &text, &size, &diag);
    free(copy);
    vta_jni_refuse(env, status, &diag);
    jbyteArray made = status == VTA_OK ? sized_bytes(env, text, size) : NULL;
    free(text);
    return made;
}

/* NOLINTNEXTLINE(readability-function-size): as above */
NATIVE(void, begin)
(JNIEnv *env, jclass class, jlong handle, jintArray prompt, jlong tokens, jdouble temperature, jint top_k,
 jdouble top_p, jlong seed, jintArray ends, jboolean ignore_end)
{
    (void)class;
    vta_diag diag = {0};
    vta_generate_options options = {.size = sizeof options,
                                    .max_tokens = (uint64_t)tokens,
                                    .temperature = temperature,
                                    .top_k = (uint32_t)top_k,
                                    .top_p = top_p,
                                    .seed = (uint64_t)seed,
                                    .ignore_end = ignore_end != JNI_FALSE};
    size_t count;
    uint32_t *ids = to_tokens(env, prompt, &count);
    uint32_t *last = ids != NULL ? to_tokens(env, ends, &options.end_count) : NULL;
    if (last != NULL) {
        options.ends = last;
        vta_jni_refuse(env, vta_generate_begin(speaker_of(handle)->generator, ids, count, &options, &diag),
                       &diag);
    }
    free(ids);
    free(last);
}

/* The next token, or -1 at the end; text[0] gets the text that is complete with it. */
NATIVE(jlong, next)(JNIEnv *env, jclass class, jlong handle, jobjectArray text)
{
    (void)class;
    vta_diag diag = {0};
    uint32_t id;
    const char *chars;
    size_t size;
    const vta_status status = vta_generate_next(speaker_of(handle)->generator, &id, &chars, &size, &diag);
    vta_jni_refuse(env, status, &diag);
    jbyteArray made = status == VTA_OK ? sized_bytes(env, chars, size) : NULL;
    if (made != NULL) {
        (*env)->SetObjectArrayElement(env, text, 0, made);
    }
    return status != VTA_OK || id == VTA_NO_TOKEN ? -1 : (jlong)id;
}

/* Tokens of the prompt, new ones, seconds of both, the end. */
NATIVE(jdoubleArray, report)(JNIEnv *env, jclass class, jlong handle)
{
    enum { NUMBERS = 5 };
    (void)class;
    const vta_generate_report r = vta_generator_report(speaker_of(handle)->generator);
    const jdouble numbers[NUMBERS] = {(double)r.prompt_tokens, (double)r.new_tokens, r.prompt_seconds,
                                      r.new_seconds, (double)r.end};
    jdoubleArray made = (*env)->NewDoubleArray(env, NUMBERS);
    if (made != NULL) {
        (*env)->SetDoubleArrayRegion(env, made, 0, NUMBERS, numbers);
    }
    return made;
}

NATIVE(void, keep)(JNIEnv *env, jclass class, jlong handle, jbyteArray path, jboolean resume)
{
    (void)class;
    vta_diag diag = {0};
    vta_generator *g = speaker_of(handle)->generator;
    char *name = vta_jni_text(env, path);
    const vta_status status = name == NULL ? vta_fail(&diag, VTA_NOMEM, "out of memory")
                              : resume     ? vta_generator_resume(g, name, &diag)
                                           : vta_generator_keep(g, name, &diag);
    free(name);
    vta_jni_refuse(env, status, &diag);
}
