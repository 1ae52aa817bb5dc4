/* SPDX-License-Identifier: Apache-2.0
 *
 * A lowered and planned program as an object file: its kernels, its constants, and the structure that
 * artifact.h describes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "../gpu/gpu.h"
#include "emit.h"
#include "target.h"
#include "vta/anonymous.h"
#include "vta/artifact.h"
#include "vta/fail.h"
#include "vta/file.h"
#include "vta/hash.h"
#include "vta/str.h"
#include "vtac/flow.h"
#include "vtac/partition.h"
#include "vtac/states.h"
#include "weights.h"

#define HOST_SECTION   ".rodata.weights"
#define DEVICE_SECTION ".rodata.device"

typedef struct object_writer {
    vtac_emitter em;
    const vtac_program *program;
    LLVMTypeRef pointer, u32, u64;
    LLVMTypeRef buffer_type;
    uint32_t names; /* private globals so far */
    vta_vec known;  /* of known_kernel: what is emitted so far */
    vta_diag *diag;
    bool ended; /* whoever waits wants no more */
} object_writer;

typedef struct known_kernel {
    char *text; /* of its loops, without the name; owned */
    LLVMValueRef function;
} known_kernel;

static LLVMValueRef u32_of(const object_writer *w, uint64_t value)
{
    return LLVMConstInt(w->u32, value, 0);
}

static LLVMValueRef u64_of(const object_writer *w, uint64_t value)
{
    return LLVMConstInt(w->u64, value, 0);
}

static LLVMValueRef add_global(object_writer *w, LLVMValueRef value, unsigned alignment)
{
    char name[32];
    (void)snprintf(name, sizeof name, "data%u", w->names++);
    LLVMValueRef global = LLVMAddGlobal(w->em.module, LLVMTypeOf(value), name);
    LLVMSetInitializer(global, value);
    LLVMSetGlobalConstant(global, 1);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetAlignment(global, alignment);
    return global;
}

static LLVMValueRef bytes_of(const object_writer *w, const void *bytes, size_t size)
{
#if VTAC_LLVM_MAJOR >= 19
    return LLVMConstStringInContext2(w->em.context, bytes, size, 1);
#else
    return LLVMConstStringInContext(w->em.context, bytes, (unsigned)size, 1);
#endif
}

static LLVMValueRef text_of(object_writer *w, const char *text)
{
    return add_global(w, bytes_of(w, text, strlen(text) + 1), 1);
}

static LLVMValueRef struct_of(const object_writer *w, LLVMValueRef *fields, unsigned count)
{
    return LLVMConstStructInContext(w->em.context, fields, count, 0);
}

/* ---- the pieces of the artifact, in the order of artifact.h */

static LLVMValueRef tensor_of(object_writer *w, const vtac_value *value)
{
    LLVMValueRef dims[VTA_ARTIFACT_MAX_RANK];
    for (uint32_t i = 0; i < VTA_ARTIFACT_MAX_RANK; i++) {
        dims[i] = u64_of(w, i < value->type.rank ? (uint64_t)value->type.dim[i] : 0);
    }
    const vtac_dtype dtype = value->type.dtype;
    const uint64_t bytes = vtac_dtype_bytes(dtype);
    LLVMValueRef fields[] = {text_of(w, value->name),
                             u32_of(w, vtac_dtype_code(dtype)),
                             u32_of(w, vtac_dtype_bits(dtype)),
                             u32_of(w, value->type.rank),
                             LLVMConstArray(w->u64, dims, VTA_ARTIFACT_MAX_RANK),
                             u64_of(w, bytes * (uint64_t)vtac_type_elements(&value->type))};
    return struct_of(w, fields, sizeof fields / sizeof fields[0]);
}

static LLVMValueRef array_global(object_writer *w, LLVMTypeRef element, LLVMValueRef *items, uint32_t count)
{
    if (count == 0) {
        return LLVMConstNull(w->pointer);
    }
    return add_global(w, LLVMConstArray(element, items, count), 8);
}

static LLVMValueRef tensors_of(object_writer *w, const vtac_value_id *ids, uint32_t count)
{
    LLVMValueRef *items = calloc((size_t)count + 1, sizeof(LLVMValueRef));
    if (items == NULL) {
        w->em.failed = true;
        return LLVMConstNull(w->pointer);
    }
    for (uint32_t i = 0; i < count; i++) {
        items[i] = tensor_of(w, &w->program->graph->values[ids[i]]);
    }
    LLVMValueRef all = array_global(w, count > 0 ? LLVMTypeOf(items[0]) : w->u32, items, count);
    free(items);
    return all;
}

static LLVMValueRef buffers_of(object_writer *w, const vtac_step *step)
{
    static const uint32_t spaces[] = {[VTAC_STORAGE_WORKSPACE] = VTA_SPACE_WORKSPACE,
                                      [VTAC_STORAGE_CONSTANT] = VTA_SPACE_CONSTANT,
                                      [VTAC_STORAGE_INPUT] = VTA_SPACE_INPUT,
                                      [VTAC_STORAGE_OUTPUT] = VTA_SPACE_OUTPUT,
                                      [VTAC_STORAGE_DEVICE_WORK] = VTA_SPACE_DEVICE};
    LLVMValueRef *items = calloc(step->arg_count + 1, sizeof(LLVMValueRef));
    if (items == NULL) {
        w->em.failed = true;
        return LLVMConstNull(w->pointer);
    }
    for (size_t i = 0; i < step->arg_count; i++) {
        const vtac_storage *s = vta_vec_at(&w->program->storages, step->args[i].storage);
        LLVMValueRef fields[] = {u32_of(w, spaces[s->kind]), u32_of(w, s->index), u64_of(w, s->offset),
                                 u64_of(w, s->bytes)};
        items[i] = struct_of(w, fields, 4);
    }
    LLVMValueRef all = array_global(w, w->buffer_type, items, (uint32_t)step->arg_count);
    free(items);
    return all;
}

/* Marks a kernel as one that throws nothing: else ARM's unwind tables would ask for a library. */
static void set_nounwind(const object_writer *w, LLVMValueRef function)
{
    const unsigned kind = LLVMGetEnumAttributeKindForName("nounwind", strlen("nounwind"));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(w->em.context, kind, 0));
}

/* Layers of one shape have equal loops: they share one function. */
static LLVMValueRef kernel_of(object_writer *w, const vtac_step *step, uint32_t number)
{
    char symbol[32];
    vta_str text = {0};
    vtac_kernel_print(&step->kernel, &text);
    known_kernel own = {.text = vta_str_take(&text)};
    const char *loops = own.text == NULL ? NULL : strchr(own.text, '\n');
    for (size_t i = 0; loops != NULL && i < w->known.count; i++) {
        const known_kernel *other = vta_vec_at(&w->known, i);
        if (strcmp(strchr(other->text, '\n'), loops) == 0) {
            free(own.text);
            return other->function;
        }
    }
    (void)snprintf(symbol, sizeof symbol, "step%u", number);
    own.function = vtac_emit_kernel(&w->em, &step->kernel, symbol);
    if (loops == NULL || own.function == NULL || vta_vec_push(&w->known, &own) == NULL) {
        w->em.failed = true;
        free(own.text);
        return LLVMConstNull(w->pointer);
    }
    set_nounwind(w, own.function);
    return own.function;
}

/* ---- accelerator regions */

static LLVMValueRef layers_of(object_writer *w, const vtac_region *region)
{
    LLVMValueRef *items = calloc((size_t)region->region.layer_count + 1, sizeof(LLVMValueRef));
    if (items == NULL) {
        w->em.failed = true;
        return LLVMConstNull(w->pointer);
    }
    for (uint32_t i = 0; i < region->region.layer_count; i++) {
        const vtac_vta_layer *layer = &region->region.layers[i];
        const vtac_vta_plan *plan = &region->image.plans[i];
        const vtac_vta_cost *cost = &plan->cost;
        LLVMValueRef fields[] = {
            text_of(w, layer->name),     text_of(w, layer->op),
            text_of(w, plan->schedule),  text_of(w, cost->bound != NULL ? cost->bound : ""),
            u32_of(w, layer->node),      u32_of(w, (uint64_t)((int64_t)plan->joined_into + 1)),
            u64_of(w, cost->macs),       u64_of(w, cost->cycles),
            u64_of(w, cost->array),      u64_of(w, cost->alu),
            u64_of(w, cost->load),       u64_of(w, cost->store),
            u64_of(w, cost->bytes_read), u64_of(w, cost->bytes_written)};
        items[i] = struct_of(w, fields, sizeof fields / sizeof fields[0]);
    }
    LLVMValueRef all = array_global(w, region->region.layer_count > 0 ? LLVMTypeOf(items[0]) : w->u32, items,
                                    region->region.layer_count);
    free(items);
    return all;
}

static LLVMValueRef region_of(object_writer *w, const vtac_step *step)
{
    if (!step->on_accelerator) {
        return LLVMConstNull(w->pointer);
    }
    const vtac_region *region = &w->program->partition->regions[step->region];
    LLVMValueRef program = add_global(w, bytes_of(w, region->program, region->program_bytes), 8);
    LLVMValueRef fields[] = {program,
                             u64_of(w, region->program_bytes),
                             u64_of(w, region->constant_offset),
                             u64_of(w, region->image.constant_bytes),
                             u64_of(w, region->work_offset),
                             u64_of(w, region->image.work_bytes),
                             u32_of(w, step->input_count),
                             u32_of(w, region->region.layer_count),
                             layers_of(w, region)};
    return add_global(w, struct_of(w, fields, sizeof fields / sizeof fields[0]), 8);
}

static LLVMValueRef step_of(object_writer *w, const vtac_step *step, uint32_t number)
{
    const bool device = step->on_accelerator;
    LLVMValueRef kernel = device ? LLVMConstNull(w->pointer) : kernel_of(w, step, number);
    const vta_step_kind kind = device              ? VTA_STEP_ACCELERATOR
                               : step->moves_state ? VTA_STEP_STATE
                                                   : VTA_STEP_HOST;
    LLVMValueRef fields[] = {u32_of(w, kind),
                             u32_of(w, step->node),
                             text_of(w, step->name),
                             text_of(w, step->op),
                             kernel,
                             u64_of(w, (uint64_t)vtac_kernel_extent(&step->kernel)),
                             u32_of(w, step->arg_count),
                             buffers_of(w, step),
                             u64_of(w, step->kernel.scratch_bytes),
                             u64_of(w, step->flops),
                             region_of(w, step)};
    return struct_of(w, fields, sizeof fields / sizeof fields[0]);
}

static LLVMValueRef steps_of(object_writer *w)
{
    const uint32_t count = (uint32_t)w->program->steps.count;
    LLVMValueRef *items = calloc((size_t)count + 1, sizeof(LLVMValueRef));
    if (items == NULL) {
        w->em.failed = true;
        return LLVMConstNull(w->pointer);
    }
    for (uint32_t i = 0; i < count; i++) {
        const vtac_step *step = *(vtac_step **)vta_vec_at(&w->program->steps, i);
        const vta_status status =
            vtac_progress_at(w->program->progress, "generating code for step", step->name, i, count, w->diag);
        w->ended = w->ended || status != VTA_OK;
        items[i] = step_of(w, step, i);
    }
    LLVMValueRef all = array_global(w, count > 0 ? LLVMTypeOf(items[0]) : w->u32, items, count);
    free(items);
    return all;
}

/* Room for constants, and their hash. A WebAssembly object has them as data: it has no sections to fill in.
 */
static LLVMValueRef constants_of(object_writer *w, const char *section, uint64_t size,
                                 vtac_constants_fn *constants, uint64_t *hash)
{
    uint8_t *bytes = calloc(1, size + 1);
    *hash = vta_hash_bytes(VTA_HASH_START, bytes, 0);
    if (size == 0 || bytes == NULL) {
        w->em.failed = w->em.failed || bytes == NULL;
        free(bytes);
        return LLVMConstNull(w->pointer);
    }
    constants(w->program, bytes);
    *hash = vta_hash_bytes(VTA_HASH_START, bytes, size);
    LLVMValueRef global = w->program->target->is_wasm
                              ? add_global(w, bytes_of(w, bytes, size), VTA_ARTIFACT_ALIGN)
                              : vtac_reserve_section(w->em.module, section, size, VTA_ARTIFACT_ALIGN);
    free(bytes);
    return global;
}

static uint64_t device_bytes(const object_writer *w)
{
    return w->program->partition != NULL ? w->program->partition->constant_bytes : 0;
}

/* The configuration as JSON; null where nothing runs on the accelerator. */
static LLVMValueRef config_of(object_writer *w)
{
    if (w->program->partition == NULL) {
        return LLVMConstNull(w->pointer);
    }
    char *json = vta_config_to_json(&w->program->partition->config);
    if (json == NULL) {
        w->em.failed = true;
        return LLVMConstNull(w->pointer);
    }
    LLVMValueRef text = text_of(w, json);
    free(json);
    return text;
}

/* Instructions of the model's control flow, if it has any, as bytes of the target; all
 * targets are little-endian. */
static LLVMValueRef flow_of(object_writer *w, uint64_t *bytes)
{
    const vtac_program *p = w->program;
    *bytes = 0;
    if (p->graph->flow == NULL) {
        return LLVMConstNull(w->pointer);
    }
    uint32_t *segments = calloc(p->steps.count + 1, sizeof *segments);
    for (size_t i = 0; segments != NULL && i < p->steps.count; i++) {
        segments[i] = (*(vtac_step **)vta_vec_at(&p->steps, i))->segment;
    }
    vta_str words = {0};
    LLVMValueRef all = LLVMConstNull(w->pointer);
    if (segments != NULL &&
        vtac_flow_encode(p->graph, segments, (uint32_t)p->steps.count, &words, w->diag) == VTA_OK) {
        *bytes = words.size;
        all = add_global(w, bytes_of(w, words.text, words.size), 8);
    } else {
        w->em.failed = true;
    }
    vta_str_free(&words);
    free(segments);
    return all;
}

/* The table of states that lies behind the artifact, and how many they are; NULL: none. */
static LLVMValueRef states_of(object_writer *w, LLVMValueRef *count_field)
{
    vta_state *states;
    uint32_t count;
    if (vtac_find_states(w->program->graph, &states, &count, w->diag) != VTA_OK) {
        w->em.failed = true;
        return NULL;
    }
    LLVMValueRef *items = calloc(2 * (size_t)count + 1, sizeof(LLVMValueRef));
    w->em.failed = w->em.failed || items == NULL;
    for (uint32_t i = 0; items != NULL && i < count; i++) {
        items[2 * i] = u32_of(w, states[i].input);
        items[2 * i + 1] = u32_of(w, states[i].output);
    }
    LLVMValueRef table = items != NULL && count > 0 ? LLVMConstArray(w->u32, items, 2 * count) : NULL;
    *count_field = u32_of(w, table != NULL ? count : 0);
    free(items);
    free(states);
    return table;
}

/* ---- kernels for a GPU */

static LLVMValueRef sources_of(object_writer *w, const vtac_gpu *gpu)
{
    const uint32_t count = (uint32_t)gpu->kernels.count;
    LLVMValueRef *items = calloc((size_t)count + 1, sizeof(LLVMValueRef));
    if (items == NULL) {
        w->em.failed = true;
        return LLVMConstNull(w->pointer);
    }
    for (uint32_t i = 0; i < count; i++) {
        const vtac_gpu_kernel *kernel = vta_vec_at(&gpu->kernels, i);
        LLVMValueRef fields[] = {text_of(w, kernel->name), text_of(w, kernel->source),
                                 u32_of(w, kernel->needs), u32_of(w, 0)};
        items[i] = struct_of(w, fields, 4);
    }
    LLVMValueRef all = array_global(w, count > 0 ? LLVMTypeOf(items[0]) : w->u32, items, count);
    free(items);
    return all;
}

/* "rrw": which of a step's buffers are read and written. */
static LLVMValueRef accesses_of(object_writer *w, const vtac_step *step)
{
    vta_str text = {0};
    vta_str_put(&text, "");
    for (size_t i = 0; i < step->arg_count; i++) {
        vta_str_put(&text, step->args[i].written ? "w" : "r");
    }
    w->em.failed = w->em.failed || text.failed;
    LLVMValueRef all = text.failed ? LLVMConstNull(w->pointer) : text_of(w, text.text);
    vta_str_free(&text);
    return all;
}

static LLVMValueRef launches_of(object_writer *w, const vtac_gpu *gpu)
{
    const uint32_t count = (uint32_t)w->program->steps.count;
    LLVMValueRef *items = calloc((size_t)count + 1, sizeof(LLVMValueRef));
    if (items == NULL) {
        w->em.failed = true;
        return LLVMConstNull(w->pointer);
    }
    for (uint32_t i = 0; i < count; i++) {
        const vtac_gpu_launch *launch = &gpu->launches[i];
        LLVMValueRef fields[] = {u64_of(w, (uint64_t)launch->kernel), u64_of(w, (uint64_t)launch->items),
                                 u64_of(w, (uint64_t)launch->group), text_of(w, launch->reason),
                                 accesses_of(w, *(vtac_step **)vta_vec_at(&w->program->steps, i))};
        items[i] = struct_of(w, fields, 5);
    }
    LLVMValueRef all = array_global(w, count > 0 ? LLVMTypeOf(items[0]) : w->u32, items, count);
    free(items);
    return all;
}

/* The structure of vta/kernels.h. */
static LLVMValueRef kernels_of(object_writer *w)
{
    const vtac_gpu *gpu = w->program->gpu;
    LLVMValueRef fields[] = {
        u64_of(w, VTA_KERNELS_MAGIC),       u32_of(w, VTA_KERNELS_ABI), u32_of(w, 0),
        text_of(w, gpu->printer->language), text_of(w, gpu->prelude),   u32_of(w, gpu->kernels.count),
        u32_of(w, w->program->steps.count), sources_of(w, gpu),         launches_of(w, gpu)};
    const unsigned count = sizeof fields / sizeof fields[0];
    LLVMTypeRef type = LLVMTypeOf(struct_of(w, fields, count));
    fields[2] = u32_of(w, LLVMABISizeOfType(LLVMGetModuleDataLayout(w->em.module), type));
    return struct_of(w, fields, count);
}

static void emit_artifact(object_writer *w)
{
    enum { STATE_COUNT = 13 }; /* among the fields */
    const vtac_graph *graph = w->program->graph;
    const vtac_target *target = w->program->target;
    const vtac_partition *partition = w->program->partition;
    uint64_t hash = 0;
    uint64_t device_hash = 0;
    uint64_t flow_bytes;
    LLVMValueRef flow = flow_of(w, &flow_bytes);
    LLVMValueRef steps = steps_of(w);
    LLVMValueRef constants =
        constants_of(w, HOST_SECTION, w->program->constant_bytes, vtac_host_constants, &hash);
    LLVMValueRef device_constants =
        constants_of(w, DEVICE_SECTION, device_bytes(w), vtac_device_constants, &device_hash);
    LLVMValueRef fields[] = {u64_of(w, VTA_ARTIFACT_MAGIC),
                             u32_of(w, (flow_bytes > 0 ? VTA_ARTIFACT_FLOW_ABI : VTA_ARTIFACT_ABI) |
                                           (w->program->gpu != NULL ? VTA_ARTIFACT_KERNELS : 0)),
                             u32_of(w, 0),
                             text_of(w, graph->name != NULL ? graph->name : ""),
                             text_of(w, target->triple),
                             text_of(w, target->cpu),
                             text_of(w, target->features),
                             text_of(w, target->required),
                             config_of(w),
                             u64_of(w, partition != NULL ? partition->config.hash : 0),
                             u32_of(w, graph->input_count - graph->state_count),
                             u32_of(w, graph->output_count - graph->state_count),
                             u32_of(w, w->program->steps.count),
                             u32_of(w, 0), /* states */
                             tensors_of(w, graph->inputs, graph->input_count - graph->state_count),
                             tensors_of(w, graph->outputs, graph->output_count - graph->state_count),
                             steps,
                             constants,
                             u64_of(w, w->program->constant_bytes),
                             u64_of(w, hash),
                             u64_of(w, w->program->workspace_bytes),
                             device_constants,
                             u64_of(w, device_bytes(w)),
                             u64_of(w, device_hash),
                             u64_of(w, partition != NULL ? partition->work_bytes : 0),
                             flow,
                             u64_of(w, flow_bytes)};
    const unsigned count = sizeof fields / sizeof fields[0];
    LLVMTypeRef type = LLVMTypeOf(struct_of(w, fields, count));
    fields[2] = u32_of(w, LLVMABISizeOfType(LLVMGetModuleDataLayout(w->em.module), type)); /* the target's */
    LLVMValueRef states = states_of(w, &fields[STATE_COUNT]);
    LLVMValueRef value = struct_of(w, fields, count);
    LLVMValueRef parts[3] = {value};
    unsigned part_count = 1;
    if (states != NULL) {
        parts[part_count++] = states;
    }
    if (w->program->gpu != NULL) {
        parts[part_count++] = kernels_of(w);
    }
    value = part_count > 1 ? struct_of(w, parts, part_count) : value;
    LLVMValueRef global = LLVMAddGlobal(w->em.module, LLVMTypeOf(value), VTA_ARTIFACT_SYMBOL);
    LLVMSetInitializer(global, value);
    LLVMSetGlobalConstant(global, 1);
    LLVMSetAlignment(global, 8);
}

/* The host's part of a run beside the accelerator, estimated, under a name of its own in the file. */
static void emit_board(object_writer *w)
{
    static const double picoseconds = 1e6; /* in a microsecond */
    const vtac_partition *p = w->program->partition;
    const vtac_target *target = w->program->target;
    if (p == NULL || target->is_wasm || target->is_bare) {
        return;
    }
    LLVMValueRef fields[] = {u32_of(w, 0), u32_of(w, 0),
                             u64_of(w, (uint64_t)(picoseconds * p->host_cycles / p->config.clock_mhz + 0.5)),
                             text_of(w, p->host)};
    const unsigned count = sizeof fields / sizeof fields[0];
    LLVMTypeRef type = LLVMTypeOf(struct_of(w, fields, count));
    fields[0] = u32_of(w, LLVMABISizeOfType(LLVMGetModuleDataLayout(w->em.module), type));
    LLVMValueRef value = struct_of(w, fields, count);
    LLVMValueRef global = LLVMAddGlobal(w->em.module, LLVMTypeOf(value), VTA_ARTIFACT_BOARD_SYMBOL);
    LLVMSetInitializer(global, value);
    LLVMSetGlobalConstant(global, 1);
    LLVMSetAlignment(global, 8);
}

/* ---- passes and output */

/* Level of LLVM's optimization. */
static int level_of(const vtac_program *program)
{
    enum { MAX = 3 };
    const int level = program->level < MAX ? program->level : MAX;
    return program->once ? VTAC_LEVEL_ONCE : level > 0 ? level : 0;
}

/* LLVM's passes. The loops come in blocks, vectors and unrolled already: what is left is to clean up, to
 * unroll what is short and to make vectors of the plain loops. On the grid this code is as fast as that of
 * LLVM's own pipelines, and takes up to a quarter less time to make. */
#if VTAC_LLVM_MAJOR >= 18
#    define COMBINE "instcombine<no-verify-fixpoint>"
#else
#    define COMBINE "instcombine"
#endif
#define CLEAN_UP "sroa,early-cse<memssa>,simplifycfg," COMBINE ",loop-mssa(loop-rotate,licm),"
#define SHORT    "loop(indvars,loop-idiom,loop-deletion,loop-unroll-full),sroa,gvn," COMBINE ","
#define VECTORS  "loop-vectorize,"
#define UNROLL   "loop-unroll<O3>,early-cse<memssa>," COMBINE ",loop-mssa(licm),simplifycfg"
#define WHOLE    "cgscc(inline),function(" CLEAN_UP SHORT VECTORS UNROLL "),globaldce"

static vta_status optimize_module(object_writer *w, LLVMTargetMachineRef machine)
{
    static const char *const pipelines[] = {
        "cgscc(inline),function(" CLEAN_UP "simplifycfg),globaldce",
        "cgscc(inline),function(" CLEAN_UP SHORT VECTORS COMBINE ",simplifycfg),globaldce", WHOLE, WHOLE};
    const int level = level_of(w->program);
    if (level == VTAC_LEVEL_ONCE) {
        return VTA_OK;
    }
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(w->em.module, pipelines[level], machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (error == NULL) {
        return VTA_OK;
    }
    char *message = LLVMGetErrorMessage(error);
    const vta_status status = vta_fail(w->diag, VTA_INVALID, "LLVM: %s", message);
    LLVMDisposeMessage(message);
    return status;
}

/* LLVM ends the process where a file takes no more: with a limit on the size of files no file is used. */
static bool files_are_limited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* LLVM writes an object into a file in memory once, and into a buffer of its own twice. -1: there are none.
 */
static int open_memory(char *path, size_t size)
{
    const int file = files_are_limited() ? -1 : vta_anonymous_file("object");
    (void)snprintf(path, size, "/proc/self/fd/%d", file);
    if (file >= 0 && access(path, W_OK) != 0) {
        (void)close(file);
        return -1;
    }
    return file;
}

static vta_status emit_by_file(LLVMTargetMachineRef machine, LLVMModuleRef module, char *path,
                               uint8_t **bytes, size_t *size, vta_diag *diag)
{
    char *message = NULL;
    if (LLVMTargetMachineEmitToFile(machine, module, path, LLVMObjectFile, &message) != 0) {
        const vta_status status = vta_fail(diag, VTA_INVALID, "LLVM: %s", message);
        LLVMDisposeMessage(message);
        return status;
    }
    return vta_file_read(path, SIZE_MAX - 1, bytes, size, diag);
}

static vta_status emit_by_buffer(LLVMTargetMachineRef machine, LLVMModuleRef module, LLVMCodeGenFileType kind,
                                 uint8_t **bytes, size_t *size, vta_diag *diag)
{
    char *message = NULL;
    LLVMMemoryBufferRef buffer = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, kind, &message, &buffer) != 0) {
        const vta_status status = vta_fail(diag, VTA_INVALID, "LLVM: %s", message);
        LLVMDisposeMessage(message);
        return status;
    }
    *size = LLVMGetBufferSize(buffer);
    *bytes = malloc(*size + 1);
    if (*bytes != NULL) {
        memcpy(*bytes, LLVMGetBufferStart(buffer), *size);
        (*bytes)[*size] = 0;
    }
    LLVMDisposeMemoryBuffer(buffer);
    return vta_allocated(*bytes != NULL, diag);
}

vta_status vtac_emit_module(LLVMTargetMachineRef machine, LLVMModuleRef module, LLVMCodeGenFileType kind,
                            uint8_t **bytes, size_t *size, vta_diag *diag)
{
    char path[64];
    const int file = kind == LLVMObjectFile ? open_memory(path, sizeof path) : -1;
    if (file < 0) {
        return emit_by_buffer(machine, module, kind, bytes, size, diag);
    }
    const vta_status status = emit_by_file(machine, module, path, bytes, size, diag);
    (void)close(file);
    return status;
}

static vta_status verify_module(object_writer *w)
{
    char *message = NULL;
    const bool broken = LLVMVerifyModule(w->em.module, LLVMReturnStatusAction, &message) != 0;
    const vta_status status =
        broken ? vta_fail(w->diag, VTA_INVALID, "the code is not valid LLVM: %s", message) : VTA_OK;
    LLVMDisposeMessage(message);
    return status;
}

static vta_status write_texts(object_writer *w, LLVMTargetMachineRef machine, vtac_artifact_image *out)
{
    char *text = LLVMPrintModuleToString(w->em.module);
    out->ll = strdup(text);
    LLVMDisposeMessage(text);
    uint8_t *assembly = NULL;
    size_t size;
    LLVMModuleRef original = w->em.module; /* emission changes the module */
    w->em.module = LLVMCloneModule(original);
    const vta_status status =
        vtac_emit_module(machine, w->em.module, LLVMAssemblyFile, &assembly, &size, w->diag);
    LLVMDisposeModule(w->em.module);
    w->em.module = original;
    out->assembly = (char *)assembly;
    return status;
}

static vta_status fill_sections(object_writer *w, vtac_artifact_image *out)
{
    VTA_TRY(vtac_fill_section(w->program, HOST_SECTION, w->program->constant_bytes, vtac_host_constants,
                              out->object, out->object_bytes, w->diag));
    return vtac_fill_section(w->program, DEVICE_SECTION, device_bytes(w), vtac_device_constants, out->object,
                             out->object_bytes, w->diag);
}

static vta_status write_all(object_writer *w, LLVMTargetMachineRef machine, bool want_texts,
                            vtac_artifact_image *out)
{
    emit_artifact(w);
    emit_board(w);
    if (w->ended) {
        return VTA_INTERRUPTED;
    }
    if (w->em.failed) {
        return vta_no_memory(w->diag);
    }
    VTA_TRY(verify_module(w));
    VTA_TRY(
        vtac_progress_at(w->program->progress, "optimizing code", w->program->target->name, 0, 0, w->diag));
    VTA_TRY(optimize_module(w, machine));
    VTA_TRY(vtac_progress_at(w->program->progress, "writing code", w->program->target->name, 0, 0, w->diag));
    VTA_TRY(want_texts ? write_texts(w, machine, out) : VTA_OK);
    VTA_TRY(
        vtac_emit_module(machine, w->em.module, LLVMObjectFile, &out->object, &out->object_bytes, w->diag));
    return w->program->target->is_wasm ? VTA_OK : fill_sections(w, out);
}

static void start_module(object_writer *w, LLVMTargetMachineRef machine)
{
    vtac_emitter *em = &w->em;
    em->context = LLVMContextCreate();
    em->module = LLVMModuleCreateWithNameInContext("model", em->context);
    em->builder = LLVMCreateBuilderInContext(em->context);
    em->target = w->program->target;
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(em->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(em->module, w->program->target->triple);
    w->pointer = LLVMPointerTypeInContext(em->context, 0);
    w->u32 = LLVMInt32TypeInContext(em->context);
    w->u64 = LLVMInt64TypeInContext(em->context);
    LLVMTypeRef buffer[] = {w->u32, w->u32, w->u64, w->u64};
    w->buffer_type = LLVMStructTypeInContext(em->context, buffer, 4, 0);
}

vta_status vtac_emit_object(const vtac_program *program, bool want_texts, vtac_artifact_image *out,
                            vta_diag *diag)
{
    LLVMTargetMachineRef machine;
    VTA_TRY(vtac_machine_create(program->target, level_of(program), &machine, diag));
    object_writer w = {.program = program, .diag = diag, .known = {.item_size = sizeof(known_kernel)}};
    start_module(&w, machine);
    const vta_status status = write_all(&w, machine, want_texts, out);
    for (size_t i = 0; i < w.known.count; i++) {
        free(((known_kernel *)vta_vec_at(&w.known, i))->text);
    }
    vta_vec_free(&w.known);
    LLVMDisposeBuilder(w.em.builder);
    LLVMDisposeModule(w.em.module);
    LLVMContextDispose(w.em.context);
    LLVMDisposeTargetMachine(machine);
    return status;
}
