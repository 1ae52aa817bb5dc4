/* SPDX-License-Identifier: Apache-2.0
 *
 * The demo's network once more, forwards alone, in plain loops over doubles. ReLUs let pass what they let
 * pass in the network itself when it last learned: so held, the loss has no kinks, and its slopes are what
 * the network says they are, but for float32.
 */
#ifndef VTAC_TEST_DOUBLE_NET_H
#define VTAC_TEST_DOUBLE_NET_H

#include "net.h"

enum { DOUBLE_NET_LAYERS = 32 };

typedef struct double_net {
    const net *n;
    double *parameters;             /* by place in the network's */
    double *out[DOUBLE_NET_LAYERS]; /* of each layer */
} double_net;

/* With the parameters and the pictures that the network has now. */
void double_net_start(const net *n, double_net *out);
void double_net_free(double_net *d);

/* The mean loss; the values of the layers before `from` are as they were. */
double double_net_loss(double_net *d, uint32_t from, const uint32_t *classes);

#endif
