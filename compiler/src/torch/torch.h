/* SPDX-License-Identifier: Apache-2.0
 *
 * What the importers of PyTorch's files share: values, as its pickles and its programs have them, and calls
 * of operators. Nothing of a file is ever run: pickles may name the few functions that rebuild tensors, and
 * TorchScript is interpreted here, into nodes of a graph.
 */
#ifndef VTAC_TORCH_TORCH_H
#define VTAC_TORCH_TORCH_H

#include <cjson/cJSON.h>

#include "../import/maker.h"
#include "../import/options.h"
#include "../import/zip.h"
#include "vtac/import.h"

typedef enum vtac_torch_kind {
    TORCH_NONE,
    TORCH_BOOL,
    TORCH_INT,
    TORCH_FLOAT,
    TORCH_TEXT,
    TORCH_NAME, /* of a class or a function */
    TORCH_TENSOR,
    TORCH_LIST,
    TORCH_TUPLE,
    TORCH_DICT, /* its list holds keys and values in turn */
    TORCH_OBJECT,
    TORCH_METHOD,
    TORCH_STORAGE,
    TORCH_MARK /* on the stack of a pickle alone */
} vtac_torch_kind;

typedef struct vtac_torch_value {
    vtac_torch_kind kind;
    union {
        int64_t i; /* of a bool, too */
        double f;
        const char *s;
        struct vtac_torch_tensor *tensor;
        struct vtac_torch_list *list;
        struct vtac_torch_object *object;
        struct vtac_torch_method *method;
        const struct vtac_torch_storage *storage;
    };
} vtac_torch_value;

typedef struct vtac_torch_list {
    vtac_torch_value *items;
    uint32_t count, room;
} vtac_torch_list;

typedef struct vtac_torch_object {
    const char *class;
    vtac_torch_list *attrs; /* names and values in turn */
    vtac_torch_value state; /* TORCH_NONE: the attributes are all there is */
    bool ready;             /* the state has been made attributes */
} vtac_torch_object;

typedef struct vtac_torch_method {
    vtac_torch_object *object;
    const char *name;
} vtac_torch_method;

typedef struct vtac_torch_storage {
    vtac_dtype dtype; /* VTAC_NO_DTYPE: bytes, whose tensors have a type of their own */
    const uint8_t *bytes;
    size_t size;
    bool swapped; /* big endian */
} vtac_torch_storage;

/* A tensor: a value of the graph, or contents that become a constant when they are asked for. Views of one
 * memory share `changes`; a tensor is stale where another view was changed in place since it was made. */
typedef struct vtac_torch_tensor {
    vtac_id id;
    const vtac_torch_storage *storage;
    int64_t offset, stride[VTAC_MAX_RANK];
    vtac_type type; /* of the contents in the storage */
    uint32_t *changes, seen;
    /* Integers with a scale. */
    bool quantized;
    double scale;
    int64_t zero;
    vtac_id scales, zeros; /* of each channel on `axis`; 0: one for all */
    int64_t axis;
} vtac_torch_tensor;

/* Members of an archive, and the archive itself. */
typedef struct vtac_torch_archive {
    vtac_zip_member *members;
    uint32_t count;
    const char *folder; /* in which all members lie, with its '/'; "" */
    bool swapped;
} vtac_torch_archive;

/* Functions of one operand that are two nodes or more. */
enum {
    TORCH_RSQRT,
    TORCH_SQUARE,
    TORCH_LOG1P,
    TORCH_EXPM1,
    TORCH_LOG2,
    TORCH_LOG10,
    TORCH_TRUNC,
    TORCH_LOG_SIGMOID,
    TORCH_LOGICAL_NOT,
    TORCH_EXP2
};

enum { TORCH_MAX_ARGS = 24, TORCH_MAX_DEPTH = 200, TORCH_MAX_STEPS = 1 << 21, TORCH_MAX_INPUTS = 64 };

typedef struct vtac_torch {
    vtac_import_builder maker;
    const vtac_import_options *options;
    vtac_torch_archive archive;
    const struct vtac_torch_op *op; /* that is called, and its arguments in the order of its row */
    vtac_torch_value args[TORCH_MAX_ARGS];
    bool given[TORCH_MAX_ARGS], used[TORCH_MAX_ARGS];
    struct vtac_torch_script *script; /* NULL: a program of torch.export */
    uint32_t depth;
    uint64_t stored, made; /* bytes of the archive, and of constants that were computed */
    uint64_t steps;        /* that the program took; long searches and lists count as several */
    /* Inputs whose file says no type: floats, until an operator wants indices. */
    vtac_id inputs[TORCH_MAX_INPUTS];
    bool indices[TORCH_MAX_INPUTS], again;
    uint32_t input_count;
} vtac_torch;

/* An operator (ops.def). `args`: the names of its arguments in the order of its schema, others of the same
 * with "|", "-" in front of one that changes nothing here. `traits`: "v" its result is a view of its first
 * argument; of quantized tensors "m" moves the integers, "l" computes on floats and quantizes the result like
 * its first argument. */
typedef vtac_torch_value vtac_torch_op_fn(vtac_torch *im, int32_t how);
typedef struct vtac_torch_op {
    const char *name;
    vtac_torch_op_fn *make;
    int32_t how;
    const char *traits, *args;
} vtac_torch_op;
const vtac_torch_op *vtac_torch_op_find(const char *name);
#define TORCH_OP(name, fn, how, traits, args) vtac_torch_op_fn vtac_torch_make_##fn;
#include "ops.def"

typedef struct vtac_torch_named {
    const char *name;
    vtac_torch_value value;
} vtac_torch_named;

/* Calls an operator by its name without a namespace ("conv2d", "quantized.add", "prim.dtype"): arguments in
 * order, then those with names. */
vtac_torch_value vtac_torch_call_op(vtac_torch *im, const char *name, const vtac_torch_value *args,
                                    uint32_t count, const vtac_torch_named *named, uint32_t named_count);
/* True where a call by this name can be taken; the names in a TorchScript's code that are not, as a list. */
bool vtac_torch_is_known(const char *name);
void vtac_torch_list_unknown(const vtac_torch *im, char *list, size_t size);
/* Calls of Python with numbers, texts and lists (scalars.c). False: it is no such call. */
bool vtac_torch_call_plain(vtac_torch *im, const char *name, const vtac_torch_value *args, uint32_t count,
                           vtac_torch_value *out);

__attribute__((format(printf, 2, 3))) void vtac_torch_refuse(vtac_torch *im, const char *fmt, ...);

/* ---- values */
extern const vtac_torch_value vtac_torch_none; /* Python's None, and the result of a failure */
vtac_torch_value vtac_torch_bool(bool b);
vtac_torch_value vtac_torch_integer(int64_t i);
vtac_torch_value vtac_torch_real(double f);
vtac_torch_value vtac_torch_string(const char *s);
vtac_torch_value vtac_torch_list_value(vtac_torch *im, vtac_torch_kind kind, const vtac_torch_value *items,
                                       uint32_t count);
void vtac_torch_append(vtac_torch *im, vtac_torch_list *list, vtac_torch_value item);
/* The value of a text in keys and values in turn; NULL: there is none. */
vtac_torch_value *vtac_torch_look_up(const vtac_torch_list *list, const char *key);
vtac_torch_value vtac_torch_tensor_of(vtac_torch *im, vtac_id id);
vtac_torch_value vtac_torch_quantized_of(vtac_torch *im, vtac_id id, double scale, int64_t zero);
bool vtac_torch_is_number(const vtac_torch_value *v); /* bool, int or float */
double vtac_torch_number(const vtac_torch_value *v);
const char *vtac_torch_kind_name(vtac_torch_kind kind);
/* The number that a tensor of one known element holds, as a value. False: its contents are not known. */
bool vtac_torch_item(vtac_torch *im, vtac_torch_value v, vtac_torch_value *out);
/* The value of the graph that a tensor is, as it is: integers where it is quantized. */
vtac_id vtac_torch_id(vtac_torch *im, vtac_torch_tensor *t);
/* The same as floats. */
vtac_id vtac_torch_floats(vtac_torch *im, vtac_torch_tensor *t);
/* Floats quantized like `t`, or with a scale and a zero point for all. */
vtac_torch_value vtac_torch_quantize_like(vtac_torch *im, vtac_id x, const vtac_torch_tensor *t);
vtac_torch_value vtac_torch_quantize(vtac_torch *im, vtac_id x, double scale, int64_t zero, vtac_dtype dtype);
vtac_dtype vtac_torch_dtype(int64_t code); /* of c10::ScalarType; VTAC_NO_DTYPE: not taken */
int64_t vtac_torch_dtype_code(vtac_dtype dtype);

/* ---- arguments of the operator */
const vtac_torch_value *vtac_torch_arg(vtac_torch *im, const char *name); /* of none: TORCH_NONE */
bool vtac_torch_has(vtac_torch *im, const char *name);
vtac_torch_tensor *vtac_torch_arg_tensor(vtac_torch *im, const char *name); /* NULL after a failure */
vtac_id vtac_torch_in(vtac_torch *im, const char *name);                    /* a number becomes a constant */
vtac_id vtac_torch_in_or_none(vtac_torch *im, const char *name);
vtac_id vtac_torch_value_id(vtac_torch *im, const vtac_torch_value *v, const char *name);
int64_t vtac_torch_int(vtac_torch *im, const char *name, int64_t otherwise);
double vtac_torch_float(vtac_torch *im, const char *name, double otherwise);
bool vtac_torch_flag(vtac_torch *im, const char *name, bool otherwise);
const char *vtac_torch_text(vtac_torch *im, const char *name, const char *otherwise);
/* A list of integers, or one; `count`: none are given as none, too. */
uint32_t vtac_torch_ints(vtac_torch *im, const char *name, int64_t *out, uint32_t max);
/* An axis, which may be counted from the end, as 0 to rank - 1. */
uint32_t vtac_torch_axis(vtac_torch *im, const char *name, int64_t otherwise, uint32_t rank);
uint32_t vtac_torch_wrap(vtac_torch *im, int64_t axis, uint32_t rank);
/* A bound of a slice, which may be counted from the end, as 0 to size. */
int64_t vtac_torch_clamp(int64_t at, int64_t size);
/* "dtype" as the type to compute in; `otherwise` where it is not given. */
vtac_dtype vtac_torch_dtype_arg(vtac_torch *im, const char *name, vtac_dtype otherwise);
/* A tensor of indices, which an input without a type becomes. */
vtac_id vtac_torch_indices(vtac_torch *im, const char *name);

/* ---- pieces of operators */
vtac_id vtac_torch_full(vtac_torch *im, const int64_t *dims, uint32_t rank, vtac_dtype dtype, double value);
/* Both in the type that PyTorch computes with. */
void vtac_torch_promote(vtac_torch *im, const vtac_torch_value *a, const vtac_torch_value *b, vtac_id *x,
                        vtac_id *y);
vtac_id vtac_torch_as_float(vtac_torch *im, vtac_id x);
vtac_id vtac_torch_with(vtac_torch *im, vtac_op op, vtac_id x, double number); /* op(x, number) */
vtac_id vtac_torch_linear(vtac_torch *im, vtac_id x, vtac_id w, vtac_id bias);
/* x[begin:end:step] on an axis. */
vtac_id vtac_torch_slice(vtac_torch *im, vtac_id x, uint32_t axis, int64_t begin, int64_t end, int64_t step);

/* ---- files */
vta_status vtac_torch_open(vtac_torch *im, const uint8_t *bytes, size_t size, vtac_torch_archive *archive);
const vtac_zip_member *vtac_torch_member(const vtac_torch *im, const vtac_torch_archive *archive,
                                         const char *name); /* behind the folder; NULL: there is none */
/* The value that a member of an archive pickles; its tensors lie in `folder`/KEY. */
vtac_torch_value vtac_torch_unpickle(vtac_torch *im, const vtac_torch_archive *archive, const char *name,
                                     const char *folder);
vtac_torch_value vtac_torch_stored(vtac_torch *im, const vtac_torch_storage *storage, int64_t offset,
                                   const vtac_type *type, const int64_t *stride);

/* ---- programs */
void vtac_torch_run_script(vtac_torch *im);
void vtac_torch_run_export(vtac_torch *im);
/* An attribute of an object; false: there is none. */
bool vtac_torch_attribute(vtac_torch *im, vtac_torch_object *object, const char *name, vtac_torch_value *out);
/* An input of the graph: --shape where it is given, else the file's type, else (rank unknown) a refusal. */
vtac_torch_value vtac_torch_input(vtac_torch *im, const char *name, const vtac_type *type);
/* The result of a program, in lists or not, as outputs of the graph. */
void vtac_torch_output(vtac_torch *im, const vtac_torch_value *v, const char *name);

#endif
