/* SPDX-License-Identifier: Apache-2.0
 *
 * Regular expressions are the system's.
 */
#include "../src/flow_text.h"

vta_status vta_flow_regex_full_match(vta_call *call)
{
    return vta_call_refuse(call, "there are no regular expressions without an operating system");
}
