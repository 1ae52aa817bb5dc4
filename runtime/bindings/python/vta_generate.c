/* SPDX-License-Identifier: Apache-2.0
 *
 * vta._vta.Speaker: the calls of vta/generate.h as Python sees them. vta/__init__.py has its Python way
 * (vta.Generator, vta.generate).
 */
#define PY_SSIZE_T_CLEAN
/* NOLINTNEXTLINE(readability-identifier-naming): CPython's name */
#define Py_LIMITED_API 0x03080000
#include "vta_generate.h"

#include <stdlib.h>

#include <vta/generate.h>

typedef struct speaker_object {
    PyObject ob_base;
    vta_model *model;
    vta_tokenizer *tokenizer;
    vta_generator *generator;
    int busy; /* a thread is in a call */
} speaker_object;

static void close_speaker(speaker_object *self)
{
    vta_generator_destroy(self->generator);
    vta_tokenizer_destroy(self->tokenizer);
    vta_model_destroy(self->model);
    self->generator = NULL;
    self->tokenizer = NULL;
    self->model = NULL;
}

static vta_status open_speaker(speaker_object *self, const char *path, const char *tokenizer,
                               const vta_model_options *options, vta_diag *diag)
{
    if (tokenizer != NULL) {
        VTA_TRY(vta_tokenizer_load(tokenizer, &self->tokenizer, diag));
    }
    VTA_TRY(vta_model_load(path, options, &self->model, diag));
    return vta_generator_create(self->model, self->tokenizer, &self->generator, diag);
}

/* Speaker(path, tokenizer, device, threads, timeout): bytes, or None where there is none. */
static PyObject *speaker_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    const char *path;
    PyObject *named_tokenizer, *named_device;
    vta_model_options options = {.size = sizeof options};
    vta_diag diag = {0};
    vta_status status;
    (void)named;
    if (!PyArg_ParseTuple(arguments, "yOOId", &path, &named_tokenizer, &named_device, &options.threads,
                          &options.timeout_s)) {
        return NULL;
    }
    const char *tokenizer = named_tokenizer == Py_None ? NULL : PyBytes_AsString(named_tokenizer);
    const char *device = named_device == Py_None ? NULL : PyBytes_AsString(named_device);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    speaker_object *self = (speaker_object *)allocate(type, 0);
    if (self == NULL) {
        return NULL;
    }
    options.device = device;
    Py_BEGIN_ALLOW_THREADS status = open_speaker(self, path, tokenizer, &options, &diag);
    Py_END_ALLOW_THREADS if (status != VTA_OK)
    {
        Py_DECREF((PyObject *)self);
        return vta_python_raise(&diag, status);
    }
    return (PyObject *)self;
}

static void speaker_dealloc(speaker_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    close_speaker(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF((PyObject *)type);
}

/* True where the speaker is open and no other thread is in a call. */
static int enter_speaker(speaker_object *self)
{
    if (self->generator == NULL || self->busy) {
        PyErr_SetString(PyExc_ValueError,
                        self->busy ? "the generator is in use by another thread" : "the generator is closed");
        return 0;
    }
    return 1;
}

static PyObject *speaker_close(speaker_object *self, PyObject *none)
{
    (void)none;
    if (self->generator != NULL && !enter_speaker(self)) {
        return NULL;
    }
    close_speaker(self);
    Py_RETURN_NONE;
}

/* ---- texts and tokens */

static PyObject *list_of(const uint32_t *ids, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *number = PyLong_FromUnsignedLong(ids[i]);
        if (number == NULL || PyList_SetItem(list, (Py_ssize_t)i, number) != 0) {
            Py_CLEAR(list);
        }
    }
    return list;
}

/* Numbers of a list, from malloc; NULL with an exception. */
static uint32_t *ids_of(PyObject *list, size_t *count)
{
    const Py_ssize_t size = PyList_Size(list);
    uint32_t *ids = size < 0 ? NULL : malloc(((size_t)size + 1) * sizeof *ids);
    if (ids == NULL) {
        return size < 0 ? NULL : (uint32_t *)PyErr_NoMemory();
    }
    *count = (size_t)size;
    for (Py_ssize_t i = 0; i < size; i++) {
        const unsigned long id = PyLong_AsUnsignedLong(PyList_GetItem(list, i));
        if (PyErr_Occurred() == NULL && id >= VTA_NO_TOKEN) {
            PyErr_SetString(PyExc_OverflowError, "a token has at most 32 bits");
        }
        if (PyErr_Occurred() != NULL) {
            free(ids);
            return NULL;
        }
        ids[i] = (uint32_t)id;
    }
    return ids;
}

static int has_tokenizer(const speaker_object *self)
{
    if (self->tokenizer == NULL) {
        PyErr_SetString(PyExc_ValueError,
                        "a text needs a tokenizer; without one a prompt is a list of tokens");
    }
    return self->tokenizer != NULL;
}

/* encode(text, begin) → a list of tokens */
static PyObject *speaker_encode(speaker_object *self, PyObject *arguments)
{
    const char *text;
    Py_ssize_t size;
    int begin;
    uint32_t *ids;
    size_t count;
    vta_diag diag = {0};
    if (!PyArg_ParseTuple(arguments, "y#p", &text, &size, &begin) || !enter_speaker(self) ||
        !has_tokenizer(self)) {
        return NULL;
    }
    const vta_status status =
        vta_tokenizer_encode(self->tokenizer, text, (size_t)size, begin, &ids, &count, &diag);
    if (status != VTA_OK) {
        return vta_python_raise(&diag, status);
    }
    PyObject *list = list_of(ids, count);
    free(ids);
    return list;
}

/* decode(list) → text */
static PyObject *speaker_decode(speaker_object *self, PyObject *list)
{
    char *text;
    size_t size;
    size_t count = 0;
    vta_diag diag = {0};
    if (!enter_speaker(self) || !has_tokenizer(self)) {
        return NULL;
    }
    uint32_t *ids = ids_of(list, &count);
    if (ids == NULL) {
        return NULL;
    }
    const vta_status status = vta_tokenizer_decode(self->tokenizer, ids, count, &text, &size, &diag);
    free(ids);
    if (status != VTA_OK) {
        return vta_python_raise(&diag, status);
    }
    PyObject *out = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, NULL);
    free(text);
    return out;
}

/* ---- a generation */

/* begin(list, max_tokens, temperature, top_k, top_p, seed, ignore_end) */
static PyObject *speaker_begin(speaker_object *self, PyObject *arguments)
{
    PyObject *list;
    unsigned long long max_tokens, seed;
    size_t count = 0;
    vta_diag diag = {0};
    vta_generate_options options = {.size = sizeof options};
    if (!PyArg_ParseTuple(arguments, "OKdIdKp", &list, &max_tokens, &options.temperature, &options.top_k,
                          &options.top_p, &seed, &options.ignore_end) ||
        !enter_speaker(self)) {
        return NULL;
    }
    options.max_tokens = max_tokens;
    options.seed = seed;
    uint32_t *ids = ids_of(list, &count);
    if (ids == NULL) {
        return NULL;
    }
    const vta_status status = vta_generate_begin(self->generator, ids, count, &options, &diag);
    free(ids);
    if (status != VTA_OK) {
        return vta_python_raise(&diag, status);
    }
    Py_RETURN_NONE;
}

/* next() → (token or None at the end, text) */
static PyObject *speaker_next(speaker_object *self, PyObject *none)
{
    uint32_t id;
    const char *text;
    size_t size;
    vta_status status;
    vta_diag diag = {0};
    (void)none;
    if (!enter_speaker(self)) {
        return NULL;
    }
    self->busy = 1;
    Py_BEGIN_ALLOW_THREADS status = vta_generate_next(self->generator, &id, &text, &size, &diag);
    Py_END_ALLOW_THREADS self->busy = 0;
    if (status != VTA_OK) {
        return vta_python_raise(&diag, status);
    }
    PyObject *piece = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, NULL);
    return piece == NULL        ? NULL
           : id == VTA_NO_TOKEN ? Py_BuildValue("(ON)", Py_None, piece)
                                : Py_BuildValue("(kN)", (unsigned long)id, piece);
}

static PyObject *speaker_cancel(speaker_object *self, PyObject *none)
{
    (void)none;
    if (self->generator != NULL) {
        vta_generator_cancel(self->generator);
    }
    Py_RETURN_NONE;
}

/* (vocabulary, context) */
static PyObject *speaker_sizes(speaker_object *self, PyObject *none)
{
    (void)none;
    return enter_speaker(self)
               ? Py_BuildValue("(kK)", (unsigned long)vta_generator_vocabulary(self->generator),
                               (unsigned long long)vta_generator_context(self->generator))
               : NULL;
}

#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef speaker_methods[] = {{"close", METHOD(speaker_close), METH_NOARGS, NULL},
                                        {"encode", METHOD(speaker_encode), METH_VARARGS, NULL},
                                        {"decode", METHOD(speaker_decode), METH_O, NULL},
                                        {"begin", METHOD(speaker_begin), METH_VARARGS, NULL},
                                        {"next", METHOD(speaker_next), METH_NOARGS, NULL},
                                        {"cancel", METHOD(speaker_cancel), METH_NOARGS, NULL},
                                        {"sizes", METHOD(speaker_sizes), METH_NOARGS, NULL},
                                        {NULL, NULL, 0, NULL}};
static PyType_Slot speaker_slots[] = {{Py_tp_new, (void *)speaker_new},
                                      {Py_tp_dealloc, (void *)speaker_dealloc},
                                      {Py_tp_methods, speaker_methods},
                                      {0, NULL}};
static PyType_Spec speaker_spec = {"vta._vta.Speaker", sizeof(speaker_object), 0, Py_TPFLAGS_DEFAULT,
                                   speaker_slots};

PyObject *vta_python_speaker(void)
{
    return PyType_FromSpec(&speaker_spec);
}
