/* SPDX-License-Identifier: Apache-2.0
 *
 * MaxPool with the places of its maxima, over open sizes: as many Gathers as its window has taps, the largest
 * chosen one after the other. A tap in the padding reads the nearest place of the image that another tap of
 * its window reads, which changes no maximum.
 */
#include "flow_words.h"

enum { MAX_AXES = 3, MAX_TAPS = 81 };

typedef struct places_window {
    uint32_t axes;
    long long kernel[MAX_AXES], stride[MAX_AXES], dilation[MAX_AXES], pads[2 * MAX_AXES];
    bool same, upper, ceil;
} places_window;

static bool read_ints(const vtac_words *w, const char *name, uint32_t count, long long otherwise,
                      long long *out)
{
    const Onnx__AttributeProto *attr = vtac_proto_attr(w->item->node, name);
    attr = attr != NULL ? vtac_resolve_attr(attr, w->item->at.caller) : NULL;
    bool good = attr == NULL || attr->n_ints == count;
    for (uint32_t i = 0; i < count && good; i++) {
        out[i] = attr != NULL ? attr->ints[i] : otherwise;
        good = out[i] >= 0 && out[i] <= INT32_MAX;
    }
    return good;
}

static vta_status read_window(const vtac_words *w, places_window *p, vta_diag *diag)
{
    const Onnx__AttributeProto *kernel = vtac_proto_attr(w->item->node, "kernel_shape");
    long long taps = 1;
    *p = (places_window){.axes = kernel != NULL ? (uint32_t)kernel->n_ints : 0,
                         .upper = vtac_words_is(w, "auto_pad", "SAME_UPPER"),
                         .ceil = vtac_words_int(w, "ceil_mode", 0) != 0};
    p->same = p->upper || vtac_words_is(w, "auto_pad", "SAME_LOWER");
    if (p->axes < 1 || p->axes > MAX_AXES || !read_ints(w, "kernel_shape", p->axes, 1, p->kernel) ||
        !read_ints(w, "strides", p->axes, 1, p->stride) ||
        !read_ints(w, "dilations", p->axes, 1, p->dilation) ||
        !read_ints(w, "pads", 2 * p->axes, 0, p->pads)) {
        return vta_fail(diag, VTA_INVALID, "its window needs 1 to %d axes, and sizes of 1 and more",
                        MAX_AXES);
    }
    for (uint32_t i = 0; i < p->axes; i++) {
        if (p->kernel[i] < 1 || p->stride[i] < 1 || p->dilation[i] < 1) {
            return vta_fail(diag, VTA_RANGE,
                            "kernel %lld, stride %lld, dilation %lld; each must be 1 or more", p->kernel[i],
                            p->stride[i], p->dilation[i]);
        }
        taps = p->kernel[i] > MAX_TAPS ? MAX_TAPS + 1 : taps * p->kernel[i];
        taps = taps > MAX_TAPS ? MAX_TAPS + 1 : taps;
    }
    if (taps > MAX_TAPS) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "its indices, over a size known only at run time, are those of windows with at most "
                        "%d places; give fixed sizes (--shape)",
                        MAX_TAPS);
    }
    return VTA_OK;
}

/* An axis: its size hI, the output's oI, the padding in front bI. */
static void say_sizes(vtac_words *w, const places_window *p, uint32_t i)
{
    const long long reach = (p->kernel[i] - 1) * p->dilation[i] + 1;
    const long long s = p->stride[i];
    const long long both = p->pads[i] + p->pads[p->axes + i];
    vtac_say(w, "h%u = Gather n #%u", i, 2 + i);
    if (p->same) {
        vtac_say(w, "o%u = Add h%u #%lld; o%u = Div o%u #%lld", i, i, s - 1, i, i, s);
        vtac_say(w, "t = Sub o%u #1; t = Mul t #%lld; t = Add t #%lld; t = Sub t h%u; t = Max t #0", i, s,
                 reach, i);
        vtac_say(w, "b%u = Div t #2", i);
        if (!p->upper) {
            vtac_say(w, "b%u = Sub t b%u", i, i);
        }
        return;
    }
    vtac_say(w, "b%u = Identity #%lld; o%u = Add h%u #%lld; o%u = Div o%u #%lld; o%u = Add o%u #1", i,
             p->pads[i], i, i, both - reach + (p->ceil ? s - 1 : 0), i, i, s, i, i);
    if (p->ceil) { /* no window begins behind the image */
        vtac_say(w, "t = Sub o%u #1; t = Mul t #%lld; k = Add h%u b%u; k = GreaterOrEqual t k", i, s, i, i);
        vtac_say(w, "k = Cast k to=7; o%u = Sub o%u k", i, i);
    }
}

/* The places that a tap reads on an axis, as cI. */
static void say_places(vtac_words *w, const places_window *p, uint32_t i, long long tap)
{
    const long long d = p->dilation[i];
    vtac_say(w, "c%u = Range #0 o%u #1; c%u = Mul c%u #%lld; c%u = Add c%u #%lld; c%u = Sub c%u b%u", i, i, i,
             i, p->stride[i], i, i, tap * d, i, i, i);
    vtac_say(w, "l = Sub h%u #1", i);
    if (d == 1) {
        vtac_say(w, "c%u = Max c%u #0; c%u = Min c%u l", i, i, i, i);
        return;
    }
    vtac_say(w, "m = Mod c%u #%lld; k = Less c%u #0; c%u = Where k m c%u", i, d, i, i, i);
    vtac_say(w, "m = Sub l c%u; m = Mod m #%lld; m = Sub l m; k = Greater c%u l; c%u = Where k m c%u", i, d,
             i, i, i);
}

/* The value of a tap as v, its place in a plane as p. */
static void say_tap(vtac_words *w, const places_window *p, long long tap)
{
    for (uint32_t i = p->axes; i-- > 0;) {
        say_places(w, p, i, tap % p->kernel[i]);
        tap /= p->kernel[i];
    }
    for (uint32_t i = 0; i < p->axes; i++) {
        vtac_say(w, "v = Gather %s c%u axis=%u; q = Mul c%u s%u", i == 0 ? "x" : "v", i, 2 + i, i, i);
        for (uint32_t k = i + 1; k < p->axes; k++) {
            vtac_say(w, "q = Unsqueeze q [-1]");
        }
        vtac_say(w, "%s", i == 0 ? "p = Identity q" : "p = Add p q");
    }
}

/* Distances of places along each axis, sI, and of planes, a. */
static void say_distances(vtac_words *w, const places_window *p, bool columns)
{
    vtac_say(w, "a = Identity #1");
    for (uint32_t k = 0; k < p->axes; k++) {
        const uint32_t i = columns ? k : p->axes - 1 - k;
        vtac_say(w, "s%u = Identity a; a = Mul a h%u", i, i);
    }
    vtac_say(w, "t = Slice n [0] [2]; m = ReduceProd t keepdims=0; b = Range #0 m #1; b = Mul b a");
    vtac_say(w, "t = Concat t [%s] axis=0; b = Reshape b t",
             p->axes == 1   ? "1"
             : p->axes == 2 ? "1,1"
                            : "1,1,1");
}

vta_status vtac_fused_max_places(vtac_words *w, vta_diag *diag)
{
    places_window p;
    long long taps = 1;
    VTA_TRY(read_window(w, &p, diag));
    const bool columns = vtac_words_int(w, "storage_order", 0) != 0;
    vtac_words_input(w, "x", 0);
    vtac_say(w, "n = Shape x");
    for (uint32_t i = 0; i < p.axes; i++) {
        say_sizes(w, &p, i);
        taps *= p.kernel[i];
    }
    say_distances(w, &p, columns);
    for (long long tap = 0; tap < taps; tap++) {
        say_tap(w, &p, tap);
        vtac_say(w, "%s",
                 tap == 0 ? "y = Identity v; i = Identity p"
                          : "k = Greater v y; y = Where k v y; i = Where k p i");
    }
    vtac_say(w, "i = Add i b");
    return VTA_OK;
}
