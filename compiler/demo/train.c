/* SPDX-License-Identifier: Apache-2.0 */
#include "train.h"

#include <string.h>

#include "draw.h"
#include "vtac/exact.h"

enum { BATCH = 32, RISE = 250, REPORT_EVERY = 100 };

/* The next pictures, and what they show. */
static void draw_batch(net *n, uint32_t step, uint32_t *classes)
{
    float floats[PICTURE_CHANNELS * PICTURE_PIXELS];
    picture p;
    for (uint32_t b = 0; b < n->batch; b++) {
        demo_draw_picture(SEED_TRAIN, step * n->batch + b, &p);
        demo_picture_floats(&p, floats);
        classes[b] = p.which;
        for (uint32_t c = 0; c < PICTURE_CHANNELS; c++) {
            memcpy(demo_net_input(n) + (size_t)(c * n->batch + b) * PICTURE_PIXELS,
                   floats + c * PICTURE_PIXELS, PICTURE_PIXELS * sizeof *floats);
        }
    }
}

/* Up over the first steps, then down to nothing along half a cosine. Without a slow start the network takes
 * many steps to find out that shapes are what matters. */
static float rate_at(net_form form, uint32_t step, uint32_t steps)
{
    static const float maxima[] = {[NET_CONVOLUTIONS] = 0.02F, [NET_VISION] = 0.008F};
    const float max = maxima[form];
    const float rise = (float)RISE / (float)steps;
    const float at = (float)step / (float)steps;
    const float phase = 3.14159265F * (at - rise) / (1.0F - rise);
    return max * (at < rise ? at / rise : 0.5F + 0.5F * (float)vtac_cos((double)phase));
}

static void learn_step(net *n, const train_options *options)
{
    uint32_t classes[BATCH];
    uint32_t right = 0;
    float loss = 0.0F;
    for (uint32_t step = 0; step < options->steps; step++) {
        draw_batch(n, step, classes);
        loss += demo_net_learn(n, classes, rate_at(options->form, step, options->steps), &right);
        if ((step + 1) % REPORT_EVERY == 0 && options->report != NULL) {
            options->report(options->context, step + 1, loss / REPORT_EVERY,
                            (float)right / (float)(REPORT_EVERY * n->batch));
            loss = 0.0F;
            right = 0;
        }
    }
}

vta_status demo_train(const train_options *options, net *out, vta_diag *diag)
{
    const uint32_t pictures = options->pictures == 0 || options->pictures > BATCH ? BATCH : options->pictures;
    VTA_TRY(demo_net_create(options->form, pictures, options->seed, out, diag));
    learn_step(out, options);
    return VTA_OK;
}
