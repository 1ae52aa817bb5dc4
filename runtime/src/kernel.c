/* SPDX-License-Identifier: Apache-2.0
 *
 * Micro-op kernels: equal ones are kept once; each is loaded when an instruction needs it and stays until the
 * room is needed.
 *
 * Only the compute unit touches the UOP scratchpad, in the order of the stream. So a LOAD put before the
 * instruction that needs the kernel may overwrite whatever no later instruction reads without a load of its
 * own: nothing that is still to execute can lose its micro-ops. What goes is the window whose newest use is
 * the oldest; it has room for several kernels, so that those that come next lie beside this one.
 *
 * Kernels first used one after the other lie side by side, in DRAM and in the scratchpad, and are loaded
 * together: the LOAD that went before is extended, as far as nobody has used that place since. The first one
 * is short, because the stream begins with it. While the second half of one is being used, the next one has
 * its place already, for kernels that will lie where nobody has looked since: so it is over before its first
 * kernel is needed.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "vta/hash.h"
#include "vta/uop_loads.h"
#include "vta/vec.h"

static uint64_t hash_words(const uint32_t *words, uint32_t count)
{
    uint64_t hash = VTA_HASH_START;
    for (uint32_t i = 0; i < count; i++) {
        hash = vta_hash_word(hash, words[i]);
        hash ^= hash >> 29;
    }
    return hash;
}

vta_status vta_kernel_init(vta_stream *stream)
{
    const uint32_t depth = stream->config.depth[VTA_MEM_UOP];
    stream->uops.owner = calloc(depth, sizeof(uint32_t));
    stream->uops.used = calloc(depth, sizeof(uint32_t));
    if (stream->uops.owner == NULL || stream->uops.used == NULL) {
        return vta_fail(&stream->diag, VTA_NOMEM, "no memory for a stream");
    }
    return VTA_OK;
}

static void free_kernel(kernel_record *kernel)
{
    free(kernel->words);
    for (int f = 0; f < UOP_FIELDS; f++) {
        free(kernel->spans[f]);
    }
}

void vta_kernel_free(vta_stream *stream)
{
    uop_cache *cache = &stream->uops;
    for (size_t i = 0; i < cache->kernel_count; i++) {
        free_kernel(&cache->kernels[i]);
    }
    free(cache->kernels);
    free(cache->table);
    free(cache->image);
    free(cache->owner);
    free(cache->used);
    *cache = (uop_cache){0};
}

/* Recording. */

static int compare_u32(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a;
    const uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* The distinct values, as spans. `values` is sorted in place. */
static span *make_spans(uint32_t *values, uint32_t count, uint32_t *span_count)
{
    qsort(values, count, sizeof *values, compare_u32);
    span *spans = malloc(count * sizeof *spans);
    uint32_t used = 0;
    for (uint32_t i = 0; spans != NULL && i < count; i++) {
        if (used > 0 && values[i] <= spans[used - 1].start + spans[used - 1].length) {
            spans[used - 1].length = values[i] - spans[used - 1].start + 1;
        } else {
            spans[used++] = (span){values[i], 1};
        }
    }
    *span_count = used;
    return spans;
}

static bool describe(kernel_record *kernel, const vta_uop *uops)
{
    uint32_t *values = malloc(kernel->count * sizeof *values);
    bool good = values != NULL;
    for (int f = 0; good && f < UOP_FIELDS; f++) {
        for (uint32_t i = 0; i < kernel->count; i++) {
            values[i] = f == UOP_DST ? uops[i].dst : f == UOP_SRC ? uops[i].src : uops[i].aux;
        }
        kernel->spans[f] = make_spans(values, kernel->count, &kernel->span_count[f]);
        good = kernel->spans[f] != NULL;
        kernel->max[f] = values[kernel->count - 1];
    }
    free(values);
    return good;
}

static vta_status encode(vta_stream *stream, const vta_uop *uops, kernel_record *out)
{
    out->words = malloc(out->count * sizeof *out->words);
    if (out->words == NULL) {
        return vta_fail(&stream->diag, VTA_NOMEM, "no memory for a kernel of %u micro-ops", out->count);
    }
    for (uint32_t i = 0; i < out->count; i++) {
        if (vta_uop_encode(&stream->config, &uops[i], &out->words[i], &stream->diag) != VTA_OK) {
            return vta_context(&stream->diag, "micro-op %u", i);
        }
    }
    out->hash = hash_words(out->words, out->count);
    return VTA_OK;
}

/* The place in the hash table where the kernel is or belongs. */
static uint32_t *table_slot(uop_cache *cache, const kernel_record *wanted)
{
    for (size_t i = (size_t)wanted->hash;; i++) {
        uint32_t *slot = &cache->table[i & (cache->table_size - 1)];
        if (*slot == 0) {
            return slot;
        }
        const kernel_record *other = &cache->kernels[*slot - 1];
        if (other->hash == wanted->hash && other->count == wanted->count &&
            memcmp(other->words, wanted->words, wanted->count * sizeof *wanted->words) == 0) {
            return slot;
        }
    }
}

/* Room for one more kernel, with the hash table at most half full. */
static bool grow_cache(uop_cache *cache)
{
    kernel_record *kernels =
        vta_grow(cache->kernels, &cache->kernel_capacity, cache->kernel_count + 1, sizeof *kernels);
    if (kernels == NULL) {
        return false;
    }
    cache->kernels = kernels;
    if ((cache->kernel_count + 1) * 2 <= cache->table_size) {
        return true;
    }
    const size_t size = cache->table_size > 0 ? cache->table_size * 2 : 64;
    uint32_t *table = calloc(size, sizeof *table);
    if (table == NULL) {
        return false;
    }
    free(cache->table);
    cache->table = table;
    cache->table_size = size;
    for (size_t i = 0; i < cache->kernel_count; i++) {
        *table_slot(cache, &cache->kernels[i]) = (uint32_t)i + 1;
    }
    return true;
}

/* Gives the kernel its number; true where it is new and kept. */
static bool record(vta_stream *stream, const vta_uop *uops, kernel_record *fresh, uint32_t *index)
{
    uop_cache *cache = &stream->uops;
    if (encode(stream, uops, fresh) != VTA_OK) {
        return false;
    }
    if (!grow_cache(cache)) {
        (void)vta_fail(&stream->diag, VTA_NOMEM, "no memory for kernel %zu", cache->kernel_count);
        return false;
    }
    uint32_t *slot = table_slot(cache, fresh);
    if (*slot != 0) {
        *index = *slot - 1;
        return false;
    }
    if (!describe(fresh, uops)) {
        (void)vta_fail(&stream->diag, VTA_NOMEM, "no memory for kernel %zu", cache->kernel_count);
        return false;
    }
    *index = (uint32_t)cache->kernel_count;
    cache->kernels[cache->kernel_count++] = *fresh;
    *slot = *index + 1;
    return true;
}

vta_kernel vta_stream_kernel(vta_stream *stream, const vta_uop *uops, uint32_t count)
{
    const uint32_t depth = stream->config.depth[VTA_MEM_UOP];
    uint32_t index = 0;
    if (stream->diag.code != VTA_OK) {
        return (vta_kernel){0};
    }
    if (uops == NULL || count == 0 || count > depth) {
        (void)vta_fail(&stream->diag, VTA_RANGE,
                       "a kernel of %u micro-ops is not possible (1 to %u, the depth of uop)", count, depth);
    } else {
        kernel_record fresh = {.count = count};
        if (!record(stream, uops, &fresh, &index)) {
            free_kernel(&fresh);
        }
    }
    (void)vta_context(&stream->diag, "kernel %zu", stream->uops.kernel_count);
    return (vta_kernel){index};
}

/* Residence. */

/* When an entry was used last; free ones are older than all. */
static uint32_t age_of(const uop_cache *cache, uint32_t entry)
{
    return cache->owner[entry] != 0 ? cache->used[entry] : 0;
}

/* The first entry of the window of `count` entries whose newest use is the oldest. `rivals` are the entries
 * of the window that no later one outdoes: the first of them is the newest of all. */
static uint32_t find_window(const uop_cache *cache, uint32_t depth, uint32_t count, uint32_t *rivals)
{
    uint32_t head = 0;
    uint32_t tail = 0;
    uint32_t best = 0;
    uint32_t best_age = UINT32_MAX;
    for (uint32_t e = 0; e < depth; e++) {
        while (tail > head && age_of(cache, rivals[tail - 1]) <= age_of(cache, e)) {
            tail--;
        }
        rivals[tail++] = e;
        head += rivals[head] + count <= e;
        if (e + 1 >= count && age_of(cache, rivals[head]) < best_age) {
            best_age = age_of(cache, rivals[head]);
            best = e + 1 - count;
        }
    }
    return best;
}

static vta_status oldest_window(vta_stream *stream, uint32_t count, uint32_t *out)
{
    const uint32_t depth = stream->config.depth[VTA_MEM_UOP];
    uint32_t *rivals = calloc(depth, sizeof *rivals);
    if (rivals == NULL) {
        return vta_fail(&stream->diag, VTA_NOMEM, "no memory to place a kernel");
    }
    *out = find_window(&stream->uops, depth, count, rivals);
    free(rivals);
    return VTA_OK;
}

static void evict(uop_cache *cache, uint32_t start, uint32_t count)
{
    for (uint32_t e = start; e < start + count; e++) {
        if (cache->owner[e] != 0) {
            kernel_record *victim = &cache->kernels[cache->owner[e] - 1];
            victim->resident = false;
            memset(&cache->owner[victim->sram], 0, victim->count * sizeof *cache->owner);
        }
    }
}

/* A kernel that comes again may have neighbours that are still there: then it lies a second time beside those
 * that come now, so that one LOAD brings them all. */
static vta_status add_to_image(vta_stream *stream, kernel_record *kernel)
{
    uop_cache *cache = &stream->uops;
    uint32_t *image =
        vta_grow(cache->image, &cache->image_capacity, cache->image_count + kernel->count, sizeof *image);
    if (image == NULL || cache->image_count + kernel->count > UINT32_MAX) {
        return vta_fail(&stream->diag, VTA_NOMEM, "no memory for %u micro-ops", kernel->count);
    }
    cache->image = image;
    memcpy(image + cache->image_count, kernel->words, kernel->count * sizeof *image);
    kernel->image = (uint32_t)cache->image_count;
    kernel->in_image = true;
    cache->image_count += kernel->count;
    return VTA_OK;
}

static vta_status encode_load(vta_stream *stream, uint32_t sram, uint32_t image, uint32_t count,
                              vta_word *word)
{
    vta_insn insn = {.opcode = VTA_OP_LOAD};
    insn.mem.memory = VTA_MEM_UOP;
    insn.mem.sram_base = sram;
    insn.mem.segment = UOP_SEGMENT;
    insn.mem.dram_base = image;
    insn.mem.y_size = 1;
    insn.mem.x_size = count;
    insn.mem.x_stride = count;
    return vta_insn_encode(&stream->config, &insn, word, &stream->diag);
}

/* Has no instruction behind `insn` used the kernel's place? */
static bool is_free_since(const uop_cache *cache, const kernel_record *kernel, uint32_t insn)
{
    bool is_free = true;
    for (uint32_t i = 0; is_free && i < kernel->count; i++) {
        is_free = cache->used[kernel->sram + i] <= insn;
    }
    return is_free;
}

/* May the LOAD that went before bring this kernel, too? */
static bool can_extend(const uop_cache *cache, const kernel_record *kernel)
{
    return cache->last_load.count > 0 && cache->last_load.count + kernel->count <= cache->last_load.limit &&
           kernel->sram == cache->last_load.sram + cache->last_load.count &&
           kernel->image == cache->last_load.image + cache->last_load.count &&
           is_free_since(cache, kernel, cache->last_load.insn);
}

/* A nop without the tokens of a manual stream: those are the caller's instruction's. */
static vta_status append_nop(vta_stream *stream)
{
    const uint32_t flags = stream->flags;
    stream->flags = 0;
    VTA_TRY(vta_order_nop(stream, COMPUTE_LINE, (instant){0}, NULL));
    stream->flags = flags;
    return VTA_OK;
}

/* Begins the LOAD of this kernel: in the place that is kept for it, or here. */
static vta_status begin_load(vta_stream *stream, const kernel_record *kernel)
{
    uop_cache *cache = &stream->uops;
    const bool first = cache->last_load.limit == 0;
    const bool kept = cache->spare > 0 && is_free_since(cache, kernel, cache->spare);
    if (!kept) {
        VTA_TRY(append_nop(stream));
    }
    cache->last_load.insn = kept ? cache->spare : stream->count - 1;
    cache->last_load.sram = kernel->sram;
    cache->last_load.image = kernel->image;
    cache->last_load.count = 0;
    cache->last_load.limit = first ? VTA_UOP_FIRST_LIMIT : VTA_UOP_LOAD_LIMIT;
    cache->spare = kept ? 0 : cache->spare; /* for a kernel whose place is free: at most one stays empty */
    return VTA_OK;
}

static vta_status load(vta_stream *stream, const kernel_record *kernel)
{
    uop_cache *cache = &stream->uops;
    if (!can_extend(cache, kernel)) {
        VTA_TRY(begin_load(stream, kernel));
    }
    cache->last_load.count += kernel->count;
    VTA_TRY(encode_load(stream, cache->last_load.sram, cache->last_load.image, cache->last_load.count,
                        &stream->words[cache->last_load.insn]));
    if (cache->spare == 0 && cache->last_load.count >= cache->last_load.limit / 2) {
        VTA_TRY(append_nop(stream));
        cache->spare = stream->count - 1;
    }
    return VTA_OK;
}

/* Finds room in the scratchpad, at the cost of the kernels that were there. */
static vta_status make_room(vta_stream *stream, kernel_record *kernel)
{
    uop_cache *cache = &stream->uops;
    const uint32_t depth = stream->config.depth[VTA_MEM_UOP];
    if (cache->top + kernel->count <= depth) {
        kernel->sram = cache->top;
        cache->top += kernel->count;
        return VTA_OK;
    }
    if (cache->open + kernel->count > cache->close) {
        const uint32_t wide = depth / VTA_UOP_WINDOW_SHARE;
        const uint32_t count = kernel->count > wide ? kernel->count : wide;
        VTA_TRY(oldest_window(stream, count, &cache->open));
        cache->close = cache->open + count;
    }
    kernel->sram = cache->open;
    cache->open += kernel->count;
    evict(cache, kernel->sram, kernel->count);
    cache->top = cache->open > cache->top ? cache->open : cache->top;
    return VTA_OK;
}

vta_status vta_kernel_require(vta_stream *stream, vta_kernel handle, uint32_t *sram)
{
    uop_cache *cache = &stream->uops;
    kernel_record *kernel = &cache->kernels[handle.index];
    *sram = kernel->sram;
    if (kernel->resident) {
        return VTA_OK;
    }
    VTA_TRY(make_room(stream, kernel));
    if (!kernel->in_image || !can_extend(cache, kernel)) {
        VTA_TRY(add_to_image(stream, kernel));
    }
    VTA_TRY(load(stream, kernel));
    kernel->resident = true;
    for (uint32_t i = 0; i < kernel->count; i++) {
        cache->owner[kernel->sram + i] = handle.index + 1;
    }
    *sram = kernel->sram;
    return VTA_OK;
}

void vta_kernel_used(vta_stream *stream, vta_kernel handle)
{
    const kernel_record *kernel = &stream->uops.kernels[handle.index];
    for (uint32_t i = 0; i < kernel->count; i++) {
        stream->uops.used[kernel->sram + i] = stream->count;
    }
}
