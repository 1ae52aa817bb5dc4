/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocked layouts: which values have one, where an element lies, and the copies between the two forms.
 *
 * A convolution whose outputs fill vectors writes them side by side, [batch][channels / block][rows][columns]
 * [block]; what follows it in the same form (pools, pointwise operators, concatenations of channels) keeps
 * it. The windows of a convolution may reach over the edge: the layout then has a border, which is filled
 * before the value is written, so that no kernel tests for edges. Everybody else reads values row-major: they
 * are copied to that form on demand, once.
 */
#include <string.h>

#include "layout.h"
#include "rows.h"
#include "vta/fail.h"
#include "vta/number.h"

enum { MAX_BORDER = 16, MAX_GROWTH = 12, MAX_BLOCK = 16 };

/* ---- which values */

/* Channels side by side: whole vectors of 32 bits, the last one perhaps with room behind the last channel.
 * Half vectors where that leaves much less of it, on processors that take whole ones by halves. 0: channels
 * too few. */
static int64_t block_of(const vtac_program *p, int64_t channels, bool narrow)
{
    const int64_t lanes = p->target->vector_bytes / 4;
    if (lanes < 4 || channels < 1 || (!narrow && channels < 4)) {
        return 0;
    }
    int64_t best = lanes;
    for (int64_t block = lanes / 2; block >= 4; block /= 2) {
        const bool few = channels <= block;
        const bool half = p->target->takes_halves && block * 2 == lanes &&
                          8 * vta_round_up(channels, lanes) > 9 * vta_round_up(channels, block);
        best = few || half ? block : best;
    }
    return best;
}

static const vtac_type *type_of(const vtac_program *p, vtac_value_id id)
{
    return &p->graph->values[id].type;
}

static bool same_type_shape(const vtac_type *a, const vtac_type *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0;
}

/* The border that the window needs; false where it is wide and makes the plane MAX_GROWTH times as large
 * (dilated windows of small planes see little else), or where the plane with it is too large. */
static bool border_of(const vtac_window *w, const vtac_type *x, int64_t *before, int64_t *after)
{
    vtac_type widest = *x;
    const uint32_t plane = x->rank - 2;
    double growth = 1.0;
    bool wide = false;
    widest.dim[1] += MAX_BLOCK;
    for (uint32_t a = 0; a < 2; a++) {
        const int64_t last = (w->extent[a] - 1) * w->stride[a] + (w->kernel[a] - 1) * w->dilation[a];
        before[a] = vta_max(0, w->pad_begin[a]);
        after[a] = vta_max(0, last - w->pad_begin[a] - (x->dim[plane + a] - 1));
        if (before[a] > INT32_MAX || after[a] > INT32_MAX) {
            return false;
        }
        wide = wide || before[a] > MAX_BORDER || after[a] > MAX_BORDER;
        growth *= (double)(before[a] + x->dim[plane + a] + after[a]) / (double)x->dim[plane + a];
        widest.dim[plane + a] += vta_max(MAX_BORDER, before[a]) + vta_max(MAX_BORDER, after[a]);
    }
    return vtac_type_elements(&widest) >= 0 && !(wide && growth > MAX_GROWTH);
}

static vtac_value_id whole_of(const vtac_program *p, vtac_value_id id)
{
    while (p->layouts[id].whole != 0) {
        id = p->layouts[id].whole;
    }
    return id;
}

const vtac_layout *vtac_layout_of(const vtac_program *p, vtac_value_id id)
{
    return &p->layouts[whole_of(p, id)];
}

static bool has_border(const vtac_layout *f)
{
    return f->before[0] + f->before[1] + f->after[0] + f->after[1] > 0;
}

/* Gives the value a border and, where it has none yet, a block. False where another reader's border holds
 * another number. */
static bool claim_layout(vtac_program *p, vtac_value_id id, int64_t block, const int64_t *before,
                         const int64_t *after, double filler)
{
    id = whole_of(p, id);
    vtac_layout *layout = &p->layouts[id];
    const vtac_type *type = type_of(p, id);
    if (has_border(layout) && layout->filler != filler) {
        return false;
    }
    layout->filler = filler;
    if (layout->block == 0 || (!layout->natural && block > layout->block)) {
        layout->block = block;
        layout->blocks = (type->dim[1] + block - 1) / block;
    }
    for (int a = 0; a < 2; a++) {
        layout->before[a] = vta_max(layout->before[a], before[a]);
        layout->after[a] = vta_max(layout->after[a], after[a]);
    }
    return true;
}

static void give_block(vtac_program *p, vtac_value_id id, int64_t block)
{
    p->layouts[id].block = block;
    p->layouts[id].blocks = (type_of(p, id)->dim[1] + block - 1) / block;
    p->layouts[id].natural = true;
}

/* True if the last block has lanes that are no channels: their contents must not be read. */
static bool is_padded(const vtac_program *p, vtac_value_id id)
{
    return type_of(p, id)->dim[1] % p->layouts[id].block != 0;
}

/* True if a vector with one parameter a channel may be read beyond its last channel. Constants and values of
 * the workspace are padded to the end of a line; memory that the caller owns may end there. */
static bool ends_are_ours(const vtac_program *p, const vtac_node *node)
{
    const vtac_type *out = type_of(p, node->outputs[0]);
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_value_id id = node->inputs[i];
        const vtac_value *value = &p->graph->values[id];
        if (id != 0 && value->constant == NULL && vtac_type_elements(&value->type) > 1 &&
            !same_type_shape(&value->type, out) &&
            (value->node == 0 || vtac_is_output(p->graph, id) || vtac_dtype_bytes(value->type.dtype) > 4 ||
             vtac_lowering_of(p->graph->nodes[value->node].op)->family == VTAC_ALIAS)) {
            return false;
        }
    }
    return true;
}

/* Windows of many groups by vectors of outputs: as many groups as fill vectors, and input blocks, become one,
 * with zeros between them. False: too many zeros. */
static bool merge_groups(vtac_conv_shape *s, int64_t in_block, int64_t block)
{
    enum { MAX_MERGED = 8 };
    for (int64_t n = 1; n <= s->groups && (n <= MAX_MERGED || s->groups <= 2 * MAX_MERGED); n++) {
        const bool whole = n == s->groups;
        if (s->groups % n != 0 ||
            (!whole && (n * s->per_group % in_block != 0 || n * s->out_per_group % block != 0)) ||
            n > MAX_MERGED) {
            continue;
        }
        s->merged = n;
        s->groups /= n;
        s->per_group *= n;
        s->out_per_group *= n;
        return true;
    }
    return false;
}

void vtac_conv_blocks(const vtac_program *p, const vtac_node *node, vtac_conv_shape *s)
{
    const vtac_layout *in = vtac_layout_of(p, node->inputs[VTAC_CONV_X]);
    (void)merge_groups(s, in->block, p->layouts[node->outputs[0]].block);
}

static bool choose_conv(vtac_program *p, const vtac_node *node, vtac_layout_kind *kind)
{
    vtac_conv_shape s;
    if (!vtac_conv_shape_of(p, node, &s)) {
        return false;
    }
    const vtac_value_id x = node->inputs[VTAC_CONV_X];
    const bool depthwise = s.groups > 1 && s.per_group == 1 && s.out_per_group == 1;
    const bool volume = type_of(p, x)->rank == 5;
    const vtac_layout *known = &p->layouts[x];
    const int64_t block = depthwise && known->natural ? known->block : block_of(p, s.outputs, s.quantized);
    int64_t before[2];
    int64_t after[2];
    if (block == 0 || p->graph->values[x].constant != NULL || (volume && depthwise) ||
        !border_of(&s.window, type_of(p, x), before, after)) {
        return false;
    }
    const int64_t wanted = depthwise ? block : s.quantized ? 4 : 1;
    const int64_t in_block = known->natural ? known->block : vta_max(wanted, known->block);
    if (depthwise ? in_block != block : !merge_groups(&s, in_block, block)) {
        return false;
    }
    if ((s.outputs % block != 0 && s.bias != 0 && vtac_in_constant(p->graph, node, s.bias) == NULL) ||
        (s.merged > 1 && !s.quantized) || /* the general way has no zeros to multiply with */
        (s.has_zeros && s.groups * s.merged > 1 && !depthwise && vtac_conv_wide_step(p, &s) == 0) ||
        !claim_layout(p, x, wanted, before, after, s.x_zero)) {
        return false;
    }
    give_block(p, node->outputs[0], block);
    *kind = depthwise ? VTAC_KIND_DEPTHWISE : VTAC_KIND_CONV;
    return true;
}

/* All phases read the same layout. */
static bool choose_transposed(vtac_program *p, const vtac_node *node, vtac_layout_kind *kind)
{
    static const int64_t origin[2] = {0, 0};
    const vtac_value_id x = node->inputs[VTAC_CONV_X];
    const vtac_layout *known = &p->layouts[x];
    vtac_conv_shape s;
    int64_t before[2] = {0, 0};
    int64_t after[2] = {0, 0};
    if (!vtac_transposed_shape_of(p, node, origin, &s) || p->graph->values[x].constant != NULL) {
        return false;
    }
    const int64_t block = block_of(p, s.outputs, false);
    const int64_t phases = s.out_stride[0] * s.out_stride[1];
    for (int64_t phase = 0; phase < phases; phase++) {
        const int64_t first[] = {phase / s.out_stride[1], phase % s.out_stride[1]};
        vtac_conv_shape one;
        int64_t own[2][2];
        if (!vtac_transposed_shape_of(p, node, first, &one) ||
            !border_of(&one.window, type_of(p, x), own[0], own[1])) {
            return false;
        }
        for (int a = 0; a < 2; a++) {
            before[a] = vta_max(before[a], own[0][a]);
            after[a] = vta_max(after[a], own[1][a]);
        }
    }
    if (block == 0 || !merge_groups(&s, known->block == 0 ? 1 : known->block, block) ||
        s.merged > 2 || /* the general way has no zeros to multiply with */
        (s.outputs % block != 0 && s.bias != 0 && vtac_in_constant(p->graph, node, s.bias) == NULL) ||
        !claim_layout(p, x, 1, before, after, 0.0)) {
        return false;
    }
    give_block(p, node->outputs[0], block);
    *kind = VTAC_KIND_CONV;
    return true;
}

static bool choose_pool(vtac_program *p, const vtac_node *node, vtac_layout_kind *kind)
{
    const vtac_layout *in = &p->layouts[node->inputs[VTAC_POOL_X]];
    if (!in->natural || (node->output_count > 1 && node->outputs[VTAC_POOL_INDICES] != 0) ||
        vtac_attr_int(node, "channels_last", 0) != 0) {
        return false;
    }
    give_block(p, node->outputs[0], in->block);
    *kind = VTAC_KIND_POOL;
    return true;
}

/* Means over whole blocks, or blocks of whole means. */
static bool choose_norm(vtac_program *p, const vtac_node *node, vtac_layout_kind *kind)
{
    const vtac_layout *in = &p->layouts[node->inputs[VTAC_NORM_X]];
    vtac_norm_shape s;
    if (!in->natural || is_padded(p, node->inputs[VTAC_NORM_X]) || !vtac_norm_shape_of(p->graph, node, &s) ||
        (s.channels % in->block != 0 && in->block % s.channels != 0)) {
        return false;
    }
    give_block(p, node->outputs[0], in->block);
    *kind = VTAC_KIND_NORM;
    return true;
}

static bool choose_lrn(vtac_program *p, const vtac_node *node, vtac_layout_kind *kind)
{
    const vtac_layout *in = &p->layouts[node->inputs[0]];
    if (!in->natural || is_padded(p, node->inputs[0]) || vtac_attr_int(node, "size", 1) > VTAC_LRN_MAX) {
        return false;
    }
    give_block(p, node->outputs[0], in->block);
    *kind = VTAC_KIND_LRN;
    return true;
}

static bool choose_pointwise(vtac_program *p, const vtac_node *node, vtac_layout_kind *kind)
{
    int64_t block = 0;
    const vtac_type *out = type_of(p, node->outputs[0]);
    if (node->output_count != 1) {
        return false;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_value_id id = node->inputs[i];
        block = p->layouts[id].natural && same_type_shape(type_of(p, id), out) ? p->layouts[id].block : block;
    }
    if (block == 0 || (out->dim[1] % block != 0 && !ends_are_ours(p, node))) {
        return false;
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        const vtac_value_id id = node->inputs[i];
        static const int64_t none[2] = {0, 0};
        if (id != 0 && p->graph->values[id].constant == NULL && p->layouts[id].block == 0 &&
            same_type_shape(type_of(p, id), out)) {
            (void)claim_layout(p, id, block, none, none, 0.0);
        }
    }
    give_block(p, node->outputs[0], block);
    *kind = VTAC_KIND_POINTWISE;
    return true;
}

static vtac_value_id part_of(const vtac_node *node, uint32_t i)
{
    return node->inputs[vtac_part_input(node, i)];
}

/* True if a value has one position, whatever its channels are. */
static bool is_one_place(const vtac_type *type)
{
    return vtac_layout_extent(type, 0) * vtac_layout_extent(type, 1) * (type->rank == 5 ? type->dim[2] : 1) ==
           1;
}

/* True if the value can be written straight to its place among the channels of `whole`. */
static bool can_join(const vtac_program *p, const vtac_node *node, uint32_t i, const vtac_type *whole)
{
    const vtac_layout *f = &p->layouts[part_of(node, i)];
    for (uint32_t k = 0; k < i; k++) {
        if (part_of(node, k) == part_of(node, i)) {
            return false;
        }
    }
    return vtac_part_is_copy(p->graph, node, i) && f->whole == 0 && !is_one_place(whole) &&
           (!has_border(f) || !has_border(&p->layouts[node->outputs[0]]) ||
            f->filler == p->layouts[node->outputs[0]].filler);
}

static bool choose_concat(vtac_program *p, const vtac_node *node, vtac_layout_kind *kind)
{
    const vtac_value_id y = node->outputs[0];
    const vtac_type *whole = type_of(p, y);
    const int64_t axis = vtac_attr_int(node, "axis", 0);
    const int64_t block = p->layouts[node->inputs[vtac_part_input(node, 0)]].block;
    if (axis != 1 && axis != 1 - (int64_t)whole->rank) {
        return false;
    }
    for (uint32_t i = 0; i < vtac_part_count(node); i++) {
        const vtac_layout *f = &p->layouts[part_of(node, i)];
        const bool last = i + 1 == vtac_part_count(node);
        if (!f->natural || f->block != block || (!last && is_padded(p, part_of(node, i)))) {
            return false;
        }
    }
    give_block(p, y, block);
    int64_t first = 0;
    for (uint32_t i = 0; i < vtac_part_count(node); i++) {
        vtac_layout *f = &p->layouts[part_of(node, i)];
        if (can_join(p, node, i, whole) && claim_layout(p, y, block, f->before, f->after, f->filler)) {
            f->whole = y;
            f->first = first;
        }
        first += f->blocks;
    }
    *kind = VTAC_KIND_CONCAT;
    return true;
}

typedef bool choose_fn(vtac_program *p, const vtac_node *node, vtac_layout_kind *kind);

/* Operators that layouts are chosen for, and the ranks of their outputs. */
static const struct chooser {
    choose_fn *choose;
    bool pictures_only; /* rank 4, not 5 */
} choosers[VTAC_OP_COUNT] = {
    [VTAC_OP_CONV] = {choose_conv, false},
    [VTAC_OP_QLINEAR_CONV] = {choose_conv, false},
    [VTAC_OP_CONV_TRANSPOSE] = {choose_transposed, false},
    [VTAC_OP_AVERAGE_POOL] = {choose_pool, false},
    [VTAC_OP_MAX_POOL] = {choose_pool, false},
    [VTAC_OP_GLOBAL_AVERAGE_POOL] = {choose_pool, false},
    [VTAC_OP_GLOBAL_MAX_POOL] = {choose_pool, false},
    [VTAC_OP_LP_POOL] = {choose_pool, false},
    [VTAC_OP_GLOBAL_LP_POOL] = {choose_pool, false},
    [VTAC_OP_QLINEAR_AVERAGE_POOL] = {choose_pool, false},
    [VTAC_OP_QLINEAR_GLOBAL_AVERAGE_POOL] = {choose_pool, false},
    [VTAC_OP_INSTANCE_NORMALIZATION] = {choose_norm, true},
    [VTAC_OP_GROUP_NORMALIZATION] = {choose_norm, true},
    [VTAC_OP_MEAN_VARIANCE] = {choose_norm, true},
    [VTAC_OP_LRN] = {choose_lrn, true},
    [VTAC_OP_CONCAT] = {choose_concat, false},
    [VTAC_OP_QLINEAR_CONCAT] = {choose_concat, false},
};

static bool choose_layout(vtac_program *p, const vtac_node *node, vtac_layout_kind *kind)
{
    const uint32_t rank = node->output_count == 0 ? 0 : type_of(p, node->outputs[0])->rank;
    const struct chooser *row = &choosers[node->op];
    if (rank != 4 && rank != 5) {
        return false;
    }
    if (row->choose != NULL) {
        return (rank == 4 || !row->pictures_only) && row->choose(p, node, kind);
    }
    return vtac_lowering_of(node->op)->family == VTAC_POINTWISE && choose_pointwise(p, node, kind);
}

vta_status vtac_layout_graph(vtac_program *p, vta_diag *diag)
{
    const size_t values = (size_t)p->graph->value_count + 1;
    p->layouts = vta_arena_array(&p->arena, values, sizeof *p->layouts);
    p->laid_out = vta_arena_array(&p->arena, values, sizeof *p->laid_out);
    p->is_plain = vta_arena_array(&p->arena, values, sizeof *p->is_plain);
    p->kinds = vta_arena_array(&p->arena, (size_t)p->graph->node_count + 1, sizeof *p->kinds);
    if (p->layouts == NULL || p->laid_out == NULL || p->is_plain == NULL || p->kinds == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < p->graph->order_count && p->level > 0 && !p->row_major; i++) {
        const vtac_node_id id = p->graph->order[i];
        const vtac_node *node = &p->graph->nodes[id];
        bool empty = false;
        for (uint32_t k = 0; k < node->input_count + node->output_count; k++) {
            const vtac_value_id v =
                k < node->input_count ? node->inputs[k] : node->outputs[k - node->input_count];
            empty = empty || (v != 0 && vtac_type_elements(type_of(p, v)) == 0);
        }
        vtac_layout_kind kind = VTAC_KIND_PLAIN;
        if (!empty && p->graph->values[node->outputs[0]].constant == NULL && choose_layout(p, node, &kind)) {
            p->kinds[id] = kind;
        }
    }
    return VTA_OK;
}

vtac_layout_kind vtac_layout_kind_of(const vtac_program *p, const vtac_node *node)
{
    return node >= p->graph->nodes && node <= p->graph->nodes + p->graph->node_count
               ? p->kinds[node - p->graph->nodes]
               : VTAC_KIND_PLAIN; /* a node that the walk made up */
}

/* ---- where an element lies */

static int64_t rows_of(const vtac_layout *layout, const vtac_type *type)
{
    return layout->before[0] + vtac_layout_extent(type, 0) + layout->after[0];
}

static int64_t columns_of(const vtac_layout *layout, const vtac_type *type)
{
    return layout->before[1] + vtac_layout_extent(type, 1) + layout->after[1];
}

int64_t vtac_layout_row(const vtac_layout *layout, const vtac_type *type)
{
    return columns_of(layout, type) * layout->block;
}

int64_t vtac_layout_plane(const vtac_layout *layout, const vtac_type *type)
{
    return rows_of(layout, type) * vtac_layout_row(layout, type);
}

int64_t vtac_layout_elements(const vtac_layout *layout, const vtac_type *type)
{
    return vtac_layout_images(type) * layout->blocks * vtac_layout_plane(layout, type);
}

const vtac_expr *vtac_layout_image(vtac_lower *l, const vtac_type *type, const vtac_expr *const *at)
{
    return type->rank == 4 ? at[0] : vtac_i_add(l->k, vtac_i_mulc(l->k, at[0], type->dim[2]), at[2]);
}

void vtac_layout_index(vtac_lower *l, const vtac_type *type, const vtac_expr *image, const vtac_expr **at)
{
    at[0] = image;
    if (type->rank == 5) {
        at[0] = vtac_let(l->k, "batch", vtac_i_divc(l->k, image, type->dim[2]));
        at[2] = vtac_let(l->k, "z", vtac_i_remc(l->k, image, type->dim[2]));
    }
}

const vtac_expr *vtac_layout_element(vtac_lower *l, vtac_value_id id, const vtac_expr *const *at,
                                     const vtac_expr *block, const vtac_expr *lane)
{
    const vtac_type *type = &l->graph->values[id].type;
    return vtac_layout_place(l, id, vtac_layout_image(l, type, at), block, at[type->rank - 2],
                             at[type->rank - 1], lane);
}

const vtac_expr *vtac_layout_place(vtac_lower *l, vtac_value_id id, const vtac_expr *image,
                                   const vtac_expr *block, const vtac_expr *y, const vtac_expr *x,
                                   const vtac_expr *lane)
{
    for (vtac_value_id part = id; l->program->layouts[part].whole != 0;
         part = l->program->layouts[part].whole) {
        block = vtac_i_addc(l->k, block, l->program->layouts[part].first);
    }
    return vtac_layout_at(l, vtac_layout_of(l->program, id), &l->graph->values[id].type, image, block, y, x,
                          lane);
}

const vtac_expr *vtac_layout_at(vtac_lower *l, const vtac_layout *f, const vtac_type *type,
                                const vtac_expr *image, const vtac_expr *block, const vtac_expr *y,
                                const vtac_expr *x, const vtac_expr *lane)
{
    vtac_kernel *k = l->k;
    const vtac_expr *plane = vtac_i_add(k, vtac_i_mulc(k, image, f->blocks), block);
    const vtac_expr *at = vtac_i_mulc(k, plane, vtac_layout_plane(f, type));
    at = vtac_i_add(k, at, vtac_i_mulc(k, y, vtac_layout_row(f, type)));
    at = vtac_i_add(k, at, vtac_i_mulc(k, x, f->block));
    at = vtac_i_addc(k, at, f->before[0] * vtac_layout_row(f, type) + f->before[1] * f->block);
    return vtac_i_add(k, at, lane);
}

/* True if both forms have the same bytes. */
static bool is_trivial(const vtac_layout *f, const vtac_type *type)
{
    const bool deep = type->rank == 5 && type->dim[2] > 1 && type->dim[1] > 1; /* planes before channels */
    return !has_border(f) && f->whole == 0 && type->dim[1] % f->block == 0 && !deep &&
           (f->block == 1 || (vtac_layout_extent(type, 0) == 1 && vtac_layout_extent(type, 1) == 1));
}

/* ---- buffers and copies */

vtac_buffer *vtac_layout_buffer(vtac_lower *l, vtac_value_id id, const char *name)
{
    id = whole_of(l->program, id);
    const vtac_type *type = &l->graph->values[id].type;
    return vtac_use(l, l->program->laid_out[id], name, type->dtype,
                    vtac_layout_elements(&l->program->layouts[id], type));
}

/* `count` elements from `first` on become the filler. */
static void fill_elements(vtac_lower *l, vtac_buffer *to, const vtac_layout *f, const vtac_expr *first,
                          int64_t count)
{
    if (count == 0) {
        return;
    }
    vtac_kernel *k = l->k;
    const vtac_expr *i = vtac_for(k, VTAC_LOOP_SERIAL, count / f->block, "i");
    const vtac_expr *lane = vtac_for(k, VTAC_LOOP_VECTOR, f->block, "lane");
    const vtac_expr *at = vtac_i_add(k, vtac_i_add(k, first, vtac_i_mulc(k, i, f->block)), lane);
    vtac_store(k, to, at, vtac_e_float(k, vtac_compute_type(to == NULL ? VTAC_F32 : to->dtype), f->filler));
    vtac_close(l, 2);
}

static vta_status fill_border(vtac_lower *l, vtac_value_id id)
{
    const vtac_layout *f = &l->program->layouts[id];
    const vtac_type *type = &l->graph->values[id].type;
    const int64_t row = vtac_layout_row(f, type);
    const int64_t plane = vtac_layout_plane(f, type);
    const int64_t top = f->before[0] * row;
    VTA_TRY(vtac_begin(l, ".border"));
    vtac_kernel *k = l->k;
    vtac_buffer *to = vtac_layout_buffer(l, id, "y");
    const int64_t planes = vtac_layout_images(type) * f->blocks;
    const int64_t rows = vtac_layout_extent(type, 0);
    const int64_t columns = vtac_layout_extent(type, 1);
    const int64_t inner = rows * columns * f->block;
    const vtac_expr *p = vtac_for(k, vtac_parallel_if((plane - inner) * planes), planes, "plane");
    const vtac_expr *base = vtac_let(k, "base", vtac_i_mulc(k, p, plane));
    fill_elements(l, to, f, base, top);
    fill_elements(l, to, f, vtac_i_addc(k, base, top + rows * row), f->after[0] * row);
    if (f->before[1] + f->after[1] > 0) {
        const vtac_expr *y = vtac_for(k, VTAC_LOOP_SERIAL, rows, "y");
        const vtac_expr *line =
            vtac_let(k, "line", vtac_i_addc(k, vtac_i_add(k, base, vtac_i_mulc(k, y, row)), top));
        fill_elements(l, to, f, line, f->before[1] * f->block);
        fill_elements(l, to, f, vtac_i_addc(k, line, (f->before[1] + columns) * f->block),
                      f->after[1] * f->block);
        vtac_end(k);
    }
    vtac_end(k);
    return VTA_OK;
}

/* Memory for the value in its layout; its border is filled by a step of its own. */
static vta_status make_room(vtac_lower *l, vtac_value_id id)
{
    vtac_program *p = l->program;
    const vtac_layout *f = &p->layouts[id];
    const vtac_type *type = &l->graph->values[id].type;
    if (p->laid_out[id] != 0) {
        return VTA_OK;
    }
    if (f->whole != 0) {
        VTA_TRY(make_room(l, f->whole));
        p->laid_out[id] = p->laid_out[f->whole];
        return VTA_OK;
    }
    const bool trivial = is_trivial(f, type);
    if (trivial && p->of_value[id] != 0) {
        p->laid_out[id] = p->of_value[id];
        p->is_plain[id] = true;
        return VTA_OK;
    }
    const int64_t beyond = vtac_dtype_bytes(type->dtype) == 1 ? 3 * f->block : 0; /* quads may read so far */
    p->laid_out[id] = vtac_temp(l, type->dtype, vtac_layout_elements(f, type) + beyond);
    if (p->laid_out[id] == 0) {
        return vta_no_memory(l->diag);
    }
    if (trivial) {
        p->of_value[id] = p->laid_out[id];
        p->is_plain[id] = true;
    }
    return has_border(f) ? fill_border(l, id) : VTA_OK;
}

/* A copy between the two forms: `positions` of a plane and some channels of a block at a time, which vectors
 * turn. A plane whose rows follow each other is one row. */
typedef struct copy {
    vtac_buffer *to, *from;
    const vtac_expr *at[5], *block, *position; /* at: the plain index; position: the first of those */
    uint32_t along;                            /* the axis of positions */
    int64_t rows, columns, positions;
} copy;

static void shape_copy(const vtac_lower *l, vtac_value_id id, copy *c)
{
    const vtac_layout *f = &l->program->layouts[id];
    const vtac_type *type = &l->graph->values[id].type;
    const vtac_target *target = l->program->target;
    const int64_t height = vtac_layout_extent(type, 0);
    const int64_t width = vtac_layout_extent(type, 1);
    const bool flat = columns_of(vtac_layout_of(l->program, id), type) == width;
    const int64_t room = (int64_t)(target->vector_bytes * target->vector_count / 2);
    const int64_t bytes = f->block * (int64_t)vtac_dtype_bytes(type->dtype);
    c->along = type->rank - (flat && width == 1 ? 2 : 1);
    c->rows = flat ? 1 : height;
    c->columns = flat ? height * width : width;
    c->positions = 1;
    const int64_t max = VTAC_TRANSPOSE_BYTES / (int64_t)vtac_dtype_bytes(type->dtype);
    while (c->positions < max && 2 * c->positions <= c->columns && 2 * c->positions * bytes <= room) {
        c->positions *= 2;
    }
}

/* Opens the loops but that over the lanes. */
static void open_copy(vtac_lower *l, vtac_value_id id, copy *c)
{
    const vtac_layout *f = &l->program->layouts[id];
    const vtac_type *type = &l->graph->values[id].type;
    vtac_kernel *k = l->k;
    const int64_t planes = vtac_layout_images(type) * f->blocks;
    const int64_t chunks = (c->columns + c->positions - 1) / c->positions;
    const vtac_expr *plane = vtac_for(k, vtac_parallel_if(vtac_type_elements(type)), planes, "plane");
    c->block = vtac_let(k, "block", vtac_i_remc(k, plane, f->blocks));
    const vtac_expr *image = vtac_let(k, "image", vtac_i_divc(k, plane, f->blocks));
    vtac_layout_index(l, type, image, c->at);
    c->at[2 * type->rank - 3 - c->along] = vtac_for(k, VTAC_LOOP_SERIAL, c->rows, "y");
    c->position = vtac_i_mulc(k, vtac_for(k, VTAC_LOOP_SERIAL, chunks, "x"), c->positions);
    if (c->columns % c->positions != 0) {
        c->position = vtac_e2(k, VTAC_E_MIN, c->position, vtac_e_index(k, c->columns - c->positions));
    }
    c->position = vtac_let(k, "first", c->position);
}

/* `channels` of a block. */
typedef void copy_fn(vtac_lower *l, vtac_value_id id, copy *c, int64_t channels);

/* The last block may have fewer channels than the others. */
static void copy_blocks(vtac_lower *l, vtac_value_id id, copy *c, copy_fn *fn)
{
    vtac_kernel *k = l->k;
    const vtac_layout *f = &l->program->layouts[id];
    const int64_t rest = type_of(l->program, id)->dim[1] % f->block;
    const vtac_expr *last = vtac_e_index(k, f->blocks - 1);
    open_copy(l, id, c);
    if (rest == 0) {
        fn(l, id, c, f->block);
    } else {
        if (f->blocks > 1) {
            vtac_if(k, vtac_e2(k, VTAC_E_LT, c->block, last));
            fn(l, id, c, f->block);
            vtac_end(k);
        }
        vtac_if(k, vtac_e2(k, VTAC_E_EQ, c->block, last));
        fn(l, id, c, rest);
        vtac_end(k);
    }
    vtac_close(l, 3);
}

/* lane % rows and lane / rows. */
static const vtac_expr *low_part(vtac_lower *l, const vtac_expr *lane, int64_t rows, int64_t lanes)
{
    return rows == lanes ? lane : vtac_i_remc(l->k, lane, rows);
}

static const vtac_expr *high_part(vtac_lower *l, const vtac_expr *lane, int64_t rows, int64_t lanes)
{
    return rows == lanes ? vtac_e_index(l->k, 0) : vtac_i_divc(l->k, lane, rows);
}

/* Channels that there are not become 0. */
static void copy_laid_out(vtac_lower *l, vtac_value_id id, copy *c, int64_t channels)
{
    const int64_t block = l->program->layouts[id].block;
    vtac_kernel *k = l->k;
    const int64_t lanes = block * c->positions;
    const vtac_expr *lane = vtac_lane_loop(l, lanes);
    const vtac_expr *within = low_part(l, lane, block, lanes);
    const vtac_expr *real = NULL;
    c->at[c->along] = c->position;
    const vtac_expr *to = vtac_layout_element(l, id, c->at, c->block, lane);
    c->at[c->along] = vtac_i_add(k, c->position, high_part(l, lane, block, lanes));
    if (channels < block) {
        real = vtac_e2(k, VTAC_E_LT, within, vtac_e_index(k, channels));
        within = vtac_e2(k, VTAC_E_MIN, within, vtac_e_index(k, channels - 1));
    }
    c->at[1] = vtac_i_add(k, vtac_i_mulc(k, c->block, block), within);
    const vtac_expr *value = vtac_e_load(k, c->from, vtac_flat(l, &l->graph->values[id].type, c->at));
    if (real != NULL && value != NULL) {
        value = vtac_e3(k, VTAC_E_SELECT, real, value, vtac_e_int(k, value->type, 0));
    }
    vtac_store(k, c->to, to, value);
    vtac_close(l, lanes == 1 ? 0 : 1);
}

static vta_status lay_out(vtac_lower *l, vtac_value_id id)
{
    vtac_program *p = l->program;
    if (p->laid_out[id] != 0) {
        return VTA_OK;
    }
    VTA_TRY(make_room(l, id));
    if (p->is_plain[id]) {
        return VTA_OK; /* the same memory */
    }
    VTA_TRY(vtac_begin(l, ".layout"));
    copy c = {.to = vtac_layout_buffer(l, id, "y"), .from = vtac_value_buffer(l, id, "x")};
    shape_copy(l, id, &c);
    copy_blocks(l, id, &c, copy_laid_out);
    return VTA_OK;
}

static void copy_plain(vtac_lower *l, vtac_value_id id, copy *c, int64_t channels)
{
    const vtac_layout *f = &l->program->layouts[id];
    vtac_kernel *k = l->k;
    const int64_t lanes = channels * c->positions;
    const vtac_expr *lane = vtac_lane_loop(l, lanes);
    const vtac_expr *within = high_part(l, lane, c->positions, lanes);
    c->at[c->along] = vtac_i_add(k, c->position, low_part(l, lane, c->positions, lanes));
    const vtac_expr *from = vtac_layout_element(l, id, c->at, c->block, within);
    c->at[1] = vtac_i_add(k, vtac_i_mulc(k, c->block, f->block), within);
    vtac_store(k, c->to, vtac_flat(l, &l->graph->values[id].type, c->at), vtac_e_load(k, c->from, from));
    vtac_close(l, lanes == 1 ? 0 : 1);
}

static vta_status make_plain(vtac_lower *l, vtac_value_id id)
{
    vtac_program *p = l->program;
    if (p->laid_out[id] == 0 || p->is_plain[id] || !p->layouts[id].natural) {
        return VTA_OK;
    }
    p->is_plain[id] = true;
    VTA_TRY(vtac_begin(l, ".plain"));
    copy c = {.to = vtac_value_buffer(l, id, "y"), .from = vtac_layout_buffer(l, id, "x")};
    shape_copy(l, id, &c);
    copy_blocks(l, id, &c, copy_plain);
    return VTA_OK;
}

/* ---- for the walk */

static bool is_part(const vtac_node *n, uint32_t i)
{
    uint32_t part = 0;
    while (part < vtac_part_count(n) && vtac_part_input(n, part) != i) {
        part++;
    }
    return part < vtac_part_count(n);
}

bool vtac_layout_reads(const vtac_lower *l, const vtac_node *n, uint32_t i)
{
    const vtac_program *p = l->program;
    const vtac_value_id id = n->inputs[i];
    switch (vtac_layout_kind_of(p, n)) {
    case VTAC_KIND_PLAIN: return false;
    case VTAC_KIND_CONCAT: return is_part(n, i);
    case VTAC_KIND_POINTWISE:
        return p->layouts[id].block == p->layouts[n->outputs[0]].block &&
               same_type_shape(type_of(p, id), type_of(p, n->outputs[0])) &&
               p->graph->values[id].constant == NULL;
    case VTAC_KIND_CONV:
    case VTAC_KIND_DEPTHWISE:
    case VTAC_KIND_POOL:
    case VTAC_KIND_NORM:
    case VTAC_KIND_LRN: return i == 0;
    }
    return false;
}

/* All inputs of the node but `carried`, in the form that it reads. */
static vta_status fetch_inputs(vtac_lower *l, const vtac_node *n, vtac_value_id carried)
{
    for (uint32_t i = 0; i < n->input_count; i++) {
        const vtac_value_id id = n->inputs[i];
        VTA_TRY(id == 0 || id == carried     ? VTA_OK
                : vtac_layout_reads(l, n, i) ? lay_out(l, id)
                                             : make_plain(l, id));
    }
    return VTA_OK;
}

vta_status vtac_layout_inputs(vtac_lower *l)
{
    VTA_TRY(fetch_inputs(l, l->node, 0));
    for (uint32_t c = 0; c < l->chain_count; c++) {
        VTA_TRY(fetch_inputs(l, l->chain[c], (c == 0 ? l->node : l->chain[c - 1])->outputs[0]));
    }
    const vtac_value_id last = vtac_final_value(l, 0);
    return vtac_layout_kind_of(l->program, l->node) == VTAC_KIND_PLAIN ? VTA_OK : make_room(l, last);
}

vta_status vtac_layout_outputs(vtac_lower *l)
{
    const vtac_value_id id = vtac_final_value(l, 0);
    return l->program->of_value[id] != 0 ? make_plain(l, id) : VTA_OK; /* it has a place: a graph output */
}
