/* SPDX-License-Identifier: Apache-2.0
 *
 * The accelerator back end's two halves and what they say to each other.
 *
 * The partitioner (src/partition) turns a maximal set of quantized nodes into a *region*: int8 tensors and
 * layers with integer arithmetic (vtac/quant.h), nothing of ONNX left. The scheduler (src/vta) turns a region
 * into one instruction stream, the constants that it loads, and a prediction for each layer. The host fills
 * the region's inputs and reads its outputs in device memory; how they lie there is `vtac_vta_tensor`.
 *
 * Device memory of a region is two buffers: CONSTANTS (weights, parameters; written once)
 * and WORK (activations).
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
 * instead of the image: channel (ky·kernel[1] + kx)·c + ch of the stored tensor at (y, x) is channel ch
 * of the image at (y·stride[0] + ky·dilation[0] - before[0], x·stride[1] + kx·dilation[1] - before[1]),
 * the zero point outside. The stored tensor then has stored_c = kernel[0]·kernel[1]·c channels, stored_h
 * rows, stored_w columns.
 */
typedef struct vtac_vta_tensor {
    const char *name; /* the name of the graph's value */
    vtac_vta_role role;
    int64_t n, c, h, w;
    int32_t zero;   /* -128 … 127 */
    uint32_t value; /* the graph's value; the scheduler does not use it */
    bool kept;      /* an input that stays in WORK from run to run: it shares no memory */
    /* the members below are filled by the scheduler */
    bool folded;
    vtac_vta_window fold;
    int64_t stored_c, stored_h, stored_w;
    bool twice; /* one pixel of few channels in two tiles: they fill half of a tile, the first half of the
                 * first one and the second half of the second one; the other halves hold 0 */
    uint64_t offset, bytes; /* in WORK; tensors whose live ranges are disjoint may share bytes */
} vtac_vta_tensor;

/* ---- layers ---- */

typedef enum vtac_vta_kind {
    VTAC_VTA_CONV, /* also dense layers: a window as large as the input */
    VTAC_VTA_ADD,  /* two inputs of one shape */
    VTAC_VTA_MUL,  /* two inputs of one shape, or the second with h = w = 1 */
    VTAC_VTA_MAX_POOL,
    VTAC_VTA_AVG_POOL,  /* any window */
    VTAC_VTA_RESCALE,   /* to another scale or zero point, or a clamp (ReLU) */
    VTAC_VTA_TABLE,     /* any function of one number, given as `table` */
    VTAC_VTA_CONCAT,    /* along channels or (`by_pixels`) pixels; each input is rescaled */
    VTAC_VTA_RESIZE,    /* nearest neighbour, by the whole factors window.stride */
    VTAC_VTA_MOVE,      /* moves numbers between channels, rows and columns, as `from` says */
    VTAC_VTA_SOFTMAX,   /* of the channels of each pixel: vtac_row_softmax; perhaps with a mask */
    VTAC_VTA_NORM,      /* the same: vtac_row_norm */
    VTAC_VTA_PLANES,    /* of the pixels of each image, by groups of channels: vtac_planes_norm */
    VTAC_VTA_RECURRENT, /* a direction of an LSTM, GRU or RNN: vtac_recurrent_step; its pixels are steps,
                           each with all rows of the batch */
    VTAC_VTA_TRANSPOSE, /* the pixels of each image become channels, and the channels pixels */
    VTAC_VTA_RUNS,      /* moves pixels of whole blocks, each number in its lane, as `runs` say */
    VTAC_VTA_CHOOSE,    /* the larger of two inputs of one shape, or with `min` the smaller one */
    VTAC_VTA_KINDS
} vtac_vta_kind;

/* The numbers that a MOVE finds beyond the edge of an image: the zero point, the pixel at the edge, or the
 * image mirrored at that pixel, which stands once. */
typedef enum vtac_vta_beyond { VTAC_VTA_ZEROS, VTAC_VTA_EDGES, VTAC_VTA_MIRROR } vtac_vta_beyond;

/*
 * The source of a number of a MOVE. In phase (y % up[0], x % up[1]), out(n, c, y, x) is channel `channel` of
 * input `input` at row (y / up[0])·down[0] + dy and column (x / up[1])·down[1] + dx. A source outside the
 * image gives what `beyond` says, and `input` -1 the zero point. The source lies in the same image n; only a
 * MOVE with `across` has one entry for each image and channel, and takes the number from image `image`.
 */
typedef struct vtac_vta_from {
    int32_t input, channel, dy, dx, image;
} vtac_vta_from;

/*
 * Tiles of a RUNS: `count` tiles of input `input` from tile `from` on, in the order of memory (image, block
 * of channels, row, column), or with input -1 so many tiles with the zero point. The runs of a layer fill its
 * output one after the other. Not for machines with a batch.
 */
typedef struct vtac_vta_run {
    int64_t input, from, count;
} vtac_vta_run;

enum { VTAC_MAX_LANES = 128 }; /* the largest block, in channels, that a MOVE supports */

/*
 * Packed weights: a product of two activations is a CONV of one pixel whose second input holds the weights.
 * That input of the region lies in WORK in the order of LOAD: for each block_out outputs, for each block_in
 * terms of their group, for each plane, [block_out][block_in]. The values are w less the zero point of w, and
 * 0 in padding. Where the first input's zero point is not 0, a third input (of batch 1) holds the records of
 * REQUANT: for each block_out outputs, [block_out] int32 biases, -zero · Σ w, then as many scales
 * (vta_requant_scale). With several groups, both sizes of a group are multiples of vtac_vta_block.
 *
 * With `image` the second input is an image made in the region, on machines with one size of blocks, a
 * multiple of which its pixels are: the weight of pixel n and channel k is that of output n for term k. With
 * several groups, one of the two has the numbers of all groups, and the other one those of a group. The zero
 * point of the second input is 0; that of the first one need not be. The second input may also be an input of
 * the region, and a third one an image whose pixels follow its pixels as outputs, or with `more_terms` whose
 * channels follow its channels as terms. `readers` neighbouring groups share the weights of one.
 *
 * Whole sums: a CONV with `bytes` does not round. Its output holds the sums of x · (w - zero of w), without
 * the zero point of x, byte by byte: byte k (the lowest is 0) of channel c is channel k · n + c, where n is
 * `outputs` rounded up to vtac_vta_block. The sums must fit: the highest byte has the sign.
 *
 * Masks: a second input of a SOFTMAX has -128 for each number that is left out, and 0 elsewhere; its zero
 * point is 0. It has one pixel for all pixels or as many as the first input, one image for all or as many,
 * and the channels of one row, which all rows of a pixel share, or those of all rows. Not on machines with a
 * batch.
 *
 * Table behind a layer: `behind` maps each result (-128 … 127, with zero point `between`) to another number,
 * as an activation function does. CONV, MUL, AVG_POOL, RESCALE, CHOOSE, PLANES, and ADD without `table` may
 * have one.
 *
 * States: the further inputs of a RECURRENT are what it begins with, h or the bytes of C or H or both, in
 * this order; its second output is the bytes at the end (vtac/recurrence.h). They are images of one pixel,
 * one for each byte and row of the batch.
 *
 * Every layer: out = clamp(round(v · scale) + out.zero - zero_less, low, high), with v by kind as in
 * vtac/quant.h. MAX_POOL, RESIZE and CHOOSE keep q (zero point and scale are the same on both sides) and
 * clamp it. */
typedef struct vtac_vta_layer {
    vtac_vta_kind kind;
    const char *name; /* of the ONNX node; "conv1+relu1" where several nodes became one layer */
    const char *op;   /* "QLinearConv" */
    uint32_t node;    /* the node's number in the model, for profiles */
    uint32_t input_count;
    const uint32_t *inputs; /* tensors of the region */
    uint32_t output;
    uint32_t second; /* RECURRENT: the tensor of the state at the end; 0: none (0 is an input's number) */
    vtac_vta_window window;     /* CONV and pools */
    int64_t groups;             /* CONV; depthwise: groups = input channels = output channels (or a multiple).
                                    SOFTMAX: rows of a pixel, each with as many whole blocks */
    const int8_t *weights;      /* CONV: [c_out][c_in / groups][kernel[0]][kernel[1]]; NULL: packed (above) */
    const int32_t *weight_zero; /* one per output channel; NULL: all 0 */
    const int32_t *bias; /* CONV: per output channel; AVG_POOL: per divisor; ADD with `wide`: one; or NULL */
    const vtac_fixed
        *scales; /* per output channel (CONV), input (CONCAT, MOVE) or divisor (AVG_POOL); else one */
    const int64_t *divisors; /* AVG_POOL: the numbers of elements that its means have, each once */
    uint32_t divisor_count;
    int64_t counted_before[2], counted_after[2]; /* AVG_POOL: padding that counts as elements */
    vtac_fixed_sum sum;                          /* ADD; with `wide`, scales[0] replaces its shift */
    int64_t up[2], down[2];                      /* MOVE */
    const int8_t *table;       /* TABLE: the result for -128 … 127; ADD: what one input adds; or NULL */
    uint32_t corrected;        /* ADD with `table`: the input whose number selects the entry */
    const int8_t *behind;      /* the table behind the layer, for -128 … 127 (above); or NULL */
    int32_t between;           /* the zero point of the numbers that `behind` takes */
    const vtac_vta_from *from; /* MOVE: [up[0]·up[1]][across ? n : 1][c_out] */
    const vtac_vta_run *runs;  /* RUNS */
    uint32_t run_count;
    const vtac_softmax *softmax;   /* SOFTMAX */
    const vtac_norm *norm;         /* NORM */
    const vtac_planes *plane_norm; /* PLANES */
    const vtac_recurrent *cell;    /* RECURRENT */
    int64_t steps;                 /* RECURRENT */
    bool reverse;                  /* RECURRENT: from the last step to the first */
    bool across;                   /* MOVE: between images; not for machines with a batch */
    bool by_pixels;                /* CONCAT: along pixels; each input has all channels */
    bool min;                      /* CHOOSE */
    vtac_vta_beyond beyond;        /* MOVE */
    int32_t low, high;             /* -128 … 127 */
    vta_rounding rounding;         /* EVEN as in ONNX; other front ends set their own */
    bool wide;                     /* multipliers have 31 bits; CONV, AVG_POOL, ADD, MUL, RESCALE */
    int32_t zero_less;             /* AVG_POOL: subtracted from the output's zero point; 0 elsewhere */
    int32_t more_times;            /* AVG_POOL: v is (1 + more_times) · the sum; 0 elsewhere */
    bool image, more_terms;        /* CONV, packed: the weights are an image of the region (above) */
    int64_t readers;        /* CONV with `image`: groups that share weights; 1 or 0: each has its own */
    int64_t planes;         /* CONV, packed: a weight is the sum of so many int8; else 0 */
    uint64_t products;      /* CONV, packed or whole sums: multiplications without padding; else 0 */
    int64_t bytes, outputs; /* CONV, whole sums: bytes of a sum; channels that have one; else 0 */
    /* the members below are the scheduler's: by block_out outputs, block_in inputs and tap, 0 for a tile of
     * weights without a number; NULL: all tiles have numbers; and how many have some */
    const uint8_t *tiles;
    int64_t filled;
    /* CONV by channels or AVG_POOL, between images with merged pixels: the channels of a pixel of the input,
     * where pixels of that are merged; the pixels of the output that are one, where those of the input are
     * not; else 0 */
    int64_t lanes, narrow;
    /* CONV whose input has merged pixels, and its output not: the weights are those of so many pixels of the
     * output, which the window makes at once, one pixel behind the other; else 0 */
    int64_t phases;
} vtac_vta_layer;

/* True if 4 bits hold every weight of a CONV less its zero point, for channels of the input and the output.
 */
bool vtac_vta_narrow_weights(const vtac_vta_layer *layer, int64_t c_in, int64_t c_out);

typedef struct vtac_vta_region {
    const char *name;
    vtac_vta_tensor *tensors;
    uint32_t tensor_count;
    vtac_vta_layer *layers; /* in execution order */
    uint32_t layer_count;
} vtac_vta_region;

/* AVG_POOL: the number of elements along dimension d that the mean at output row or column `at` has, for an
 * input of `size`. The product of both dimensions is one of the layer's divisors. */
int64_t vtac_vta_elements(const vtac_vta_layer *layer, int d, int64_t at, int64_t size);

/* The row or column that stands for `at`, which may lie outside of 0 … size - 1. */
int64_t vtac_vta_place_beyond(vtac_vta_beyond beyond, int64_t at, int64_t size);

/* ---- the scheduler ---- */

/* The block C of the layout above. Where block_in and block_out differ, a batch above 1 is not supported:
 * LOAD and STORE would lay out the images of a batch differently. */
int64_t vtac_vta_block(const vta_config *config);

/* VTA_OK, or VTA_UNSUPPORTED with the rule that keeps this layer off the accelerator and the remedy, in one
 * sentence for a person ("windows wider than 63 …; make the kernel smaller or set LOG_INP_BUFF_SIZE to 16").
 * Cheap. vtac_vta_schedule schedules every layer that this function accepts. */
vta_status vtac_vta_supports(const vta_config *config, const vtac_vta_region *region, uint32_t layer,
                             vta_diag *diag);

/* The predicted cost of a layer. `cycles` is the layer's share of the whole run by the rule of
 * vta_device_account; the shares sum to the run without its end, when only stores are left. */
typedef struct vtac_vta_cost {
    uint64_t cycles;
    uint64_t array, alu, load, store; /* cycles of each unit alone: GEMM and DEPTHWISE; ALU and REQUANT; the
                                         bus, reading; the bus, writing */
    uint64_t bytes_read, bytes_written;
    uint64_t macs;
    const char *bound; /* "array", "alu", "load", "store", "latency" */
} vtac_vta_cost;

/* A quick estimate for the partitioner, before anything is scheduled. */
vta_status vtac_vta_estimate(const vta_config *config, const vtac_vta_region *region, uint32_t layer,
                             vtac_vta_cost *out, vta_diag *diag);

typedef struct vtac_vta_plan {
    vtac_vta_cost cost;  /* of this layer */
    char schedule[160];  /* for reports: "rows 14 of 56, 4 of 16 out blocks, weights stay" */
    int32_t joined_into; /* the layer that this layer is computed with, or -1. An ADD inside its CONV: both
                          * run at the place of the ADD, under the tag of the CONV. */
    int32_t feeds; /* the layer that reads this layer's output on chip, tile by tile, without memory; or -1 */
    uint32_t weight_bits; /* as LOADs find the layer's weights: 4 or 8; 0: it has none of its own */
} vtac_vta_plan;

typedef struct vtac_vta_options {
    int level;                 /* 0: the estimate chooses tilings; 3: the timing model does */
    bool no_fold;              /* for tests: the host folds no inputs */
    double fold_cost;          /* cycles that the host takes for a byte of a folded input; 0: none count */
    bool no_join;              /* for tests: every layer alone, through DRAM */
    bool all_groups;           /* for tests: groups wherever they fit, even if slower */
    bool no_merge, all_merges; /* for tests: pixels are never merged; wherever they can be, if slower */
    bool all_splits;           /* for tests: with all_merges, and wherever they end as early as possible */
    bool all_factors;          /* for tests: factors of weights wherever they fit, even if slower */
    bool no_keep;              /* other programs run in between: nothing stays on chip for the next run */
    bool predict_only;         /* plans and cycles only, no program and no constants */
    const vtac_schedules *schedules; /* NULL: the standard schedules */
    const vtac_progress *progress;   /* NULL: silent */
} vtac_vta_options;

/* One launch. The program's symbols are "constants" and "work" (buffers 0 and 1), then "uops". A tag is a
 * layer's index + 1, or 0 for an instruction of no layer. All members are owned: vtac_vta_image_free. */
typedef struct vtac_vta_image {
    vta_program program;
    uint8_t *constants;
    uint64_t constant_bytes;
    uint64_t work_bytes;
    vtac_vta_plan *plans; /* one per layer */
    uint32_t plan_count;
    uint64_t cycles; /* predicted, of the whole run */
    uint64_t again;  /* the same of a run that finds on chip what the run before left; 0: not predicted */
} vtac_vta_image;

/* Also fills the tensors' layout. The same region and configuration give the same bytes. */
vta_status vtac_vta_schedule(const vta_config *config, vtac_vta_region *region,
                             const vtac_vta_options *options, vtac_vta_image *out, vta_diag *diag);
void vtac_vta_image_free(vtac_vta_image *image);

#endif
