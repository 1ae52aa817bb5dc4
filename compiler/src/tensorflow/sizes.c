/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes that the run finds: sums of counts, and what graphs compute from them.
 */
#include <string.h>

#include "import.h"
#include "rows.h"

/* ---- sums */

vtac_tf_size vtac_tf_constant_size(int64_t value)
{
    return (vtac_tf_size){.base = value};
}

static bool add_term(vtac_tf_size *sum, uint32_t count, int64_t factor)
{
    uint32_t i = 0;
    while (i < sum->terms && sum->term[i].count != count) {
        i++;
    }
    if (i == MAX_TERMS) {
        return false;
    }
    sum->terms += i == sum->terms;
    sum->term[i].count = count;
    sum->term[i].factor += factor;
    if (sum->term[i].factor == 0) {
        sum->term[i] = sum->term[--sum->terms];
        memset(&sum->term[sum->terms], 0, sizeof sum->term[0]);
    }
    return true;
}

static bool is_small(int64_t number)
{
    return number >= -MAX_NUMBER && number <= MAX_NUMBER;
}

/* a + factor * b; false: too long a sum, or too large. */
bool vtac_tf_add_sizes(vtac_tf_size *a, const vtac_tf_size *b, int64_t factor)
{
    bool fits = is_small(factor) && is_small(b->base);
    for (uint32_t i = 0; i < b->terms && fits; i++) {
        fits = is_small(b->term[i].factor) && add_term(a, b->term[i].count, factor * b->term[i].factor);
    }
    a->base += fits ? factor * b->base : 0;
    for (uint32_t i = 0; i < a->terms && fits; i++) {
        fits = is_small(a->term[i].factor);
    }
    return fits && is_small(a->base);
}

bool vtac_tf_same_size(const vtac_tf_size *a, const vtac_tf_size *b)
{
    vtac_tf_size difference = *a;
    return vtac_tf_add_sizes(&difference, b, -1) && difference.terms == 0 && difference.base == 0;
}

/* The largest that a sum can be, each count being from 0 to its max; the smallest with `sign` -1. */
int64_t vtac_tf_size_bound(const vtac_tf *im, const vtac_tf_size *s, int sign)
{
    int64_t bound = s->base;
    for (uint32_t i = 0; i < s->terms; i++) {
        const bool counts = s->term[i].factor * sign > 0;
        bound += counts ? s->term[i].factor * im->counts[s->term[i].count].max : 0;
    }
    return bound;
}

/* A number that the run finds, from 0 to `max`. */
vtac_tf_size vtac_tf_new_count(vtac_tf *im, vtac_id value, int64_t max)
{
    vtac_tf_size size = {.terms = 1};
    if (im->count_count == TF_MAX_COUNTS) {
        vtac_make_refuse(&im->maker, "more than %d numbers of rows that the run finds", TF_MAX_COUNTS);
        return size;
    }
    im->counts[im->count_count] = (vtac_tf_count){vtac_make_cast(&im->maker, value, VTAC_I64), max};
    size.term[0].count = im->count_count++;
    size.term[0].factor = 1;
    return size;
}

/* The run's value of a sum: i64, of rank 0. */
vtac_id vtac_tf_size_value(vtac_tf *im, const vtac_tf_size *s)
{
    vtac_import_builder *m = &im->maker;
    vtac_id sum = vtac_make_number(m, VTAC_I64, (double)s->base);
    for (uint32_t i = 0; i < s->terms; i++) {
        const vtac_id factor = vtac_make_number(m, VTAC_I64, (double)s->term[i].factor);
        const vtac_id term = vtac_make2(m, VTAC_OP_MUL, im->counts[s->term[i].count].value, factor);
        sum = vtac_make2(m, VTAC_OP_ADD, sum, term);
    }
    return sum;
}

/* ---- values with sizes and rows */

/* The sizes in input i: those of the value, or whole numbers that the graph knows. */
bool vtac_tf_read_sizes(vtac_tf *im, uint32_t i, vtac_tf_sizes *out)
{
    if (i >= im->in_count) {
        return false;
    }
    if (im->in[i]->sizes != NULL) {
        *out = *im->in[i]->sizes;
        return true;
    }
    const vtac_tensor *known = vtac_made_constant(&im->maker, vtac_tf_plain(im, i));
    const int64_t count = known == NULL ? -1 : vtac_type_elements(&known->type);
    if (count < 0 || count > MAX_SIZES || vtac_dtype_kind(known->type.dtype) == 'f') {
        return false;
    }
    *out = (vtac_tf_sizes){.count = (uint32_t)count};
    bool small = true;
    for (int64_t k = 0; k < count; k++) {
        out->at[k] = vtac_tf_constant_size(vtac_tensor_int(known, k));
        small = small && is_small(out->at[k].base);
    }
    return small;
}

/* Output i has these sizes; where all are known it is a constant. */
void vtac_tf_set_sizes(vtac_tf *im, uint32_t i, const vtac_tf_sizes *sizes)
{
    vtac_import_builder *m = &im->maker;
    const vtac_type type = vtac_made_type(m, vtac_tf_plain_of(im, vtac_tf_out(im, i)));
    vtac_tf_sizes *kept = vtac_make_room(m, 1, sizeof *kept);
    int64_t known[MAX_SIZES];
    uint32_t terms = 0;
    if (kept == NULL || vtac_type_elements(&type) != (int64_t)sizes->count) {
        return;
    }
    *kept = *sizes;
    for (uint32_t k = 0; k < sizes->count; k++) {
        terms += sizes->at[k].terms;
        known[k] = sizes->at[k].base;
    }
    if (terms == 0) {
        const vtac_id ints = vtac_make_ints(m, known, sizes->count);
        vtac_tf_set(im, i, vtac_make_cast(m, vtac_make_reshape(m, ints, type.dim, type.rank), type.dtype));
    }
    vtac_tf_out(im, i)->sizes = terms == 0 ? NULL : kept;
}

void vtac_tf_refuse_rows(vtac_tf *im)
{
    vtac_make_refuse(&im->maker,
                     "rows that the run counts, in a form that is not taken; --output-value NODE ends the "
                     "graph before them");
}

/* The count of the rows of input i; NULL: its size is known. */
const vtac_tf_size *vtac_tf_rows_of(const vtac_tf *im, uint32_t i)
{
    return i < im->in_count ? im->in[i]->rows : NULL;
}

/* ---- what is computed from sizes */

void vtac_tf_import_row_sizes(vtac_tf *im)
{
    vtac_import_row(im);
    for (uint32_t i = 0; i < im->in_count && im->how != TF_RANK; i++) {
        const vtac_type x = vtac_tf_type(im, i);
        vtac_tf_sizes sizes = {.count = im->how == TF_SHAPE ? x.rank : 1};
        const vtac_tf_size *rows = vtac_tf_rows_of(im, i);
        if (rows == NULL) {
            continue;
        }
        int64_t each = 1;
        for (uint32_t a = 1; a < x.rank; a++) {
            sizes.at[a] = vtac_tf_constant_size(x.dim[a]);
            each *= x.dim[a];
        }
        sizes.at[0] = vtac_tf_constant_size(0);
        if (!vtac_tf_add_sizes(&sizes.at[0], rows, im->how == TF_SHAPE ? 1 : each)) {
            vtac_tf_refuse_rows(im);
            return;
        }
        const vtac_type type = vtac_made_type(&im->maker, vtac_tf_plain_of(im, vtac_tf_out(im, i)));
        vtac_id parts[VTAC_MAX_RANK];
        for (uint32_t a = 0; a < sizes.count; a++) {
            parts[a] = vtac_make_reshape(&im->maker, vtac_tf_size_value(im, &sizes.at[a]), (int64_t[]){1}, 1);
        }
        const vtac_id whole = vtac_make_concat(&im->maker, parts, sizes.count, 0);
        vtac_tf_set(im, i,
                    vtac_make_cast(&im->maker, vtac_make_reshape(&im->maker, whole, type.dim, type.rank),
                                   type.dtype));
        vtac_tf_set_sizes(im, i, &sizes);
    }
}

/* The sizes of a slice of a row of sizes. */
static bool slice_sizes(vtac_tf *im, const vtac_tf_sizes *x, vtac_tf_sizes *out)
{
    int64_t begin, end, step;
    if (vtac_tf_known_ints(im, 1, "begin", &begin, 1) != 1 ||
        vtac_tf_known_ints(im, 2, "end", &end, 1) != 1 || vtac_tf_known_ints(im, 3, "step", &step, 1) != 1 ||
        step != 1) {
        return false;
    }
    const int64_t count = x->count;
    begin = vtac_tf_int(im->node, "begin_mask", 0) != 0 ? 0 : begin < 0 ? begin + count : begin;
    end = vtac_tf_int(im->node, "end_mask", 0) != 0 ? count : end < 0 ? end + count : end;
    end = vtac_tf_int(im->node, "shrink_axis_mask", 0) != 0 ? begin + 1 : end > count ? count : end;
    out->count = 0;
    for (int64_t i = begin; i >= 0 && i < end && i < count; i++) {
        out->at[out->count++] = x->at[i];
    }
    return true;
}

/* Rows of sizes one under the other, or side by side (axis 1 of a Pack). */
static bool join_sizes(vtac_tf *im, uint32_t from, uint32_t to, bool beside, vtac_tf_sizes *out)
{
    vtac_tf_sizes part;
    out->count = 0;
    for (uint32_t i = from; i < to; i++) {
        if (!vtac_tf_read_sizes(im, i, &part) || part.count * (to - from) > MAX_SIZES ||
            out->count + part.count > MAX_SIZES) {
            return false;
        }
        for (uint32_t k = 0; k < part.count; k++) {
            out->at[beside ? k * (to - from) + (i - from) : out->count + k] = part.at[k];
        }
        out->count += part.count;
    }
    return true;
}

/* The smaller or larger of two sizes, if that is known; else a new count. */
static bool limit_size(vtac_tf *im, const vtac_tf_size *a, const vtac_tf_size *b, bool smaller,
                       vtac_tf_size *out)
{
    const vtac_tf_size *low = vtac_tf_size_bound(im, a, 1) <= vtac_tf_size_bound(im, b, -1)   ? a
                              : vtac_tf_size_bound(im, b, 1) <= vtac_tf_size_bound(im, a, -1) ? b
                                                                                              : NULL;
    if (low != NULL) {
        *out = smaller ? *low : low == a ? *b : *a;
        return true;
    }
    const int64_t top_a = vtac_tf_size_bound(im, a, 1);
    const int64_t top_b = vtac_tf_size_bound(im, b, 1);
    const bool counts = vtac_tf_size_bound(im, a, -1) >= 0 && vtac_tf_size_bound(im, b, -1) >= 0;
    if (counts) {
        *out = vtac_tf_new_count(im, vtac_tf_plain_of(im, vtac_tf_out(im, 0)),
                                 (top_a < top_b) == smaller ? top_a : top_b);
    }
    return counts;
}

/* Comparisons that hold, or do not, whatever the counts are. */
static bool compare_sizes(vtac_tf *im, const vtac_tf_size *a, const vtac_tf_size *b, vtac_tf_size *out)
{
    const bool strict = im->how == VTAC_OP_GREATER || im->how == VTAC_OP_LESS;
    const bool turned = im->how == VTAC_OP_LESS || im->how == VTAC_OP_LESS_OR_EQUAL;
    const vtac_tf_size *x = turned ? b : a; /* x > y is asked, or x >= y */
    const vtac_tf_size *y = turned ? a : b;
    vtac_tf_size difference = *x;
    if (!vtac_tf_add_sizes(&difference, y, -1)) {
        return false;
    }
    const int64_t min = strict ? 1 : 0;
    const bool always = vtac_tf_size_bound(im, &difference, -1) >= min;
    *out = vtac_tf_constant_size(always ? 1 : 0);
    return always || vtac_tf_size_bound(im, &difference, 1) < min;
}

static bool compute_size(vtac_tf *im, const vtac_tf_size *a, const vtac_tf_size *b, vtac_tf_size *out)
{
    *out = *a;
    switch (im->how) {
    case VTAC_OP_ADD: return vtac_tf_add_sizes(out, b, 1);
    case VTAC_OP_SUB: return vtac_tf_add_sizes(out, b, -1);
    case VTAC_OP_MUL:
        *out = vtac_tf_constant_size(0);
        return (a->terms == 0 || b->terms == 0) &&
               vtac_tf_add_sizes(out, a->terms == 0 ? b : a, a->terms == 0 ? a->base : b->base);
    case VTAC_OP_MIN: return limit_size(im, a, b, true, out);
    case VTAC_OP_MAX: return limit_size(im, a, b, false, out);
    case VTAC_OP_GREATER:
    case VTAC_OP_GREATER_OR_EQUAL:
    case VTAC_OP_LESS:
    case VTAC_OP_LESS_OR_EQUAL: return compare_sizes(im, a, b, out);
    default: return false;
    }
}

static bool compute_sizes(vtac_tf *im, vtac_tf_sizes *out)
{
    vtac_tf_sizes a, b;
    if (!vtac_tf_read_sizes(im, 0, &a) || !vtac_tf_read_sizes(im, 1, &b) ||
        (a.count != b.count && a.count != 1 && b.count != 1)) {
        return false;
    }
    out->count = a.count > b.count ? a.count : b.count;
    for (uint32_t k = 0; k < out->count; k++) {
        const bool one = (im->how != VTAC_OP_MIN && im->how != VTAC_OP_MAX) || out->count == 1;
        if (!one ||
            !compute_size(im, &a.at[a.count == 1 ? 0 : k], &b.at[b.count == 1 ? 0 : k], &out->at[k])) {
            return false;
        }
    }
    return true;
}

static bool same_ref(const vtac_tf_ref *a, const vtac_tf_ref *b)
{
    return a->node == b->node && a->out == b->out;
}

/* True where the smaller of two numbers is chosen, by whether one is larger or less than the other. */
static bool chooses_smaller(const vtac_tf *im)
{
    const vtac_tf_ref *chosen = im->node->inputs;
    if (im->node->input_count != 3 || chosen[0].node < 0) {
        return false;
    }
    const vtac_tf_node *asks = &im->frame->function->nodes[chosen[0].node];
    const bool larger = strncmp(asks->op, "Greater", 7) == 0;
    return asks->input_count == 2 && (larger || strncmp(asks->op, "Less", 4) == 0) &&
           same_ref(&asks->inputs[0], &chosen[larger ? 2 : 1]) &&
           same_ref(&asks->inputs[1], &chosen[larger ? 1 : 2]);
}

/* The size that a condition chooses. */
static bool choose_size(vtac_tf *im, vtac_tf_sizes *out)
{
    vtac_tf_sizes truth, yes, no;
    if (!vtac_tf_read_sizes(im, 1, &yes) || !vtac_tf_read_sizes(im, 2, &no) || yes.count != 1 ||
        no.count != 1) {
        return false;
    }
    if (vtac_tf_read_sizes(im, 0, &truth) && truth.count == 1 && truth.at[0].terms == 0) {
        *out = truth.at[0].base != 0 ? yes : no;
        return true;
    }
    const int64_t a = vtac_tf_size_bound(im, &yes.at[0], 1);
    const int64_t b = vtac_tf_size_bound(im, &no.at[0], 1);
    if (vtac_tf_size_bound(im, &yes.at[0], -1) < 0 || vtac_tf_size_bound(im, &no.at[0], -1) < 0) {
        return false;
    }
    out->count = 1;
    out->at[0] = vtac_tf_new_count(im, vtac_tf_plain_of(im, vtac_tf_out(im, 0)),
                                   (a < b) == chooses_smaller(im) ? a : b);
    return true;
}

/* The sizes that an operator makes of sizes; false: numbers that are no sizes any more. */
bool vtac_tf_sizes_made(vtac_tf *im, vtac_tf_import_fn *what, vtac_tf_sizes *out)
{
    vtac_tf_sizes x;
    if (what == vtac_tf_import_binary) {
        return compute_sizes(im, out);
    }
    if (what == vtac_tf_import_select) {
        return choose_size(im, out);
    }
    if (what == vtac_tf_import_pack) {
        return join_sizes(im, 0, im->in_count, vtac_tf_int(im->node, "axis", 0) != 0, out);
    }
    if (what == vtac_tf_import_concat && im->in_count > 1) {
        const uint32_t first = im->how == TF_FRONT ? 1 : 0;
        return join_sizes(im, first, first + im->in_count - 1, false, out);
    }
    const bool keeps = what == vtac_tf_import_cast || what == vtac_tf_import_reshape ||
                       what == vtac_tf_import_expand_dims || what == vtac_tf_import_squeeze;
    if ((!keeps && what != vtac_tf_import_strided_slice) || !vtac_tf_read_sizes(im, 0, &x)) {
        return false;
    }
    *out = x;
    return keeps || (vtac_tf_type(im, 0).rank == 1 && slice_sizes(im, &x, out));
}
