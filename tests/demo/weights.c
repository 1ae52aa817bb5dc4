/* SPDX-License-Identifier: Apache-2.0
 *
 * weights STEPS [PICTURES]: what the trainer's weights are after so many steps, of so many pictures each, in
 * the form of `shapes train`. Made of the trainer's own files alone, so that any compiler and any emulated
 * processor can be asked.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "train.h"

int main(int argc, char **argv)
{
    const train_options options = {.steps = argc > 1 ? (uint32_t)atoi(argv[1]) : 1,
                                   .pictures = argc > 2 ? (uint32_t)atoi(argv[2]) : 0,
                                   .seed = 1};
    vta_diag diag = {0};
    net n;
    if (demo_train(&options, &n, &diag) != VTA_OK) {
        (void)fprintf(stderr, "weights: %s\n", diag.text);
        return 1;
    }
    (void)printf("weights %016" PRIx64 "\n", demo_net_fingerprint(&n));
    demo_net_free(&n);
    return 0;
}
