/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels in WGSL: statements, buffers, and the functions that reach memory. All that a kernel touches is in
 * two buffers of the device: "held" has the constants, "work" the inputs, the workspace, the outputs and the
 * items' scratch memory. Vector loops become vectors of four lanes.
 *
 * Two items that write bytes of one word do so by atomic operations; a kernel in which that happens sees
 * "work" as atomic words, all others see plain ones.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/fail.h"
#include "wgsl.h"

enum { GROUP = 64 };

static void put_text(const vtac_wgsl *p, const char *text)
{
    vta_str_put(p->walk.out, text);
}

static void put_line(const vtac_wgsl *p)
{
    vtac_walk_line(&p->walk);
}

/* ---- statements */

static void put_loop(vtac_walker *w, const vtac_stmt *s)
{
    vtac_wgsl *p = (vtac_wgsl *)w;
    const bool shared = s->loop == VTAC_LOOP_PARALLEL;
    p->walk.at.vars[s->var] = (vtac_lane_var){VTAC_LANE_SCALAR, 0, 0};
    p->ranges[s->var] = (vtac_wgsl_range){0, s->extent - 1};
    put_line(p);
    vta_str_printf(p->walk.out, "for (var v%u = %s; v%u < %" PRId64 "; v%u += %s) ", s->var,
                   shared ? "item" : "0", s->var, s->extent, s->var, shared ? "items" : "1");
    vtac_walk_braced(w, s->body);
}

/* Four lanes after the other; where something has no form with vectors, a loop over the lanes. */
static void put_vectors(vtac_walker *w, const vtac_stmt *s)
{
    vtac_wgsl *p = (vtac_wgsl *)w;
    const size_t begin = p->walk.out->size;
    int64_t at = 0;
    p->refused = false;
    while (at + VTAC_WGSL_LANES <= s->extent && !p->refused) {
        vtac_walk_lanes(w, s, at, VTAC_WGSL_LANES);
        at += VTAC_WGSL_LANES;
    }
    for (; at < s->extent && !p->refused; at++) {
        vtac_walk_round(w, s, at);
    }
    if (p->refused && !p->walk.out->failed) {
        p->walk.out->size = begin;
        p->walk.out->text[begin] = '\0';
        put_loop(w, s);
    }
    p->refused = false;
}

/* A loop whose iterations are groups or items: each has a number of its own. */
static void put_shared_out(vtac_walker *w, const vtac_stmt *s)
{
    vtac_wgsl *p = (vtac_wgsl *)w;
    p->walk.at.vars[s->var] = (vtac_lane_var){VTAC_LANE_SCALAR, 0, 0};
    p->ranges[s->var] = (vtac_wgsl_range){0, s->extent - 1};
    put_line(p);
    vta_str_printf(p->walk.out, "let v%u = i32(%s.x);\n", s->var,
                   s->loop == VTAC_LOOP_GROUP ? "group_id" : "local_id");
    put_line(p);
    vtac_walk_braced(w, s->body);
}

static void put_let(vtac_walker *w, const vtac_stmt *s)
{
    vtac_wgsl *p = (vtac_wgsl *)w;
    const unsigned lanes = vtac_lanes_of(&p->walk.at, s->value);
    put_line(p);
    vta_str_printf(p->walk.out, "let v%u = ", s->var);
    vtac_wgsl_put(p, s->value);
    put_text(p, ";\n");
    p->ranges[s->var] = vtac_wgsl_range_of(p, s->value);
    p->walk.at.vars[s->var] = (vtac_lane_var){lanes > 1 ? VTAC_LANE_VECTOR : VTAC_LANE_SCALAR, 0,
                                              vtac_lanes_evenness(&p->walk.at, s->value)};
}

/* The form of a buffer's elements: those of 64 bits may have any value. */
static vtac_wgsl_form form_of_elements(vtac_dtype dtype)
{
    const char kind = vtac_dtype_kind(dtype);
    return dtype == VTAC_F64                            ? VTAC_WGSL_DOUBLE
           : kind == 'f'                                ? VTAC_WGSL_FLOAT
           : kind == 'b'                                ? VTAC_WGSL_BOOL
           : vtac_dtype_bytes(dtype) == sizeof(int64_t) ? VTAC_WGSL_WIDE
           : kind == 'i'                                ? VTAC_WGSL_INT
                                                        : VTAC_WGSL_UINT;
}

/* "work_put_f32(o2 + 7, t.x);", "b3[7] = t.x;". */
static void store_element(vtac_wgsl *p, const vtac_stmt *s, int lane, const char *value)
{
    const vtac_buffer *b = s->buffer;
    const size_t bytes = vtac_dtype_bytes(b->dtype);
    const bool rounds = b->dtype == VTAC_F16 || b->dtype == VTAC_BF16;
    const char *element = vtac_wgsl_element(b->dtype);
    const size_t number = vtac_lanes_buffer(&p->walk.at, b);
    put_line(p);
    if (vtac_wgsl_is_array(b)) {
        vta_str_printf(p->walk.out, "b%zu[", number);
        vtac_wgsl_put_index(p, s->index, lane);
        vta_str_printf(p->walk.out, rounds ? "] = vtac_round_%s(%s);\n" : "]%.0s = %s;\n", element, value);
        return;
    }
    p->atomic = p->atomic || (bytes < sizeof(uint32_t) && b->space == VTAC_BUFFER_ARGUMENT && p->items > 1);
    vta_str_printf(p->walk.out, "work_put_%s(o%zu + ", element, number);
    vtac_wgsl_put_index(p, s->index, lane);
    vta_str_printf(p->walk.out, ", %s);\n", value);
}

/* True if four lanes are stored as whole words: bytes from a multiple of four on, halves from one of two. */
static bool is_words(const vtac_wgsl *p, const vtac_stmt *s)
{
    const size_t bytes = vtac_dtype_bytes(s->buffer->dtype);
    const unsigned even = bytes == 1 ? 2 : bytes == 2 ? 1 : 0;
    return !vtac_wgsl_is_array(s->buffer) && bytes <= sizeof(uint32_t) &&
           vtac_lanes_step(&p->walk.at, s->index) == 1 && vtac_lanes_evenness(&p->walk.at, s->index) >= even;
}

static void put_store(vtac_walker *w, const vtac_stmt *s)
{
    vtac_wgsl *p = (vtac_wgsl *)w;
    const bool vector =
        vtac_lanes_is_vector(&p->walk.at, s->index) || vtac_lanes_is_vector(&p->walk.at, s->value);
    const vtac_wgsl_form form = form_of_elements(s->buffer->dtype);
    put_line(p);
    vtac_walk_open(w);
    put_line(p);
    vta_str_printf(p->walk.out, "let t%s = ", vector ? "" : form == VTAC_WGSL_INT ? ": i32" : "");
    vtac_wgsl_put_spread(p, s->value, vector ? VTAC_WGSL_LANES : 1, form);
    put_text(p, ";\n");
    if (!vector) {
        store_element(p, s, p->walk.at.lane, "t");
    } else if (is_words(p, s)) {
        put_line(p);
        vta_str_printf(p->walk.out, "work_put_%sx4(o%zu + ", vtac_wgsl_element(s->buffer->dtype),
                       vtac_lanes_buffer(&p->walk.at, s->buffer));
        vtac_wgsl_put_index(p, s->index, 0);
        put_text(p, ", t);\n");
    } else {
        for (int i = 0; i < VTAC_WGSL_LANES; i++) {
            const char value[] = {'t', '.', "xyzw"[i], '\0'};
            store_element(p, s, i, value);
        }
    }
    vtac_walk_close(w);
}

static void put_value(vtac_walker *w, const vtac_expr *e)
{
    vtac_wgsl_put((vtac_wgsl *)w, e);
}

static const vtac_walk_language language = {
    .barrier = "workgroupBarrier();\n",
    .put_expr = put_value,
    .put_vectors = put_vectors,
    .put_shared_out = put_shared_out,
    .put_loop = put_loop,
    .put_let = put_let,
    .put_store = put_store,
};

/* ---- a kernel */

static void put_array(vtac_wgsl *p, size_t i)
{
    const vtac_buffer *b = p->walk.at.kernel->buffers[i];
    vta_str_printf(p->walk.out, "b%zu: array<%s, %" PRId64 ">;\n", i,
                   vtac_wgsl_type(form_of_elements(b->dtype)), b->elements > 0 ? b->elements : 1);
}

static const char *shift_of(vtac_dtype dtype)
{
    const size_t bytes = vtac_dtype_bytes(dtype);
    return bytes == 1 ? "" : bytes == 2 ? " >> 1u" : bytes == 4 ? " >> 2u" : " >> 3u";
}

/* Places are bytes from the start of a memory; "o3" counts elements. */
static void put_buffers(vtac_wgsl *p)
{
    for (size_t i = 0; i < p->walk.at.kernel->buffer_count; i++) {
        const vtac_buffer *b = p->walk.at.kernel->buffers[i];
        if (b->space == VTAC_BUFFER_SHARED) {
            continue; /* put_shared */
        }
        put_line(p);
        if (b->space == VTAC_BUFFER_LOCAL) {
            put_text(p, "var ");
            put_array(p, i);
        } else if (b->space == VTAC_BUFFER_ARGUMENT) {
            vta_str_printf(p->walk.out, "let o%zu = i32(places[%u].%c%s); // %s\n", i, b->number / 4,
                           "xyzw"[b->number % 4], shift_of(b->dtype), b -> name);
        } else {
            vta_str_printf(p->walk.out,
                           "let o%zu = i32((scratch.x + u32(item) * scratch.y + %" PRIu64 "u)%s);\n", i,
                           b->offset, shift_of(b->dtype));
        }
    }
}

/* Declares the arrays that the items of a group share, and their number. */
static void put_shared(vtac_wgsl *p, const vtac_bound *bound)
{
    vta_str_printf(p->walk.out, "const group = %lldu;\n", bound->group > 0 ? (long long)bound->group : GROUP);
    for (size_t i = 0; i < p->walk.at.kernel->buffer_count; i++) {
        if (p->walk.at.kernel->buffers[i]->space == VTAC_BUFFER_SHARED) {
            put_text(p, "var<workgroup> ");
            put_array(p, i);
        }
    }
}

static const char plain_work[] =
    "@group(0) @binding(0) var<storage, read_write> work: array<u32>;\n"
    "fn work_word(i: i32) -> u32 { return work[i]; }\n"
    "fn work_put(i: i32, x: u32) { work[i] = x; }\n"
    "fn work_part(i: i32, mask: u32, x: u32) { work[i] = (work[i] & ~mask) | x; }\n";

static const char atomic_work[] =
    "@group(0) @binding(0) var<storage, read_write> work: array<atomic<u32>>;\n"
    "fn work_word(i: i32) -> u32 { return atomicLoad(&work[i]); }\n"
    "fn work_put(i: i32, x: u32) { atomicStore(&work[i], x); }\n"
    "fn work_part(i: i32, mask: u32, x: u32) { atomicAnd(&work[i], ~mask); atomicOr(&work[i], x); }\n";

static void put_kernel(vtac_wgsl *p, const vtac_bound *bound)
{
    p->walk.indent = 0;
    put_text(p, "(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) count: vec3<u32>,\n"
                "    @builtin(workgroup_id) group_id: vec3<u32>, @builtin(local_invocation_id) local_id: "
                "vec3<u32>) {\n");
    p->walk.indent++;
    put_line(p);
    put_text(p, "let item = i32(id.x);\n");
    put_line(p);
    put_text(p, "let scratch = places[12];\n");
    put_line(p);
    put_text(p, "let items = i32(count.x * group);\n");
    put_buffers(p);
    if (bound->items == 1 && bound->group == 0) {
        put_line(p);
        put_text(p, "if (item != 0) { return; }\n");
    }
    vtac_walk_block(&p->walk, bound->kernel.body);
    put_text(p, "}\n");
    put_shared(p, bound);
    put_text(p, p->atomic ? atomic_work : plain_work);
}

static bool wants_groups(const vtac_print_options *options)
{
    (void)options;
    return true;
}

static vta_status begin_wgsl(const vtac_print_options *options, vta_str *prelude, vta_diag *diag)
{
    vta_str_put(prelude, vtac_wgsl_prelude);
    return options->detail[0] == '\0'
               ? vta_allocated(!prelude->failed, diag)
               : vta_fail(diag, VTA_INVALID, "target 'webgpu:%s': expected webgpu", options->detail);
}

static vta_status print_wgsl(const vtac_bound *bound, const vtac_print_options *options, vta_str *out,
                             uint32_t *needs, vta_diag *diag)
{
    (void)options;
    const vtac_kernel *k = &bound->kernel;
    vtac_wgsl p = {
        .walk = {.at = {.kernel = k, .lanes = 1, .lane = VTAC_ALL_LANES}, .out = out, .language = &language},
        .held = bound->held,
        .items = bound->items};
    p.walk.at.vars = calloc(k->var_count + 1, sizeof *p.walk.at.vars);
    p.ranges = calloc(k->var_count + 1, sizeof *p.ranges);
    if (p.walk.at.vars != NULL && p.ranges != NULL) {
        put_kernel(&p, bound);
    } else {
        out->failed = true;
    }
    free(p.walk.at.vars);
    free(p.ranges);
    *needs = 0;
    if (p.missing != NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED, "WGSL has no form for %s", p.missing);
    }
    return vta_allocated(!out->failed, diag);
}

const vtac_printer vtac_wgsl_printer = {
    .language = "webgpu",
    .head = "@compute @workgroup_size(group) fn",
    .begin = begin_wgsl,
    .of_browsers = true,
    .stores_words = true,
    .transfer = {2e-3, 4e9},
    .wants_groups = wants_groups,
    .print = print_wgsl,
};
