/* SPDX-License-Identifier: Apache-2.0
 *
 * How many workers an exploration could use: the processor time of its pieces, replayed on 1 to 1,024 of
 * them, as text and as a drawing. Both axes double from mark to mark; the dashed line would be twice as fast
 * for twice as many.
 */
#include <math.h>
#include <stdio.h>

#include "explore.h"
#include "vtac/work.h"

enum { DOUBLINGS = 10, LEFT = 50, TOP = 20, STEP = 36, SIDE = DOUBLINGS * STEP };
static const double hand_s = 0.0005; /* a result and the next piece, by MPI */
static const double worth = 0.5;     /* the least use of a worker that one would still pay for */

static double replay_pieces(const vtac_exploration *x, uint32_t workers)
{
    return vtac_work_simulate(x->piece_seconds, x->piece_count, workers, hand_s);
}

static double speed_up(const vtac_exploration *x, uint32_t workers)
{
    const double seconds = replay_pieces(x, workers);
    return seconds > 0 ? replay_pieces(x, 1) / seconds : 1;
}

/* The most workers of which each is used at least as much as `worth` says. */
static uint32_t saturates_at(const vtac_exploration *x)
{
    uint32_t best = 1;
    for (uint32_t i = 0; i <= DOUBLINGS; i++) {
        best = speed_up(x, 1U << i) >= worth * (1U << i) ? 1U << i : best;
    }
    return best;
}

char *cli_schedule_text(const vtac_exploration *x)
{
    vta_str out = {0};
    vta_str_put(&out, "workers seconds speed-up efficiency\n");
    for (uint32_t i = 0; i <= DOUBLINGS; i++) {
        const uint32_t workers = 1U << i;
        vta_str_printf(&out, "%u %.3f %.2f %.3f\n", workers, replay_pieces(x, workers), speed_up(x, workers),
                       speed_up(x, workers) / workers);
    }
    return vta_str_take(&out);
}

static double workers_at(double doublings)
{
    return LEFT + STEP * doublings;
}

static double time_at(double speed)
{
    return TOP + SIDE - STEP * log2(speed);
}

static void draw_axes(vta_str *out)
{
    for (uint32_t i = 0; i <= DOUBLINGS; i++) {
        vta_str_printf(out, "<path d=\"M%.0f %d V%d M%d %.0f H%d\" stroke=\"#ddd\"/>\n", workers_at(i), TOP,
                       TOP + SIDE, LEFT, time_at(1U << i), LEFT + SIDE);
        vta_str_printf(out,
                       "<text x=\"%.0f\" y=\"%d\" text-anchor=\"middle\">%u</text><text x=\"%d\" y=\"%.0f\" "
                       "text-anchor=\"end\">%u</text>\n",
                       workers_at(i), TOP + SIDE + 16, 1U << i, LEFT - 6, time_at(1U << i) + 4, 1U << i);
    }
    vta_str_printf(out,
                   "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">workers</text><text x=\"%d\" "
                   "y=\"%d\">times as fast as "
                   "one</text>\n",
                   LEFT + SIDE / 2, TOP + SIDE + 34, LEFT, TOP - 8);
    vta_str_printf(out, "<path d=\"M%d %d L%d %d\" stroke=\"#888\" stroke-dasharray=\"4 4\"/>\n", LEFT,
                   TOP + SIDE, LEFT + SIDE, TOP);
}

char *cli_schedule_drawing(const vtac_exploration *x)
{
    vta_str out = {0};
    const uint32_t max = saturates_at(x);
    vta_str_printf(&out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                   "font-family=\"sans-serif\" font-size=\"11\" "
                   "fill=\"#333\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                   LEFT + SIDE + 30, TOP + SIDE + 42);
    draw_axes(&out);
    vta_str_put(&out, "<path fill=\"none\" stroke=\"#06c\" stroke-width=\"2\" d=\"");
    for (uint32_t i = 0; i <= DOUBLINGS; i++) {
        vta_str_printf(&out, "%s%.0f %.1f", i == 0 ? "M" : " L", workers_at(i),
                       time_at(speed_up(x, 1U << i)));
    }
    vta_str_printf(&out, "\"/>\n<circle cx=\"%.0f\" cy=\"%.1f\" r=\"4\" fill=\"#06c\"/>\n",
                   workers_at(log2(max)), time_at(speed_up(x, max)));
    vta_str_printf(&out,
                   "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%u workers: %.1f times</text>\n</svg>\n",
                   workers_at(log2(max)) - 8, time_at(speed_up(x, max)) - 4, max, speed_up(x, max));
    return vta_str_take(&out);
}
