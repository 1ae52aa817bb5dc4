/* SPDX-License-Identifier: Apache-2.0
 *
 * A model on this machine: its object is loaded and checked, its plan turned into pointers once, so that a
 * run is a walk over steps.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel.h"
#include "cpu.h"
#include "flow_walk.h"
#include "layers.h"
#include "library.h"
#include "pool.h"
#include "vta/clock.h"
#include "vta/engine.h"
#include "vta/fail.h"
#include "vta/hash.h"
#include "vta/kernels.h"
#include "vta/log.h"
#include "vta/room.h"
#include "vta/uri.h"

typedef struct here {
    vta_engine *engine;
    vta_library library;
    const vta_artifact *artifact;
    const void *constants; /* of the artifact, or a copy */
    vta_pool *pool;
    vta_accel *accel;                /* NULL: no step needs one */
    vta_kernels *kernels;            /* NULL: no step runs as a kernel of a device */
    const vta_kernels_calls *device; /* that device's */
    bool queued;                     /* the last step is in that device's queue, which times it */
    double timeout_s;
    int32_t priority;
    void ***buffers; /* of each step */
    void **scratch;  /* of each worker */
    void **scratch_owners;
    vta_step_profile *profile;
    vta_layers layers;
    _Atomic uint32_t step;   /* in work */
    _Atomic uint64_t cycles; /* of this run's accelerator steps before it */
    uint64_t predicted;
    bool profiled;
    uint8_t **inputs, **outputs; /* of the artifact: the model's, or the flow's */
    /* Set where the artifact has instructions (flow.h): the walk over them, and the artifact as the model
     * sees it, with its inputs and outputs. */
    vta_flow *flow;
    vta_artifact face;
    vta_artifact_tensor *ends;
    vta_item *given; /* its inputs */
} here;

static bool has_kernels(const here *h)
{
    return VTA_HAS_KERNELS != 0 && h->kernels != NULL;
}

static bool is_queued(const here *h)
{
    return VTA_HAS_KERNELS != 0 && h->queued;
}

/* ---- checks ---- */

static bool fits(uint64_t offset, uint64_t bytes, uint64_t size)
{
    return bytes <= size && offset <= size - bytes;
}

static vta_status check_buffer(const vta_artifact *a, const vta_artifact_buffer *buffer, vta_diag *diag)
{
    bool ok = false;
    switch (buffer->space) {
    case VTA_SPACE_WORKSPACE: ok = fits(buffer->offset, buffer->bytes, a->workspace_bytes); break;
    case VTA_SPACE_CONSTANT: ok = fits(buffer->offset, buffer->bytes, a->constant_bytes); break;
    case VTA_SPACE_INPUT:
        ok = buffer->index < a->input_count &&
             fits(buffer->offset, buffer->bytes, a->inputs[buffer->index].bytes);
        break;
    case VTA_SPACE_OUTPUT:
        ok = buffer->index < a->output_count &&
             fits(buffer->offset, buffer->bytes, a->outputs[buffer->index].bytes);
        break;
    case VTA_SPACE_DEVICE: ok = fits(buffer->offset, buffer->bytes, a->device_work_bytes); break;
    default: break;
    }
    return ok ? VTA_OK : vta_fail(diag, VTA_SYNTAX, "a buffer of its plan lies outside its memory");
}

/* Step i, and what it reads and writes. */
static vta_status check_step(const vta_artifact *a, uint32_t i, vta_diag *diag)
{
    const vta_artifact_step *step = &a->steps[i];
    if (step->kind == VTA_STEP_ACCELERATOR) {
        VTA_TRY(vta_accel_check_step(a, step, diag));
    } else if (step->kind > VTA_STEP_STATE || step->kernel == NULL) {
        return vta_fail(diag, VTA_UNSUPPORTED, "step %u is of kind %u, which this runtime does not run", i,
                        step->kind);
    }
    for (uint32_t k = 0; k < step->buffer_count; k++) {
        VTA_TRY(check_buffer(a, &step->buffers[k], diag));
    }
    return VTA_OK;
}

static vta_status check_constants(const vta_artifact *a, vta_diag *diag)
{
    if (vta_hash_bytes(VTA_HASH_START, a->constants, (size_t)a->constant_bytes) != a->constant_hash) {
        return vta_fail(diag, VTA_SYNTAX, "its constants are damaged (checksum differs)");
    }
    if (vta_hash_bytes(VTA_HASH_START, a->device_constants, (size_t)a->device_constant_bytes) !=
        a->device_constant_hash) {
        return vta_fail(diag, VTA_SYNTAX, "its accelerator's constants are damaged (checksum differs)");
    }
    return VTA_OK;
}

static vta_status check_artifact(const vta_artifact *a, vta_diag *diag)
{
    if (a == NULL || a->magic != VTA_ARTIFACT_MAGIC) {
        return vta_fail(diag, VTA_SYNTAX, "it is not a compiled model; 'vtac compile' makes them");
    }
    const bool has_flow = a->size == sizeof *a && a->flow_bytes > 0;
    const uint32_t abi = has_flow ? VTA_ARTIFACT_FLOW_ABI : VTA_ARTIFACT_ABI;
    if ((a->abi & ~(uint32_t)VTA_ARTIFACT_KERNELS) != abi || a->size != sizeof *a) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "it was compiled for model format %u, this runtime reads %u; compile it again",
                        a->abi, abi);
    }
    VTA_TRY(vta_cpu_check(a->required, diag));
    VTA_TRY(vta_accel_taker != NULL ? VTA_OK : check_constants(a, diag));
    VTA_TRY(vta_engine_check_tensors(a, diag));
    for (uint32_t i = 0; i < a->step_count; i++) {
        VTA_TRY(check_step(a, i, diag));
    }
    return VTA_OK;
}

/* ---- memory ---- */

static void *resolve(const here *h, const vta_artifact_buffer *buffer)
{
    union {
        const void *in;
        uint8_t *out;
    } constants = {.in = h->constants};
    switch (buffer->space) {
    case VTA_SPACE_CONSTANT: return constants.out + buffer->offset; /* kernels do not write there */
    case VTA_SPACE_INPUT: return h->inputs[buffer->index] + buffer->offset;
    case VTA_SPACE_OUTPUT: return h->outputs[buffer->index] + buffer->offset;
    case VTA_SPACE_DEVICE: return vta_accel_work(h->accel) + buffer->offset;
    default: return h->engine->workspace + buffer->offset;
    }
}

static uint64_t predicted_cycles(const vta_artifact_step *step)
{
    uint64_t cycles = 0;
    for (uint32_t i = 0; step->region != NULL && i < step->region->layer_count; i++) {
        cycles += step->region->layers[i].cycles;
    }
    return cycles;
}

static vta_status prepare_step(here *h, uint32_t i, vta_diag *diag)
{
    const vta_artifact_step *step = &h->artifact->steps[i];
    h->buffers[i] = calloc((size_t)step->buffer_count + 1, sizeof **h->buffers);
    if (h->buffers[i] == NULL) {
        return vta_no_memory(diag);
    }
    h->profile[i] = (vta_step_profile){.name = step->name,
                                       .op = step->op,
                                       .node = step->node,
                                       .on_accelerator = step->kind == VTA_STEP_ACCELERATOR,
                                       .predicted = predicted_cycles(step),
                                       .flops = step->flops};
    h->predicted += h->profile[i].predicted;
    return VTA_OK;
}

/* Of each worker, as much as the step that needs most. */
static vta_status place_scratch(here *h, vta_diag *diag)
{
    const uint32_t workers = vta_pool_threads(h->pool);
    uint64_t bytes = VTA_ARTIFACT_ALIGN;
    for (uint32_t i = 0; i < h->artifact->step_count; i++) {
        const uint64_t wanted = vta_engine_aligned(h->artifact->steps[i].scratch_bytes);
        bytes = wanted > bytes ? wanted : bytes;
    }
    VTA_TRY(
        vta_room_check("its scratch", bytes <= UINT64_MAX / workers ? bytes * workers : UINT64_MAX, diag));
    for (uint32_t i = 0; i < workers; i++) {
        void *at;
        VTA_TRY(vta_room_zeros("its scratch", bytes, VTA_ARTIFACT_ALIGN, &h->scratch_owners[i], &at, diag));
        h->scratch[i] = at;
    }
    return VTA_OK;
}

static vta_status prepare_steps(here *h, vta_diag *diag)
{
    const uint32_t workers = vta_pool_threads(h->pool);
    h->buffers = calloc((size_t)h->artifact->step_count + 1, sizeof *h->buffers);
    h->profile = calloc((size_t)h->artifact->step_count + 1, sizeof *h->profile);
    h->scratch = calloc(workers, sizeof *h->scratch);
    h->scratch_owners = calloc(workers, sizeof *h->scratch_owners);
    if (h->buffers == NULL || h->profile == NULL || h->scratch == NULL || h->scratch_owners == NULL) {
        return vta_no_memory(diag);
    }
    for (uint32_t i = 0; i < h->artifact->step_count; i++) {
        VTA_TRY(prepare_step(h, i, diag));
    }
    return place_scratch(h, diag);
}

static void bind_step(here *h, uint32_t i)
{
    const vta_artifact_step *step = &h->artifact->steps[i];
    for (uint32_t k = 0; k < step->buffer_count; k++) {
        h->buffers[i][k] = resolve(h, &step->buffers[k]);
    }
}

/* The addresses of all buffers, since tensors may have moved. Those of a flow move with each turn. */
static void here_bind(void *self)
{
    here *h = self;
    h->inputs = h->flow != NULL ? h->flow->input_places : h->engine->inputs;
    h->outputs = h->flow != NULL ? h->flow->output_places : h->engine->outputs;
    for (uint32_t i = 0; h->flow == NULL && i < h->artifact->step_count; i++) {
        bind_step(h, i);
    }
}

/* ---- running ---- */

typedef struct step_call {
    const here *here;
    uint32_t step;
    int64_t piece;   /* iterations between two looks whether the run is to end */
    atomic_bool cut; /* some were left out, since it was */
} step_call;

/* Operations of a piece: a second where code is slow and simple, so that most steps are one piece. */
enum { PIECE_FLOPS = 1 << 29 };

static int64_t piece_of(const vta_artifact_step *step)
{
    const int64_t piece = step->extent / (int64_t)(1 + step->flops / PIECE_FLOPS);
    return piece > 0 ? piece : 1;
}

static void do_range(void *context, int64_t begin, int64_t end, uint32_t worker)
{
    step_call *call = context;
    const here *h = call->here;
    const vta_artifact_step *step = &h->artifact->steps[call->step];
    const bool looks = call->piece < step->extent;
    while (begin < end) {
        if (looks && vta_stop_wanted(&h->engine->stop)) {
            atomic_store(&call->cut, true);
            return;
        }
        const int64_t next = end - begin > call->piece ? begin + call->piece : end;
        step->kernel(h->buffers[call->step], begin, next, h->scratch[worker]);
        begin = next;
    }
}

/* With the device taken: its account of the run is there until the next one. */
static vta_status run_launch(here *h, uint32_t i, vta_diag *diag)
{
    vta_report report = {0};
    vta_device *device = vta_accel_device(h->accel);
    vta_device_stop_also(device, &h->engine->stop);
    const vta_status status = vta_accel_run(h->accel, i, h->timeout_s, &report, diag);
    vta_device_stop_also(device, NULL);
    h->profile[i].cycles = report.counters.cycles;
    atomic_store(&h->step, i + 1); /* the device's cycles are not to count twice */
    atomic_fetch_add(&h->cycles, report.counters.cycles);
    if (status == VTA_OK) {
        uint32_t insns;
        const uint64_t *account = vta_device_account(device, &insns);
        vta_layers_record(&h->layers, h->artifact, i, vta_accel_code(h->accel, i), account, insns, &report);
    }
    return status;
}

static vta_status launch_step(here *h, uint32_t i, vta_diag *diag)
{
    vta_device *device = vta_accel_device(h->accel);
    vta_status status = vta_device_take_unless(device, h->priority, &h->engine->stop, diag);
    if (status == VTA_OK) {
        status = run_launch(h, i, diag);
        vta_device_give(device);
    }
    if (status == VTA_INTERRUPTED) {
        (void)vta_stop_take(&h->engine->stop);
    }
    if (status != VTA_OK) {
        (void)vta_context(diag, "step '%s'", h->artifact->steps[i].name);
    }
    return status;
}

/* Host steps cannot fail, but be cut short. */
static vta_status run_step(here *h, uint32_t i, vta_diag *diag)
{
    atomic_store(&h->step, i);
    if (VTA_HAS_KERNELS != 0) {
        h->queued = false;
    }
    if (vta_stop_take(&h->engine->stop)) {
        return vta_fail(diag, VTA_INTERRUPTED, "interrupted before step '%s'", h->artifact->steps[i].name);
    }
    if (h->artifact->steps[i].kind == VTA_STEP_ACCELERATOR) {
        return launch_step(h, i, diag);
    }
    if (h->artifact->steps[i].kind == VTA_STEP_STATE && h->buffers[i][0] == h->buffers[i][1]) {
        return VTA_OK;
    }
    if (has_kernels(h)) {
        VTA_TRY(h->device->step(h->kernels, i, &h->queued, diag));
    }
    if (is_queued(h)) {
        return VTA_OK;
    }
    step_call call = {.here = h, .step = i, .piece = piece_of(&h->artifact->steps[i])};
    vta_pool_run(h->pool, h->artifact->steps[i].extent, do_range, &call);
    if (atomic_load(&call.cut)) {
        (void)vta_stop_take(&h->engine->stop);
        return vta_fail(diag, VTA_INTERRUPTED, "interrupted in step '%s'", h->artifact->steps[i].name);
    }
    return has_kernels(h) ? h->device->after(h->kernels, i, diag) : VTA_OK;
}

/* A device that runs kernels gets the places of the tensors before the steps, and is waited for behind them,
 * whatever came of them. */
static void begin_kernels(const here *h)
{
    const vta_kernels_places places = {h->inputs, h->outputs, h->engine->workspace, h->profiled};
    if (has_kernels(h)) {
        h->device->begin(h->kernels, &places);
    }
}

static vta_status finish_kernels(here *h, vta_status so_far, vta_diag *diag)
{
    vta_diag own = {0};
    if (!has_kernels(h)) {
        return so_far;
    }
    const vta_status status = h->device->finish(h->kernels, h->profile, &own);
    return so_far != VTA_OK || status == VTA_OK ? so_far : vta_fail(diag, status, "%s", own.text);
}

/* Steps of a segment, on what the flow has put into its places. A step may run many times: its row has the
 * sum. */
static vta_status walk_segment(here *h, const int64_t *steps, int64_t count, vta_diag *diag)
{
    for (int64_t i = 0; i < count; i++) {
        const uint32_t step = (uint32_t)steps[i];
        const uint64_t cycles = h->profile[step].cycles;
        const double begin = h->profiled ? vta_now() : 0;
        bind_step(h, step);
        VTA_TRY(run_step(h, step, diag));
        if (h->profiled && !is_queued(h)) {
            h->profile[step].seconds += vta_now() - begin;
        }
        if (h->artifact->steps[step].kind == VTA_STEP_ACCELERATOR) {
            h->profile[step].cycles += cycles;
        }
    }
    return VTA_OK;
}

static vta_status flow_steps(void *self, const int64_t *steps, int64_t count, vta_diag *diag)
{
    here *h = self;
    begin_kernels(h);
    return finish_kernels(h, walk_segment(h, steps, count, diag), diag);
}

/* An output whose size the run decided is where the flow has it, until the next run. */
static vta_status take_output(here *h, uint32_t i, vta_diag *diag)
{
    const vta_item *item = vta_flow_output(h->flow, i);
    vta_artifact_tensor *t = &h->ends[h->flow->input_count + i];
    const vta_flow_end *end = &h->flow->outputs[i];
    if (item->kind != VTA_FLOW_TENSOR || (item->type & 0xffff) != (t->dtype_code | t->dtype_bits << 8)) {
        return vta_fail(diag, VTA_UNSUPPORTED,
                        "output '%s' came out as another kind or type than the model says", t->name);
    }
    bool fixed = end->rank == (int64_t)item->rank;
    for (uint32_t k = 0; fixed && k < item->rank; k++) {
        fixed = end->dim[k] == item->dim[k];
    }
    if (fixed) {
        memcpy(h->engine->outputs[i], item->data, item->bytes);
        return VTA_OK;
    }
    if (end->rank >= 0 && end->rank != (int64_t)item->rank) {
        return vta_fail(diag, VTA_INVALID, "output '%s' came out with %u axes, not %lld", t->name, item->rank,
                        (long long)end->rank);
    }
    t->rank = item->rank;
    memcpy(t->dim, item->dim, item->rank * sizeof *t->dim);
    t->bytes = item->bytes;
    h->engine->outputs[i] = item->data;
    return VTA_OK;
}

/* The sizes of an end before a run decides the open ones, which are 0. Whether there are such. */
static bool forget(const vta_flow_end *end, vta_artifact_tensor *t)
{
    bool open = end->rank < 0;
    bool fits = true;
    t->rank = open ? 0 : (uint32_t)end->rank;
    t->bytes = (uint64_t)end->type >> 16;
    for (uint32_t i = 0; i < t->rank; i++) {
        open = open || end->dim[i] < 0;
        t->dim[i] = end->dim[i] < 0 ? 0 : end->dim[i];
        fits = fits && !__builtin_mul_overflow(t->bytes, (uint64_t)t->dim[i], &t->bytes);
    }
    t->bytes = fits ? t->bytes : UINT64_MAX; /* no tensor has as many */
    return open;
}

static vta_status run_flow(here *h, vta_diag *diag)
{
    static uint64_t nothing; /* where an output is that has no size yet; nobody writes there */
    for (uint32_t i = 0; i < h->artifact->step_count; i++) {
        h->profile[i].seconds = 0;
        h->profile[i].cycles = 0;
    }
    vta_flow_clear(h->flow);
    for (int64_t i = 0; i < h->flow->output_count; i++) { /* what the last run made is gone */
        if (forget(&h->flow->outputs[i], &h->ends[h->flow->input_count + i])) {
            h->engine->outputs[i] = (uint8_t *)&nothing;
        }
    }
    for (int64_t i = 0; i < h->flow->input_count; i++) {
        const vta_artifact_tensor *t = &h->ends[i];
        vta_item *item = &h->given[i];
        *item = (vta_item){.refs = 1,
                           .kind = VTA_FLOW_TENSOR,
                           .type = (uint32_t)h->flow->inputs[i].type,
                           .rank = t->rank,
                           .count = 1,
                           .bytes = (size_t)t->bytes,
                           .data = h->engine->inputs[i]};
        for (uint32_t k = 0; k < t->rank; k++) {
            item->dim[k] = t->dim[k];
            item->count *= t->dim[k];
        }
    }
    VTA_TRY(vta_flow_go(h->flow, h->given, diag));
    for (uint32_t i = 0; i < h->flow->output_count; i++) {
        VTA_TRY(take_output(h, i, diag));
    }
    return VTA_OK;
}

static vta_status walk_steps(here *h, vta_diag *diag)
{
    for (uint32_t i = 0; i < h->artifact->step_count; i++) {
        const double begin = h->profiled ? vta_now() : 0;
        VTA_TRY(run_step(h, i, diag));
        if (h->profiled) {
            h->profile[i].seconds = is_queued(h) ? 0 : vta_now() - begin;
        }
    }
    return VTA_OK;
}

static vta_status here_run(void *self, bool profiled, vta_diag *diag)
{
    here *h = self;
    atomic_store(&h->cycles, 0);
    h->profiled = profiled;
    if (h->flow != NULL) {
        return run_flow(h, diag);
    }
    begin_kernels(h);
    return finish_kernels(h, walk_steps(h, diag), diag);
}

/* Gives an input that the model leaves open a size. */
/* The sizes that an axis may have: one, a range (vta/flow.h: least | most << 31), or any. */
static void sizes_of(int64_t word, int64_t *min, int64_t *max)
{
    const int64_t range = -2 - word;
    *min = word >= 0 ? word : word == -1 ? 0 : range & 0x7fffffff;
    *max = word >= 0 ? word : word == -1 ? INT64_MAX : range >> 31;
}

static vta_status open_shape(const vta_flow_end *end, const char *name, uint32_t rank, const int64_t *dim,
                             uint64_t *bytes, vta_diag *diag)
{
    *bytes = (uint64_t)end->type >> 16;
    if (rank > VTA_ARTIFACT_MAX_RANK || (end->rank >= 0 && rank != end->rank)) {
        return vta_fail(diag, VTA_RANGE, "input '%s' has %lld axes, not %u", name,
                        (long long)(end->rank >= 0 ? end->rank : VTA_ARTIFACT_MAX_RANK), rank);
    }
    for (uint32_t k = 0; k < rank; k++) {
        int64_t min;
        int64_t max;
        sizes_of(end->rank < 0 ? -1 : end->dim[k], &min, &max);
        if (dim[k] != min && min == max) {
            return vta_fail(diag, VTA_RANGE, "input '%s': axis %u is %lld; the model was compiled for %lld",
                            name, k, (long long)dim[k], (long long)min);
        }
        if (dim[k] < min || dim[k] > max) {
            return vta_fail(diag, VTA_RANGE,
                            "input '%s': axis %u is %lld; the model was compiled for %lld to %lld", name, k,
                            (long long)dim[k], (long long)min, (long long)max);
        }
        if (__builtin_mul_overflow(*bytes, (uint64_t)dim[k], bytes) || *bytes > INT64_MAX / 2) {
            return vta_fail(diag, VTA_RANGE, "input '%s' has more bytes than can be counted", name);
        }
    }
    return VTA_OK;
}

static vta_status here_shape(void *self, uint32_t i, uint32_t rank, const int64_t *dim, vta_diag *diag)
{
    here *h = self;
    const vta_artifact_tensor *was = &h->engine->artifact->inputs[i];
    uint64_t bytes;
    if (h->flow == NULL || i >= h->flow->input_count) {
        const bool same = rank == was->rank && memcmp(dim, was->dim, rank * sizeof *dim) == 0;
        return same ? VTA_OK
                    : vta_fail(diag, VTA_INVALID, "input '%s' has one size, for which the model was compiled",
                               was->name);
    }
    VTA_TRY(open_shape(&h->flow->inputs[i], was->name, rank, dim, &bytes, diag));
    vta_artifact_tensor *t = &h->ends[i];
    t->rank = rank;
    memcpy(t->dim, dim, rank * sizeof *dim);
    t->bytes = bytes;
    return VTA_OK;
}

static vta_model_position here_where(const void *self)
{
    const here *h = self;
    const uint32_t step = atomic_load(&h->step);
    const bool launched = h->accel != NULL && step < h->artifact->step_count &&
                          h->artifact->steps[step].kind == VTA_STEP_ACCELERATOR;
    return (vta_model_position){.step = step,
                                .steps = h->artifact->step_count,
                                .cycles = atomic_load(&h->cycles) +
                                          (launched ? vta_device_cycles(vta_accel_device(h->accel)) : 0),
                                .predicted = h->predicted};
}

static vta_device *here_device(const void *self)
{
    const here *h = self;
    return h->accel != NULL ? vta_accel_device(h->accel) : NULL;
}

static const char *here_device_uri(const void *self)
{
    const here *h = self;
    return h->accel != NULL ? vta_device_uri(vta_accel_device(h->accel))
           : has_kernels(h) ? h->device->uri(h->kernels)
                            : "";
}

static uint32_t here_threads(const void *self)
{
    return vta_pool_threads(((const here *)self)->pool);
}

static void here_close(void *self)
{
    here *h = self;
    for (uint32_t i = 0; h->buffers != NULL && i < h->artifact->step_count; i++) {
        free(h->buffers[i]);
    }
    for (uint32_t i = 0; h->scratch_owners != NULL && i < vta_pool_threads(h->pool); i++) {
        free(h->scratch_owners[i]);
    }
    vta_accel_close(h->accel);
    if (has_kernels(h)) {
        h->device->close(h->kernels);
    }
    vta_pool_destroy(h->pool);
    free(h->buffers);
    free(h->scratch);
    free(h->scratch_owners);
    free(h->profile);
    vta_layers_free(&h->layers);
    if (h->flow != NULL) {
        vta_flow_close(h->flow);
    }
    for (uint32_t i = 0; h->ends != NULL && i < h->face.input_count + h->face.output_count; i++) {
        union {
            const char *in;
            char *out;
        } name = {.in = h->ends[i].name};
        free(name.out);
    }
    free(h->ends);
    free(h->given);
    free(h->flow);
    vta_library_close(&h->library);
    free(h);
}

static const vta_engine_ops ops = {
    .close = here_close,
    .run = here_run,
    .bind = here_bind,
    .shape = here_shape,
    .where = here_where,
    .device = here_device,
    .threads = here_threads,
    .device_uri = here_device_uri,
};

/* ---- opening ---- */

static vta_status open_accelerator(const vta_model_options *options, here *h, vta_diag *diag)
{
    bool needed = false;
    for (uint32_t i = 0; i < h->artifact->step_count; i++) {
        needed = needed || h->artifact->steps[i].kind == VTA_STEP_ACCELERATOR;
    }
    h->timeout_s = options->timeout_s;
    h->priority = options->priority;
    if (!needed && options->device != NULL && !vta_kernels_is(options->device)) {
        return vta_uri_check(options->device, diag); /* a misspelt one would pass for one that was used */
    }
    return needed ? vta_accel_open(h->artifact, options, &h->accel, diag) : VTA_OK;
}

static vta_status open_kernels(const vta_model_options *options, here *h, vta_diag *diag)
{
    if (options->shared != NULL || !vta_kernels_is(options->device)) {
        return VTA_OK;
    }
    VTA_TRY(vta_kernels_get(&h->device, diag));
    return h->device->open(h->artifact, h->constants, options->device, &h->kernels, diag);
}

/* From the artifact to a model that runs. */
static vta_status open_parts(const vta_model_options *options, here *h, vta_diag *diag)
{
    VTA_TRY(check_artifact(h->artifact, diag));
    h->constants = vta_library_constants(&h->library, h->artifact->constants, h->artifact->constant_bytes);
    VTA_TRY(vta_pool_create(options->threads > 0 ? options->threads : vta_pool_default_threads(), &h->pool,
                            diag));
    VTA_TRY(open_accelerator(options, h, diag));
    h->engine->held = h->accel != NULL && h->artifact->flow_bytes == 0 ? vta_accel_work(h->accel) : NULL;
    VTA_TRY(open_kernels(options, h, diag));
    VTA_TRY(vta_layers_create(h->artifact, &h->layers, diag));
    return prepare_steps(h, diag);
}

static here *create(vta_engine *engine)
{
    here *h = calloc(1, sizeof *h);
    if (h != NULL) {
        h->library.copy = -1;
        h->engine = engine;
        engine->ops = &ops;
        engine->self = h;
    }
    return h;
}

/* An input or output of the model; sizes that are open are 0 at first. */
static vta_status describe_end(const vta_flow_end *end, vta_artifact_tensor *t, vta_diag *diag)
{
    char *name = calloc((size_t)end->name_size + 1, 1);
    if (name == NULL) {
        return vta_no_memory(diag);
    }
    memcpy(name, end->name, (size_t)end->name_size);
    t->name = name;
    t->dtype_code = end->type & 255;
    t->dtype_bits = end->type >> 8 & 255;
    (void)forget(end, t);
    return t->bytes < UINT64_MAX ? VTA_OK
                                 : vta_fail(diag, VTA_SYNTAX, "the description of a tensor is damaged");
}

static vta_status open_flow(here *h, vta_diag *diag)
{
    h->flow = calloc(1, sizeof *h->flow);
    if (h->flow == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(vta_flow_open(h->artifact, h->flow, diag));
    h->flow->run_steps = flow_steps;
    h->flow->self = h;
    h->flow->stop = &h->engine->stop;
    const uint32_t inputs = (uint32_t)h->flow->input_count;
    const uint32_t outputs = (uint32_t)h->flow->output_count;
    h->ends = calloc((size_t)inputs + outputs + 1, sizeof *h->ends);
    h->given = calloc((size_t)inputs + 1, sizeof *h->given);
    if (h->ends == NULL || h->given == NULL) {
        return vta_no_memory(diag);
    }
    h->face = *h->artifact;
    h->face.inputs = h->ends;
    h->face.outputs = h->ends + inputs;
    h->face.input_count = inputs;
    h->face.output_count = outputs;
    for (uint32_t i = 0; i < inputs + outputs; i++) {
        VTA_TRY(describe_end(i < inputs ? &h->flow->inputs[i] : &h->flow->outputs[i - inputs], &h->ends[i],
                             diag));
    }
    return vta_engine_check_tensors(&h->face, diag);
}

static vta_status check_states(const vta_engine *engine, vta_diag *diag)
{
    const vta_artifact *a = engine->artifact;
    bool ok = true;
    for (uint32_t i = 0; i < a->state_count; i++) {
        ok = ok && engine->states[i].input < a->input_count && engine->states[i].output < a->output_count;
    }
    return ok ? VTA_OK : vta_fail(diag, VTA_SYNTAX, "its table of states is damaged");
}

static vta_status open_artifact(const vta_artifact *artifact, const vta_model_options *options, here *h,
                                vta_diag *diag)
{
    h->artifact = artifact;
    VTA_TRY(open_parts(options, h, diag));
    VTA_TRY(artifact->flow_bytes > 0 ? open_flow(h, diag) : VTA_OK);
    vta_engine *engine = h->engine;
    engine->artifact = h->flow != NULL ? &h->face : artifact;
    engine->states = (const vta_state *)(artifact + 1);
    engine->workspace_bytes = artifact->workspace_bytes;
    engine->steps = h->profile;
    engine->layers = h->layers.rows;
    engine->layer_count = h->layers.count;
    return check_states(engine, diag);
}

vta_status vta_here_open(const vta_artifact *artifact, const vta_model_options *options, vta_engine *engine,
                         vta_diag *diag)
{
    here *h = create(engine);
    return h != NULL ? open_artifact(artifact, options, h, diag) : vta_no_memory(diag);
}

vta_status vta_here_load(const char *path, const vta_model_options *options, vta_engine *engine,
                         vta_diag *diag)
{
    here *h = create(engine);
    if (h == NULL) {
        return vta_no_memory(diag);
    }
    VTA_TRY(vta_library_open(path, &h->library, diag));
    const vta_artifact *artifact = vta_library_symbol(&h->library, VTA_ARTIFACT_SYMBOL);
    const vta_artifact_board *board = vta_library_symbol(&h->library, VTA_ARTIFACT_BOARD_SYMBOL);
    engine->board = board != NULL && board->size == sizeof *board ? board : NULL;
    return artifact != NULL ? open_artifact(artifact, options, h, diag)
                            : vta_fail(diag, VTA_SYNTAX, "it is not a compiled model (no '%s' in it)",
                                       VTA_ARTIFACT_SYMBOL);
}
