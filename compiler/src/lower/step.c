/* SPDX-License-Identifier: Apache-2.0
 *
 * What lowerings build steps with: buffers, indices, loops, fused stores.
 */
#include <stdio.h>
#include <string.h>

#include "layout.h"
#include "vta/fail.h"

enum {
    PARALLEL_WORK = 32768, /* below, waking a thread costs more than it saves */
    LINE_BYTES = 64,       /* of a cache */
    FAR_BYTES = 262144,    /* does not stay near from one run of the model to the next */
    MIN_FAR = 16384,       /* nor does so much of constants */
    MANY_BYTES = 1048576,  /* where all of them are more than this */
    AHEAD = 40             /* rounds of some cycles each, longer than memory takes */
};

vta_status vtac_unsupported(vtac_lower *l, const char *what)
{
    return vta_fail(l->diag, VTA_UNSUPPORTED, "%s", what);
}

static const char *step_name(vtac_lower *l, const char *suffix)
{
    char text[512];
    int size = snprintf(text, sizeof text, "%s%s", l->node->name, suffix);
    for (uint32_t i = 0; i < l->chain_count && size < (int)sizeof text; i++) {
        size += snprintf(text + size, sizeof text - (size_t)size, "+%s", vtac_op_get(l->chain[i]->op)->name);
    }
    return vta_arena_string(&l->program->arena, text, strlen(text));
}

vta_status vtac_begin(vtac_lower *l, const char *suffix)
{
    vtac_step *step = vta_arena_alloc(&l->program->arena, sizeof *step);
    if (step == NULL || vta_vec_push(&l->program->steps, &step) == NULL) {
        return vta_no_memory(l->diag);
    }
    step->name = step_name(l, suffix);
    step->op = vtac_op_get(l->node->op)->name;
    step->node = l->node->origin;
    step->segment = l->segment;
    if (step->name == NULL) {
        return vta_no_memory(l->diag);
    }
    vtac_kernel_init(&step->kernel, &l->program->arena, step->name);
    l->step = step;
    l->k = &step->kernel;
    l->carried = NULL;
    l->carried_id = 0;
    l->block = l->lane = NULL;
    return VTA_OK;
}

const vtac_type *vtac_type_in(const vtac_lower *l, uint32_t i)
{
    return vtac_in_type(l->graph, l->node, i);
}

const vtac_type *vtac_type_out(const vtac_lower *l, uint32_t i)
{
    return &l->graph->values[l->node->outputs[i]].type;
}

bool vtac_has_in(const vtac_lower *l, uint32_t i)
{
    return vtac_type_in(l, i) != NULL;
}

/* ---- buffers */

static vtac_storage_id new_storage(vtac_lower *l, vtac_storage storage)
{
    if (vta_vec_push(&l->program->storages, &storage) == NULL) {
        l->k->failed = true;
        return 0;
    }
    return (vtac_storage_id)(l->program->storages.count - 1);
}

vtac_storage_id vtac_temp(vtac_lower *l, vtac_dtype dtype, int64_t elements)
{
    const uint64_t bytes = (uint64_t)elements * vtac_dtype_bytes(dtype);
    return new_storage(l, (vtac_storage){.kind = VTAC_STORAGE_WORKSPACE, .bytes = bytes});
}

vtac_storage_id vtac_constant(vtac_lower *l, const void *data, uint64_t bytes)
{
    return new_storage(l, (vtac_storage){.kind = VTAC_STORAGE_CONSTANT, .bytes = bytes, .data = data});
}

/* Memory of the model's, not a user's. */
static bool is_own(const vtac_lower *l, vtac_storage_id id)
{
    const vtac_storage *s = vta_vec_at(&l->program->storages, id);
    return s->kind == VTAC_STORAGE_CONSTANT || s->kind == VTAC_STORAGE_WORKSPACE;
}

vtac_buffer *vtac_use(vtac_lower *l, vtac_storage_id storage, const char *name, vtac_dtype dtype,
                      int64_t elements)
{
    for (size_t i = 0; i < l->k->buffer_count; i++) {
        vtac_buffer *known = l->k->buffers[i];
        if (known->space == VTAC_BUFFER_ARGUMENT && l->step->args[known->number].storage == storage &&
            known->dtype == dtype) {
            return known;
        }
    }
    vtac_step_arg *args = vta_grow(l->step->args, &l->step->arg_room, l->step->arg_count + 1, sizeof *args);
    vtac_buffer *buffer = vtac_kernel_buffer(l->k, name, dtype, elements, VTAC_BUFFER_ARGUMENT);
    l->step->args = args != NULL ? args : l->step->args;
    if (args == NULL || buffer == NULL || storage == 0) {
        l->k->failed = true;
        return NULL;
    }
    args[l->step->arg_count++] = (vtac_step_arg){.storage = storage};
    buffer->aligned = is_own(l, storage);
    return buffer;
}

vtac_buffer *vtac_value_buffer(vtac_lower *l, vtac_value_id id, const char *name)
{
    const vtac_value *value = &l->graph->values[id];
    vtac_storage_id *at = &l->program->of_value[id];
    if (*at == 0 && value->constant != NULL) {
        *at = vtac_constant(l, value->constant->data, value->constant->bytes);
    }
    if (*at == 0) {
        *at = vtac_temp(l, value->type.dtype, vtac_type_elements(&value->type));
    }
    return vtac_use(l, *at, name, vtac_dtype_held(value->type.dtype), vtac_type_elements(&value->type));
}

vtac_buffer *vtac_in(vtac_lower *l, uint32_t i)
{
    static const char *const names[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8"};
    return vtac_value_buffer(l, l->node->inputs[i], i < 9 ? names[i] : "x");
}

vtac_value_id vtac_final_value(const vtac_lower *l, uint32_t i)
{
    return i == 0 && l->chain_count > 0 ? l->chain[l->chain_count - 1]->outputs[0] : l->node->outputs[i];
}

vtac_buffer *vtac_out(vtac_lower *l, uint32_t i)
{
    static const char *const names[] = {"y0", "y1", "y2", "y3"};
    return vtac_value_buffer(l, vtac_final_value(l, i), i < 4 ? names[i] : "y");
}

vtac_buffer *vtac_local(vtac_lower *l, const char *name, vtac_dtype dtype, int64_t elements)
{
    return vtac_kernel_buffer(l->k, name, dtype, elements, VTAC_BUFFER_LOCAL);
}

/* ---- elements */

const vtac_expr *vtac_flat(vtac_lower *l, const vtac_type *type, const vtac_expr *const *at)
{
    const vtac_expr *index = vtac_e_index(l->k, 0);
    int64_t stride = 1;
    for (uint32_t axis = type->rank; axis-- > 0;) {
        if (type->dim[axis] != 1) {
            index = vtac_i_add(l->k, vtac_i_mulc(l->k, at[axis], stride), index);
        }
        stride *= type->dim[axis];
    }
    return index;
}

const vtac_expr *vtac_in_at(vtac_lower *l, uint32_t i, const vtac_expr *const *at)
{
    return vtac_e_load(l->k, vtac_in(l, i), vtac_flat(l, vtac_type_in(l, i), at));
}

const vtac_expr *vtac_arg(vtac_lower *l, const vtac_node *n, uint32_t i, const vtac_expr *const *at)
{
    const vtac_value_id id = n->inputs[i];
    if (id == l->carried_id && l->carried != NULL) {
        return l->carried;
    }
    if (l->block != NULL && vtac_layout_reads(l, n, i)) {
        return vtac_e_load(l->k, vtac_layout_buffer(l, id, "a"),
                           vtac_layout_element(l, id, at, l->block, l->lane));
    }
    const vtac_type *type = &l->graph->values[id].type;
    const uint32_t skip = l->graph->values[n->outputs[0]].type.rank - type->rank;
    return vtac_e_load(l->k, vtac_value_buffer(l, id, "a"), vtac_flat(l, type, at + skip));
}

const vtac_expr *vtac_axis_arg(vtac_lower *l, const vtac_node *n, uint32_t i, uint32_t axis,
                               const vtac_expr *const *at)
{
    const vtac_value_id id = n->inputs[i];
    const bool one = vtac_type_elements(&l->graph->values[id].type) == 1;
    return vtac_e_load(l->k, vtac_value_buffer(l, id, "p"), one ? vtac_e_index(l->k, 0) : at[axis]);
}

void vtac_out_at(vtac_lower *l, uint32_t i, const vtac_expr *const *at, const vtac_expr *value)
{
    for (uint32_t c = 0; i == 0 && c < l->chain_count; c++) {
        l->carried_id = c == 0 ? l->node->outputs[0] : l->chain[c - 1]->outputs[0];
        l->carried = vtac_let(l->k, "fused", value);
        value = vtac_lowering_of(l->chain[c]->op)->point(l, l->chain[c], at);
        l->carried = NULL;
    }
    const vtac_value_id id = vtac_final_value(l, i);
    if (l->block != NULL) {
        vtac_store(l->k, vtac_layout_buffer(l, id, "y"), vtac_layout_element(l, id, at, l->block, l->lane),
                   value);
        return;
    }
    const vtac_type *type = &l->graph->values[id].type;
    vtac_store(l->k, vtac_out(l, i), vtac_flat(l, type, at), value);
}

/* ---- loops */

vtac_loop_kind vtac_parallel_if(int64_t work)
{
    return work >= PARALLEL_WORK ? VTAC_LOOP_PARALLEL : VTAC_LOOP_APART;
}

bool vtac_is_far(const vtac_buffer *buffer)
{
    return buffer != NULL && buffer->elements > FAR_BYTES / (int64_t)vtac_dtype_bytes(buffer->dtype);
}

bool vtac_is_x86(const vtac_lower *l)
{
    return strncmp(l->program->target->triple, "x86_64", 6) == 0;
}

bool vtac_is_wide_x86(const vtac_lower *l)
{
    return vtac_is_x86(l) && l->program->target->vector_bytes == 64;
}

bool vtac_is_far_constant(const vtac_lower *l, const vtac_buffer *buffer)
{
    const bool many = vtac_is_x86(l) && l->program->known_bytes > MANY_BYTES;
    return vtac_is_far(buffer) ||
           (many && buffer != NULL && buffer->elements > MIN_FAR / (int64_t)vtac_dtype_bytes(buffer->dtype));
}

void vtac_read_early(vtac_lower *l, vtac_buffer *buffer, const vtac_expr *at, int64_t each)
{
    const int64_t size = buffer == NULL ? 1 : (int64_t)vtac_dtype_bytes(buffer->dtype);
    for (int64_t line = 0; line < each * size; line += LINE_BYTES) {
        vtac_ahead(l->k, buffer, vtac_i_addc(l->k, at, AHEAD * each + line / size));
    }
}

void vtac_read_ahead(vtac_lower *l, vtac_buffer *buffer, const vtac_expr *at, int64_t each)
{
    if (vtac_is_far(buffer)) {
        vtac_read_early(l, buffer, at, each);
    }
}

uint32_t vtac_open(vtac_lower *l, const vtac_type *type, const vtac_expr **at, int64_t each)
{
    uint32_t loops = 0;
    const int64_t work = vtac_type_elements(type) * each;
    for (uint32_t axis = 0; axis < type->rank; axis++) {
        at[axis] = vtac_e_index(l->k, 0);
        if (type->dim[axis] != 1) {
            const vtac_loop_kind kind =
                loops == 0 && l->k->depth == 1 ? vtac_parallel_if(work) : VTAC_LOOP_SERIAL;
            at[axis] = vtac_for(l->k, kind, type->dim[axis], "i");
            loops++;
        }
    }
    return loops;
}

void vtac_close(vtac_lower *l, uint32_t loops)
{
    while (loops-- > 0) {
        vtac_end(l->k);
    }
}

/* ---- values */

const vtac_expr *vtac_to_float(vtac_lower *l, const vtac_expr *x)
{
    return x == NULL || vtac_dtype_kind(x->type) == 'f' ? x : vtac_e_cast(l->k, VTAC_F32, x);
}

void vtac_range_of(vtac_dtype dtype, double *low, double *high)
{
    const int bits = vtac_dtype_bits(dtype);
    const bool is_signed = vtac_dtype_kind(vtac_dtype_held(dtype)) == 'i';
    double span = 1.0;
    for (int i = 0; i < (is_signed ? bits - 1 : bits); i++) {
        span *= 2.0;
    }
    *low = is_signed ? -span : 0.0;
    *high = span - 1.0;
}

/* Added to a number of fewer bits, this leaves its value, rounded to nearest even, in the lowest ones. */
#define ROUNDING_F64 6755399441055744.0 /* 1.5 * 2^52 */
#define ROUNDING_F32 12582912.0         /* 1.5 * 2^23 */
enum { ROUNDING_F32_BITS = 0x4b400000 };

/* round(x) + zero of a float, saturated to a type of 16 bits or fewer; NaN gives 0. Bounded first, the number
 * is rounded where it is added, which no target needs a conversion with its exceptions for. */
static const vtac_expr *requantize_narrow(vtac_lower *l, const vtac_expr *x, const vtac_expr *zero,
                                          vtac_dtype dtype)
{
    vtac_kernel *k = l->k;
    const vtac_dtype held = vtac_dtype_held(dtype);
    double low;
    double high;
    vtac_range_of(dtype, &low, &high);
    const vtac_expr *min = vtac_e_float(k, VTAC_F32, low);
    const vtac_expr *max = vtac_e_float(k, VTAC_F32, high);
    const vtac_expr *none = vtac_e_float(k, VTAC_F32, 0.0);
    if (zero != NULL) {
        const vtac_expr *z = vtac_let(k, "z", vtac_e_cast(k, VTAC_F32, zero));
        min = vtac_e2(k, VTAC_E_SUB, min, z);
        max = vtac_e2(k, VTAC_E_SUB, max, z);
        none = vtac_e1(k, VTAC_E_NEG, z);
    }
    x = vtac_let(k, "v", x);
    x = vtac_e3(k, VTAC_E_SELECT, vtac_e2(k, VTAC_E_EQ, x, x), x, none);
    x = vtac_e2(k, VTAC_E_MIN, max, vtac_e2(k, VTAC_E_MAX, min, x));
    x = vtac_e_bits(k, VTAC_I32, vtac_e2(k, VTAC_E_ADD, x, vtac_e_float(k, VTAC_F32, ROUNDING_F32)));
    x = vtac_e_cast(k, held, x);
    return zero == NULL ? x : vtac_e2(k, VTAC_E_ADD, x, vtac_e_cast(k, held, zero));
}

const vtac_expr *vtac_requantize(vtac_lower *l, const vtac_expr *x, const vtac_expr *scale,
                                 const vtac_expr *zero, vtac_dtype dtype)
{
    double low;
    double high;
    vtac_range_of(dtype, &low, &high);
    x = scale == NULL ? x : vtac_e2(l->k, VTAC_E_DIV, x, scale);
    const vtac_dtype type = x == NULL ? VTAC_F32 : x->type;
    if (type == VTAC_F32 && vtac_dtype_bytes(vtac_dtype_held(dtype)) <= 2) {
        return requantize_narrow(l, x, zero, dtype);
    }
    const vtac_expr *r = vtac_e1(l->k, VTAC_E_ROUND, x);
    if (zero != NULL) {
        r = vtac_e2(l->k, VTAC_E_ADD, r, vtac_e_cast(l->k, type, zero));
    }
    r = vtac_e2(l->k, VTAC_E_MAX, vtac_e_float(l->k, type, low), r);
    r = vtac_e2(l->k, VTAC_E_MIN, vtac_e_float(l->k, type, high), r);
    return vtac_e_cast(l->k, vtac_dtype_held(dtype), vtac_e_cast(l->k, VTAC_I32, r));
}

const vtac_expr *vtac_rescale(vtac_lower *l, const vtac_expr *v, const vtac_expr *scale, bool is_small,
                              const vtac_expr *zero, vtac_dtype dtype)
{
    vtac_kernel *k = l->k;
    const double max = 1073741824.0; /* far outside any dtype with any zero point */
    double low;
    double high;
    vtac_range_of(dtype, &low, &high);
    const vtac_expr *rounding = vtac_e_float(k, VTAC_F64, ROUNDING_F64);
    v = vtac_e_cast(k, VTAC_F64, v);
    scale = vtac_e_cast(k, VTAC_F64, scale);
    if (is_small) {
        v = vtac_e3(k, VTAC_E_FMA, v, scale, rounding);
    } else {
        v = vtac_e2(k, VTAC_E_MUL, v, scale);
        v = vtac_e2(k, VTAC_E_MAX, v, vtac_e_float(k, VTAC_F64, -max));
        v = vtac_e2(k, VTAC_E_MIN, v, vtac_e_float(k, VTAC_F64, max));
        v = vtac_e2(k, VTAC_E_ADD, v, rounding);
    }
    const vtac_expr *r = vtac_e_cast(k, VTAC_I32, vtac_e_bits(k, VTAC_I64, v));
    r = zero == NULL ? r : vtac_e2(k, VTAC_E_ADD, r, vtac_e_cast(k, VTAC_I32, zero));
    r = vtac_e2(k, VTAC_E_MAX, r, vtac_e_int(k, VTAC_I32, (int64_t)low));
    r = vtac_e2(k, VTAC_E_MIN, r, vtac_e_int(k, VTAC_I32, (int64_t)high));
    return vtac_e_cast(k, dtype, r);
}

/* In float32: the number is exact, and product and rounding are one operation. What leaves the range is cut
 * off before its lowest bits are read. */
const vtac_expr *vtac_rescale_narrow(vtac_lower *l, const vtac_expr *v, const vtac_expr *scale, int32_t zero,
                                     vtac_dtype dtype)
{
    vtac_kernel *k = l->k;
    double low;
    double high;
    if (!l->program->target->has_fma) {
        return vtac_rescale(l, v, scale, false, vtac_e_int(k, VTAC_I32, zero), dtype);
    }
    vtac_range_of(dtype, &low, &high);
    const double rounding = ROUNDING_F32;
    v = vtac_e3(k, VTAC_E_FMA, vtac_e_cast(k, VTAC_F32, v), scale, vtac_e_float(k, VTAC_F32, rounding));
    v = vtac_e2(k, VTAC_E_MAX, v, vtac_e_float(k, VTAC_F32, rounding + low - zero));
    v = vtac_e2(k, VTAC_E_MIN, v, vtac_e_float(k, VTAC_F32, rounding + high - zero));
    const vtac_expr *bits = vtac_e_bits(k, VTAC_I32, v);
    return vtac_e_cast(k, dtype,
                       vtac_e2(k, VTAC_E_ADD, bits, vtac_e_int(k, VTAC_I32, zero - ROUNDING_F32_BITS)));
}

static const vtac_expr *zero_point(vtac_lower *l, const vtac_node *n, uint32_t zero)
{
    const vtac_tensor *known = vtac_in_constant(l->graph, n, zero);
    if (known != NULL) {
        return vtac_e_int(l->k, VTAC_I32, vtac_tensor_int(known, 0));
    }
    return vtac_e_cast(l->k, VTAC_I32, vtac_axis_arg(l, n, zero, 0, (const vtac_expr *[]){NULL}));
}

static bool has_zero(const vtac_lower *l, const vtac_node *n, uint32_t zero)
{
    return vtac_in_type(l->graph, n, zero) != NULL;
}

const vtac_expr *vtac_centred(vtac_lower *l, const vtac_node *n, const vtac_expr *x, uint32_t zero)
{
    x = vtac_e_cast(l->k, VTAC_I32, x);
    return has_zero(l, n, zero) ? vtac_e2(l->k, VTAC_E_SUB, x, zero_point(l, n, zero)) : x;
}

const vtac_expr *vtac_plus_zero(vtac_lower *l, const vtac_node *n, const vtac_expr *q, uint32_t zero)
{
    return has_zero(l, n, zero) ? vtac_e2(l->k, VTAC_E_ADD, q, zero_point(l, n, zero)) : q;
}

const vtac_expr *vtac_rescale_to(vtac_lower *l, const vtac_node *n, const vtac_expr *v,
                                 const vtac_expr *scale, uint32_t zero)
{
    const vtac_dtype dtype = l->graph->values[n->outputs[0]].type.dtype;
    const vtac_tensor *known = vtac_in_constant(l->graph, n, zero);
    if (has_zero(l, n, zero) && known == NULL) {
        return vtac_rescale(l, v, scale, false, zero_point(l, n, zero), dtype);
    }
    return vtac_rescale_narrow(l, v, scale, known == NULL ? 0 : (int32_t)vtac_tensor_int(known, 0), dtype);
}
