/* SPDX-License-Identifier: Apache-2.0
 *
 * vta._vta: the calls of vta/model.h as Python sees them, within the limited API of CPython 3.8, so that one
 * build serves every later one. What has a Python way to be said is said in vta/__init__.py.
 *
 * Tensors live in bytearrays of the Python side, to which the model is bound: a view of one stays valid
 * whatever becomes of the model. The lock of the interpreter is released wherever the library may take its
 * time.
 */
#define PY_SSIZE_T_CLEAN
/* NOLINTNEXTLINE(readability-identifier-naming): CPython's name */
#define Py_LIMITED_API 0x03080000
#include "vta_generate.h"
#include <stdlib.h>
#include <string.h>

#include <vta/driver.h>
#include <vta/model.h>

#ifdef VTA_NO_GENERATE /* a board's build, which has no reader of tokenizer.json */
static PyObject *speaker(void)
{
    return Py_BuildValue("");
}
#else
static PyObject *speaker(void)
{
    return vta_python_speaker();
}
#endif

static PyObject *error_class;   /* of what no other class is for */
static PyObject *error_classes; /* by status; filled by vta/__init__.py */

/* Text of C as text of Python. Names of files may hold bytes that are not UTF-8, and a long sentence may
 * end within a letter: neither may hide the sentence. */
static PyObject *text_of(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace");
}

/* An exception of the class of its status, with the library's sentence and `code`. */
PyObject *vta_python_raise(const vta_diag *diag, vta_status status)
{
    PyObject *code = PyLong_FromLong((long)status);
    PyObject *class = code != NULL ? PyDict_GetItem(error_classes, code) : NULL;
    class = class != NULL ? class : error_class;
    PyObject *text = text_of(diag->code != VTA_OK ? diag->text : vta_status_text(status));
    PyObject *error = code == NULL || text == NULL ? NULL : PyObject_CallFunction(class, "O", text);
    if (error != NULL && PyObject_SetAttrString(error, "code", code) == 0) {
        PyErr_SetObject(class, error);
    }
    Py_XDECREF(error);
    Py_XDECREF(text);
    Py_XDECREF(code);
    return NULL;
}

/* A URI or a name as C takes it, NULL of None, kept by *bytes; 0 with an exception. Both may hold the path of
 * a file. */
static int to_path(PyObject *value, PyObject **bytes, const char **text)
{
    *bytes = NULL;
    *text = NULL;
    if (value == Py_None) {
        return 1;
    }
    if (!PyUnicode_FSConverter(value, bytes)) {
        return 0;
    }
    *text = PyBytes_AsString(*bytes);
    return 1;
}

/* ---- a device */

typedef struct device_object {
    PyObject ob_base;
    vta_device *device;
    Py_ssize_t users; /* models on it */
} device_object;

static PyTypeObject *device_type;

static void close_device(device_object *self)
{
    vta_device *device = self->device;
    self->device = NULL;
    Py_BEGIN_ALLOW_THREADS vta_device_close(device);
    Py_END_ALLOW_THREADS
}

static void device_dealloc(device_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    close_device(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *device_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"uri", "config", NULL};
    PyObject *values[2] = {Py_None, Py_None}, *kept[2] = {NULL, NULL};
    const char *uri, *config = NULL;
    vta_config expected;
    vta_diag diag = {0};
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O|O", names, &values[0], &values[1])) {
        return NULL;
    }
    if (values[0] == Py_None) {
        PyErr_SetString(PyExc_TypeError, "a device is named by a URI, such as 'fsim', not by None");
        return NULL;
    }
    if (!to_path(values[0], &kept[0], &uri) || !to_path(values[1], &kept[1], &config)) {
        Py_XDECREF(kept[0]);
        return NULL;
    }
    vta_status status = config != NULL ? vta_config_load(config, &expected, &diag) : VTA_OK;
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    device_object *self = status == VTA_OK ? (device_object *)make(type, 0) : NULL;
    if (self != NULL) {
        Py_BEGIN_ALLOW_THREADS status =
            vta_device_open(uri, config != NULL ? &expected : NULL, &self->device, &diag);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(kept[0]);
    Py_XDECREF(kept[1]);
    if (status != VTA_OK) {
        Py_XDECREF((PyObject *)self);
        return vta_python_raise(&diag, status);
    }
    return (PyObject *)self; /* NULL: there was no memory for it */
}

static PyObject *device_close(device_object *self, PyObject *none)
{
    (void)none;
    if (self->users > 0) {
        vta_diag diag = {0};
        const vta_status status = vta_fail(&diag, VTA_BUSY, "the device has models on it; close them first");
        return vta_python_raise(&diag, status);
    }
    close_device(self);
    Py_RETURN_NONE;
}

static PyObject *device_uri(device_object *self, void *none)
{
    (void)none;
    return text_of(self->device != NULL ? vta_device_uri(self->device) : "");
}

static PyObject *device_config(device_object *self, void *none)
{
    (void)none;
    return text_of(self->device != NULL ? vta_device_config(self->device)->name : "");
}

/* ---- a model */

typedef struct model_object {
    PyObject ob_base;
    vta_model *model;
    device_object *shared;
    PyObject *progress; /* a callable, or NULL */
    PyObject *kinds[3]; /* what it raised: type, value, traceback */
    PyObject *memory;   /* a list of what the tensors are bound to */
    int working;        /* calls that have released the lock of the interpreter */
    int started;        /* a run that is still to be waited for */
} model_object;

static int is_open(model_object *self)
{
    if (self->model == NULL) {
        PyErr_SetString(PyExc_ValueError, "the model is closed");
    }
    return self->model != NULL;
}

/* One call at a time, since another thread may come in while the lock is released. */
static int enter(model_object *self)
{
    vta_diag diag = {0};
    if (!is_open(self)) {
        return 0;
    }
    if (self->working > 0) {
        (void)vta_python_raise(
            &diag,
            vta_fail(&diag, VTA_BUSY, "the model is at work in another thread; use one model for each"));
        return 0;
    }
    self->working++;
    return 1;
}

/* The same, where a run that was started would be disturbed. */
static int enter_idle(model_object *self)
{
    vta_diag diag = {0};
    if (!enter(self)) {
        return 0;
    }
    if (self->started) {
        self->working--;
        (void)vta_python_raise(
            &diag, vta_fail(&diag, VTA_BUSY, "a run of this model was started; wait for it first"));
        return 0;
    }
    return 1;
}

static PyObject *leave(model_object *self, const vta_diag *diag, vta_status status)
{
    self->working--;
    if (status != VTA_OK) {
        return vta_python_raise(diag, status);
    }
    Py_RETURN_NONE;
}

/* A line of progress. What the program's function raises is kept until the load has returned. */
static void tell(void *context, const char *line)
{
    model_object *self = context;
    const PyGILState_STATE state = PyGILState_Ensure();
    if (self->kinds[0] == NULL) {
        PyObject *text = text_of(line);
        PyObject *result = text != NULL ? PyObject_CallFunction(self->progress, "O", text) : NULL;
        Py_XDECREF(text);
        if (result == NULL) {
            PyErr_Fetch(&self->kinds[0], &self->kinds[1], &self->kinds[2]);
        }
        Py_XDECREF(result);
    }
    PyGILState_Release(state);
}

static void close_model(model_object *self)
{
    vta_model *model = self->model;
    self->model = NULL;
    Py_BEGIN_ALLOW_THREADS vta_model_destroy(model);
    Py_END_ALLOW_THREADS if (self->shared != NULL)
    {
        self->shared->users--;
        Py_DECREF((PyObject *)self->shared);
        self->shared = NULL;
    }
    Py_CLEAR(self->memory);
    Py_CLEAR(self->progress);
}

static void model_dealloc(model_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    close_model(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static vta_status load(model_object *self, const char *path, const vta_model_options *options, vta_diag *diag)
{
    vta_status status;
    Py_BEGIN_ALLOW_THREADS status = vta_model_load(path, options, &self->model, diag);
    Py_END_ALLOW_THREADS return status;
}

/* Raises ValueError where a number is out of its range. */
static void check_options(Py_ssize_t threads, double timeout)
{
    if (threads < 0 || threads > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "%zd threads; expected 0, for as many as there are cores, or more",
                     threads);
    } else if (!(timeout >= 0)) {
        PyErr_SetString(PyExc_ValueError, "a timeout is 0, for none, or more seconds");
    }
}

static PyObject *model_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"path", "device", "threads", "timeout", "priority", "progress", NULL};
    PyObject *path, *device = Py_None, *progress = Py_None;
    Py_ssize_t threads = 0;
    double timeout = 0;
    int priority = 0;
    vta_diag diag = {0};
    vta_status status = VTA_OK;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O&|OndiO", names, PyUnicode_FSConverter, &path,
                                     &device, &threads, &timeout, &priority, &progress)) {
        return NULL;
    }
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    model_object *self = (model_object *)make(type, 0);
    PyObject *uri = NULL;
    if (self != NULL) {
        const vta_progress telling = {.line = tell, .context = self};
        vta_model_options options = {
            .size = sizeof options, .threads = (uint32_t)threads, .timeout_s = timeout, .priority = priority};
        const char *name = NULL;
        check_options(threads, timeout);
        if (progress != Py_None) {
            Py_INCREF(progress);
            self->progress = progress;
            options.progress = &telling;
        }
        if (PyObject_TypeCheck(device, device_type)) {
            self->shared = (device_object *)device;
            Py_INCREF(device);
            self->shared->users++;
            options.shared = self->shared->device;
            if (options.shared == NULL) {
                PyErr_SetString(PyExc_ValueError, "the device is closed");
            }
        } else if (!PyErr_Occurred() && to_path(device, &uri, &name)) {
            options.device = name;
        }
        if (!PyErr_Occurred()) {
            status = load(self, PyBytes_AsString(path), &options, &diag);
        }
    }
    Py_XDECREF(uri);
    Py_DECREF(path);
    if (self != NULL && self->kinds[0] != NULL) {
        PyErr_Restore(self->kinds[0], self->kinds[1], self->kinds[2]);
        memset(self->kinds, 0, sizeof self->kinds);
    } else if (status != VTA_OK) {
        (void)vta_python_raise(&diag, status);
    } else if (self != NULL && !PyErr_Occurred()) {
        self->memory = PyDict_New();
    }
    if (self == NULL || PyErr_Occurred()) {
        Py_XDECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyObject *model_close(model_object *self, PyObject *none)
{
    (void)none;
    if (self->model != NULL) {
        if (!enter(self)) {
            return NULL;
        }
        close_model(self);
        self->working--;
    }
    Py_RETURN_NONE;
}

static PyObject *describe(const vta_tensor_info *info)
{
    PyObject *shape = PyTuple_New((Py_ssize_t)info->rank);
    for (uint32_t i = 0; shape != NULL && i < info->rank; i++) {
        PyTuple_SetItem(shape, (Py_ssize_t)i, PyLong_FromLongLong(info->dim[i]));
    }
    return shape == NULL ? NULL
                         : Py_BuildValue("(NIINn)", text_of(info->name), (unsigned)info->dtype_code,
                                         (unsigned)info->dtype_bits, shape, (Py_ssize_t)info->bytes);
}

/* [(name, code, bits, shape, bytes), …] */
static PyObject *model_tensors(model_object *self, PyObject *arguments)
{
    int input;
    if (!PyArg_ParseTuple(arguments, "p", &input) || !is_open(self)) {
        return NULL;
    }
    const uint32_t count = input ? vta_model_input_count(self->model) : vta_model_output_count(self->model);
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        const vta_tensor_info info =
            input ? vta_model_input(self->model, i) : vta_model_output(self->model, i);
        PyObject *row = describe(&info);
        if (row == NULL || PyList_Append(list, row) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

/* bind(input, index, address, bytes, owner): `owner` keeps the memory. */
static PyObject *model_bind(model_object *self, PyObject *arguments)
{
    int input;
    unsigned int index;
    PyObject *address, *owner;
    Py_ssize_t bytes;
    vta_diag diag = {0};
    if (!PyArg_ParseTuple(arguments, "pIOnO", &input, &index, &address, &bytes, &owner)) {
        return NULL;
    }
    void *data = PyLong_AsVoidPtr(address);
    if ((data == NULL && PyErr_Occurred()) || !enter_idle(self)) {
        return NULL;
    }
    const vta_status status = input ? vta_model_bind_input(self->model, index, data, (size_t)bytes, &diag)
                                    : vta_model_bind_output(self->model, index, data, (size_t)bytes, &diag);
    if (status == VTA_OK) {
        PyObject *key = Py_BuildValue("(ii)", input, (int)index);
        const int kept = key != NULL && PyDict_SetItem(self->memory, key, owner) == 0;
        Py_XDECREF(key);
        if (!kept) { /* no memory of the program's without its owner */
            (void)(input ? vta_model_bind_input(self->model, index, NULL, 0, NULL)
                         : vta_model_bind_output(self->model, index, NULL, 0, NULL));
            self->working--;
            return NULL;
        }
    }
    return leave(self, &diag, status);
}

/* reshape(index, shape): another size of an input. Its memory is the model's own then. */
static PyObject *model_reshape(model_object *self, PyObject *arguments)
{
    unsigned int index;
    PyObject *shape;
    int64_t dim[64];
    vta_diag diag = {0};
    if (!PyArg_ParseTuple(arguments, "IO", &index, &shape)) {
        return NULL;
    }
    const Py_ssize_t rank = PyTuple_Size(shape);
    if (rank > (Py_ssize_t)(sizeof dim / sizeof *dim)) {
        PyErr_SetString(PyExc_ValueError, "no tensor has as many axes");
    }
    for (Py_ssize_t i = 0; !PyErr_Occurred() && i < rank; i++) {
        dim[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    }
    if (PyErr_Occurred() || !enter_idle(self)) {
        return NULL;
    }
    return leave(self, &diag, vta_model_set_input_shape(self->model, index, dim, (uint32_t)rank, &diag));
}

/* fetch(index, address) → a bytearray with the output; None: it lies at that address, where it was bound. */
static PyObject *model_fetch(model_object *self, PyObject *arguments)
{
    unsigned int index;
    PyObject *address;
    if (!PyArg_ParseTuple(arguments, "IO", &index, &address)) {
        return NULL;
    }
    const void *bound = PyLong_AsVoidPtr(address);
    if ((bound == NULL && PyErr_Occurred()) || !enter_idle(self)) {
        return NULL;
    }
    self->working--; /* the lock of the interpreter is held until the copy is made */
    const char *data = vta_model_output_data(self->model, index);
    if (data == bound) {
        Py_RETURN_NONE;
    }
    return PyByteArray_FromStringAndSize(data, (Py_ssize_t)vta_model_output(self->model, index).bytes);
}

static PyObject *model_run(model_object *self, PyObject *arguments)
{
    int profiled = 0;
    vta_diag diag = {0};
    vta_status status;
    const vta_step_profile *steps;
    uint32_t count;
    if (!PyArg_ParseTuple(arguments, "|p", &profiled) || !enter(self)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status =
        profiled ? vta_model_profile(self->model, &steps, &count, &diag) : vta_model_run(self->model, &diag);
    Py_END_ALLOW_THREADS return leave(self, &diag, status);
}

static PyObject *model_start(model_object *self, PyObject *none)
{
    vta_diag diag = {0};
    (void)none;
    if (!enter_idle(self)) {
        return NULL;
    }
    const vta_status status = vta_model_start(self->model, &diag);
    self->started = status == VTA_OK;
    return leave(self, &diag, status);
}

/* idle(): raises where a run would be disturbed. */
static PyObject *model_idle(model_object *self, PyObject *none)
{
    vta_diag diag = {0};
    (void)none;
    return enter_idle(self) ? leave(self, &diag, VTA_OK) : NULL;
}

/* wait(seconds) → whether it is over; raises what it ended with. */
static PyObject *model_wait(model_object *self, PyObject *arguments)
{
    double seconds = -1;
    vta_diag diag = {0};
    vta_status status;
    if (!PyArg_ParseTuple(arguments, "|d", &seconds) || !enter(self)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = vta_model_wait(self->model, seconds, &diag);
    Py_END_ALLOW_THREADS self->working--;
    if (status == VTA_TIMEOUT && diag.code == VTA_OK) {
        Py_RETURN_FALSE;
    }
    self->started = 0;
    if (status != VTA_OK) {
        return vta_python_raise(&diag, status);
    }
    Py_RETURN_TRUE;
}

static PyObject *model_cancel(model_object *self, PyObject *none)
{
    (void)none;
    if (!is_open(self)) {
        return NULL;
    }
    vta_model_cancel(self->model);
    Py_RETURN_NONE;
}

static PyObject *model_interrupt(model_object *self, PyObject *none)
{
    (void)none;
    if (!is_open(self)) {
        return NULL;
    }
    vta_model_interrupt(self->model);
    Py_RETURN_NONE;
}

static PyObject *model_fileno(model_object *self, PyObject *none)
{
    vta_diag diag = {0};
    (void)none;
    if (!is_open(self)) {
        return NULL;
    }
    const int descriptor = vta_model_descriptor(self->model, &diag);
    return descriptor < 0 ? vta_python_raise(&diag, diag.code) : PyLong_FromLong(descriptor);
}

/* [(name, op, on_accelerator, seconds, cycles, predicted, flops), …] of the last run */
static PyObject *model_steps(model_object *self, PyObject *none)
{
    uint32_t count;
    (void)none;
    if (!enter_idle(self)) {
        return NULL;
    }
    self->working--; /* the lock of the interpreter is held until the rows are there */
    const vta_step_profile *steps = vta_model_steps(self->model, &count);
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        const vta_step_profile *s = &steps[i];
        PyObject *row = Py_BuildValue(
            "(NsNdKKK)", text_of(s->name), s->op, PyBool_FromLong(s->on_accelerator), s->seconds,
            (unsigned long long)s->cycles, (unsigned long long)s->predicted, (unsigned long long)s->flops);
        if (row == NULL || PyList_Append(list, row) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

/* {class: cycles} */
static PyObject *split_of(const vta_layer_profile *layer)
{
    static const char *const classes[] = {
#define X(id, name, doc) name,
        VTA_CYCLE_CLASS_LIST(X)
#undef X
    };
    PyObject *split = PyDict_New();
    for (int i = 0; split != NULL && i < VTA_CYCLE_CLASSES; i++) {
        PyObject *cycles = PyLong_FromUnsignedLongLong(layer->split[i]);
        if (cycles == NULL || PyDict_SetItemString(split, classes[i], cycles) != 0) {
            Py_CLEAR(split);
        }
        Py_XDECREF(cycles);
    }
    return split;
}

static PyObject *layer_of(const vta_layer_profile *l)
{
    PyObject *split = split_of(l);
    return split == NULL
               ? NULL
               : Py_BuildValue("(NzzzIKKKKKN)", text_of(l->name != NULL ? l->name : ""), l->op, l->schedule,
                               l->bound, l->step, (unsigned long long)l->macs,
                               (unsigned long long)l->bytes_read, (unsigned long long)l->bytes_written,
                               (unsigned long long)l->predicted, (unsigned long long)l->cycles, split);
}

/* [(name, op, schedule, bound, step, macs, read, written, predicted, cycles, {class: cycles}), …] of the last
 * run */
static PyObject *model_layers(model_object *self, PyObject *none)
{
    uint32_t count;
    (void)none;
    if (!enter_idle(self)) {
        return NULL;
    }
    self->working--; /* as above */
    const vta_layer_profile *layers = vta_model_layers(self->model, &count);
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        PyObject *row = layer_of(&layers[i]);
        if (row == NULL || PyList_Append(list, row) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *model_name(model_object *self, void *none)
{
    (void)none;
    return is_open(self) ? text_of(vta_model_name(self->model)) : NULL;
}

static PyObject *model_device(model_object *self, void *none)
{
    (void)none;
    return is_open(self) ? text_of(vta_model_device_uri(self->model)) : NULL;
}

static PyObject *model_cycles(model_object *self, void *none)
{
    (void)none;
    return is_open(self) ? PyLong_FromUnsignedLongLong(vta_model_cycles(self->model)) : NULL;
}

static PyObject *model_closed(model_object *self, void *none)
{
    (void)none;
    return PyBool_FromLong(self->model == NULL);
}

/* ---- DLPack */

/* As dlpack.h has it: a tensor, whose it is, and what gives it back. */
typedef struct managed {
    vta_dl_tensor tensor;
    void *owner;
    void (*deleter)(struct managed *self);
    int64_t shape[];
} managed;

static void give_back(managed *self)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject *)self->owner);
    PyGILState_Release(state);
    free(self);
}

/* A model that nobody has taken has still its first name. */
static void drop_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        managed *self = PyCapsule_GetPointer(capsule, "dltensor");
        self->deleter(self);
    }
}

/* dlpack(address, code, bits, shape, owner) → capsule */
static PyObject *make_dlpack(PyObject *module, PyObject *arguments)
{
    PyObject *address, *shape, *owner;
    unsigned int code, bits;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OIIOO", &address, &code, &bits, &shape, &owner)) {
        return NULL;
    }
    const Py_ssize_t rank = PyTuple_Size(shape);
    if (rank < 0) {
        return NULL;
    }
    managed *self = calloc(1, sizeof *self + ((size_t)rank + 1) * sizeof *self->shape);
    if (self == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < rank; i++) {
        self->shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    }
    self->tensor = (vta_dl_tensor){.data = PyLong_AsVoidPtr(address),
                                   .device = {.type = 1},
                                   .ndim = (int32_t)rank,
                                   .dtype = {(uint8_t)code, (uint8_t)bits, 1},
                                   .shape = self->shape};
    self->owner = owner;
    self->deleter = give_back;
    Py_INCREF(owner);
    PyObject *capsule = PyErr_Occurred() ? NULL : PyCapsule_New(self, "dltensor", drop_capsule);
    if (capsule == NULL) {
        give_back(self);
    }
    return capsule;
}

static void drop_taken(PyObject *capsule)
{
    managed *self = PyCapsule_GetPointer(capsule, "vta.taken");
    if (self != NULL && self->deleter != NULL) {
        self->deleter(self);
    }
}

/* take(capsule) → (address, bytes, code, bits, shape, owner): what another library hands over, which `owner`
 * keeps. */
static PyObject *take_dlpack(PyObject *module, PyObject *capsule)
{
    (void)module;
    managed *self = PyCapsule_GetPointer(capsule, "dltensor");
    if (self == NULL) {
        return NULL;
    }
    const vta_dl_tensor *t = &self->tensor;
    int64_t elements = 1, step = 1;
    int plain = t->device.type == 1 && t->dtype.lanes == 1;
    PyObject *shape = PyTuple_New(t->ndim);
    for (int32_t i = t->ndim; shape != NULL && i-- > 0;) {
        plain = plain && (t->strides == NULL || t->strides[i] == step || t->shape[i] <= 1);
        step *= t->shape[i];
        elements *= t->shape[i];
        PyTuple_SetItem(shape, i, PyLong_FromLongLong(t->shape[i]));
    }
    if (shape != NULL && !plain) {
        PyErr_SetString(PyExc_BufferError, "the tensor is not on the CPU, or has gaps between its rows");
        Py_CLEAR(shape);
    }
    PyObject *owner = shape != NULL ? PyCapsule_New(self, "vta.taken", drop_taken) : NULL;
    if (owner == NULL) {
        Py_XDECREF(shape);
        return NULL;
    }
    (void)PyCapsule_SetName(capsule, "used_dltensor");
    (void)PyCapsule_SetDestructor(capsule, NULL);
    return Py_BuildValue("(NnIINN)", PyLong_FromVoidPtr((char *)t->data + t->byte_offset),
                         (Py_ssize_t)(elements * t->dtype.bits / 8), (unsigned)t->dtype.code,
                         (unsigned)t->dtype.bits, shape, owner);
}

/* address(bytearray) → int, valid as long as a view of it exists */
static PyObject *address_of(PyObject *module, PyObject *array)
{
    (void)module;
    if (!PyObject_TypeCheck(array, &PyByteArray_Type)) {
        PyErr_SetString(PyExc_TypeError, "expected a bytearray");
        return NULL;
    }
    return PyLong_FromVoidPtr(PyByteArray_AsString(array));
}

static PyObject *version(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    return PyUnicode_FromString(vta_version());
}

static PyObject *status_name(PyObject *module, PyObject *number)
{
    (void)module;
    const long code = PyLong_AsLong(number);
    return code == -1 && PyErr_Occurred() ? NULL : PyUnicode_FromString(vta_status_text((vta_status)code));
}

/* ---- the module */

/* Functions of one signature in a table of another, as CPython wants them. */
#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef device_methods[] = {{"close", METHOD(device_close), METH_NOARGS, NULL},
                                       {NULL, NULL, 0, NULL}};
static PyGetSetDef device_values[] = {{"uri", (getter)device_uri, NULL, NULL, NULL},
                                      {"config", (getter)device_config, NULL, NULL, NULL},
                                      {NULL, NULL, NULL, NULL, NULL}};
static PyMethodDef model_methods[] = {{"close", METHOD(model_close), METH_NOARGS, NULL},
                                      {"tensors", METHOD(model_tensors), METH_VARARGS, NULL},
                                      {"bind", METHOD(model_bind), METH_VARARGS, NULL},
                                      {"reshape", METHOD(model_reshape), METH_VARARGS, NULL},
                                      {"fetch", METHOD(model_fetch), METH_VARARGS, NULL},
                                      {"run", METHOD(model_run), METH_VARARGS, NULL},
                                      {"start", METHOD(model_start), METH_NOARGS, NULL},
                                      {"idle", METHOD(model_idle), METH_NOARGS, NULL},
                                      {"wait", METHOD(model_wait), METH_VARARGS, NULL},
                                      {"cancel", METHOD(model_cancel), METH_NOARGS, NULL},
                                      {"interrupt", METHOD(model_interrupt), METH_NOARGS, NULL},
                                      {"fileno", METHOD(model_fileno), METH_NOARGS, NULL},
                                      {"steps", METHOD(model_steps), METH_NOARGS, NULL},
                                      {"layers", METHOD(model_layers), METH_NOARGS, NULL},
                                      {NULL, NULL, 0, NULL}};
static PyGetSetDef model_values[] = {{"name", (getter)model_name, NULL, NULL, NULL},
                                     {"device", (getter)model_device, NULL, NULL, NULL},
                                     {"cycles", (getter)model_cycles, NULL, NULL, NULL},
                                     {"closed", (getter)model_closed, NULL, NULL, NULL},
                                     {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot device_slots[] = {{Py_tp_new, (void *)device_new},
                                     {Py_tp_dealloc, (void *)device_dealloc},
                                     {Py_tp_methods, device_methods},
                                     {Py_tp_getset, device_values},
                                     {0, NULL}};
static PyType_Slot model_slots[] = {{Py_tp_new, (void *)model_new},
                                    {Py_tp_dealloc, (void *)model_dealloc},
                                    {Py_tp_methods, model_methods},
                                    {Py_tp_getset, model_values},
                                    {0, NULL}};
static PyType_Spec device_spec = {"vta._vta.Device", sizeof(device_object), 0, Py_TPFLAGS_DEFAULT,
                                  device_slots};
static PyType_Spec model_spec = {"vta._vta.Model", sizeof(model_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, model_slots};

/* ---- what libvtac calls (vtac.h), for vta/_compiler.py: functions of C, so that what a signal raises comes
 * to be here and not on the way in. `context` is a list: who asks for progress, who takes notes, and what one
 * of them has raised; each may be None. */

enum { PROGRESS, NOTES, RAISED };

static int is_over(PyObject *list)
{
    return PyList_GetItem(list, RAISED) != Py_None;
}

static void keep_raised(PyObject *list)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != NULL) {
        (void)PyException_SetTraceback(value, trace);
    }
    (void)PyList_SetItem(list, RAISED, value);
    Py_XDECREF(type);
    Py_XDECREF(trace);
}

static int compiler_at(void *context, const char *stage, const char *item, unsigned done, unsigned total)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *list = context;
    PyObject *result = NULL;
    int ends = is_over(list);
    if (!ends && PyErr_CheckSignals() == 0 && PyList_GetItem(list, PROGRESS) != Py_None) {
        PyObject *where = text_of(stage), *what = text_of(item);
        result = where != NULL && what != NULL
                     ? PyObject_CallFunction(PyList_GetItem(list, PROGRESS), "OOII", where, what, done, total)
                     : NULL;
        Py_XDECREF(where);
        Py_XDECREF(what);
    }
    if (PyErr_Occurred() != NULL) {
        keep_raised(list);
        ends = 1;
    }
    ends = ends || result == Py_True;
    Py_XDECREF(result);
    PyGILState_Release(state);
    return ends;
}

static void compiler_say(void *context, const char *line)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *list = context;
    if (!is_over(list) && PyList_GetItem(list, NOTES) != Py_None) {
        PyObject *text = text_of(line);
        PyObject *result =
            text != NULL ? PyObject_CallFunction(PyList_GetItem(list, NOTES), "O", text) : NULL;
        if (result == NULL) {
            keep_raised(list);
        }
        Py_XDECREF(result);
        Py_XDECREF(text);
    }
    PyGILState_Release(state);
}

static PyObject *compiler_calls(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return Py_BuildValue("NN", PyLong_FromVoidPtr((void *)(uintptr_t)compiler_at),
                         PyLong_FromVoidPtr((void *)(uintptr_t)compiler_say));
}

static PyMethodDef functions[] = {{"dlpack", make_dlpack, METH_VARARGS, NULL},
                                  {"take", take_dlpack, METH_O, NULL},
                                  {"address", address_of, METH_O, NULL},
                                  {"version", version, METH_NOARGS, NULL},
                                  {"status", status_name, METH_O, NULL},
                                  {"compiler_calls", compiler_calls, METH_NOARGS, NULL},
                                  {NULL, NULL, 0, NULL}};
static PyModuleDef module_def = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "vta._vta", .m_size = -1, .m_methods = functions};

/* NOLINTNEXTLINE(readability-identifier-naming) */
PyMODINIT_FUNC PyInit__vta(void);
/* NOLINTNEXTLINE(readability-identifier-naming) */
PyMODINIT_FUNC PyInit__vta(void)
{
    PyObject *module = PyModule_Create(&module_def);
    PyObject *device = module != NULL ? PyType_FromSpec(&device_spec) : NULL;
    PyObject *model = device != NULL ? PyType_FromSpec(&model_spec) : NULL;
    error_class = model != NULL ? PyErr_NewException("vta._vta.Error", PyExc_RuntimeError, NULL) : NULL;
    if (error_class == NULL) {
        Py_XDECREF(model);
        Py_XDECREF(device);
        Py_XDECREF(module);
        return NULL;
    }
    device_type = (PyTypeObject *)device;
    Py_INCREF(device);
    Py_INCREF(error_class);
    error_classes = PyDict_New();
    Py_XINCREF(error_classes);
    if (error_classes == NULL || PyModule_AddObject(module, "errors", error_classes) != 0 ||
        PyModule_AddObject(module, "Device", device) != 0 ||
        PyModule_AddObject(module, "Model", model) != 0 ||
        PyModule_AddObject(module, "Error", error_class) != 0 ||
        PyModule_AddObject(module, "Speaker", speaker()) != 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
