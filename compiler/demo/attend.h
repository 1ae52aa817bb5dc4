/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention while it learns: rows of shares, and the layer of a network of pictures.
 */
#ifndef DEMO_ATTEND_H
#define DEMO_ATTEND_H

#include "net.h"

/* Softmax of `scale` times the first `seen` of a row; the others become 0. */
void demo_share_row(float *row, uint32_t seen, uint32_t count, float scale);
/* The slopes of the row in front of that softmax, in the place of those of its shares. */
void demo_share_row_back(const float *shares, float *slopes, uint32_t count, float scale);

/* The floats of each of a network's two scratch arrays that the layer needs, and those of its shares. */
size_t demo_attend_scratch(const net_layer *l);
size_t demo_attend_shares(const net *n, const net_layer *l);

/* A layer of kind ATTEND; backwards from its slope. */
void demo_attend_forward(const net *n, net_layer *l);
void demo_attend_backward(const net *n, net_layer *l);

#endif
