/* SPDX-License-Identifier: Apache-2.0
 *
 * An object with a model's name in it, which is none, and calls a function of libm.
 */
float rintf(float x);
float (*call)(float);
extern const unsigned vta_model_artifact[64];
/* It calls nothing else, in a build that counts lines neither. */
__attribute__((no_profile_instrument_function)) float rounded(float x);

const unsigned vta_model_artifact[64] = {1};

float rounded(float x)
{
    call = rintf;
    return call(x);
}
