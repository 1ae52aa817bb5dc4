/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention and what turns positions, over open sizes: what compose_attention.c makes of them where sizes are
 * known, in ONNX's words. Queries, keys and values are `q`, `k` and `v`, [B, heads, S, d].
 */
#include <math.h>

#include "flow_words.h"

static int64_t type_number(vtac_dtype dtype)
{
    return dtype == VTAC_F64    ? ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE
           : dtype == VTAC_F16  ? ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16
           : dtype == VTAC_BF16 ? ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16
                                : ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
}

/* [B, S, heads * d] as [B, heads, S, d] */
static void to_heads(vtac_words *w, const char *x, int64_t heads)
{
    vtac_say(w,
             "s = Shape %s; d = Slice s [2] [3]; d = Div d [%lld]; s = Slice s [0] [2]; s = Concat s [%lld] "
             "d axis=0;"
             "%s = Reshape %s s allowzero=1; %s = Transpose %s perm=[0,2,1,3]",
             x, (long long)heads, (long long)heads, x, x, x, x);
}

static void from_heads(vtac_words *w, const char *x)
{
    vtac_say(w,
             "%s = Transpose %s perm=[0,2,1,3]; s = Shape %s; d = Slice s [2] [4]; d = ReduceProd d [0];"
             "s = Slice s [0] [2]; s = Concat s d axis=0; %s = Reshape %s s allowzero=1",
             x, x, x, x, x);
}

/* As many heads as the queries have: each `times` times, one behind the other. */
static void repeat_heads(vtac_words *w, const char *x)
{
    vtac_say(w,
             "n = Shape q; n = Slice n [1] [2]; s = Shape %s; t = Slice s [1] [2]; t = Div n t; a = Slice s "
             "[0] [1];"
             "b = Slice s [2] [4]; t = Concat [1,1] t [1,1] axis=0; %s = Unsqueeze %s [2]; %s = Expand %s t;"
             "s = Concat a n b axis=0; %s = Reshape %s s allowzero=1",
             x, x, x, x, x, x, x);
}

static void add_bias(vtac_words *w, const char *more)
{
    if (vtac_words_name(w, "bias") == NULL) {
        vtac_say(w, "bias = Identity %s", more);
    } else {
        vtac_say(w, "bias = Add bias %s", more);
    }
}

/* What is seen, `seen`, as numbers to add. */
static void add_seen(vtac_words *w, double low)
{
    vtac_say(w, "seen = Where seen ~0 ~%.9g", low);
    add_bias(w, "seen");
}

/* `queries`, `keys`: how many; `rows`, `all`: their numbers along their axes of four. */
static void count_places(vtac_words *w)
{
    vtac_say(w,
             "queries = Shape q; queries = Slice queries [2] [3]; keys = Shape k; keys = Slice keys [2] [3];"
             "n = Squeeze queries; rows = Range #0 n #1; rows = Reshape rows [1,1,-1,1];"
             "n = Squeeze keys; all = Range #0 n #1; all = Reshape all [1,1,1,-1]");
}

typedef struct attending {
    double scale; /* of the products, 0: of the size of a head */
    double softcap;
    int64_t give; /* which product `products` is: 0 plain, 1 capped, 2 with the bias, 3 after the softmax */
    vtac_dtype precision;
    bool grouped, sink;
} attending;

/* y = softmax(cap(q k' scale) + bias) v */
static void attend(vtac_words *w, const attending *a)
{
    const long long own = (long long)type_number(w->dtype);
    const long long inner = (long long)type_number(a->precision);
    if (a->grouped) {
        repeat_heads(w, "k");
        repeat_heads(w, "v");
    }
    vtac_say(w, "kt = Transpose k perm=[0,1,3,2]");
    if (a->scale != 0.0) { /* on both sides, so that half precision does not overflow */
        const double root = sqrt(fabs(a->scale));
        vtac_say(w, "q = Mul q ~%.9g; kt = Mul kt ~%.9g", a->scale < 0.0 ? -root : root, root);
    } else {
        vtac_say(
            w,
            "d = Shape q; d = Slice d [3] [4]; d = Cast d to=1; d = Sqrt d; d = Sqrt d; d = Reciprocal d;"
            "d = Cast d to=%lld; q = Mul q d; kt = Mul kt d",
            own);
    }
    vtac_say(w, "x = MatMul q kt; products = Identity x");
    if (a->softcap > 0.0) {
        vtac_say(w, "x = Div x ~%.9g; x = Tanh x; x = Mul x ~%.9g", a->softcap, a->softcap);
    }
    if (a->give == 1) {
        vtac_say(w, "products = Identity x");
    }
    if (vtac_words_name(w, "bias") != NULL) {
        vtac_say(w, "x = Add x bias");
    }
    if (a->give == 2) {
        vtac_say(w, "products = Identity x");
    }
    if (own != inner) {
        vtac_say(w, "x = Cast x to=%lld; v = Cast v to=%lld", inner, inner);
    }
    if (a->sink) {
        vtac_say(w,
                 "s = Shape x; s = Slice s [0] [3]; s = Concat s [1] axis=0; sink = Cast sink to=%lld;"
                 "sink = Expand sink s; x = Concat x sink axis=-1; x = Softmax x axis=-1; x = Slice x [0] "
                 "[-1] [-1]",
                 inner);
    } else {
        vtac_say(w, "x = Softmax x axis=-1");
    }
    if (a->give == 3) {
        vtac_say(w, "products = Cast x to=%lld", own);
    }
    vtac_say(w, "y = MatMul x v");
    if (own != inner) {
        vtac_say(w, "y = Cast y to=%lld", own);
    }
}

/* Past keys or values, an input of the operator, before those of now. */
static void append(vtac_words *w, const char *x, size_t input)
{
    if (vtac_words_has(w, input)) {
        vtac_words_set(w, "past", w->item->node->input[input]);
        vtac_say(w, "%s = Concat past %s axis=2", x, x);
    }
}

static void set_input(vtac_words *w, const char *word, size_t input)
{
    vtac_words_set(w, word, vtac_words_has(w, input) ? w->item->node->input[input] : NULL);
}

static vtac_dtype precision_of(const vtac_words *w)
{
    switch (vtac_words_int(w, "softmax_precision", 0)) {
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT: return VTAC_F32;
    case ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE: return VTAC_F64;
    case ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16: return VTAC_F16;
    case ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16: return VTAC_BF16;
    default: return w->dtype;
    }
}

/* The mask, as wide as there are keys: what it does not name is not seen. */
static void add_mask(vtac_words *w)
{
    set_input(w, "mask", 3);
    if (vtac_words_dtype(w, 3) == VTAC_BOOL) {
        vtac_say(w, "mask = Where mask ~0 ~-inf");
    } else if (vtac_words_dtype(w, 3) != w->dtype) {
        vtac_say(w, "mask = Cast mask to=%lld", (long long)type_number(w->dtype));
    }
    vtac_say(
        w, "s = Shape mask; n = Slice s [-1] [1000]; one = Equal n [1]; n = Sub keys n; n = Where one [0] n;"
           "s = Slice s [0] [-1]; s = Concat s n axis=0; more = Expand ~-inf s; mask = Concat mask more "
           "axis=-1");
    add_bias(w, "mask");
}

/* Q, K, V, mask, past_key, past_value, nonpad_kv_seqlen */
vta_status vtac_fused_attention(vtac_words *w, vta_diag *diag)
{
    const int64_t heads = vtac_words_int(w, "q_num_heads", 0);
    const int64_t own = vtac_words_int(w, "kv_num_heads", 0);
    const int rank = vtac_words_rank(w, 0);
    const bool flat = rank == 3 || (rank < 0 && heads > 0);
    if (flat && (heads < 1 || own < 1)) {
        return vta_fail(diag, VTA_INVALID, "an operand of 3 axes does not part in %lld and %lld heads",
                        (long long)heads, (long long)own);
    }
    set_input(w, "q", 0);
    set_input(w, "k", 1);
    set_input(w, "v", 2);
    if (flat) {
        to_heads(w, "q", heads);
        to_heads(w, "k", own);
        to_heads(w, "v", own);
    }
    vtac_say(w, "now = Shape k; now = Slice now [2] [3]");
    append(w, "k", 4);
    append(w, "v", 5);
    vtac_say(w, "present_k = Identity k; present_v = Identity v");
    count_places(w);
    if (vtac_words_has(w, 3)) {
        add_mask(w);
    }
    if (vtac_words_has(w, 6)) {
        set_input(w, "used", 6);
        vtac_say(w, "used = Cast used to=7; used = Reshape used [-1,1,1,1]");
    }
    if (vtac_words_int(w, "is_causal", 0) != 0) {
        vtac_say(w, "%s; rows = Add rows from; seen = LessOrEqual all rows",
                 vtac_words_has(w, 6) && !vtac_words_has(w, 4) ? "from = Sub used queries"
                                                               : "from = Sub keys now");
        add_seen(w, -HUGE_VAL);
    }
    if (vtac_words_has(w, 6)) {
        vtac_say(w, "seen = Less all used");
        add_seen(w, -HUGE_VAL);
    }
    attend(w, &(attending){.scale = vtac_words_float(w, "scale", 0.0),
                           .softcap = vtac_words_float(w, "softcap", 0.0),
                           .give = vtac_words_int(w, "qk_matmul_output_mode", 0),
                           .precision = precision_of(w),
                           .grouped = heads < 1 || heads != own});
    if (flat) {
        from_heads(w, "y");
    }
    return VTA_OK;
}

/* ---- positions */

/* x as [B, heads, S, d]; `cos` and `sin` as [B or 1, S, r / 2]: the first r places of each head are turned.
 */
static void rotate(vtac_words *w, const char *x, bool interleaved)
{
    vtac_say(w,
             "c = Unsqueeze cos [1]; e = Unsqueeze sin [1]; r = Shape c; r = Slice r [3] [4]; r2 = Add r r;"
             "rest = Slice %s r2 [10000000000] [3]; head = Slice %s [0] r2 [3]",
             x, x);
    if (interleaved) {
        vtac_say(
            w, "hs = Shape head; ps = Slice hs [0] [3]; ps = Concat ps r [2] axis=0;"
               "pairs = Reshape head ps allowzero=1; a = Gather pairs #0 axis=4; b = Gather pairs #1 axis=4");
    } else {
        vtac_say(w, "a = Slice head [0] r [3]; b = Slice head r r2 [3]");
    }
    vtac_say(w, "ca = Mul c a; eb = Mul e b; ea = Mul e a; cb = Mul c b; re = Sub ca eb; im = Add ea cb");
    if (interleaved) {
        vtac_say(w, "re = Unsqueeze re [4]; im = Unsqueeze im [4]; head = Concat re im axis=4;"
                    "head = Reshape head hs allowzero=1");
    } else {
        vtac_say(w, "head = Concat re im axis=3");
    }
    vtac_say(w, "%s = Concat head rest axis=3", x);
}

/* X, cos_cache, sin_cache, position_ids */
vta_status vtac_fused_rotary(vtac_words *w, vta_diag *diag)
{
    const int64_t heads = vtac_words_int(w, "num_heads", 0);
    const int rank = vtac_words_rank(w, 0);
    const bool flat = rank == 3 || (rank < 0 && heads > 0);
    if (flat && heads < 1) {
        return vta_fail(diag, VTA_INVALID, "an operand of 3 axes does not part in %lld heads",
                        (long long)heads);
    }
    set_input(w, "y", 0);
    set_input(w, "cos", 1);
    set_input(w, "sin", 2);
    if (vtac_words_has(w, 3)) {
        set_input(w, "ids", 3);
        vtac_say(w, "cos = Gather cos ids; sin = Gather sin ids");
    }
    if (flat) {
        to_heads(w, "y", heads);
    }
    rotate(w, "y", vtac_words_int(w, "interleaved", 0) != 0);
    if (flat) {
        from_heads(w, "y");
    }
    return VTA_OK;
}

/* input, position_ids, cos_cache, sin_cache; one position id is that of the first place */
vta_status vtac_fused_ms_rotary(vtac_words *w, vta_diag *diag)
{
    int64_t heads = vtac_words_int(w, "num_heads", 0);
    const vtac_flow_value *cache = vtac_flow_input(w->w->b, w->item, 2);
    const bool flat = vtac_words_rank(w, 0) != 4;
    const int ids = vtac_words_rank(w, 1);
    set_input(w, "y", 0);
    set_input(w, "ids", 1);
    set_input(w, "cos", 2);
    set_input(w, "sin", 3);
    if (flat && heads < 1) { /* as many as the cache is wide */
        if (cache == NULL || !cache->known || cache->type.rank != 2) {
            return vta_fail(diag, VTA_UNSUPPORTED, "over open sizes it needs num_heads");
        }
        vtac_say(w,
                 "s = Shape y; n = Slice s [2] [3]; n = Div n [%lld]; s = Slice s [0] [2];"
                 "s = Concat s n [%lld] axis=0; y = Reshape y s allowzero=1; y = Transpose y perm=[0,2,1,3]",
                 (long long)(2 * cache->type.dim[1]), (long long)(2 * cache->type.dim[1]));
    } else if (flat) {
        to_heads(w, "y", heads);
    }
    if (ids != 1 && ids != 2) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "over open sizes the axes of its positions are to be declared");
    }
    if (ids == 1) {
        vtac_say(w, "n = Shape y; n = Slice n [2] [3]; n = Squeeze n; own = Range #0 n #1;"
                    "own = Unsqueeze own [0]; ids = Reshape ids [1,-1]; ids = Add ids own");
    }
    vtac_say(w, "cos = Gather cos ids; sin = Gather sin ids");
    rotate(w, "y", vtac_words_int(w, "interleaved", 0) != 0);
    if (flat) {
        from_heads(w, "y");
    }
    return VTA_OK;
}
