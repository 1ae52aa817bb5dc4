/* SPDX-License-Identifier: Apache-2.0
 *
 * Spaces of configurations: keys of config.def and their values.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vta/dram_kind.h"
#include "vta/fail.h"
#include "vta/lines.h"
#include "vtac/explore.h"

typedef struct key_row {
    const char *key;
    size_t at; /* in vta_config */
    uint32_t min, max;
    bool built; /* the hardware is built from it */
} key_row;

static const key_row keys[] = {
#define VTA_CONFIG(field, key, def, min, max, hw, doc)                                                       \
    {key, offsetof(vta_config, field), min, max, (hw) != 0},
#include "vta/config.def"
#undef VTA_CONFIG
    {"DRAM", offsetof(vta_config, dram), 0, UINT32_MAX,
     false}, /* as numbers: 0 is none, then the kinds in order */
};
enum { KEYS = sizeof keys / sizeof keys[0], MAX_FILE = 1 << 20, FEW_LUTS = 30000, MANY_LUTS = 100000 };

static bool is_dram(const key_row *row)
{
    return row->at == offsetof(vta_config, dram);
}

static const key_row *find_key(const char *name, size_t size, vta_diag *diag)
{
    const char *names[KEYS];
    char typed[64];
    for (size_t i = 0; i < KEYS; i++) {
        names[i] = keys[i].key;
        if (strlen(names[i]) == size && strncmp(names[i], name, size) == 0) {
            return &keys[i];
        }
    }
    (void)snprintf(typed, sizeof typed, "%.*s", (int)size, name);
    const char *near = vta_nearest(typed, names, KEYS);
    (void)vta_fail(diag, VTA_INVALID,
                   "a configuration has no key '%s'; %s%s%s'vtac config schema' lists them", typed,
                   near != NULL ? "did you mean '" : "", near != NULL ? near : "", near != NULL ? "'? " : "");
    return NULL;
}

static vta_status add_value(vtac_space *s, const key_row *row, bool first, double number, vta_diag *diag)
{
    uint32_t a = 0;
    while (a < s->axis_count && s->axes[a].key != row->key) {
        a++;
    }
    if (number < row->min || number > row->max || number != (double)(uint32_t)number) {
        return vta_fail(diag, VTA_RANGE, "key '%s': %g is not a whole number from %" PRIu32 " to %" PRIu32,
                        row->key, number, row->min, row->max);
    }
    s->axis_count += a == s->axis_count;
    s->axes[a].key = row->key;
    s->axes[a].count = first ? 0 : s->axes[a].count;
    for (uint32_t i = 0; i < s->axes[a].count; i++) {
        if (s->axes[a].values[i] == (uint32_t)number) {
            return VTA_OK;
        }
    }
    if (s->axes[a].count == VTAC_SPACE_VALUES) {
        return vta_fail(diag, VTA_RANGE, "key '%s': more than %d values", row->key, VTAC_SPACE_VALUES);
    }
    s->axes[a].values[s->axes[a].count++] = (uint32_t)number;
    return VTA_OK;
}

static uint32_t number_of_dram(const char *name)
{
    uint32_t i = 0;
    const vta_dram_kind *kind = vta_dram_kind_at(0);
    while (kind != NULL && strcmp(kind->name, name) != 0) {
        kind = vta_dram_kind_at(++i);
    }
    return kind != NULL ? i + 1 : 0;
}

/* "DRAM=ddr3-1050,lpddr4-1066": kinds by their names. */
static vta_status set_dram(vtac_space *space, const key_row *row, const char *names, vta_diag *diag)
{
    char name[64];
    for (bool first = true; first || *names != '\0'; first = false) {
        const size_t size = strcspn(names, ",");
        (void)snprintf(name, sizeof name, "%.*s", (int)size, names);
        if (vta_dram_kind_find(name, diag) == NULL) {
            return VTA_INVALID;
        }
        VTA_TRY(add_value(space, row, first, number_of_dram(name), diag));
        names += size;
        names += *names == ',';
    }
    return VTA_OK;
}

static vta_status set_field(vtac_space *space, const char *text, vta_diag *diag)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        return vta_fail(diag, VTA_INVALID, "'%s': expected KEY=VALUE", text);
    }
    const key_row *row = find_key(text, (size_t)(equals - text), diag);
    if (row == NULL) {
        return VTA_INVALID;
    }
    if (is_dram(row)) {
        return set_dram(space, row, equals + 1, diag);
    }
    bool first = true;
    for (const char *at = equals + 1;; first = false) {
        char *end;
        const double number = strtod(at, &end);
        if (end == at || (*end != '\0' && *end != ',')) {
            return vta_fail(diag, VTA_INVALID, "'%s': expected a number, or numbers with commas", text);
        }
        VTA_TRY(add_value(space, row, first, number, diag));
        if (*end == '\0') {
            return VTA_OK;
        }
        at = end + 1;
    }
}

/* Index of the axis of KEY=...; axis_count: there is none yet. */
static uint32_t axis_of(const vtac_space *space, const char *text)
{
    const size_t size = strcspn(text, "=");
    uint32_t a = 0;
    while (a < space->axis_count &&
           (strlen(space->axes[a].key) != size || strncmp(space->axes[a].key, text, size) != 0)) {
        a++;
    }
    return a;
}

vta_status vtac_space_fix(vtac_space *space, const char *text, vta_diag *diag)
{
    const uint32_t a = axis_of(space, text);
    if (a < space->axis_count && space->axes[a].fixed) {
        const char *key = space->axes[a].key;
        return vta_fail(diag, VTA_INVALID,
                        "'%s': '%s' is fixed already; several values go behind one '=': %s=3,4", text, key,
                        key);
    }
    VTA_TRY(set_field(space, text, diag));
    space->axes[axis_of(space, text)].fixed = space->axes[axis_of(space, text)].given = true;
    return VTA_OK;
}

static vta_status read_axis(vtac_space *space, const cJSON *item, vta_diag *diag)
{
    const key_row *row = find_key(item->string, strlen(item->string), diag);
    const cJSON *value = cJSON_IsArray(item) ? item->child : item;
    if (row == NULL) {
        return VTA_INVALID;
    }
    if (value == NULL) {
        return vta_fail(diag, VTA_INVALID, "key '%s' has no values", item->string);
    }
    for (bool first = true; value != NULL; value = cJSON_IsArray(item) ? value->next : NULL, first = false) {
        if (!cJSON_IsNumber(value)) {
            return vta_fail(diag, VTA_INVALID, "key '%s': expected a number, or an array of numbers",
                            item->string);
        }
        VTA_TRY(add_value(space, row, first, value->valuedouble, diag));
    }
    return VTA_OK;
}

vta_status vtac_space_read(const char *path, vtac_space *space, vta_diag *diag)
{
    char *text;
    VTA_TRY(vta_text_read(path, MAX_FILE, &text, diag));
    cJSON *root = cJSON_Parse(text);
    vta_status status = VTA_OK;
    if (!cJSON_IsObject(root)) {
        status = vta_fail(diag, VTA_SYNTAX,
                          "expected a JSON object of keys and values: {\"LOG_BLOCK_IN\": [3, 4, 5]}");
    }
    for (const cJSON *item = status == VTA_OK ? root->child : NULL; item != NULL && status == VTA_OK;
         item = item->next) {
        const bool again = cJSON_GetObjectItemCaseSensitive(root, item->string) != item;
        status = again ? vta_fail(diag, VTA_INVALID, "key '%s' is there twice; its values go into one array",
                                  item->string)
                       : read_axis(space, item, diag);
        if (status == VTA_OK) {
            space->axes[axis_of(space, item->string)].given = true;
        }
    }
    cJSON_Delete(root);
    free(text);
    return status == VTA_OK ? VTA_OK : vta_context(diag, "%s", path);
}

bool vtac_space_suits(const vtac_part *part, const vta_config *config)
{
    return config->log_block_in >= 4 && config->log_block_out >= 4 &&
           (1U << config->log_bus_width) <= part->max_bus_bits;
}

static vta_status add_shipped(const vtac_part *part, vtac_space *out, vta_diag *diag)
{
    uint32_t count;
    const char *const *names = vta_config_names(&count);
    for (uint32_t i = 0; i < count && out->shipped_count < VTAC_SPACE_SHIPPED; i++) {
        vta_config *config = &out->shipped[out->shipped_count];
        VTA_TRY(vta_config_load(names[i], config, diag));
        out->shipped_count += vtac_space_suits(part, config);
    }
    return VTA_OK;
}

static vta_status set_fields(vtac_space *out, const char *const *fields, size_t count, vta_diag *diag)
{
    for (size_t i = 0; i < count; i++) {
        VTA_TRY(set_field(out, fields[i], diag));
    }
    return VTA_OK;
}

vta_status vtac_space_default(const vtac_part *part, vtac_space *out, vta_diag *diag)
{
    static const char *const usual[] = {
        "LOG_BLOCK_IN=3,4,5,6",
        "LOG_BLOCK_OUT=3,4,5",
        "LOG_INP_BUFF_SIZE=14,15,16,17",
        "LOG_WGT_BUFF_SIZE=15,16,17,18,19,20",
        "LOG_ACC_BUFF_SIZE=14,15,16,17,18",
        "ARRAY_PUMP=1,2",
        "LOG_QUEUE_DEPTH=6",
        "TABLE=0,1",
        "LOOP_BACK=0,1",
        "DEPTHWISE_TAPS=0,3,9",
    };
    static const char *const small[] = {"LOG_BLOCK_IN=2,3,4,5", "LOG_BLOCK_OUT=2,3",
                                        "LOG_WGT_BUFF_SIZE=14,15,16,17", "LOG_ACC_BUFF_SIZE=13,14,15,16",
                                        "LOG_QUEUE_DEPTH=9"}; /* in block RAM: LUTs are what they lack */
    const bool ecp5 = part->family == VTAC_ECP5, few = ecp5 || part->lut < FEW_LUTS;
    char text[64];
    *out = (vtac_space){0};
    VTA_TRY(vta_config_load(part->board, &out->base, diag));
    out->base.mem_shared = part->shared_mb_s;
    if (part->bitstream[0] == '\0') { /* it is not for the board that it was made of */
        (void)snprintf(out->base.target, sizeof out->base.target, "%s", part->name);
    }
    VTA_TRY(set_fields(out, usual, sizeof usual / sizeof usual[0], diag));
    (void)snprintf(text, sizeof text, part->max_bus_bits > 64 ? "LOG_BUS_WIDTH=6,7" : "LOG_BUS_WIDTH=6");
    VTA_TRY(set_field(out, text, diag));
    VTA_TRY(set_fields(out, small, few ? sizeof small / sizeof small[0] : 0, diag));
    VTA_TRY(ecp5 ? set_field(out, "ARRAY_PUMP=1", diag) : VTA_OK);
    VTA_TRY(part->lut >= MANY_LUTS ? set_field(out, "CORES=1,2,4", diag) : VTA_OK);
    (void)snprintf(text, sizeof text, "CLOCK_MHZ=%" PRIu32, part->clock_mhz);
    VTA_TRY(set_field(out, text, diag));
    return add_shipped(part, out, diag);
}

uint64_t vtac_space_size(const vtac_space *space)
{
    uint64_t size = 1;
    for (uint32_t a = 0; a < space->axis_count; a++) {
        if (size > UINT64_MAX / 2 / space->axes[a].count) {
            return UINT64_MAX;
        }
        size *= space->axes[a].count;
    }
    return size;
}

static uint32_t get_value(const vta_config *config, const key_row *row)
{
    uint32_t value;
    if (is_dram(row)) {
        return number_of_dram(config->dram);
    }
    memcpy(&value, (const char *)config + row->at, sizeof value);
    return value;
}

uint32_t vtac_space_value(const vta_config *config, const char *key)
{
    vta_diag none;
    return get_value(config, find_key(key, strlen(key), &none));
}

static void set_value(vta_config *config, const key_row *row, uint32_t value)
{
    if (is_dram(row)) {
        const vta_dram_kind *kind = value > 0 ? vta_dram_kind_at(value - 1) : NULL;
        (void)snprintf(config->dram, sizeof config->dram, "%s", kind != NULL ? kind->name : "");
        return;
    }
    memcpy((char *)config + row->at, &value, sizeof value);
}

/* The row of an axis; axes have keys of the table alone. */
static const key_row *row_of(const vtac_space *space, uint32_t axis)
{
    vta_diag none;
    return find_key(space->axes[axis].key, strlen(space->axes[axis].key), &none);
}

/* The place of a value on an axis; its count: nowhere. */
static uint32_t place_of(const vtac_space *space, uint32_t axis, uint32_t value)
{
    uint32_t i = 0;
    while (i < space->axes[axis].count && space->axes[axis].values[i] != value) {
        i++;
    }
    return i;
}

/* A configuration of the space: the base with a value of each axis. */
static vta_config inside_at(const vtac_space *space, uint64_t index)
{
    vta_config c = space->base;
    for (uint32_t a = 0; a < space->axis_count; a++) {
        set_value(&c, row_of(space, a), space->axes[a].values[index % space->axes[a].count]);
        index /= space->axes[a].count;
    }
    return c;
}

/* The configurations around one that is shipped: itself, then with each value of each axis. */
static uint64_t around_one(const vtac_space *space)
{
    uint64_t count = 1;
    for (uint32_t a = 0; a < space->axis_count; a++) {
        count += space->axes[a].count;
    }
    return count;
}

uint64_t vtac_space_around(const vtac_space *space)
{
    return space->shipped_count * around_one(space);
}

/* The part's base with what a shipped configuration is built from; clock and memory are the part's. */
static vta_config shipped_at(const vtac_space *space, uint32_t number)
{
    vta_config c = space->base;
    for (uint32_t a = 0; a < space->axis_count; a++) {
        set_value(&c, row_of(space, a), space->axes[a].values[0]);
    }
    for (size_t k = 0; k < KEYS; k++) {
        if (keys[k].built || strcmp(keys[k].key, "ARRAY_PUMP") == 0 || strcmp(keys[k].key, "CORES") == 0) {
            set_value(&c, &keys[k], get_value(&space->shipped[number], &keys[k]));
        }
    }
    return c;
}

static vta_config outside_at(const vtac_space *space, uint64_t index)
{
    const uint64_t number = index - vtac_space_size(space);
    vta_config c = shipped_at(space, (uint32_t)(number / around_one(space)));
    uint64_t change = number % around_one(space);
    for (uint32_t a = 0; change > 0 && a < space->axis_count; a++) {
        const uint32_t count = space->axes[a].count;
        if (change <= count) {
            set_value(&c, row_of(space, a), space->axes[a].values[change - 1]);
        }
        change -= change <= count ? change : count;
    }
    return c;
}

static bool is_same(const vta_config *a, const vta_config *b)
{
    bool same = true;
    for (size_t k = 0; same && k < KEYS; k++) {
        same = get_value(a, &keys[k]) == get_value(b, &keys[k]);
    }
    return same;
}

/* The first number around the shipped configurations that means this configuration. */
static uint64_t first_number(const vtac_space *space, const vta_config *config)
{
    uint64_t index = vtac_space_size(space);
    vta_config c = outside_at(space, index);
    while (!is_same(&c, config)) {
        c = outside_at(space, ++index);
    }
    return index;
}

bool vtac_space_number(const vtac_space *space, uint64_t index, uint64_t *number)
{
    const vta_config c = outside_at(space, index);
    uint64_t inside = 0;
    uint64_t scale = 1;
    bool found = true;
    for (uint32_t a = 0; a < space->axis_count; a++) {
        const uint32_t place = place_of(space, a, get_value(&c, row_of(space, a)));
        if (place == space->axes[a].count && space->axes[a].given) {
            return false;
        }
        found = found && place < space->axes[a].count;
        inside += scale * place;
        scale *= space->axes[a].count;
    }
    const vta_config same = found ? inside_at(space, inside) : c;
    *number = found && is_same(&c, &same) ? inside : first_number(space, &c);
    return true;
}

vta_status vtac_space_at(const vtac_space *space, uint64_t index, vta_config *out, vta_diag *diag)
{
    vta_config c = index < vtac_space_size(space) ? inside_at(space, index) : outside_at(space, index);
    const uint64_t number = index;
    if (axis_of(space, "MEM_BANDWIDTH=") == space->axis_count) { /* the memory is as wide as the bus */
        c.mem_bandwidth = (UINT32_C(1) << c.log_bus_width) / 8;
    }
    (void)snprintf(c.name, sizeof c.name, "explored-%" PRIu64, number);
    (void)snprintf(c.clock_from, sizeof c.clock_from, "explored, not routed");
    char *text = vta_config_to_json(&c);
    if (text == NULL) {
        return vta_no_memory(diag);
    }
    const vta_status status = vta_config_parse(text, c.name, out, diag);
    free(text);
    return status;
}
