/* SPDX-License-Identifier: Apache-2.0
 *
 * A workbench for the accelerator's scheduler: regions made up from a seed, what they compute said in plain C
 * from the formulas of vtac/vta.h and vtac/quant.h, and running them on a device.
 *
 *   region.c     regions: made layer by layer, at random or by hand
 *   reference.c  what a region computes
 *   device.c     the same on a device
 */
#ifndef VTA_TEST_LAB_H
#define VTA_TEST_LAB_H

#include "rng.h"
#include "vta/arena.h"
#include "vta/driver.h"
#include "vtac/vta.h"

enum { LAB_TENSORS = 256, LAB_LAYERS = 192 };

/* A region under construction, with all that it refers to. {0} and lab_init. */
typedef struct lab_region {
    vta_arena arena;
    rng random;
    vtac_vta_tensor tensors[LAB_TENSORS];
    vtac_vta_layer layers[LAB_LAYERS];
    vtac_vta_region region;
    uint32_t refused; /* layers that lab_random drew and the configuration cannot run */
    int64_t block;    /* of lab_add_runs: the channels of a tile */
    bool narrow;      /* weights of four bits in many convolutions */
    bool varied;      /* layers of every rounding, as lab_random draws them; networks round as ONNX does */
} lab_region;

void lab_init(lab_region *lab, uint64_t seed);
void lab_free(lab_region *lab);

/* Tensors and layers; each returns a number of a tensor. Weights, biases, scales and zero points are drawn so
 * that outputs use their range. */
uint32_t lab_input(lab_region *lab, int64_t n, int64_t c, int64_t h, int64_t w);

typedef struct lab_conv {
    int64_t channels, groups;
    vtac_vta_window window;
    bool weight_zero, no_bias;
} lab_conv;
uint32_t lab_add_conv(lab_region *lab, uint32_t input, const lab_conv *how);

/* The padding of `counted` counts as elements of a mean; its other fields are of no account. */
uint32_t lab_add_max(lab_region *lab, uint32_t input, const vtac_vta_window *window);
uint32_t lab_add_average(lab_region *lab, uint32_t input, const vtac_vta_window *window,
                         const vtac_vta_window *counted);
uint32_t lab_add_sum(lab_region *lab, uint32_t a, uint32_t b);
uint32_t lab_add_product(lab_region *lab, uint32_t a, uint32_t b);
uint32_t lab_add_choice(lab_region *lab, uint32_t a, uint32_t b, bool min); /* gives b the zero point of a */
uint32_t lab_add_rescale(lab_region *lab, uint32_t input);
uint32_t lab_add_table(lab_region *lab, uint32_t input);
/* A table behind what a layer makes. */
void lab_put_table(lab_region *lab, vtac_vta_layer *layer);
/* `alike`: all inputs and the output have one scale and zero point. */
uint32_t lab_add_concat(lab_region *lab, const uint32_t *inputs, uint32_t count, bool alike);
/* Rows of pixels one after the other. */
uint32_t lab_add_pixels(lab_region *lab, const uint32_t *inputs, uint32_t count);
/* Of the channels of each pixel. */
uint32_t lab_add_softmax(lab_region *lab, uint32_t input);
uint32_t lab_add_norm(lab_region *lab, uint32_t input);
/* A normalization of planes by groups of `channels`, which divides the number of all channels. */
uint32_t lab_add_planes(lab_region *lab, uint32_t input, int64_t channels);
/* Gives the last layer, a softmax, a mask: of each pixel or of all, of each row of a pixel or of all. */
void lab_put_mask(lab_region *lab, bool of_pixels, bool of_heads);
/* Softmax of `heads` rows of `numbers` channels for each pixel, each with the channels of whole blocks. */
uint32_t lab_add_heads(lab_region *lab, uint32_t input, int64_t heads, int64_t numbers);
/* Pixels become channels, of which `channels` are used. */
uint32_t lab_add_transpose(lab_region *lab, uint32_t input, int64_t channels);
/* The product of an image with the weights that another image holds, in `heads` groups. */
uint32_t lab_add_product_of(lab_region *lab, uint32_t input, uint32_t weights, int64_t heads,
                            int64_t channels);
uint32_t lab_add_resize(lab_region *lab, uint32_t input, int64_t rows, int64_t cols);

/* A movement of one or two inputs into `channels` channels, its places drawn; `columns`: the most by which it
 * reads beside a place. `images`: into so many, from any of the inputs'; 0: each from its own. */
uint32_t lab_add_move(lab_region *lab, const uint32_t *inputs, uint32_t count, int64_t channels,
                      int64_t columns, int64_t images);

/* A movement of whole blocks of `block` channels into another shape: of one input or two, in runs that may
 * lie at equal distances, or of all tiles of an input in their order. */
uint32_t lab_add_runs(lab_region *lab, const uint32_t *inputs, uint32_t count, int64_t block);

/* A square window with the same padding on all sides. */
vtac_vta_window lab_window(int64_t kernel, int64_t stride, int64_t pad);

/* Tensors that nothing reads become outputs. */
void lab_finish(lab_region *lab);

/* A random region that `config` can run, of about `layers` layers; small enough to be run in a blink. */
void lab_random(lab_region *lab, uint64_t seed, const vta_config *config, uint32_t layers);

/* Dense layers one after the other, most of them with weights that are numbers of four bits times factors. */
void lab_random_dense(lab_region *lab, uint64_t seed);

/* A random region of convolutions in chains, by channels and not, with sums: what may be computed together.
 */
void lab_random_chain(lab_region *lab, uint64_t seed, const vta_config *config);

/* The same, of images with few channels, whose pixels can be merged. */
void lab_random_thin(lab_region *lab, uint64_t seed, const vta_config *config);

/* The values of a tensor, [n][c][h][w]. */
typedef struct lab_values {
    int8_t *of[LAB_TENSORS]; /* owned; NULL: not known */
} lab_values;

void lab_values_free(lab_values *values);
/* Draws the region's inputs; `round` makes different ones. */
void lab_draw_inputs(const lab_region *lab, uint32_t round, lab_values *values);
/* Computes all other tensors. */
void lab_reference(const lab_region *lab, lab_values *values);

/* A scheduled region on a device. */
typedef struct lab_device lab_device;
vta_status lab_device_open(const char *uri, const lab_region *lab, const vtac_vta_image *image,
                           lab_device **out, vta_diag *diag);
void lab_device_close(lab_device *device);
/* Writes inputs, runs, and reads outputs into `got`. */
vta_status lab_device_run(lab_device *device, const lab_values *inputs, lab_values *got, vta_report *report,
                          vta_diag *diag);

/* As vta_device_account. */
const uint64_t *lab_device_account(lab_device *device, uint32_t *insn_count);

/* The elements that the mean of an output pixel is of. */
int64_t lab_elements(const lab_region *lab, const vtac_vta_layer *layer, int64_t y, int64_t x);

/* The first difference among the outputs as a sentence; false where there is none. */
bool lab_differ(const lab_region *lab, const lab_values *want, const lab_values *got, char *text,
                size_t size);

#endif
