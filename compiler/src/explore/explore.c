/* SPDX-License-Identifier: Apache-2.0
 *
 * The search. All of a space's configurations are looked at: those that are not legal or do not fit the part
 * are out by a rule and a sum; of those that programs cannot tell apart one is timed; the timing model
 * schedules every network on each of these, or on those that halve.c chooses. What comes out is the same,
 * whoever did the pieces.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search.h"
#include "vta/fail.h"
#include "vta/vec.h"
#include "vtac/divisor.h"
#include "vtac/explore.h"

enum { IN_A_PIECE = 4, IN_A_ROUGH_PIECE = 64, ROUNDS = 8, MIN_TIMED = 12, KEY = 512 };

/* The care of a piece: its first word, and how many configurations it has. The compiler's own
 * care is that of -O3. */
typedef enum care { ROUGH, TIMED, COMPILED, CARES } care;
static const struct {
    const char *word;
    uint32_t size;
    int level;
} cares[CARES] = {[ROUGH] = {"rough ", IN_A_ROUGH_PIECE, 0},
                  [TIMED] = {"", IN_A_PIECE, 0},
                  [COMPILED] = {"compiled ", 1, 3}};

/* ---- a piece: numbers of configurations; a line for each network on each */

static void add_cost(vtac_vta_cost *to, const vtac_vta_cost *c)
{
    to->array += c->array;
    to->alu += c->alu;
    to->load += c->load;
    to->store += c->store;
    to->bytes_read += c->bytes_read;
    to->bytes_written += c->bytes_written;
    to->macs += c->macs;
}

static vta_status time_network(const vta_config *config, const vtac_explored *network, int level,
                               vtac_estimate *out)
{
    vta_diag own = {0};
    *out = (vtac_estimate){0};
    for (uint32_t r = 0; r < network->region_count; r++) {
        vtac_vta_image image;
        const vtac_vta_options how = {.level = level, .predict_only = true};
        const vta_status status = vtac_vta_schedule(config, &network->regions[r].region, &how, &image, &own);
        if (status != VTA_OK) {
            *out = (vtac_estimate){0};
            (void)snprintf(out->why, sizeof out->why, "%.*s", (int)sizeof out->why - 1, own.text);
            return status == VTA_NOMEM ? status : VTA_OK;
        }
        out->cycles += image.cycles;
        for (uint32_t i = 0; i < image.plan_count; i++) {
            add_cost(&out->sum, &image.plans[i].cost);
        }
        vtac_vta_image_free(&image);
    }
    return VTA_OK;
}

/* The layers of a network, each alone; what no rule allows alone counts nothing. */
static void estimate_network(const vta_config *config, const vtac_explored *network, vtac_estimate *out)
{
    *out = (vtac_estimate){0};
    for (uint32_t r = 0; r < network->region_count; r++) {
        const vtac_vta_region *region = &network->regions[r].region;
        for (uint32_t i = 0; i < region->layer_count; i++) {
            vtac_vta_cost cost = {0};
            vta_diag none;
            if (vtac_vta_estimate(config, region, i, &cost, &none) == VTA_OK) {
                out->cycles += cost.cycles;
                add_cost(&out->sum, &cost);
            }
        }
    }
}

static void put_estimate(vta_str *result, uint64_t index, uint32_t network, const vtac_estimate *e)
{
    vta_str_printf(result, "%" PRIu64 " %" PRIu32 " %" PRIu64, index, network, e->cycles);
    vta_str_printf(result, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, e->sum.array, e->sum.alu,
                   e->sum.load, e->sum.store);
    vta_str_printf(result, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", e->sum.bytes_read,
                   e->sum.bytes_written, e->sum.macs, e->why);
}

static care care_of(const char *piece)
{
    care how = TIMED;
    for (int i = 0; i < CARES; i++) {
        const size_t size = strlen(cares[i].word);
        how = size > 0 && strncmp(piece, cares[i].word, size) == 0 ? (care)i : how;
    }
    return how;
}

vta_status vtac_explore_piece(void *context, const char *piece, vta_str *result, vta_diag *diag)
{
    const vtac_explore_options *o = context;
    const care how = care_of(piece);
    for (const char *at = piece + strlen(cares[how].word); *at != '\0';) {
        char *end;
        vta_config config;
        const uint64_t index = strtoull(at, &end, 10);
        if (end == at) {
            return vta_fail(diag, VTA_SYNTAX, "'%s' is no piece of an exploration", piece);
        }
        at = end + (*end == ' ');
        VTA_TRY(vtac_space_at(o->space, index, &config, diag));
        for (uint32_t n = 0; n < o->network_count; n++) {
            vtac_estimate e;
            if (how == ROUGH) {
                estimate_network(&config, &o->networks[n], &e);
            } else if (time_network(&config, &o->networks[n], cares[how].level, &e) != VTA_OK) {
                return vta_fail(diag, VTA_NOMEM, "no memory to schedule '%s'", o->networks[n].name);
            }
            put_estimate(result, index, n, &e);
        }
    }
    return VTA_OK;
}

/* ---- the leader */

/* Candidates that are estimated together, in pieces. */
typedef struct batch {
    const uint32_t *candidates;
    uint32_t count, size;              /* how many, and how many in a piece */
    vtac_estimate *to;                 /* a row of networks for each */
    char **pieces;                     /* owned */
    uint32_t piece_count, done, first; /* first: of the pieces of all batches */
} batch;

typedef struct explore_search {
    const vtac_explore_options *options;
    const vtac_work *work;
    vtac_exploration *out;
    vtac_part part;        /* within the budget */
    vta_vec found;         /* vtac_candidate */
    double min_share;      /* of those that are too large */
    uint32_t *groups;      /* a candidate of each that programs tell apart; owned */
    batch *batch;          /* that is worked on */
    vtac_journal *journal; /* NULL: none */
    vta_diag *diag;
    vta_status status;
} explore_search;

/* Counts a reason by its first word, or the key that a message names. */
static void count_outside(vtac_exploration *out, const char *why)
{
    char word[sizeof out->outside[0].why];
    const char *key = strstr(why, "key '");
    const char *colon = strstr(why, ": "); /* behind the configuration's name */
    const char *from = key != NULL ? key + 5 : colon != NULL ? colon + 2 : why;
    (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(from, key != NULL ? "'" : " "), from);
    uint32_t i = 0;
    while (i < out->outside_count && strcmp(out->outside[i].why, word) != 0) {
        i++;
    }
    if (i == sizeof out->outside / sizeof out->outside[0]) {
        i--;
        (void)snprintf(out->outside[i].why, sizeof word, "others");
    } else if (i == out->outside_count) {
        out->outside_count++;
        memcpy(out->outside[i].why, word, sizeof word);
    }
    out->outside[i].count++;
}

/* The row of a configuration's array; NULL: there are too many. */
static vtac_tile *tile_of(vtac_exploration *out, const vta_config *c)
{
    for (uint32_t i = 0; i < out->tile_count; i++) {
        vtac_tile *t = &out->tiles[i];
        if (t->batch == c->batch && t->block_in == c->block_in && t->block_out == c->block_out &&
            t->pump == c->array_pump) {
            return t;
        }
    }
    if (out->tile_count == VTAC_MAX_TILES) {
        return NULL;
    }
    vtac_tile *t = &out->tiles[out->tile_count++];
    *t = (vtac_tile){.batch = c->batch,
                     .block_in = c->block_in,
                     .block_out = c->block_out,
                     .pump = c->array_pump,
                     .min_share = HUGE_VAL};
    return t;
}

static int by_size(const void *a, const void *b)
{
    const vtac_tile *x = a;
    const vtac_tile *y = b;
    const uint64_t left = (uint64_t)x->batch * x->block_in * x->block_out;
    const uint64_t right = (uint64_t)y->batch * y->block_in * y->block_out;
    if (left != right) {
        return left < right ? -1 : 1;
    }
    if (x->block_in != y->block_in) {
        return x->block_in < y->block_in ? -1 : 1;
    }
    return x->pump < y->pump ? -1 : x->pump > y->pump;
}

/* Sums up the configurations that run, by arrays. */
static void sum_up_tiles(vtac_exploration *out)
{
    for (uint32_t i = 0; i < out->count; i++) {
        vtac_tile *t = tile_of(out, &out->candidates[i].config);
        if (t != NULL) {
            t->evaluated++;
            t->fps = out->candidates[i].runs ? fmax(t->fps, out->candidates[i].fps) : t->fps;
        }
    }
    qsort(out->tiles, out->tile_count, sizeof out->tiles[0], by_size);
}

static vta_status look_at(explore_search *s, uint64_t index)
{
    if (vtac_work_is_stopped(s->work)) { /* a space may have billions of configurations */
        return vta_fail(s->diag, VTA_INTERRUPTED, "interrupted");
    }
    vtac_candidate c = {.index = index};
    vta_diag own = {0};
    char why[96];
    s->out->space++;
    if (vtac_space_at(s->options->space, index, &c.config, &own) != VTA_OK) {
        if (s->out->illegal++ == 0) {
            (void)snprintf(s->out->illegal_why, sizeof s->out->illegal_why, "%.*s",
                           (int)sizeof s->out->illegal_why - 1, own.text);
        }
        count_outside(s->out, own.text);
        return VTA_OK;
    }
    vtac_tile *tile = tile_of(s->out, &c.config);
    c.area = vtac_area_of(&s->out->area_model, s->options->part, &c.config);
    c.share = vtac_area_share(s->options->part, &c.area);
    const bool has = vtac_part_has(s->options->part, &c.config, why, sizeof why);
    c.share = has ? c.share : DBL_MAX; /* nothing is farther from fitting */
    if (!has || !vtac_area_fits(s->options->part, &c.area, why, sizeof why)) {
        if (s->out->too_large++ == 0 || c.share < s->min_share) {
            s->min_share = c.share;
            memcpy(s->out->nearest, why, sizeof why);
        }
        if (tile != NULL && c.share < tile->min_share) {
            tile->min_share = c.share;
            memcpy(tile->nearest, why, sizeof why);
        }
        count_outside(s->out, why);
        return VTA_OK;
    }
    if (tile != NULL) {
        tile->fitting++;
    }
    if (s->found.count == VTAC_MAX_CANDIDATES) {
        return vta_fail(s->diag, VTA_RANGE,
                        "more than %d configurations fit the part; fix some keys, or look at some of them by "
                        "'--limit N'",
                        VTAC_MAX_CANDIDATES);
    }
    return vta_vec_push(&s->found, &c) != NULL ? VTA_OK
                                               : vta_fail(s->diag, VTA_NOMEM, "no memory for configurations");
}

/* Steps of about the golden section meet every value of every key alike, and each configuration once. */
static uint64_t stride_of(uint64_t size)
{
    uint64_t stride = (uint64_t)((double)size * 0.6180339887) + 1;
    while (vtac_common_divisor(stride, size) != 1) {
        stride++;
    }
    return stride;
}

/* The configurations of the space that are looked at: `count` of `size`, `step` apart. */
typedef struct grid_walk {
    uint64_t size, count, step;
} grid_walk;

static bool is_on_walk(const grid_walk *w, uint64_t index)
{
    bool found = w->count == w->size && index < w->size;
    for (uint64_t i = 0, at = 0; !found && i < w->count; i++, at = (at + w->step) % w->size) {
        found = at == index;
    }
    return found;
}

static bool is_among(const uint64_t *numbers, uint64_t count, uint64_t number)
{
    bool found = false;
    for (uint64_t i = 0; !found && i < count; i++) {
        found = numbers[i] == number;
    }
    return found;
}

/* The configurations that come with vtac and their neighbours are always among the candidates, each once. */
static vta_status look_around(explore_search *s, const grid_walk *w)
{
    const vtac_space *space = s->options->space;
    const uint64_t count = vtac_space_around(space);
    uint64_t *seen = calloc(count + 1, sizeof *seen);
    uint64_t seen_count = 0;
    if (seen == NULL) {
        return vta_no_memory(s->diag);
    }
    for (uint64_t i = 0; i < count && !vtac_work_is_stopped(s->work); i++) {
        uint64_t number;
        if (vtac_space_number(space, w->size + i, &number) && !is_on_walk(w, number) &&
            !is_among(seen, seen_count, number)) {
            seen[seen_count++] = number;
        }
    }
    vta_status status = VTA_OK;
    s->out->around = seen_count;
    for (uint64_t i = 0; i < seen_count && status == VTA_OK; i++) {
        status = look_at(s, seen[i]);
    }
    free(seen);
    return status;
}

static vta_status look_at_all(explore_search *s)
{
    const uint64_t size = vtac_space_size(s->options->space);
    const uint64_t beyond = vtac_space_around(s->options->space);
    const uint64_t limit = s->options->limit;
    if (size > UINT64_MAX / 2 - beyond) {
        return vta_fail(s->diag, VTA_RANGE,
                        "the space has more configurations than 63 bits count; fix some keys");
    }
    if (size > UINT32_MAX && limit == 0) {
        return vta_fail(
            s->diag, VTA_RANGE,
            "the space has more than 4,294,967,295 configurations; fix some keys, or set a limit");
    }
    const uint64_t count = limit > 0 && limit < size ? limit : size;
    const grid_walk w = {size, count, count == size ? 1 : stride_of(size)};
    for (uint64_t i = 0, at = 0; i < count; i++, at = (at + w.step) % size) {
        VTA_TRY(look_at(s, at));
    }
    return look_around(s, &w);
}

/* True if a layer of some network needs a table: for all other networks the table hardware
 * makes no difference. */
static bool any_table(const vtac_explore_options *o)
{
    bool found = false;
    for (uint32_t n = 0; n < o->network_count; n++) {
        for (uint32_t r = 0; r < o->networks[n].region_count; r++) {
            const vtac_vta_region *region = &o->networks[n].regions[r].region;
            for (uint32_t i = 0; i < region->layer_count; i++) {
                found = found || region->layers[i].table != NULL || region->layers[i].behind != NULL;
            }
        }
    }
    return found;
}

/* Writes a key of the parameters that the timing model distinguishes. Without room for nine taps there are
 * three, DEPTHWISE has no effect on input tiles of more than two groups of lanes, and results return to INP
 * only where they fit its tile. */
static void key_of(const vta_config *c, bool tables, char *key)
{
    const vta_window_steps max = vta_window_steps_of(c, 3, 3, 1, 1, 1);
    const bool reached = c->depthwise_taps > 0 && c->log_block_in <= c->log_block_out + 1;
    const int64_t two = vta_window_steps_of(c, 2, 2, 1, 1, 1).kept; /* columns; also of tiles of four lanes */
    const int64_t taps = reached ? 2 * max.rows * (max.kept + 1) + two : 0;
    const bool limited = c->mem_shared > 0 || c->dram[0] != '\0';
    char cores[32] = ""; /* one leaves keys as they were before there were more */
    if (limited && c->cores > 1) {
        (void)snprintf(cores, sizeof cores, " cores %u", c->cores);
    }
    (void)snprintf(key, KEY, "%u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %s%s", c->log_batch,
                   c->log_block_in, c->log_block_out, c->log_uop_buff, c->log_inp_buff, c->log_wgt_buff,
                   c->log_acc_buff, c->log_bus_width, c->log_queue, c->mem_latency, c->mem_bandwidth,
                   c->mem_shared, limited ? c->clock_mhz : 0, tables ? c->table : 1,
                   c->log_block_in >= c->log_block_out ? c->loop_back : 0, (unsigned)taps, c->rows, c->wgt4,
                   c->dram, cores);
}

typedef struct keyed {
    char key[KEY / 4];
    uint32_t candidate;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a;
    const keyed *y = b;
    const int order = strcmp(x->key, y->key);
    return order != 0 ? order : x->candidate < y->candidate ? -1 : x->candidate > y->candidate;
}

static vta_status find_twins(explore_search *s)
{
    const size_t count = s->found.count;
    const bool tables = any_table(s->options);
    keyed *all = calloc(count + 1, sizeof *all);
    s->groups = calloc(count + 1, sizeof *s->groups);
    if (all == NULL || s->groups == NULL) {
        free(all);
        return vta_fail(s->diag, VTA_NOMEM, "no memory for configurations");
    }
    for (uint32_t i = 0; i < count; i++) {
        char key[KEY];
        const vtac_candidate *c = vta_vec_at(&s->found, i);
        key_of(&c->config, tables, key);
        all[i].candidate = i;
        (void)snprintf(all[i].key, sizeof all[i].key, "%.*s", (int)sizeof all[i].key - 1, key);
    }
    qsort(all, count, sizeof *all, by_key);
    for (size_t i = 0; i < count; i++) {
        vtac_candidate *c = vta_vec_at(&s->found, all[i].candidate);
        const bool same = i > 0 && strcmp(all[i].key, all[i - 1].key) == 0;
        c->twin =
            same ? ((vtac_candidate *)vta_vec_at(&s->found, all[i - 1].candidate))->twin : all[i].candidate;
    }
    free(all);
    for (uint32_t i = 0; i < count; i++) {
        if (((vtac_candidate *)vta_vec_at(&s->found, i))->twin == i) {
            s->groups[s->out->distinct++] = i;
        }
    }
    return VTA_OK;
}

static bool read_line(const char *line, uint64_t wanted, uint32_t network, vtac_estimate *out)
{
    uint64_t index;
    uint32_t n;
    int used = 0;
    vtac_estimate e = {0};
    if (sscanf(line,
               "%" SCNu64 " %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64 "%n",
               &index, &n, &e.cycles, &e.sum.array, &e.sum.alu, &e.sum.load, &e.sum.store, &e.sum.bytes_read,
               &e.sum.bytes_written, &e.sum.macs, &used) != 10 ||
        index != wanted || n != network) {
        return false;
    }
    const char *why = line + used + (line[used] == ' ');
    (void)snprintf(e.why, sizeof e.why, "%.*s", (int)strcspn(why, "\n"), why);
    *out = e;
    return true;
}

/* Takes the lines of a piece; false where one is not its. */
static bool take_lines(const explore_search *s, uint32_t number, const char *result)
{
    const batch *b = s->batch;
    const uint32_t networks = s->options->network_count;
    for (uint32_t k = number * b->size; k < (number + 1) * b->size && k < b->count; k++) {
        const vtac_candidate *c = vta_vec_at(&s->found, b->candidates[k]);
        for (uint32_t n = 0; n < networks; n++) {
            const char *next = strchr(result, '\n');
            if (next == NULL || !read_line(result, c->index, n, &b->to[(size_t)k * networks + n])) {
                return false;
            }
            result = next + 1;
        }
    }
    return true;
}

static void take_result(void *context, uint32_t number, const char *result, const char *why, double seconds)
{
    explore_search *s = context;
    batch *b = s->batch;
    s->out->piece_seconds[b->first + number] = seconds;
    if (result == NULL || !take_lines(s, number, result)) {
        s->status =
            s->status != VTA_OK ? s->status
            : result == NULL    ? vta_fail(s->diag, VTA_INVALID, "a piece of the work failed: %s", why)
            : s->journal != NULL
                ? vta_fail(s->diag, VTA_PROTOCOL,
                           "'%s' has a result that is not that of its piece; it is damaged: remove it",
                           s->options->journal)
                : vta_fail(s->diag, VTA_PROTOCOL, "a worker's result is not that of its piece");
        return;
    }
    b->done++;
    if (s->options->told != NULL) {
        s->options->told(s->options->told_context, b->done, b->piece_count);
    }
}

static void free_pieces(batch *b)
{
    for (uint32_t p = 0; b->pieces != NULL && p < b->piece_count; p++) {
        free(b->pieces[p]);
    }
    free(b->pieces);
}

static vta_status make_pieces(explore_search *s, batch *b, care how)
{
    b->size = cares[how].size;
    b->first = s->out->piece_count;
    b->piece_count = (b->count + b->size - 1) / b->size;
    b->pieces = calloc((size_t)b->piece_count + 1, sizeof *b->pieces);
    double *more = realloc(s->out->piece_seconds, (b->first + b->piece_count + 1) * sizeof *more);
    s->out->piece_seconds = more != NULL ? more : s->out->piece_seconds;
    if (b->pieces == NULL || more == NULL) {
        return vta_no_memory(s->diag);
    }
    s->out->piece_count += b->piece_count;
    for (uint32_t p = 0; p < b->piece_count; p++) {
        vta_str text = {0};
        more[b->first + p] = 0;
        vta_str_put(&text, cares[how].word);
        for (uint32_t k = p * b->size; k < (p + 1) * b->size && k < b->count; k++) {
            const vtac_candidate *c = vta_vec_at(&s->found, b->candidates[k]);
            vta_str_printf(&text, "%s%" PRIu64, k % b->size > 0 ? " " : "", c->index);
        }
        b->pieces[p] = vta_str_take(&text);
        VTA_TRY(vta_allocated(b->pieces[p] != NULL, s->diag));
    }
    return VTA_OK;
}

/* Estimates candidates into `to`. */
static vta_status estimate_batch(explore_search *s, vtac_work *work, const uint32_t *candidates,
                                 uint32_t count, care how, vtac_estimate *to)
{
    batch b = {.candidates = candidates, .count = count, .to = to};
    vta_status status = VTA_OK;
    s->batch = &b;
    VTA_TRY_OUT(make_pieces(s, &b, how));
    VTA_TRY_OUT(vtac_journal_run(s->journal, work, (const char *const *)b.pieces, b.piece_count, take_result,
                                 s, s->diag));
    VTA_TRY_OUT(s->status);
out:
    free_pieces(&b);
    s->batch = NULL;
    return status;
}

/* Times groups, whose candidates have the estimates afterwards. */
static vta_status time_groups(explore_search *s, vtac_work *work, const uint32_t *groups, uint32_t count)
{
    const uint32_t networks = s->options->network_count;
    vtac_estimate *all = calloc((size_t)count * networks + 1, sizeof *all);
    vta_status status = VTA_OK;
    if (all == NULL) {
        return vta_no_memory(s->diag);
    }
    VTA_TRY_OUT(estimate_batch(s, work, groups, count, TIMED, all));
    for (uint32_t k = 0; k < count; k++) {
        vtac_candidate *c = vta_vec_at(&s->found, groups[k]);
        memcpy(c->networks, &all[(size_t)k * networks], networks * sizeof *all);
        c->timed = true;
    }
    s->out->timed += count;
out:
    free(all);
    return status;
}

/* Rounds of the timing model, each for those that the rounds before make it likely to be worth it. */
static vta_status halve(explore_search *s, vtac_work *work, vtac_halving *h, uint32_t budget)
{
    uint32_t *chosen = calloc((size_t)budget + 1, sizeof *chosen);
    vta_status status = VTA_OK;
    if (chosen == NULL) {
        return vta_no_memory(s->diag);
    }
    for (uint32_t round = 0; round < ROUNDS && s->out->timed < budget; round++) {
        const uint32_t left = budget - s->out->timed;
        const uint32_t count =
            vtac_halving_choose(h, (left + ROUNDS - round - 1) / (ROUNDS - round), left, chosen);
        for (uint32_t k = 0; k < count; k++) {
            chosen[k] = s->groups[chosen[k]];
        }
        VTA_TRY_OUT(time_groups(s, work, chosen, count));
    }
out:
    free(chosen);
    return status;
}

static vta_status search_by_halves(explore_search *s, vtac_work *work)
{
    const uint32_t all = s->out->distinct;
    const double share = ceil(s->options->search * all);
    const uint32_t budget = share > MIN_TIMED ? (uint32_t)share : MIN_TIMED < all ? MIN_TIMED : all;
    vtac_estimate *rough = calloc((size_t)all * s->options->network_count + 1, sizeof *rough);
    vtac_halving *h = NULL;
    vta_status status = VTA_OK;
    if (rough == NULL) {
        return vta_no_memory(s->diag);
    }
    VTA_TRY_OUT(estimate_batch(s, work, s->groups, all, ROUGH, rough));
    const vtac_halving_of of = {s->options, s->found.items, (uint32_t)s->found.count, s->groups, all, rough};
    VTA_TRY_OUT(vtac_halving_open(&of, &h, s->diag));
    VTA_TRY_OUT(halve(s, work, h, budget));
out:
    vtac_halving_close(h);
    free(rough);
    return status;
}

/* Candidates whose group was timed have its estimates; the others go. */
static void evaluate_candidates(explore_search *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->found.count;
         i++) { /* a twin stands before those that follow it, or is itself */
        vtac_candidate *c = vta_vec_at(&s->found, i);
        const vtac_candidate *twin = vta_vec_at(&s->found, c->twin);
        memcpy(c->networks, twin->networks, sizeof c->networks);
        c->timed = twin->timed;
        vtac_candidate_evaluate(s->options, 1, c);
    }
    for (size_t i = 0; i < s->found.count; i++) {
        vtac_candidate *c = vta_vec_at(&s->found, i);
        if (c->timed) {
            vtac_candidate *to = vta_vec_at(&s->found, kept++);
            *to = *c;
        }
    }
    s->out->left = (uint32_t)(s->found.count - kept);
    s->found.count = kept;
}

/* Best first; those that break a limit behind, then those that do not run everything; then the smaller, then
 * the earlier one. */
static int by_score(const void *a, const void *b)
{
    const vtac_candidate *x = a;
    const vtac_candidate *y = b;
    if (x->runs != y->runs) {
        return x->runs ? -1 : 1;
    }
    if (x->runs && (x->broken < 0) != (y->broken < 0)) {
        return x->broken < 0 ? -1 : 1;
    }
    if ((x->compiled[0] > 0) != (y->compiled[0] > 0)) {
        return x->compiled[0] > 0 ? -1 : 1;
    }
    if (x->runs && x->score != y->score) {
        return x->score < y->score ? -1 : 1;
    }
    if (x->share != y->share) {
        return x->share < y->share ? -1 : 1;
    }
    if (x->energy != y->energy) {
        return x->energy < y->energy ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

/* True if the configuration comes with vtac. */
static bool is_shipped(const vtac_space *space, uint64_t index)
{
    const uint64_t each = space->shipped_count > 0 ? vtac_space_around(space) / space->shipped_count : 0;
    bool found = false;
    for (uint32_t i = 0; i < space->shipped_count && !found; i++) {
        uint64_t number = 0;
        found = vtac_space_number(space, vtac_space_size(space) + i * each, &number) && number == index;
    }
    return found;
}

/* The candidates that are compiled: the first ones, and those that come with vtac. */
static uint32_t choose_compiled(const explore_search *s, uint32_t *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->found.count && count < VTAC_COMPILED + VTAC_SPACE_SHIPPED; i++) {
        const vtac_candidate *c = vta_vec_at(&s->found, i);
        if (c->runs && c->broken < 0 && (i < VTAC_COMPILED || is_shipped(s->options->space, c->index))) {
            out[count++] = i;
        }
    }
    return count;
}

/* Schedules the best of a search, and what it is compared with, as the compiler would: the best of these come
 * first. */
static vta_status compile_best(explore_search *s, vtac_work *work)
{
    uint32_t chosen[VTAC_COMPILED + VTAC_SPACE_SHIPPED];
    const uint32_t networks = s->options->network_count, count = choose_compiled(s, chosen);
    vtac_estimate *all = calloc((size_t)count * networks + 1, sizeof *all);
    vta_status status = VTA_OK;
    if (all == NULL) {
        return vta_no_memory(s->diag);
    }
    VTA_TRY_OUT(estimate_batch(s, work, chosen, count, COMPILED, all));
    for (uint32_t i = 0; i < count; i++) {
        vtac_candidate *c = vta_vec_at(&s->found, chosen[i]);
        vtac_candidate compiled = *c;
        memcpy(compiled.networks, &all[(size_t)i * networks], networks * sizeof *all);
        vtac_candidate_evaluate(s->options, 1, &compiled);
        c->score = compiled.score;
        for (uint32_t n = 0; n < networks; n++) {
            c->compiled[n] = compiled.networks[n].cycles;
        }
    }
    qsort(s->found.items, s->found.count, sizeof(vtac_candidate), by_score);
out:
    free(all);
    return status;
}

static vta_status run_search(explore_search *s, vtac_work *work)
{
    VTA_TRY(vtac_area_fit(&s->out->area_model, s->diag));
    VTA_TRY(look_at_all(s));
    VTA_TRY(find_twins(s));
    VTA_TRY(s->options->search > 0 ? search_by_halves(s, work)
                                   : time_groups(s, work, s->groups, s->out->distinct));
    evaluate_candidates(s);
    if (s->found.count > 0) {
        qsort(s->found.items, s->found.count, sizeof(vtac_candidate), by_score);
    }
    VTA_TRY(s->options->search > 0 && s->found.count > 0 ? compile_best(s, work) : VTA_OK);
    s->out->candidates = s->found.items;
    s->out->count = (uint32_t)s->found.count;
    s->found = (vta_vec){.item_size = sizeof(vtac_candidate)};
    vtac_mark_front(s->out->candidates, s->out->count);
    sum_up_tiles(s->out);
    return VTA_OK;
}

vta_status vtac_explore(const vtac_explore_options *options, vtac_work *work, vtac_exploration *out,
                        vta_diag *diag)
{
    *out = (vtac_exploration){0};
    explore_search s = {.options = options,
                        .work = work,
                        .out = out,
                        .found = {.item_size = sizeof(vtac_candidate)},
                        .diag = diag};
    if (options->network_count == 0 || options->network_count > VTAC_MAX_NETWORKS) {
        return vta_fail(diag, VTA_RANGE, "%" PRIu32 " networks; expected 1 to %d", options->network_count,
                        VTAC_MAX_NETWORKS);
    }
    vta_status status = VTA_OK;
    VTA_TRY_OUT(vtac_journal_open(options->journal, options->journal_key, &s.journal, diag));
    VTA_TRY_OUT(run_search(&s, work));
out:
    vtac_journal_close(s.journal);
    vta_vec_free(&s.found);
    free(s.groups);
    if (status != VTA_OK) {
        vtac_exploration_free(out);
    }
    return status;
}

void vtac_exploration_free(vtac_exploration *exploration)
{
    free(exploration->candidates);
    free(exploration->piece_seconds);
    *exploration = (vtac_exploration){0};
}
