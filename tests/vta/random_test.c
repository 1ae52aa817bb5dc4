/* SPDX-License-Identifier: Apache-2.0
 *
 * random_test DEVICE CONFIG COUNT [SEED [LAYERS]]: random regions, scheduled, run twice with different inputs
 * on a device and compared with the reference.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"
#include "seed.h"

enum { ROUNDS = 2 };

static vta_status check_rounds(lab_device *device, const lab_region *lab, vta_diag *diag)
{
    vta_status status = VTA_OK;
    for (uint32_t round = 0; round < ROUNDS && status == VTA_OK; round++) {
        lab_values want, got = {{NULL}};
        char text[200];
        lab_draw_inputs(lab, round, &want);
        lab_reference(lab, &want);
        status = lab_device_run(device, &want, &got, NULL, diag);
        if (status == VTA_OK && lab_differ(lab, &want, &got, text, sizeof text)) {
            status = vta_fail(diag, VTA_INVALID, "round %" PRIu32 ": %s", round, text);
        }
        lab_values_free(&want);
        lab_values_free(&got);
    }
    return status;
}

/* Layers whose output stays on chip, those of them whose reader works beside the next tile, layers that
 * make merged pixels, and layers that split them. */
typedef struct grouped {
    uint32_t on_chip, beside, merged, split;
    uint32_t factored; /* layers whose blocks of inputs have factors in ACC */
} grouped;

static void count_grouped(const vtac_vta_image *image, grouped *sum)
{
    for (uint32_t n = 0; n < image->plan_count; n++) {
        sum->on_chip += image->plans[n].feeds >= 0;
        sum->merged += strstr(image->plans[n].schedule, "pixels in one") != NULL;
        sum->split += strstr(image->plans[n].schedule, "pixels at once") != NULL;
        sum->factored += strstr(image->plans[n].schedule, "weights of 4 bits, factors of") != NULL;
        sum->beside += strstr(image->plans[n].schedule, "beside its next tile") != NULL;
    }
}

/* Every second region is searched as -O3 does; the others are as quickly made as -O 0 to 2 want it. */
static int level_of(uint64_t seed)
{
    static const int levels[] = {3, 0, 3, 1, 3, 2};
    enum { LEVELS = sizeof levels / sizeof levels[0] };
    rng r = rng_split(seed, 0);
    return levels[rng_below(&r, LEVELS)];
}

/* Regions with all decisions, and some without. */
static vta_status check(const char *uri, const vta_config *config, lab_region *lab, uint64_t seed,
                        grouped *sum, vta_diag *diag)
{
    vtac_vta_image image;
    lab_device *device = NULL;
    const vtac_vta_options options = {.level = level_of(seed),
                                      .no_fold = seed % 4 == 0,
                                      .no_join = seed % 5 == 0,
                                      .all_groups = seed % 3 > 0,
                                      .all_merges = seed % 7 < 4,
                                      .all_splits = seed % 2 > 0,
                                      .all_factors = seed % 4 != 1};
    VTA_TRY(vtac_vta_schedule(config, &lab->region, &options, &image, diag));
    count_grouped(&image, sum);
    vta_status status = lab_device_open(uri, lab, &image, &device, diag);
    if (status == VTA_OK) {
        status = check_rounds(device, lab, diag);
    }
    lab_device_close(device);
    vtac_vta_image_free(&image);
    return status;
}

enum { ENOUGH = 40 }; /* regions among which some have each kind of layer */

int main(int argc, char **argv)
{
    vta_config config;
    vta_diag diag = {0};
    if (argc < 4 || vta_config_load(argv[2], &config, &diag) != VTA_OK) {
        fprintf(stderr, "usage: random_test DEVICE CONFIG COUNT [SEED [LAYERS]]; %s\n", diag.text);
        return 2;
    }
    const uint32_t count = (uint32_t)strtoul(argv[3], NULL, 10);
    const uint64_t first = argc > 4 ? strtoull(argv[4], NULL, 10) : test_seed("vta_random");
    const uint32_t layers = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : 0;
    uint32_t failures = 0, drawn = 0, refused = 0;
    grouped sum = {0};
    for (uint64_t seed = first; seed < first + count; seed++) {
        static lab_region lab;
        diag = (vta_diag){0};
        if (layers == 0 && seed % 5 == 0) {
            lab_random_thin(&lab, seed, &config);
        } else if (layers == 0 && config.wgt4 != 0 && seed % 4 == 0) {
            lab_random_dense(&lab, seed);
        } else if (layers == 0 && seed % 2 > 0) {
            lab_random_chain(&lab, seed, &config);
        } else {
            lab_random(&lab, seed, &config, layers > 0 ? layers : (uint32_t)(1 + seed % 5));
        }
        drawn += lab.region.layer_count;
        refused += lab.refused;
        if (check(argv[1], &config, &lab, seed, &sum, &diag) != VTA_OK) {
            printf("%s %s seed %" PRIu64 " (%" PRIu32 " layers): %s\n", argv[1], argv[2], seed,
                   lab.region.layer_count, diag.text);
            failures++;
        }
        lab_free(&lab);
    }
    printf("%s %s: %" PRIu32 " regions from seed %" PRIu64 ", %" PRIu32 " layers, %" PRIu32
           " on chip into the next (%" PRIu32 " beside its next tile), %" PRIu32
           " with merged pixels, %" PRIu32 " that split them, %" PRIu32 " with factors in ACC, and %" PRIu32
           " refused, %" PRIu32 " failed\n",
           argv[1], argv[2], count, first, drawn, sum.on_chip, sum.beside, sum.merged, sum.split,
           sum.factored, refused, failures);
    const bool met = config.wgt4 == 0 || count < ENOUGH || sum.factored > 0;
    return failures > 0 || !met || refused * 10 > drawn; /* what is drawn is meant to run */
}
