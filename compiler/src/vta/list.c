/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of calls: appending, epilogues that are held back, kernels, and recording.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "vta/hash.h"

void vtac_vta_list_init(step_list *list)
{
    *list = (step_list){.steps.item_size = sizeof(step),
                        .spare.item_size = sizeof(step),
                        .later.item_size = sizeof(step),
                        .drafts.item_size = sizeof(step),
                        .pieces.item_size = sizeof(size_t),
                        .uops.item_size = sizeof(vta_uop),
                        .kernels.item_size = sizeof(list_kernel)};
}

void vtac_vta_list_clear(step_list *list)
{
    step_list kept = *list;
    if (list->table != NULL) {
        memset(list->table, 0, list->table_size * sizeof *list->table);
    }
    kept.steps.count = kept.later.count = kept.drafts.count = kept.pieces.count = 0;
    kept.uops.count = kept.kernels.count = 0;
    vtac_vta_list_init(list);
    list->steps = kept.steps;
    list->spare = kept.spare;
    list->later = kept.later;
    list->drafts = kept.drafts;
    list->pieces = kept.pieces;
    list->uops = kept.uops;
    list->kernels = kept.kernels;
    list->table = kept.table;
    list->table_size = kept.table_size;
}

void vtac_vta_list_free(step_list *list)
{
    vta_vec_free(&list->steps);
    vta_vec_free(&list->spare);
    vta_vec_free(&list->later);
    vta_vec_free(&list->drafts);
    vta_vec_free(&list->pieces);
    vta_vec_free(&list->uops);
    vta_vec_free(&list->kernels);
    free(list->table);
    vtac_vta_list_init(list);
}

void vtac_vta_list_copy(const step_list *from, step_list *to)
{
    vtac_vta_list_clear(to);
    for (uint32_t k = 0; k < from->kernels.count; k++) {
        uint32_t count;
        const vta_uop *uops = vtac_vta_list_uops(from, (vta_kernel){k}, &count);
        (void)vtac_vta_list_kernel_of(to, uops, count);
    }
    step *steps = vta_vec_add(&to->steps, (uint32_t)from->steps.count);
    if (steps != NULL && from->steps.count > 0) {
        memcpy(steps, from->steps.items, from->steps.count * sizeof *steps);
    }
    to->failed = to->failed || from->failed || steps == NULL;
}

enum { TABLE_WORDS = 64 };

/* ---- kernels */

static uint64_t hash_uops(const vta_uop *uops, uint32_t count)
{
    uint64_t hash = VTA_HASH_START;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t word =
            (uint64_t)uops[i].dst | (uint64_t)uops[i].src << 16 | (uint64_t)uops[i].aux << 32;
        hash = vta_hash_word(hash, word);
        hash ^= hash >> 29;
    }
    return hash;
}

static list_kernel *kernel_at(const step_list *list, uint32_t index)
{
    return vta_vec_at(&list->kernels, index);
}

static bool same_uops(const step_list *list, const list_kernel *kernel, const vta_uop *uops, uint32_t count)
{
    const vta_uop *own = vta_vec_at(&list->uops, kernel->first);
    bool same = kernel->count == count;
    for (uint32_t i = 0; same && i < count; i++) {
        same = own[i].dst == uops[i].dst && own[i].src == uops[i].src && own[i].aux == uops[i].aux;
    }
    return same;
}

static bool grow_table(step_list *list)
{
    if ((list->kernels.count + 1) * 2 <= list->table_size) {
        return true;
    }
    const size_t size = list->table_size > 0 ? list->table_size * 2 : 256;
    uint32_t *table = calloc(size, sizeof *table);
    if (table == NULL) {
        return false;
    }
    for (uint32_t k = 0; k < list->kernels.count; k++) {
        size_t i = (size_t)kernel_at(list, k)->hash;
        while (table[i & (size - 1)] != 0) {
            i++;
        }
        table[i & (size - 1)] = k + 1;
    }
    free(list->table);
    list->table = table;
    list->table_size = size;
    return true;
}

/* The minimum, or the maximum, of each index. */
static vta_uop bound_uops(const vta_uop *uops, uint32_t count, bool largest)
{
    vta_uop all = uops[0];
    for (uint32_t i = 1; i < count; i++) {
        all.dst = (uops[i].dst > all.dst) == largest ? uops[i].dst : all.dst;
        all.src = (uops[i].src > all.src) == largest ? uops[i].src : all.src;
        all.aux = (uops[i].aux > all.aux) == largest ? uops[i].aux : all.aux;
    }
    return all;
}

static uint32_t runs_of(const vta_uop *uops, uint32_t count)
{
    uint32_t runs = 1;
    for (uint32_t i = 1; i < count; i++) {
        runs += uops[i].dst != uops[i - 1].dst;
    }
    return runs;
}

/* The place in the hash table where a kernel is or belongs. */
static size_t place_of(const step_list *list, uint64_t hash, const vta_uop *uops, uint32_t count)
{
    size_t i = (size_t)hash & (list->table_size - 1);
    while (list->table[i] != 0) {
        const list_kernel *kernel = kernel_at(list, list->table[i] - 1);
        if (kernel->hash == hash && same_uops(list, kernel, uops, count)) {
            break;
        }
        i = (i + 1) & (list->table_size - 1);
    }
    return i;
}

bool vtac_vta_list_has(const step_list *list, const vta_uop *uops, uint32_t count, vta_kernel *found)
{
    const uint32_t number =
        list->table_size > 0 ? list->table[place_of(list, hash_uops(uops, count), uops, count)] : 0;
    *found = (vta_kernel){number > 0 ? number - 1 : 0};
    return number > 0;
}

vta_kernel vtac_vta_list_kernel_of(step_list *list, const vta_uop *uops, uint32_t count)
{
    if (list->failed || !grow_table(list)) {
        list->failed = true;
        return (vta_kernel){0};
    }
    const uint64_t hash = hash_uops(uops, count);
    uint32_t *number = &list->table[place_of(list, hash, uops, count)];
    if (*number > 0) {
        return (vta_kernel){*number - 1};
    }
    const list_kernel fresh = {.hash = hash,
                               .first = (uint32_t)list->uops.count,
                               .count = count,
                               .dst_runs = runs_of(uops, count),
                               .low = bound_uops(uops, count, false),
                               .high = bound_uops(uops, count, true)};
    vta_uop *copy = vta_vec_add(&list->uops, count);
    if (copy == NULL || vta_vec_push(&list->kernels, &fresh) == NULL) {
        list->failed = true;
        return (vta_kernel){0};
    }
    memcpy(copy, uops, count * sizeof *uops);
    *number = (uint32_t)list->kernels.count;
    return (vta_kernel){*number - 1};
}

const vta_uop *vtac_vta_list_uops(const step_list *list, vta_kernel kernel, uint32_t *count)
{
    const list_kernel *own = kernel_at(list, kernel.index);
    *count = own->count;
    return vta_vec_at(&list->uops, own->first);
}

/* ---- steps */

static void append_step(step_list *list, vta_vec *where, const step *what)
{
    step *added = vta_vec_push(where, what);
    if (added == NULL) {
        list->failed = true;
        return;
    }
    added->tag = list->tag;
}

/* Appends the first `count` calls of the epilogue. The ranges of the epilogue stay as they are. */
static void release_epilogue(step_list *list, size_t count)
{
    vta_vec *all = &list->steps;
    step *held = list->later.items,
         *grown = count > 0 ? vta_grow(all->items, &all->capacity, all->count + count, sizeof *grown) : NULL;
    if (grown == NULL) {
        list->failed = list->failed || count > 0;
        return;
    }
    all->items = grown;
    memcpy(grown + all->count, held, count * sizeof *held);
    all->count += count;
    list->later.count -= count;
    memmove(held, held + count, list->later.count * sizeof *held);
}

void vtac_vta_list_flush(step_list *list)
{
    if (list->drafting) {
        list->flush = true;
        return;
    }
    release_epilogue(list, list->later.count);
    list->range_count = 0;
}

void vtac_vta_list_piece(step_list *list)
{
    if (list->drafting && vta_vec_push(&list->pieces, &list->drafts.count) == NULL) {
        list->failed = true;
    }
}

/* Appends the epilogue if it touches the same entries as the next call. */
static void release_for(step_list *list, list_range acc)
{
    for (uint32_t i = 0; i < list->range_count; i++) {
        if (list_meets(list->ranges[i], acc)) {
            vtac_vta_list_flush(list);
            return;
        }
    }
}

static void add_range(step_list *list, list_range acc)
{
    for (uint32_t i = 0; i < list->range_count; i++) {
        if (list->ranges[i].first == acc.first && list->ranges[i].count == acc.count) {
            return;
        }
    }
    if (list->range_count < LATER_RANGES) {
        list->ranges[list->range_count++] = acc;
        return;
    }
    list_range *hull = &list->ranges[LATER_RANGES - 1];
    const int64_t end = hull->first + hull->count, other = acc.first + acc.count;
    hull->first = hull->first < acc.first ? hull->first : acc.first;
    hull->count = (end > other ? end : other) - hull->first;
}

/* Main calls release the epilogue behind them; calls of the epilogue are held back. */
void vtac_vta_list_put(step_list *list, const step *draft)
{
    const bool main = draft->kind == STEP_GEMM || draft->kind == STEP_DEPTHWISE;
    const uint32_t tag = list->tag;
    list->tag = draft->tag;
    if (draft->flush) {
        vtac_vta_list_flush(list);
    }
    if (main || draft->kind == STEP_LOAD) {
        release_for(list, draft->to);
        append_step(list, &list->steps, draft);
    } else {
        add_range(list, draft->to);
        add_range(list, draft->from);
        append_step(list, &list->later, draft);
    }
    if (draft->kind == STEP_REQUANT) {
        const int64_t record = draft->requant.wide ? 4 : 2;
        const int64_t records = draft->requant.by_row ? draft->requant.iter_out : 1;
        add_range(list, (list_range){record * draft->requant.params, record * records});
    }
    if (main && draft->shares > 1) {
        release_epilogue(list, (list->later.count + draft->shares - 1) / draft->shares);
    } else if (main) {
        vtac_vta_list_flush(list);
    }
    list->tag = tag;
}

static void add_call(step_list *list, step what)
{
    what.tag = list->tag;
    what.shares = list->shares;
    if (!list->drafting) {
        vtac_vta_list_put(list, &what);
        return;
    }
    what.flush = list->flush;
    list->flush = false;
    append_step(list, &list->drafts, &what);
}

void vtac_vta_list_load(step_list *list, const vta_load2d *load)
{
    const bool acc = load->memory == VTA_MEM_ACC || load->memory == VTA_MEM_ACC8;
    add_call(list, (step){.kind = STEP_LOAD, .to = acc ? list_fills(load) : (list_range){0}, .load = *load});
}

/* A table is loaded as words. The epilogue goes first: it may read the table that was there. */
void vtac_vta_list_table(step_list *list, int64_t table, uint32_t buffer, int64_t offset)
{
    enum { WORDS = TABLE_WORDS, WORD = 4 };
    vtac_vta_list_flush(list);
    vtac_vta_list_load(list, &(vta_load2d){.memory = VTA_MEM_TAB,
                                           .sram = table * WORDS,
                                           .buffer = {buffer},
                                           .offset = offset / WORD,
                                           .y_size = 1,
                                           .x_size = WORDS,
                                           .x_stride = WORDS});
}

/* Fills rows x cols entries with padding. */
static void pad_entries(step_list *list, const vta_load2d *like, int64_t sram, int64_t rows, int64_t cols)
{
    enum { MAX_ROWS = 15 };
    vta_load2d add_call = {.memory = like->memory,
                           .buffer = like->buffer,
                           .x_size = cols,
                           .x_stride = cols,
                           .pad_value = like->pad_value};
    for (int64_t row = 0; row < rows && cols > 0; row += add_call.y_pad_0) {
        add_call.sram = sram + row * cols;
        add_call.y_pad_0 = rows - row < MAX_ROWS ? rows - row : MAX_ROWS;
        vtac_vta_list_load(list, &add_call);
    }
}

void vtac_vta_list_load_padded(step_list *list, const vta_load2d *load)
{
    enum { MAX_PAD = 15 };
    const int64_t cols = load->x_pad_0 + load->x_size + load->x_pad_1;
    const bool wide = load->x_pad_0 > MAX_PAD || load->x_pad_1 > MAX_PAD;
    vta_load2d add_call = *load;
    if (load->y_size == 0 || load->x_size == 0) {
        pad_entries(list, load, load->sram, load->y_pad_0 + load->y_size + load->y_pad_1, cols);
        return;
    }
    if (wide || load->y_pad_0 > MAX_PAD) {
        pad_entries(list, load, load->sram, load->y_pad_0, cols);
        add_call.sram += load->y_pad_0 * cols;
        add_call.y_pad_0 = 0;
    }
    if (wide || load->y_pad_1 > MAX_PAD) {
        add_call.y_pad_1 = 0;
    }
    if (add_call.y_size == 1) {
        add_call.x_stride = add_call.x_size; /* unused, but must fit its field */
    }
    const int64_t below = add_call.sram + (add_call.y_pad_0 + add_call.y_size) * cols;
    if (!wide) {
        vtac_vta_list_load(list, &add_call);
    }
    for (int64_t row = 0; wide && row < load->y_size; row++) {
        vta_load2d one = add_call;
        pad_entries(list, load, add_call.sram, 1, load->x_pad_0);
        one.sram += load->x_pad_0;
        one.y_size = 1;
        one.x_stride = one.x_size;
        one.x_pad_0 = one.x_pad_1 = 0;
        vtac_vta_list_load(list, &one);
        pad_entries(list, load, one.sram + one.x_size, 1, load->x_pad_1);
        add_call.sram += cols;
        add_call.offset += load->x_stride;
    }
    if (add_call.y_pad_1 < load->y_pad_1) {
        pad_entries(list, load, below, load->y_pad_1, cols);
    }
}

void vtac_vta_list_gemm(step_list *list, const vta_gemm *gemm, list_range acc)
{
    add_call(list, (step){.kind = STEP_GEMM, .to = acc, .gemm = *gemm});
}

void vtac_vta_list_depthwise(step_list *list, const vta_depthwise *depthwise, list_range acc)
{
    add_call(list, (step){.kind = STEP_DEPTHWISE, .to = acc, .depthwise = *depthwise});
}

void vtac_vta_list_alu(step_list *list, const vta_alu *alu, list_range to, list_range from)
{
    add_call(list, (step){.kind = STEP_ALU, .to = to, .from = from, .alu = *alu});
}

void vtac_vta_list_alu_number(step_list *list, vta_alu_op op, int64_t dst, int64_t src, int64_t number,
                              int64_t count)
{
    const vta_uop uop = {.dst = (uint32_t)dst, .src = (uint32_t)src};
    vtac_vta_list_alu(list,
                      &(vta_alu){.kernel = vtac_vta_list_kernel_of(list, &uop, 1),
                                 .op = op,
                                 .use_imm = true,
                                 .imm = number,
                                 .iter_out = 1,
                                 .iter_in = count,
                                 .dst_in = count > 1,
                                 .src_in = count > 1},
                      (list_range){dst, count}, (list_range){src, count});
}

void vtac_vta_list_requant(step_list *list, const vta_requant *requant, list_range to, list_range from)
{
    add_call(list, (step){.kind = STEP_REQUANT, .to = to, .from = from, .requant = *requant});
}

void vtac_vta_list_store(step_list *list, const vta_store2d *store)
{
    const list_range from = {store->sram, store->y_size * store->x_size};
    add_call(list, (step){.kind = STEP_STORE, .to = from, .from = from, .store = *store});
}

/* ---- recording */

static void record_step(vta_stream *stream, step add_call, const vta_kernel *kernels)
{
    vta_stream_tag(stream, add_call.tag);
    switch (add_call.kind) {
    case STEP_LOAD:
        if (add_call.load.memory == VTA_MEM_TAB) {
            vta_stream_table(stream, add_call.load.sram / TABLE_WORDS, add_call.load.buffer,
                             4 * add_call.load.offset);
        } else {
            vta_stream_load2d(stream, &add_call.load);
        }
        break;
    case STEP_STORE: vta_stream_store2d(stream, &add_call.store); break;
    case STEP_GEMM:
        add_call.gemm.kernel = kernels[add_call.gemm.kernel.index];
        vta_stream_gemm(stream, &add_call.gemm);
        break;
    case STEP_DEPTHWISE:
        add_call.depthwise.kernel = kernels[add_call.depthwise.kernel.index];
        vta_stream_depthwise(stream, &add_call.depthwise);
        break;
    case STEP_ALU:
        add_call.alu.kernel = kernels[add_call.alu.kernel.index];
        vta_stream_alu(stream, &add_call.alu);
        break;
    case STEP_REQUANT: vta_stream_requant(stream, &add_call.requant); break;
    }
}

vta_status vtac_vta_list_record(const step_list *list, vta_stream *stream, vta_diag *diag)
{
    vta_kernel *kernels = calloc(list->kernels.count + 1, sizeof *kernels);
    if (list->failed || kernels == NULL) {
        free(kernels);
        return vta_fail(diag, VTA_NOMEM, "no memory for a schedule");
    }
    for (uint32_t k = 0; k < list->kernels.count; k++) {
        uint32_t count;
        const vta_uop *uops = vtac_vta_list_uops(list, (vta_kernel){k}, &count);
        kernels[k] = vta_stream_kernel(stream, uops, count);
    }
    for (size_t i = 0; i < list->steps.count; i++) {
        record_step(stream, *(const step *)vta_vec_at(&list->steps, i), kernels);
    }
    vta_stream_tag(stream, 0);
    free(kernels);
    return VTA_OK;
}

/* A hash of the calls. It includes the padding between members, so equal lists may have different hashes. */

static uint64_t hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Four independent chains: a single one would wait for the result of each word. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    enum { BESIDE = 4 };
    const uint8_t *all = bytes;
    uint64_t each[BESIDE] = {hash, 1, 2, 3};
    for (size_t at = 0; at < size; at += sizeof each) {
        uint64_t words[BESIDE] = {0};
        memcpy(words, all + at, size - at < sizeof words ? size - at : sizeof words);
        for (int i = 0; i < BESIDE; i++) {
            each[i] = hash_word(each[i], words[i]);
        }
    }
    return hash_word(hash_word(each[0], each[1]), hash_word(each[2], each[3]));
}

static size_t size_of_call(step_kind kind)
{
    switch (kind) {
    case STEP_LOAD: return sizeof(vta_load2d);
    case STEP_STORE: return sizeof(vta_store2d);
    case STEP_GEMM: return sizeof(vta_gemm);
    case STEP_DEPTHWISE: return sizeof(vta_depthwise);
    case STEP_ALU: return sizeof(vta_alu);
    case STEP_REQUANT: break;
    }
    return sizeof(vta_requant);
}

uint64_t vtac_vta_list_hash(const step_list *list)
{
    uint64_t hash = list->steps.count;
    for (size_t i = 0; i < list->steps.count; i++) {
        const step *s = (const step *)list->steps.items + i;
        hash = hash_bytes(hash ^ (uint64_t)s->kind, &s->load, size_of_call(s->kind));
    }
    for (size_t i = 0; i < list->kernels.count; i++) {
        const list_kernel *k = (const list_kernel *)list->kernels.items + i;
        hash = hash_word(hash, k->hash ^ k->count);
    }
    return hash;
}
