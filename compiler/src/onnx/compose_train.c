/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimizers of ai.onnx.preview.training: rate, step, then lists of as many tensors each: the weights,
 * their gradients, and one or two of what is carried along.
 */
#include "compose.h"

/* Number of tensors in each of `lists` lists; 0 and a fault where the inputs cannot be divided evenly. */
static uint32_t tensors_of(vtac_compose *c, uint32_t lists)
{
    const uint32_t inputs = c->of->input_count;
    if (inputs < 2 + lists || (inputs - 2) % lists != 0) {
        (void)vtac_compose_fail(c, VTA_INVALID, "%u inputs are not two and %u lists", inputs, lists);
        return 0;
    }
    return (inputs - 2) / lists;
}

static vtac_value_id scalar_input(vtac_compose *c, uint32_t input, vtac_dtype type)
{
    return vtac_c_cast(c, vtac_c_reshape(c, vtac_c_in(c, input), NULL, 0), type);
}

/* The gradient, and what keeps the weights small. */
static vtac_value_id regular_gradient(vtac_compose *c, vtac_value_id x, vtac_value_id g)
{
    const double norm = vtac_c_float(c, "norm_coefficient", 0.0);
    return norm == 0.0 ? g : vtac_c_add(c, vtac_c_mul_number(c, x, norm), g);
}

void vtac_composed_adagrad(vtac_compose *c, vtac_value_id *out)
{
    const uint32_t n = tensors_of(c, 3);
    for (uint32_t i = 0; i < n; i++) {
        const vtac_value_id x = vtac_c_in(c, 2 + i);
        const vtac_dtype type = vtac_c_dtype(c, x);
        const vtac_value_id decay = vtac_c_add_number(
            c, vtac_c_mul_number(c, scalar_input(c, 1, type), vtac_c_float(c, "decay_factor", 0.0)), 1.0);
        const vtac_value_id rate = vtac_c_div(c, scalar_input(c, 0, type), decay);
        const vtac_value_id g = regular_gradient(c, x, vtac_c_in(c, 2 + n + i));
        const vtac_value_id squares = vtac_c_add(c, vtac_c_in(c, 2 + 2 * n + i), vtac_c_mul(c, g, g));
        const vtac_value_id size =
            vtac_c_add_number(c, vtac_c_sqrt(c, squares), vtac_c_float(c, "epsilon", 1e-6));
        out[i] = vtac_c_sub(c, x, vtac_c_div(c, vtac_c_mul(c, rate, g), size));
        out[n + i] = squares;
    }
}

/* new * (1 - keep) + old * keep */
static vtac_value_id blend_values(vtac_compose *c, vtac_value_id old, vtac_value_id new, double keep)
{
    return vtac_c_add(c, vtac_c_mul_number(c, old, keep), vtac_c_mul_number(c, new, 1.0 - keep));
}

void vtac_composed_adam(vtac_compose *c, vtac_value_id *out)
{
    const uint32_t n = tensors_of(c, 4);
    const double alpha = vtac_c_float(c, "alpha", 0.9);
    const double beta = vtac_c_float(c, "beta", 0.999);
    const double after = vtac_c_float(c, "norm_coefficient_post", 0.0);
    for (uint32_t i = 0; i < n; i++) {
        const vtac_value_id x = vtac_c_in(c, 2 + i);
        const vtac_dtype type = vtac_c_dtype(c, x);
        const vtac_value_id g = regular_gradient(c, x, vtac_c_in(c, 2 + n + i));
        const vtac_value_id v = blend_values(c, vtac_c_in(c, 2 + 2 * n + i), g, alpha);
        const vtac_value_id h = blend_values(c, vtac_c_in(c, 2 + 3 * n + i), vtac_c_mul(c, g, g), beta);
        const vtac_value_id one = vtac_c_number(c, VTAC_F64, 1.0);
        const vtac_value_id step = scalar_input(c, 1, VTAC_F64);
        const vtac_value_id left[] = {
            vtac_c_sub(c, one, vtac_c2(c, VTAC_OP_POW, vtac_c_number(c, VTAC_F64, alpha), step)),
            vtac_c_sub(c, one, vtac_c2(c, VTAC_OP_POW, vtac_c_number(c, VTAC_F64, beta), step))};
        const vtac_value_id corrected = vtac_c_div(c, vtac_c_sqrt(c, left[1]), left[0]);
        const vtac_value_id started = vtac_c_more_number(c, step, 0.0);
        const vtac_value_id factor = vtac_c_cast(c, vtac_c_where(c, started, corrected, one), type);
        const vtac_value_id rate = vtac_c_mul(c, scalar_input(c, 0, type), factor);
        const vtac_value_id size = vtac_c_add_number(c, vtac_c_sqrt(c, h), vtac_c_float(c, "epsilon", 1e-6));
        const vtac_value_id y = vtac_c_sub(c, x, vtac_c_div(c, vtac_c_mul(c, rate, v), size));
        out[i] = after == 0.0 ? y : vtac_c_mul_number(c, y, 1.0 - after);
        out[n + i] = v;
        out[2 * n + i] = h;
    }
}

void vtac_composed_momentum(vtac_compose *c, vtac_value_id *out)
{
    const uint32_t n = tensors_of(c, 3);
    const bool nesterov = vtac_c_string(c, "mode", "standard")[0] == 'n';
    const double alpha = vtac_c_float(c, "alpha", 0.0);
    const double beta = vtac_c_float(c, "beta", 1.0);
    for (uint32_t i = 0; i < n; i++) {
        const vtac_value_id x = vtac_c_in(c, 2 + i);
        const vtac_dtype type = vtac_c_dtype(c, x);
        const vtac_value_id g = regular_gradient(c, x, vtac_c_in(c, 2 + n + i));
        const vtac_value_id started = vtac_c_more_number(c, scalar_input(c, 1, VTAC_I64), 0.0);
        const vtac_value_id part =
            vtac_c_where(c, started, vtac_c_number(c, type, beta), vtac_c_number(c, type, 1.0));
        const vtac_value_id kept = vtac_c_mul_number(c, vtac_c_in(c, 2 + 2 * n + i), alpha);
        const vtac_value_id v = vtac_c_add(c, kept, vtac_c_mul(c, part, g));
        const vtac_value_id step = nesterov ? vtac_c_add(c, g, vtac_c_mul_number(c, v, alpha)) : v;
        out[i] = vtac_c_sub(c, x, vtac_c_mul(c, scalar_input(c, 0, type), step));
        out[n + i] = v;
    }
}
