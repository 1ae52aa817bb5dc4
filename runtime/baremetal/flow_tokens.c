/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens are made on computers: the library of a board is to be small.
 */
#include "../src/flow_text.h"

vta_status vta_flow_tokenizer(vta_call *call)
{
    return vta_call_refuse(
        call, "a board's library makes no tokens; do it on a computer, and give the model its ids");
}
