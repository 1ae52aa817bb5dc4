/* SPDX-License-Identifier: Apache-2.0
 *
 * Operands by name: VTAC_CONV_WEIGHT is the number of the weights among the inputs of a Conv. The names are
 * the rows VTAC_INPUTS and VTAC_OUTPUTS of ops.def, a set of operands each; the column `operands` says which
 * set an operator has.
 */
#ifndef VTAC_OPERANDS_H
#define VTAC_OPERANDS_H

/* VTAC_EACH(f, set, a, b, …): f(set, a) f(set, b) …, for up to ten names. */
#define VTAC_EACH_1(f, set, a)                                f(set, a)
#define VTAC_EACH_2(f, set, a, ...)                           f(set, a) VTAC_EACH_1(f, set, __VA_ARGS__)
#define VTAC_EACH_3(f, set, a, ...)                           f(set, a) VTAC_EACH_2(f, set, __VA_ARGS__)
#define VTAC_EACH_4(f, set, a, ...)                           f(set, a) VTAC_EACH_3(f, set, __VA_ARGS__)
#define VTAC_EACH_5(f, set, a, ...)                           f(set, a) VTAC_EACH_4(f, set, __VA_ARGS__)
#define VTAC_EACH_6(f, set, a, ...)                           f(set, a) VTAC_EACH_5(f, set, __VA_ARGS__)
#define VTAC_EACH_7(f, set, a, ...)                           f(set, a) VTAC_EACH_6(f, set, __VA_ARGS__)
#define VTAC_EACH_8(f, set, a, ...)                           f(set, a) VTAC_EACH_7(f, set, __VA_ARGS__)
#define VTAC_EACH_9(f, set, a, ...)                           f(set, a) VTAC_EACH_8(f, set, __VA_ARGS__)
#define VTAC_EACH_10(f, set, a, ...)                          f(set, a) VTAC_EACH_9(f, set, __VA_ARGS__)
#define VTAC_EACH_OF(a, b, c, d, e, f, g, h, i, j, name, ...) name
#define VTAC_EACH(f, set, ...)                                                                               \
    VTAC_EACH_OF(__VA_ARGS__, VTAC_EACH_10, VTAC_EACH_9, VTAC_EACH_8, VTAC_EACH_7, VTAC_EACH_6, VTAC_EACH_5, \
                 VTAC_EACH_4, VTAC_EACH_3, VTAC_EACH_2, VTAC_EACH_1, )                                       \
    (f, set, __VA_ARGS__)

#define VTAC_OPERAND(set, name) VTAC_##set##_##name,
#define VTAC_INPUTS(set, ...)   enum { VTAC_EACH(VTAC_OPERAND, set, __VA_ARGS__) VTAC_##set##_INPUTS };
#define VTAC_OUTPUTS(set, ...)  enum { VTAC_EACH(VTAC_OPERAND, set, __VA_ARGS__) VTAC_##set##_OUTPUTS };
#include "vtac/ops.def"
#undef VTAC_OPERAND

#endif
