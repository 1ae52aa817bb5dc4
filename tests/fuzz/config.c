/* SPDX-License-Identifier: Apache-2.0
 *
 * A JSON configuration: refused with a sentence, or accepted, and then what it is written as says the same.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "vta/config.h"

void fuzz_input(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL) {
        return;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    vta_config config;
    vta_diag diag = {0};
    const vta_status status = vta_config_parse(text, "fuzz", &config, &diag);
    free(text);
    FUZZ_REQUIRE((status == VTA_OK) == (diag.text[0] == '\0'));
    if (status != VTA_OK) {
        return;
    }
    FUZZ_REQUIRE(memchr(config.name, '\0', sizeof config.name) != NULL);
    FUZZ_REQUIRE(config.block_in >= 4 && config.block_out >= 4 && config.batch >= 1);
    for (int memory = 0; memory < VTA_MEM_COUNT; memory++) {
        FUZZ_REQUIRE(config.depth[memory] == UINT32_C(1) << config.log_depth[memory]);
        FUZZ_REQUIRE(config.elem_bytes[memory] >= 4 && config.elem_bytes[memory] <= 4096);
    }
    char *json = vta_config_to_json(&config);
    FUZZ_REQUIRE(json != NULL);
    vta_config again;
    FUZZ_REQUIRE(vta_config_parse(json, "fuzz", &again, &diag) == VTA_OK);
    free(json);
    char text_of_diff[256];
    FUZZ_REQUIRE(config.hash == again.hash && strcmp(config.name, again.name) == 0);
    FUZZ_REQUIRE(vta_config_diff(&config, &again, text_of_diff, sizeof text_of_diff) == 0);
}
