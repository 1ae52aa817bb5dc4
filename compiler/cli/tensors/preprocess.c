/* SPDX-License-Identifier: Apache-2.0
 *
 * From pixels to the elements of an input. See preprocess.h.
 */
#include "preprocess.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"
#include "tensors.h"
#include "vta/str.h"

enum { CHANNELS = 3, RGB = 0, BGR = 1 };
static const double usual_crop = 0.875; /* 224 of 256 */
static const double min_crop = 0.001;   /* less would leave no pixel, and scales without a size */

#define CLI_3(a, b, c)                                                                                       \
    {                                                                                                        \
        (a), (b), (c)                                                                                        \
    }
static const cli_preprocess presets[] = {
#define CLI_PREPROCESS(name, scale, mean, std, order, doc)                                                   \
    {name, scale, mean, std, (order) == BGR, CLI_LAYOUT_GUESS, 0.0},
#include "preprocess.def"
#undef CLI_PREPROCESS
};
enum { PRESETS = sizeof presets / sizeof presets[0] };

static const cli_preprocess *find_preset(const char *name, size_t size)
{
    for (size_t i = 0; i < PRESETS; i++) {
        if (strlen(presets[i].name) == size && strncmp(presets[i].name, name, size) == 0) {
            return &presets[i];
        }
    }
    return NULL;
}

/* ---- what --preprocess says */

static vta_status fail_unknown(const char *word, size_t size, vta_diag *diag)
{
    vta_str list = {0};
    for (size_t i = 0; i < PRESETS; i++) {
        vta_str_printf(&list, "%s, ", presets[i].name);
    }
    const vta_status status = vta_fail(
        diag, VTA_INVALID, "no '%.*s'; there are %smean=, std=, scale=, crop=, order= and layout=", (int)size,
        word, list.text != NULL ? list.text : "");
    vta_str_free(&list);
    return status;
}

static bool is_key(const char *word, size_t size, const char *key)
{
    return strlen(key) == size && strncmp(word, key, size) == 0;
}

/* One to three numbers with commas between; *text is behind them afterwards. */
static bool parse_numbers(const char **text, double *out, bool three)
{
    char *end = NULL;
    int count = 0;
    const char *p = *text;
    do {
        out[count] = strtod(p, &end);
        if (end == p || !isfinite(out[count]) || (*end != ',' && *end != '\0')) {
            return false;
        }
        count++;
        p = *end == ',' ? end + 1 : end;
    } while (three && count < CHANNELS && *end == ',' && !isalpha((unsigned char)*p));
    for (int i = count; three && i < CHANNELS; i++) {
        out[i] = out[0];
    }
    *text = p;
    return !three || count == 1 || count == CHANNELS;
}

static bool parse_word(const char **text, const char *no, const char *yes, bool *out)
{
    const size_t size = strcspn(*text, ",");
    *out = is_key(*text, size, yes);
    const bool good = *out || is_key(*text, size, no);
    *text += size + ((*text)[size] == ',');
    return good;
}

/* `text` is behind "key=". */
static bool parse_value(const char *key, size_t size, const char **text, cli_preprocess *out)
{
    bool second = false;
    if (is_key(key, size, "mean")) {
        return parse_numbers(text, out->mean, true);
    }
    if (is_key(key, size, "std")) {
        return parse_numbers(text, out->std, true) && out->std[0] > 0 && out->std[1] > 0 && out->std[2] > 0;
    }
    if (is_key(key, size, "scale")) {
        return parse_numbers(text, &out->scale, false) && out->scale > 0;
    }
    if (is_key(key, size, "crop")) {
        return parse_numbers(text, &out->crop, false) && out->crop >= min_crop && out->crop <= 1;
    }
    if (is_key(key, size, "order")) {
        return parse_word(text, "rgb", "bgr", &out->bgr);
    }
    const bool good = parse_word(text, "nchw", "nhwc", &second);
    out->layout = second ? CLI_LAYOUT_NHWC : CLI_LAYOUT_NCHW;
    return good;
}

static bool known_key(const char *key, size_t size)
{
    static const char *const keys[] = {"mean", "std", "scale", "crop", "order", "layout"};
    bool known = false;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        known = known || is_key(key, size, keys[i]);
    }
    return known;
}

vta_status cli_preprocess_parse(const char *text, cli_preprocess *out, vta_diag *diag)
{
    *out = (cli_preprocess){.scale = 1.0, .std = {1.0, 1.0, 1.0}, .crop = usual_crop};
    const char *p = text != NULL ? text : "";
    const size_t first = strcspn(p, ",");
    const cli_preprocess *preset = find_preset(p, first);
    if (preset != NULL) {
        *out = *preset;
        out->crop = usual_crop;
        p += first + (p[first] == ',');
    } else if (text != NULL) {
        out->name = "custom";
    }
    while (*p != '\0') {
        const char *word = p;
        const size_t size = strcspn(p, "=,");
        if (p[size] != '=' || !known_key(p, size)) {
            return fail_unknown(p, strcspn(p, ","), diag);
        }
        p += size + 1;
        if (!parse_value(word, size, &p, out)) {
            return vta_fail(diag, VTA_INVALID,
                            "'%s': mean and std take one number or three, scale one, crop one from %g to 1, "
                            "order rgb or bgr, layout nchw or nhwc",
                            word, min_crop);
        }
    }
    return VTA_OK;
}

/* ---- what an input takes */

typedef struct frame {
    uint32_t width, height, channels;
    bool last; /* channels last */
} frame;

static bool is_channels(int64_t n)
{
    return n == 1 || n == CHANNELS;
}

/* [batch 1,] channels, height, width, or channels last. */
static vta_status find_frame(const vta_tensor_info *info, cli_layout layout, frame *out, vta_diag *diag)
{
    const int64_t *dim = info->rank == 4 ? info->dim + 1 : info->dim;
    const bool batched = info->rank == 4 && info->dim[0] != 1;
    bool good = info->rank == 3 || (info->rank == 4 && !batched);
    if (good) {
        out->last = layout == CLI_LAYOUT_NHWC || (layout == CLI_LAYOUT_GUESS && !is_channels(dim[0]));
        const int64_t channels = out->last ? dim[2] : dim[0];
        const int64_t height = out->last ? dim[0] : dim[1];
        const int64_t width = out->last ? dim[1] : dim[2];
        good =
            is_channels(channels) && height > 0 && width > 0 && height <= UINT16_MAX && width <= UINT16_MAX;
        out->channels = (uint32_t)channels;
        out->height = (uint32_t)height;
        out->width = (uint32_t)width;
    }
    char text[160];
    const vtac_tensor own = cli_as_tensor(info, NULL);
    return good ? VTA_OK
                : vta_fail(diag, VTA_INVALID,
                           "input '%s' is %s: %s; a picture goes into one of 1 or 3 channels%s", info->name,
                           vtac_type_text(&own.type, text, sizeof text),
                           batched ? "a batch of several" : "not the shape of a picture",
                           layout == CLI_LAYOUT_GUESS ? "" : ", where layout= says");
}

static bool takes_pictures(vtac_dtype dtype)
{
    return dtype == VTAC_F32 || dtype == VTAC_F64 || dtype == VTAC_U8 || dtype == VTAC_I8;
}

/* A number as an element of one of these types; what a byte cannot hold is cut off at its range. */
static void store_number(vtac_dtype dtype, double value, uint8_t *to)
{
    const float narrow = (float)value;
    if (dtype == VTAC_F32) {
        memcpy(to, &narrow, sizeof narrow);
    } else if (dtype == VTAC_F64) {
        memcpy(to, &value, sizeof value);
    } else if (dtype == VTAC_U8) {
        *to = (uint8_t)fmin(fmax(nearbyint(value), 0.0), UINT8_MAX);
    } else {
        *to = (uint8_t)(int)fmin(fmax(nearbyint(value), INT8_MIN), INT8_MAX);
    }
}

/* Value of channel `c` of a pixel; a model with one channel gets the luminance (ITU-R 601). */
static double channel_of(const uint8_t *rgb, const cli_preprocess *how, const frame *f, uint32_t c)
{
    if (f->channels == 1) {
        return (rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >> 16;
    }
    return rgb[how->bgr ? CHANNELS - 1 - c : c];
}

static void fill_input(const cli_picture *picture, const cli_preprocess *how, const frame *f,
                       vtac_dtype dtype, uint8_t *data)
{
    const size_t bytes = vtac_dtype_bytes(dtype);
    const size_t pixels = (size_t)f->width * f->height;
    for (size_t i = 0; i < pixels; i++) {
        for (uint32_t c = 0; c < f->channels; c++) {
            const double pixel = channel_of(picture->rgb + CHANNELS * i, how, f, c);
            const double value = (pixel / how->scale - how->mean[c]) / how->std[c];
            const size_t at = f->last ? i * f->channels + c : c * pixels + i;
            store_number(dtype, value, data + at * bytes);
        }
    }
}

/* Chooses by the input's type if nothing was said: bytes leave no choice, floats do. */
static cli_preprocess choose_preprocess(const cli_preprocess *how, vtac_dtype dtype, const frame *f,
                                        const char **guessed)
{
    cli_preprocess chosen = *how;
    *guessed = NULL;
    if (how->name == NULL) {
        const char *name = dtype == VTAC_U8   ? "uint8"
                           : dtype == VTAC_I8 ? "int8"
                           : f->channels == 1 ? "raw"
                                              : "imagenet";
        chosen = *find_preset(name, strlen(name));
        chosen.crop = how->crop;
        chosen.layout = how->layout;
        *guessed = dtype == VTAC_U8 || dtype == VTAC_I8 ? NULL : name;
    }
    return chosen;
}

vta_status cli_picture_input(const char *path, const cli_preprocess *how, const vta_tensor_info *info,
                             void *data, const char **guessed, vta_diag *diag)
{
    frame f = {0};
    cli_picture picture;
    cli_picture fitted = {0};
    const vtac_dtype dtype = cli_dtype(info);
    VTA_TRY(find_frame(info, how->layout, &f, diag));
    if (!takes_pictures(dtype)) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "%s: pictures go into inputs of f32, f64, u8 and i8; give input '%s' as .npy", path,
                        info->name);
    }
    VTA_TRY(cli_picture_read(path, &picture, diag));
    const cli_preprocess chosen = choose_preprocess(how, dtype, &f, guessed);
    vta_status status = cli_picture_fit(&picture, f.width, f.height, chosen.crop, &fitted, diag);
    if (status == VTA_OK) {
        fill_input(&fitted, &chosen, &f, dtype, data);
    }
    cli_picture_free(&picture);
    cli_picture_free(&fitted);
    return status == VTA_OK ? VTA_OK : vta_context(diag, "%s", path);
}
