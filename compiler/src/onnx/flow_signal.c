/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms over open sizes, in ONNX's words (flow_fused.c).
 */
#include "flow_words.h"

/* ---- transforms: products with matrices of cosines and sines, made where their sizes are known */

static bool is_float(vtac_dtype dtype)
{
    return dtype == VTAC_F32 || dtype == VTAC_F64 || dtype == VTAC_F16;
}

static void cast_to(vtac_words *w, const char *word, vtac_dtype dtype)
{
    vtac_say(w, "%s = Cast %s to=%lld", word, word, (long long)vtac_words_onnx_type(dtype));
}

/* c and s: [rows, columns], of turns row·column/length; the three are words of integers. */
static void say_waves(vtac_words *w)
{
    const vtac_dtype dtype = w->dtype;
    w->dtype = VTAC_F64;
    vtac_say(w, "j = Range #0 rows #1; j = Unsqueeze j [1]; k = Range #0 columns #1; t = Mul j k;"
                "t = Mod t length");
    cast_to(w, "t", w->dtype);
    vtac_say(w, "n = Identity length");
    cast_to(w, "n", w->dtype);
    vtac_say(w, "t = Div t n; n = Acos ~-1; n = Mul n ~2; t = Mul t n; c = Cos t; s = Sin t");
    cast_to(w, "c", dtype);
    cast_to(w, "s", dtype);
    w->dtype = dtype;
}

/* The transform of the real part p and the imaginary part q along their last axis, as p and q. */
static void say_transform(vtac_words *w, bool inverse)
{
    say_waves(w);
    vtac_say(w,
             "%s; re = MatMul p c; im = MatMul q s; re = Sub re im; p = MatMul p s; q = MatMul q c;"
             "q = Add p q; p = Identity re",
             inverse ? "s = Identity s" : "s = Neg s");
    if (inverse) {
        vtac_say(w, "n = Identity length");
        cast_to(w, "n", w->dtype);
        vtac_say(w, "p = Div p n; q = Div q n");
    }
}

/* The parts of x, whose last axis has one place or two: what is not there adds up to zeros. */
static void say_parts(vtac_words *w)
{
    vtac_say(w, "p = Slice x [0] [1] [-1]; p = ReduceSum p [-1] keepdims=0; q = Slice x [1] [2] [-1];"
                "q = ReduceSum q [-1] keepdims=0");
}

/* signal [B, length, 1 or 2], step, window, frame length */
vta_status vtac_fused_stft(vtac_words *w, vta_diag *diag)
{
    const bool windowed = vtac_words_has(w, 2);
    vtac_words_input(w, "x", 0);
    vtac_words_input(w, "step", 1);
    if (!is_float(w->dtype)) {
        return vta_fail(diag, VTA_INVALID, "its signal is to be of floats");
    }
    vtac_say(w, "step = Reshape step []; step = Cast step to=7; n = Shape x; all = Gather n #1");
    if (windowed) {
        vtac_words_input(w, "f", 2);
        vtac_say(w, "n = Shape f; length = Gather n #0; f = Unsqueeze f [1]");
        cast_to(w, "f", w->dtype);
    } else {
        vtac_say(w, "length = Identity all");
    }
    if (vtac_words_has(w, 3)) {
        vtac_words_input(w, "length", 3);
        vtac_say(w, "length = Reshape length []; length = Cast length to=7");
    }
    vtac_say(w, "n = Sub all length; n = Div n step; n = Add n #1; i = Range #0 n #1; i = Mul i step;"
                "i = Unsqueeze i [1]; j = Range #0 length #1; i = Add i j; x = Gather x i axis=1");
    if (windowed) {
        vtac_say(w, "x = Mul x f");
    }
    say_parts(w);
    vtac_say(w, "rows = Identity length; columns = Identity length");
    if (vtac_words_int(w, "onesided", 1) != 0) {
        vtac_say(w, "columns = Div length #2; columns = Add columns #1");
    }
    say_transform(w, false);
    vtac_say(w, "p = Unsqueeze p [3]; q = Unsqueeze q [3]; y = Concat p q axis=3");
    return VTA_OK;
}

/* "[1,0,2]": the axes but the last, `axis` and the one before the last having changed places; that undoes
 * itself. */
static void exchange_axes(char *text, int axes, int axis)
{
    for (int i = 0; i < axes; i++) {
        const int at = i == axis ? axes - 1 : i + 1 == axes ? axis : i;
        text[2 * i] = i == 0 ? '[' : ',';
        text[2 * i + 1] = (char)('0' + at);
    }
    text[2 * axes] = ']';
    text[2 * axes + 1] = '\0';
}

/* Real numbers from the one side of their transform: the other mirrors it, and is not there. */
static void say_one_side(vtac_words *w)
{
    say_waves(w);
    vtac_say(w, "j = Range #0 rows #1; a = Equal j #0; b = Mul j #2; b = Equal b length; a = Or a b;"
                "a = Where a ~1 ~2; p = Mul p a; q = Mul q a; p = MatMul p c; q = MatMul q s; p = Sub p q;"
                "n = Identity length");
    cast_to(w, "n", w->dtype);
    vtac_say(w, "y = Div p n");
}

/* signal [..., 1 or 2], length, axis */
vta_status vtac_fused_dft(vtac_words *w, vta_diag *diag)
{
    const bool inverse = vtac_words_int(w, "inverse", 0) != 0;
    const bool one_side = vtac_words_int(w, "onesided", 0) != 0;
    const int rank = vtac_words_rank(w, 0);
    int64_t axis = vtac_words_has(w, 2) ? 0 : vtac_words_int(w, "axis", vtac_words_opset(w) < 20 ? 1 : -2);
    if ((vtac_words_has(w, 2) && !vtac_words_constant(w, 2, &axis)) || rank < 2 || rank > 9) {
        return vta_fail(
            diag, VTA_UNSUPPORTED,
            "over open sizes it takes a signal whose axes are declared, and an axis of the model");
    }
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis >= rank - 1 || !is_float(w->dtype)) {
        return vta_fail(diag, VTA_INVALID, "it needs floats, and an axis before the last of %d", rank);
    }
    char perm[24];
    exchange_axes(perm, rank - 1, (int)axis);
    vtac_words_input(w, "x", 0);
    vtac_say(w, "n = Shape x; length = Gather n #%lld", (long long)axis);
    if (vtac_words_has(w, 1)) {
        vtac_words_input(w, "length", 1);
        vtac_say(w, "length = Reshape length []; length = Cast length to=7");
    } else if (one_side && inverse) {
        vtac_say(w, "length = Sub length #1; length = Mul length #2");
    }
    vtac_say(w,
             "half = Div length #2; half = Add half #1; m = Identity %s; m = Reshape m [1];"
             "x = Slice x [0] m [%lld]",
             one_side && inverse ? "half" : "length", (long long)axis);
    say_parts(w);
    vtac_say(w,
             "p = Transpose p perm=%s; q = Transpose q perm=%s; n = Shape p; rows = Gather n #-1;"
             "columns = Identity %s",
             perm, perm, one_side && !inverse ? "half" : "length");
    if (one_side && inverse) {
        say_one_side(w);
        vtac_say(w, "y = Transpose y perm=%s; y = Unsqueeze y [-1]", perm);
        return VTA_OK;
    }
    say_transform(w, inverse);
    vtac_say(w,
             "p = Transpose p perm=%s; q = Transpose q perm=%s; p = Unsqueeze p [-1]; q = Unsqueeze q [-1];"
             "y = Concat p q axis=-1",
             perm, perm);
    return VTA_OK;
}
