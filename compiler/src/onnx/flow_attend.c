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

/* Repeats each head `times` times, one behind the other, so that there are as many as the queries have. */
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

/* Writes the mask `seen` as numbers to add. */
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

typedef struct flow_attention {
    double scale; /* of the products, 0: of the size of a head */
    double softcap;
    int64_t give; /* which product `products` is: 0 plain, 1 capped, 2 with the bias, 3 after the softmax */
    vtac_dtype precision;
    bool grouped, sink;
    bool guarded; /* a query that sees no key gives zeros */
} flow_attention;

/* Zeros the rows of x whose query sees no key. */
static void guard_masked(vtac_words *w, const flow_attention *a, const char *x)
{
    if (a->guarded && vtac_words_name(w, "bias") != NULL) {
        vtac_say(w,
                 "blind = ReduceMax bias [-1] keepdims=1; blind = Equal blind ~-inf; %s = Where blind ~0 %s",
                 x, x);
    }
}

/* y = softmax(cap(q k' scale) + bias) v */
static void write_attention(vtac_words *w, const flow_attention *a)
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
        guard_masked(w, a, "products");
    }
    vtac_say(w, "y = MatMul x v");
    if (own != inner) {
        vtac_say(w, "y = Cast y to=%lld", own);
    }
    guard_masked(w, a, "y");
}

/* Past keys or values, an input of the operator, before those of now. */
static void append_past(vtac_words *w, const char *x, size_t input)
{
    if (vtac_words_has(w, input)) {
        vtac_words_input(w, "past", input);
        vtac_say(w, "%s = Concat past %s axis=2", x, x);
    }
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
    vtac_words_input(w, "mask", 3);
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
    vtac_words_input(w, "q", 0);
    vtac_words_input(w, "k", 1);
    vtac_words_input(w, "v", 2);
    if (flat) {
        to_heads(w, "q", heads);
        to_heads(w, "k", own);
        to_heads(w, "v", own);
    }
    vtac_say(w, "now = Shape k; now = Slice now [2] [3]");
    append_past(w, "k", 4);
    append_past(w, "v", 5);
    vtac_say(w, "present_k = Identity k; present_v = Identity v");
    count_places(w);
    if (vtac_words_has(w, 3)) {
        add_mask(w);
    }
    if (vtac_words_has(w, 6)) {
        vtac_words_input(w, "used", 6);
        vtac_say(w, "used = Cast used to=7; used = Reshape used [-1,1,1,1]");
    }
    const int64_t window = vtac_words_int(w, "local_window_size", -1);
    if (vtac_words_int(w, "is_causal", 0) != 0 || window > 0) {
        vtac_say(w, "%s; rows = Add rows from; seen = LessOrEqual all rows",
                 vtac_words_has(w, 6) && !vtac_words_has(w, 4) ? "from = Sub used queries"
                                                               : "from = Sub keys now");
        if (window > 0) {
            vtac_say(w, "rows = Sub rows #%lld; near = Greater all rows; seen = And seen near",
                     (long long)window);
        }
        add_seen(w, -HUGE_VAL);
    }
    if (vtac_words_has(w, 6)) {
        vtac_say(w, "seen = Less all used");
        add_seen(w, -HUGE_VAL);
    }
    write_attention(w,
                    &(flow_attention){.scale = vtac_words_float(w, "scale", 0.0),
                                      .softcap = vtac_words_float(w, "softcap", 0.0),
                                      .give = vtac_words_int(w, "qk_matmul_output_mode", 0),
                                      .precision = precision_of(w),
                                      .guarded = vtac_words_has(w, 3) || vtac_words_has(w, 6) || window > 0,
                                      .grouped = heads < 1 || heads != own});
    if (flat) {
        from_heads(w, "y");
    }
    return VTA_OK;
}

/* ---- positions */

/* x as [B, heads, S, d]; `cos` and `sin` as [B or 1, S, r / 2]: the first r places of each head are turned.
 */
static void rotate_heads(vtac_words *w, const char *x, bool interleaved)
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
    vtac_words_input(w, "y", 0);
    vtac_words_input(w, "cos", 1);
    vtac_words_input(w, "sin", 2);
    if (vtac_words_has(w, 3)) {
        vtac_words_input(w, "ids", 3);
        vtac_say(w, "cos = Gather cos ids; sin = Gather sin ids");
    }
    if (flat) {
        to_heads(w, "y", heads);
    }
    rotate_heads(w, "y", vtac_words_int(w, "interleaved", 0) != 0);
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
    vtac_words_input(w, "y", 0);
    vtac_words_input(w, "ids", 1);
    vtac_words_input(w, "cos", 2);
    vtac_words_input(w, "sin", 3);
    if (flat && heads < 1) { /* as many as the cache is wide */
        if (cache == NULL || !cache->known || cache->type.rank != 2) {
            return vta_fail(diag, VTA_UNSUPPORTED, "over open sizes it needs num_heads");
        }
        const long long size = (long long)cache->type.dim[1];
        vtac_say(w,
                 "s = Shape y; n = Slice s [2] [3]; n = Div n [%lld]; s = Slice s [0] [2];"
                 "s = Concat s n [%lld] axis=0; y = Reshape y s allowzero=1; y = Transpose y perm=[0,2,1,3]",
                 2 * size, 2 * size);
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
    rotate_heads(w, "y", vtac_words_int(w, "interleaved", 0) != 0);
    if (flat) {
        from_heads(w, "y");
    }
    return VTA_OK;
}

/* ---- com.microsoft's */

static void add_input(vtac_words *w, size_t input)
{
    if (vtac_words_has(w, input)) {
        vtac_words_input(w, "more", input);
        add_bias(w, "more");
    }
}

/* Input `input`, which is a length of each batch or says of each key whether it is seen. */
static vta_status add_seen_by(vtac_words *w, size_t input, vta_diag *diag)
{
    if (!vtac_words_has(w, input)) {
        return VTA_OK;
    }
    vtac_words_input(w, "mask", input);
    switch (vtac_words_rank(w, input)) {
    case 1: vtac_say(w, "mask = Cast mask to=7; mask = Reshape mask [-1,1,1,1]; seen = Less all mask"); break;
    case 2: vtac_say(w, "mask = Unsqueeze mask [1,2]; seen = Cast mask to=9"); break;
    case 3: vtac_say(w, "mask = Unsqueeze mask [1]; seen = Cast mask to=9"); break;
    default:
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "over open sizes its mask is to be declared, with one to three axes");
    }
    add_seen(w, vtac_words_float(w, "mask_filter_value", -10000.0));
    return VTA_OK;
}

static void add_causal(vtac_words *w)
{
    if (vtac_words_int(w, "unidirectional", 0) != 0) {
        vtac_say(w, "from = Sub keys now; rows = Add rows from; seen = LessOrEqual all rows");
        add_seen(w, -HUGE_VAL);
    }
}

/* query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value. The query may hold all
 * three as [B, S, heads, 3, d], the key both others as [B, S, heads, 2, d]. */
vta_status vtac_fused_multi_head(vtac_words *w, vta_diag *diag)
{
    static const char *const parts[] = {"q", "k", "v"};
    const int64_t heads = vtac_words_int(w, "num_heads", 0);
    const size_t packed = !vtac_words_has(w, 1) ? 3 : !vtac_words_has(w, 2) ? 2 : 0;
    if (heads < 1) {
        return vta_fail(diag, VTA_INVALID, "%lld heads", (long long)heads);
    }
    vtac_say(w, "begin = Identity [0]");
    for (size_t i = 0; i < 3; i++) {
        const bool within = i + packed >= 3;
        const bool done = !within && i > 0 && vtac_words_rank(w, i) == 4; /* they come as heads */
        vtac_words_input(w, parts[i], within ? 3 - packed : i);
        if (within) {
            vtac_say(w, "%s = Gather %s #%zu axis=3; %s = Transpose %s perm=[0,2,1,3]", parts[i], parts[i],
                     i + packed - 3, parts[i], parts[i]);
        } else if (!done) {
            to_heads(w, parts[i], heads);
        }
        if (vtac_words_has(w, 3) && !done) {
            vtac_words_input(w, "all", 3);
            vtac_say(w,
                     "n = Shape %s; n = Slice n [3] [4]; n = Mul n [%lld]; end = Add begin n;"
                     "p = Slice all begin end [0]; p = Reshape p [1,%lld,1,-1]; %s = Add %s p; begin = "
                     "Identity end",
                     parts[i], (long long)heads, (long long)heads, parts[i], parts[i]);
        }
    }
    vtac_say(w, "now = Shape k; now = Slice now [2] [3]");
    append_past(w, "k", 6);
    append_past(w, "v", 7);
    vtac_say(w, "present_k = Identity k; present_v = Identity v");
    count_places(w);
    VTA_TRY(add_seen_by(w, 4, diag));
    add_input(w, 5);
    add_causal(w);
    write_attention(w, &(flow_attention){.scale = vtac_words_float(w, "scale", 0.0), .precision = w->dtype});
    from_heads(w, "y");
    return VTA_OK;
}

/* input [B, S, n], weights [n, 3 h], bias [3 h], mask_index, past [2, B, heads, P, d], attention_bias */
vta_status vtac_fused_ms_attention(vtac_words *w, vta_diag *diag)
{
    static const char *const parts[] = {"q", "k", "v"};
    const int64_t heads = vtac_words_int(w, "num_heads", 0);
    const Onnx__AttributeProto *sizes = vtac_proto_attr(w->item->node, "qkv_hidden_sizes");
    if (heads < 1 || vtac_words_int(w, "do_rotary", 0) != 0 ||
        vtac_words_int(w, "past_present_share_buffer", 0) != 0 || (sizes != NULL && sizes->n_ints != 3)) {
        return vta_fail(diag, VTA_UNSUPPORTED, "it has no heads, or it rotates or shares its buffers");
    }
    vtac_words_input(w, "x", 0);
    vtac_words_input(w, "weights", 1);
    vtac_say(w, "whole = MatMul x weights");
    if (vtac_words_has(w, 2)) {
        vtac_words_input(w, "more", 2);
        vtac_say(w, "whole = Add whole more");
    }
    vtac_say(w,
             "begin = Identity [0]; third = Shape whole; third = Slice third [2] [3]; third = Div third [3]");
    for (size_t i = 0; i < 3; i++) {
        if (sizes != NULL) {
            vtac_say(w, "third = Identity [%lld]", (long long)sizes->ints[i]);
        }
        vtac_say(w, "end = Add begin third; %s = Slice whole begin end [2]; begin = Identity end", parts[i]);
        to_heads(w, parts[i], heads);
    }
    vtac_say(w, "now = Shape k; now = Slice now [2] [3]");
    if (vtac_words_has(w, 4)) {
        vtac_words_input(w, "past", 4);
        vtac_say(w, "p = Gather past #0; k = Concat p k axis=2; p = Gather past #1; v = Concat p v axis=2");
    }
    vtac_say(w, "a = Unsqueeze k [0]; b = Unsqueeze v [0]; present = Concat a b axis=0");
    count_places(w);
    VTA_TRY(add_seen_by(w, 3, diag));
    add_input(w, 5);
    add_causal(w);
    write_attention(w, &(flow_attention){.scale = vtac_words_float(w, "scale", 0.0), .precision = w->dtype});
    from_heads(w, "y");
    return VTA_OK;
}

/* The new keys (or values) written into the cache behind what each batch has there: [B, own, total, d]. */
static void write_cache(vtac_words *w, const char *x, size_t past)
{
    vtac_say(w,
             "s = Shape %s; b = Slice s [0] [2]; d = Slice s [3] [4]; s = Concat b total d axis=0;"
             "held = Sub queries [1]; held = Min behind held; held = Max held [0]; held = Expand held s;"
             "new = GatherElements %s held axis=2",
             x, x);
    if (vtac_words_has(w, past)) {
        vtac_words_input(w, "past", past);
        vtac_say(w,
                 "n = Sub total room; n = Concat b n d axis=0; n = Expand ~0 n; old = Concat past n axis=2;"
                 "old = Where kept old ~0");
    } else {
        vtac_say(w, "old = Identity ~0");
    }
    vtac_say(w, "%s = Where inside new old", x);
}

static void split_heads(vtac_words *w)
{
    if (vtac_words_has(w, 9)) {
        vtac_words_input(w, "ids", 9);
    } else {
        vtac_say(w, "n = Squeeze queries; ids = Range #0 n #1; ids = Reshape ids [1,-1];"
                    "n = Reshape before [-1,1]; ids = Add n ids");
    }
    vtac_words_input(w, "cos", 7);
    vtac_words_input(w, "sin", 8);
    vtac_say(w, "cos = Gather cos ids; sin = Gather sin ids");
    rotate_heads(w, "q", vtac_words_int(w, "rotary_interleaved", 0) != 0);
    rotate_heads(w, "k", vtac_words_int(w, "rotary_interleaved", 0) != 0);
}

/* query, key, value, past_key, past_value, the last place of each batch that is used, how many places there
 * are then, the caches of cosines and sines, position_ids, attention_bias, head_sink */
vta_status vtac_fused_group_query(vtac_words *w, vta_diag *diag)
{
    const int64_t heads = vtac_words_int(w, "num_heads", 0);
    const int64_t own = vtac_words_int(w, "kv_num_heads", 0);
    const int64_t window = vtac_words_int(w, "local_window_size", -1);
    if (heads < 1 || own < 1 || heads > INT32_MAX || own > INT32_MAX || heads % own != 0) {
        return vta_fail(diag, VTA_INVALID, "%lld heads over %lld", (long long)heads, (long long)own);
    }
    if (vtac_words_has(w, 1)) {
        vtac_words_input(w, "q", 0);
        vtac_words_input(w, "k", 1);
        vtac_words_input(w, "v", 2);
    } else {
        vtac_words_input(w, "all", 0);
        vtac_say(
            w,
            "d = Shape all; d = Slice d [2] [3]; d = Div d [%lld]; a = Mul d [%lld]; b = Mul d [%lld];"
            "b = Add a b; q = Slice all [0] a [2]; k = Slice all a b [2]; v = Slice all b [10000000000] [2]",
            (long long)heads + 2 * (long long)own, (long long)heads, (long long)own);
    }
    to_heads(w, "q", heads);
    to_heads(w, "k", own);
    to_heads(w, "v", own);
    vtac_say(w, "queries = Shape q; queries = Slice queries [2] [3]; room = Identity [0]");
    if (vtac_words_has(w, 3)) {
        vtac_words_input(w, "past", 3);
        vtac_say(w, "room = Shape past; room = Slice room [2] [3]");
    }
    if (vtac_words_has(w, 6)) {
        vtac_words_input(w, "total", 6);
        vtac_say(w, "total = Cast total to=7; total = Reshape total [1]; total = Max total room");
    } else {
        vtac_say(w, "total = Add room queries");
    }
    /* a first prompt fills the cache from its beginning, however little of it counts */
    vtac_words_input(w, "before", 5);
    vtac_say(w,
             "before = Cast before to=7; before = Reshape before [-1,1,1,1]; before = Sub before queries;"
             "before = Add before [1]; before = Max before [0]; n = Squeeze total; along = Range #0 n #1;"
             "along = Reshape along [1,1,-1,1]; behind = Sub along before; inside = GreaterOrEqual behind #0;"
             "n = Less behind queries; inside = And inside n; kept = Less along before");
    if (vtac_words_int(w, "do_rotary", 0) != 0) {
        split_heads(w);
    }
    write_cache(w, "k", 3);
    write_cache(w, "v", 4);
    vtac_say(w, "present_k = Identity k; present_v = Identity v");
    count_places(w);
    vtac_say(w, "rows = Add rows before; seen = LessOrEqual all rows");
    if (window > 0) {
        vtac_say(w, "rows = Sub rows [%lld]; n = Greater all rows; seen = And seen n", (long long)window);
    }
    add_seen(w, -HUGE_VAL);
    add_input(w, 10);
    if (vtac_words_has(w, 11)) {
        vtac_words_input(w, "sink", 11);
        vtac_say(w, "sink = Reshape sink [1,-1,1,1]");
    } else if (vtac_words_int(w, "smooth_softmax", 0) > 0) {
        vtac_say(w, "sink = Identity ~0");
    }
    write_attention(w, &(flow_attention){.scale = vtac_words_float(w, "scale", 0.0),
                                         .softcap = vtac_words_float(w, "softcap", 0.0),
                                         .precision = w->dtype == VTAC_F64 ? VTAC_F64 : VTAC_F32,
                                         .grouped = heads != own,
                                         .sink = vtac_words_name(w, "sink") != NULL});
    from_heads(w, "y");
    return VTA_OK;
}
