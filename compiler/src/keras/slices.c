/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a tensor by Python's brackets, as Keras and TensorFlow write them down.
 */
#include <string.h>

#include "keras.h"

/* One of "start", "stop", "step" of an entry of a slice, in either way of writing it down. */
static const cJSON *bound_of(const cJSON *entry, int i)
{
    static const char *const names[] = {"start", "stop", "step"};
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(entry, "config");
    const cJSON *found =
        cJSON_IsArray(config)
            ? cJSON_GetArrayItem(config, i)
            : cJSON_GetObjectItemCaseSensitive(cJSON_IsObject(config) ? config : entry, names[i]);
    return cJSON_IsNumber(found) ? found : NULL;
}

static bool is_dots(const cJSON *entry)
{
    const cJSON *class = cJSON_GetObjectItemCaseSensitive(entry, "class_name");
    return (cJSON_IsString(entry) && strcmp(entry->valuestring, "Ellipsis") == 0) ||
           (cJSON_IsString(class) && strcmp(class->valuestring, "__ellipsis__") == 0);
}

/* Within low to high, counted from the end where it is below 0. */
static int64_t bound_place(const cJSON *bound, int64_t size, int64_t low, int64_t high, int64_t otherwise)
{
    if (bound == NULL) {
        return otherwise;
    }
    const double at = bound->valuedouble < 0.0 ? bound->valuedouble + (double)size : bound->valuedouble;
    return at < (double)low ? low : at > (double)high ? high : (int64_t)at;
}

/* Every `step`th along an axis, from `begin` to before (or behind) `end`; a step of 0 fails. */
static vtac_id step_slice(vtac_keras *k, vtac_id x, uint32_t axis, const cJSON *const bounds[3])
{
    vtac_import_builder *m = &k->maker;
    const int64_t size = vtac_made_type(m, x).dim[axis];
    const int64_t step = bounds[2] == NULL ? 1 : vtac_keras_whole(bounds[2]);
    const bool back = step < 0;
    const int64_t begin = bound_place(bounds[0], size, 0, back ? size - 1 : size, back ? size - 1 : 0);
    const int64_t end = bound_place(bounds[1], size, back ? -1 : 0, size, back ? -1 : size);
    if (step == 0 || (back ? begin <= end : begin >= end)) {
        vtac_make_refuse(&k->maker, "a slice of nothing, of an axis of %lld", (long long)size);
        return 0;
    }
    if (step == 1) {
        return vtac_make_slice(m, x, axis, begin, end);
    }
    const int64_t on[] = {axis};
    const int64_t until[] = {end < 0 ? INT32_MIN : end}; /* -1 would be the last place */
    const vtac_id in[] = {x, vtac_make_ints(m, &begin, 1), vtac_make_ints(m, until, 1),
                          vtac_make_ints(m, on, 1), vtac_make_ints(m, &step, 1)};
    return vtac_make(m, VTAC_OP_SLICE, in, 5, NULL, 0);
}

/* Place of an entry of the brackets, and the sizes that are kept so far. */
typedef struct slice_cursor {
    uint32_t axis, kept;
    int64_t dims[VTAC_MAX_RANK];
} slice_cursor;

static bool keep_axis(vtac_keras *k, slice_cursor *c, int64_t size)
{
    if (c->kept == VTAC_MAX_RANK) {
        vtac_make_refuse(&k->maker, "a result of more than %d axes", VTAC_MAX_RANK);
        return false;
    }
    c->dims[c->kept++] = size;
    return true;
}

static vtac_id one_entry(vtac_keras *k, vtac_id x, const cJSON *entry, slice_cursor *c)
{
    vtac_import_builder *m = &k->maker;
    if (cJSON_IsNull(entry)) {
        (void)keep_axis(k, c, 1);
        return x;
    }
    const int64_t size = vtac_made_type(m, x).dim[c->axis];
    if (cJSON_IsNumber(entry)) {
        int64_t at = vtac_keras_whole(entry);
        at += at < 0 ? size : 0;
        if (at < 0 || at >= size) {
            vtac_make_refuse(&k->maker, "place %lld of an axis of %lld", (long long)at, (long long)size);
            return 0;
        }
        return vtac_make_slice(m, x, c->axis++, at, at + 1);
    }
    if (!cJSON_IsObject(entry)) {
        vtac_make_refuse(&k->maker, "a slice by something else than numbers");
        return 0;
    }
    x = step_slice(k, x, c->axis,
                   (const cJSON *const[]){bound_of(entry, 0), bound_of(entry, 1), bound_of(entry, 2)});
    (void)keep_axis(k, c, vtac_made_type(m, x).dim[c->axis++]);
    return x;
}

/* Number of axes that the entries other than the ellipsis name. */
static uint32_t named_axes(const cJSON *spec, int count)
{
    uint32_t axes = 0;
    for (int i = 0; i < count; i++) {
        const cJSON *entry = cJSON_IsArray(spec) ? cJSON_GetArrayItem(spec, i) : spec;
        axes += !cJSON_IsNull(entry) && !is_dots(entry);
    }
    return axes;
}

vtac_id vtac_keras_item(vtac_keras *k, vtac_id x, const cJSON *spec)
{
    vtac_import_builder *m = &k->maker;
    if (cJSON_IsObject(spec) && cJSON_GetObjectItemCaseSensitive(spec, "items") != NULL) {
        spec = cJSON_GetObjectItemCaseSensitive(spec, "items");
    }
    const int count = cJSON_IsArray(spec) ? cJSON_GetArraySize(spec) : 1;
    const uint32_t rank = vtac_made_type(m, x).rank;
    const uint32_t named = named_axes(spec, count);
    slice_cursor c = {0};
    if (spec == NULL || named > rank) {
        vtac_make_refuse(&k->maker, "a slice of %d entries of %u axes", count, rank);
        return 0;
    }
    for (int i = 0; i < count && m->status == VTA_OK; i++) {
        const cJSON *entry = cJSON_IsArray(spec) ? cJSON_GetArrayItem(spec, i) : spec;
        if (!is_dots(entry)) {
            x = one_entry(k, x, entry, &c);
            continue;
        }
        for (uint32_t n = named; n < rank; n++) {
            (void)keep_axis(k, &c, vtac_made_type(m, x).dim[c.axis++]);
        }
    }
    for (; c.axis < rank && m->status == VTA_OK; c.axis++) {
        (void)keep_axis(k, &c, vtac_made_type(m, x).dim[c.axis]);
    }
    return m->status == VTA_OK ? vtac_make_reshape(m, x, c.dims, c.kept) : 0;
}
