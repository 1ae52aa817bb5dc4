/* SPDX-License-Identifier: Apache-2.0
 *
 * The accelerator back end's two halves and what they say to each other.
 *
 * The partitioner (src/partition) turns a maximal set of quantized nodes into a *region*: int8 tensors and
 * layers with integer arithmetic (vtac/quant.h), nothing of ONNX left. The scheduler (src/vta) turns a region
 * into one instruction stream, the constants that it loads, and a prediction for each layer. The host fills
 * the region's inputs and reads its outputs in device memory; how they lie there is `vtac_vta_tensor`.
 *
 * Device memory of a region is two buffers: CONSTANTS (weights, parameters; written once) and WORK
 * (activations).
 */
#ifndef VTAC_VTA_H
#define VTAC_VTA_H

#include "vta/config.h"
#include "vta/isa.h"
#include "vta/program.h"
#include "vta/status.h"
#include "vtac/progress.h"
#include "vtac/quant.h"
#include "vtac/schedules.h"

/* ---- tensors ---- */

/* A window over an image: kernel, stride, dilation, padding before and after, each for rows and columns. */
typedef struct vtac_vta_window {
    int64_t kernel[2], stride[2], dilation[2], before[2], after[2];
} vtac_vta_window;

typedef enum vtac_vta_role { VTAC_VTA_INTERNAL, VTAC_VTA_INPUT, VTAC_VTA_OUTPUT } vtac_vta_role;

/*
 * An activation: n images of c channels, h rows, w columns, int8 with one zero point (uint8 models: q and
 * zero moved by -128). In WORK, with B = batch and C = the larger of block_in and block_out (vtac_vta_block):
 *
 *     byte = offset + ((((n/B)·ceil(c/C) + c/C)·h + y)·w + x)·B·C + (n%B)·C + c%C
 *
 * with divisions that round down.
 *
 * Lanes beyond n and c hold the zero point in inputs, anything elsewhere.
 *
 * Folding (inputs only, chosen by the scheduler): where `folded`, the host writes the windows of `fold`
 * instead of the image: channel (ky·kernel[1] + kx)·c + ch of the stored tensor at (y, x) is channel ch of
 * the image at (y·stride[0] + ky·dilation[0] - before[0], x·stride[1] + kx·dilation[1] - before[1]), the zero
 * point outside. The stored tensor then has stored_c = kernel[0]·kernel[1]·c channels, stored_h rows,
 * stored_w columns.
 */
typedef struct vtac_vta_tensor {
    const char *name; /* of the graph's value */
    vtac_vta_role role;
    int64_t n, c, h, w;
    int32_t zero;   /* -128 … 127 */
    uint32_t value; /* the graph's value, for whoever made the region */
    /* filled by the scheduler */
    bool folded;
    vtac_vta_window fold;
    int64_t stored_c, stored_h, stored_w;
    uint64_t offset, bytes; /* in WORK; tensors whose lives do not overlap may share */
} vtac_vta_tensor;

/* ---- layers ---- */

typedef enum vtac_vta_kind {
    VTAC_VTA_CONV, /* dense layers too: a window as large as the input */
    VTAC_VTA_ADD,  /* two inputs of one shape */
    VTAC_VTA_MUL,  /* two inputs of one shape, or the second with h = w = 1 */
    VTAC_VTA_MAX_POOL,
    VTAC_VTA_AVG_POOL, /* any window */
    VTAC_VTA_RESCALE,  /* another scale or zero point; a clamp (ReLU) */
    VTAC_VTA_TABLE,    /* any function of one number, by `table` */
    VTAC_VTA_CONCAT,   /* along channels, each input rescaled */
    VTAC_VTA_RESIZE,   /* nearest, whole factors window.stride */
    VTAC_VTA_MOVE,     /* numbers change places: channels, rows, columns, by `from` */
    VTAC_VTA_KINDS
} vtac_vta_kind;

/*
 * Where a movement takes a number from: out(n, c, y, x) is what input `input` has in channel `channel` at row
 * (y / up[0])·down[0] + dy, column (x / up[1])·down[1] + dx, for the entry of phase (y % up[0], x % up[1])
 * and channel c. Outside of the image, and where `input` is -1, it is the input's zero point. It is of the
 * same image n, or, of a movement `across` images, which has an entry for each image and channel, of image
 * `image`.
 */
typedef struct vtac_vta_from {
    int32_t input, channel, dy, dx, image;
} vtac_vta_from;

enum { VTAC_MAX_LANES = 128 }; /* channels of a block that a movement takes */

/*
 * Packed weights: a product of two activations is a CONV of one pixel whose second input are its weights,
 * inputs of the region that lie in WORK as LOAD takes them: for each block_out outputs, for each block_in
 * terms of their group, for each plane, [block_out][block_in]. They are w less its zero point, 0 in padding.
 * Where the first input's zero point is not 0 a third input holds REQUANT's records, for each block_out
 * outputs [block_out] int32 biases, -zero · Σ w, then as many scales (vta_requant_scale); its batch is 1.
 * With several groups, both sizes of a group are multiples of vtac_vta_block.
 *
 * Whole sums: a CONV with `bytes` does not round. Its output holds the sums of x · (w - zero of w), whatever
 * the zero point of x, by their bytes: byte k (the lowest is 0) of channel c is channel k · n + c, where n is
 * `outputs` rounded up to vtac_vta_block. They must fit: the highest byte has the sign.
 *
 * Every layer: out = clamp(round(v · scale) + out.zero - zero_less, low, high), v by its kind as in
 * vtac/quant.h; MAX_POOL and RESIZE take q as it is (same zero and scale on both sides), then clamp. */
typedef struct vtac_vta_layer {
    vtac_vta_kind kind;
    const char *name; /* of the ONNX node, "conv1+relu1" where several were joined */
    const char *op;   /* "QLinearConv" */
    uint32_t node;    /* its number in the model, for profiles */
    uint32_t input_count;
    const uint32_t *inputs; /* tensors of the region */
    uint32_t output;
    vtac_vta_window window; /* CONV and pools */
    int64_t groups;         /* CONV; depthwise: groups = channels in = channels out (or a multiple of it) */
    const int8_t *weights;  /* CONV: [c_out][c_in / groups][kernel[0]][kernel[1]]; NULL: packed, below */
    const int32_t *weight_zero; /* one for each output channel; NULL: all 0 */
    const int32_t *bias;        /* CONV: one for each output channel; AVG_POOL: for each divisor; ADD: one,
                                 * where `wide`; NULL: none */
    const vtac_fixed *scales;   /* CONV: one for each output channel; CONCAT, MOVE: for each input; AVG_POOL:
                                 * for each divisor; MUL, RESCALE: one */
    const int64_t *divisors;    /* AVG_POOL: of how many elements its means are, each number once */
    uint32_t divisor_count;
    int64_t counted_before[2], counted_after[2]; /* AVG_POOL: padding that counts as elements */
    vtac_fixed_sum sum;                          /* ADD; its shift unless `wide`: then there is a scale */
    int64_t up[2], down[2];                      /* MOVE */
    const int8_t *table;  /* TABLE: the result for -128 … 127; then the clamp. ADD: */
    uint32_t corrected;   /* what this input's number adds besides; or NULL */
    const int8_t *behind; /* CONV, MUL, AVG_POOL, RESCALE, and ADD without a table: what becomes of the */
    int32_t between;      /* results, of -128 … 127, whose zero point this is then; or NULL */
    const vtac_vta_from *from; /* MOVE: [up[0]·up[1]][across ? n : 1][c_out] */
    bool across;               /* MOVE: from image to image; not in batches of the machine */
    int32_t low, high;         /* -128 … 127 */
    vta_rounding rounding;     /* EVEN unless the model's arithmetic is another than ONNX's */
    bool wide;                 /* multipliers of 31 bits; CONV, AVG_POOL, ADD, MUL, RESCALE */
    int32_t zero_less;         /* AVG_POOL; 0 elsewhere */
    int32_t more_times;        /* AVG_POOL: v is the sum, and this many times the sum; 0 elsewhere */
    int64_t planes;            /* CONV with packed weights: each is the sum of so many; 0 elsewhere */
    uint64_t products;         /* the same, or whole sums: multiplications, padding not counted; else 0 */
    int64_t bytes, outputs;    /* CONV with whole sums: of each, and how many channels have one; else 0 */
} vtac_vta_layer;

typedef struct vtac_vta_region {
    const char *name;
    vtac_vta_tensor *tensors;
    uint32_t tensor_count;
    vtac_vta_layer *layers; /* in an order of execution */
    uint32_t layer_count;
} vtac_vta_region;

/* AVG_POOL: of how many elements along dimension d the mean of output row or column `at` is, where the input
 * has `size`. The product of both dimensions is one of the layer's divisors. */
int64_t vtac_vta_elements(const vtac_vta_layer *layer, int d, int64_t at, int64_t size);

/* ---- the scheduler ---- */

/* C of the layout above. Where it is not both block_in and block_out, a batch above 1 is not supported: the
 * images of a batch would lie differently for LOAD and for STORE. */
int64_t vtac_vta_block(const vta_config *config);

/* VTA_OK, or VTA_UNSUPPORTED with the rule that keeps this layer off the accelerator and what to change, in a
 * sentence for a person ("windows wider than 63 …; make the kernel smaller or set LOG_INP_BUFF_SIZE to 16").
 * Cheap; what it accepts, vtac_vta_schedule schedules. */
vta_status vtac_vta_supports(const vta_config *config, const vtac_vta_region *region, uint32_t layer,
                             vta_diag *diag);

/* Where the cycles of a layer go, as predicted. `cycles` is its share of the whole run, by the rule of
 * vta_device_account: they sum to it, but for its end, when nothing but stores is left. */
typedef struct vtac_vta_cost {
    uint64_t cycles;
    uint64_t array, alu, load,
        store; /* what each unit would need by itself: GEMM and DEPTHWISE, ALU and REQUANT, bus */
    uint64_t bytes_read, bytes_written;
    uint64_t macs;
    const char *bound; /* "array", "alu", "load", "store", "latency" */
} vtac_vta_cost;

/* A quick estimate for the partitioner, before anything is scheduled. */
vta_status vtac_vta_estimate(const vta_config *config, const vtac_vta_region *region, uint32_t layer,
                             vtac_vta_cost *out, vta_diag *diag);

typedef struct vtac_vta_plan {
    vtac_vta_cost cost;  /* of the layer */
    char schedule[160];  /* for reports: "rows 14 of 56, 4 of 16 out blocks, weights stay" */
    int32_t joined_into; /* the layer that this one was computed with (an ADD inside its CONV: both run at
                          * the ADD's place, under the CONV's tag), or -1 */
    int32_t feeds; /* the layer that takes this one's output on chip, tile by tile: it never goes through
                    * memory; or -1 */
} vtac_vta_plan;

typedef struct vtac_vta_options {
    int level;                       /* 0: the estimate decides how layers are cut; 3: many ways are timed */
    bool no_fold;                    /* for tests: inputs as they are */
    bool no_join;                    /* for tests: layer by layer through DRAM */
    bool all_groups;                 /* for tests: layers on chip together wherever they fit, faster or not */
    bool predict_only;               /* plans and cycles are wanted: no program, no constants */
    const vtac_schedules *schedules; /* NULL: the standard ones */
    const vtac_progress *progress;   /* NULL: silent */
} vtac_vta_options;

/* One launch. The program's symbols are "constants" and "work" (buffers 0 and 1), then "uops"; its `tags`
 * are the layer's index + 1, 0 for an instruction that belongs to none. All is owned:
 * vtac_vta_image_free. */
typedef struct vtac_vta_image {
    vta_program program;
    uint8_t *constants;
    uint64_t constant_bytes;
    uint64_t work_bytes;
    vtac_vta_plan *plans; /* one for each layer */
    uint32_t plan_count;
    uint64_t cycles; /* predicted, of the whole run */
} vtac_vta_image;

/* Fills the tensors' layout, too. The same region and configuration give the same bytes. */
vta_status vtac_vta_schedule(const vta_config *config, vtac_vta_region *region,
                             const vtac_vta_options *options, vtac_vta_image *out, vta_diag *diag);
void vtac_vta_image_free(vtac_vta_image *image);

#endif
