/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that a user writes for an exploration or carries from a board: the first byte chooses a reader, the
 * others are its text. It is refused by one line, or the figures that come of it can be computed with.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "fuzz.h"
#include "promise.h"
#include "vtac/goal.h"
#include "vtac/power.h"
#include "vtac/promises.h"

static char file[TEMPORARY_PATH + 32];

static void remove_file(void)
{
    (void)unlink(file);
}

static const char *write_input(const uint8_t *data, size_t size)
{
    if (file[0] == '\0') {
        (void)snprintf(file, sizeof file, "%s/vta-fuzz-records-%ld", fuzz_root(), (long)getpid());
        (void)atexit(remove_file);
    }
    fuzz_write(file, data, size);
    return file;
}

/* An objective has a value, and a limit that it breaks is one of its own. */
static void use_goal(const vtac_goal *goal)
{
    static const double some[] = {0, 1, -3.5, 1e300, (double)NAN};
    enum { SOME = sizeof some / sizeof some[0] };
    for (int k = 0; k < SOME; k++) {
        vtac_measured measured;
        double networks[2][VTAC_NETWORK_MEASURES];
        for (int i = 0; i < VTAC_MEASURES; i++) {
            measured.all[i] = some[(i + k) % SOME];
        }
        for (int i = 0; i < 2 * VTAC_NETWORK_MEASURES; i++) {
            networks[i / VTAC_NETWORK_MEASURES][i % VTAC_NETWORK_MEASURES] = some[(i + k) % SOME];
        }
        measured.networks = networks;
        const int broken = vtac_goal_broken(goal, &measured);
        FUZZ_REQUIRE(!isnan(vtac_goal_score(goal, &measured)));
        FUZZ_REQUIRE(broken == -1 || (broken < (int)goal->count && goal->clauses[broken].limit));
    }
    for (uint32_t i = 0; i < goal->count; i++) {
        FUZZ_REQUIRE(goal->clauses[i].at + (size_t)goal->clauses[i].length <= strlen(goal->text));
    }
}

static void read_goal(const uint8_t *data, size_t size)
{
    static const char *const networks[] = {"tiny_kws", "a.b"};
    static vtac_goal goal;
    vta_diag diag = {0};
    char *text = malloc(size + 1);
    FUZZ_REQUIRE(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    const vta_status status = vtac_goal_parse(text, networks, 2, &goal, &diag);
    free(text);
    fuzz_check_outcome(status, &diag);
    if (status == VTA_OK) {
        use_goal(&goal);
    }
}

static void read_price(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    double price = -1;
    fuzz_check_outcome(vtac_price_read(write_input(data, size), "xc7z020", &price, &diag), &diag);
    FUZZ_REQUIRE(isfinite(price) && price >= 0);
}

static void read_power(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    vtac_powers powers = {0};
    const vta_status status = vtac_powers_read(write_input(data, size), &powers, &diag);
    fuzz_check_outcome(status, &diag);
    for (size_t i = 0; status == VTA_OK && i < powers.count; i++) {
        char text[VTAC_POWER_TEXT];
        const vtac_board_power p = vtac_board_power_of(&powers, powers.items[i].part);
        FUZZ_REQUIRE(p.count > 0 && p.min > 0 && isfinite(p.max) && isfinite(p.error));
        FUZZ_REQUIRE(p.watts >= p.min * (1 - 1e-9) && p.watts <= p.max * (1 + 1e-9));
        vtac_power_text(&p, powers.items[i].part, text, sizeof text);
        FUZZ_REQUIRE(text[0] != '\0');
    }
    vtac_powers_free(&powers);
}

static void read_promises(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    vtac_promises promises;
    char text[VTAC_PROMISES_TEXT];
    const vta_status status = vtac_promises_read(write_input(data, size), "xc7z020", &promises, &diag);
    fuzz_check_outcome(status, &diag);
    if (status == VTA_OK) {
        const double time = vtac_promises_time(&promises);
        FUZZ_REQUIRE(isfinite(time) && time > 0);
        FUZZ_REQUIRE(promises.cycles.min <= promises.cycles.max && promises.clock.min <= promises.clock.max);
        vtac_promises_text(&promises, "xc7z020", text, sizeof text);
    }
}

/* The libraries that a promise names lie beside it. */
static void read_promise(const uint8_t *data, size_t size)
{
    vta_diag diag = {0};
    cli_promise promise;
    const char *path = write_input(data, size);
    const size_t folder = (size_t)(strrchr(path, '/') - path) + 1;
    const vta_status status = cli_read_promise(path, &promise, &diag);
    fuzz_check_outcome(status, &diag);
    FUZZ_REQUIRE(status != VTA_OK || (isfinite(promise.mhz) && promise.mhz > 0));
    for (uint32_t i = 0; status == VTA_OK && i < promise.count; i++) {
        const char *library = promise.items[i].library;
        FUZZ_REQUIRE(strncmp(library, path, folder) == 0 && library[folder] != '\0' &&
                     library[folder] != '/');
        FUZZ_REQUIRE(strstr(library + folder - 1, "/../") == NULL && promise.items[i].cycles > 0);
    }
    cli_free_promise(&promise);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const uint8_t *, size_t) = {read_goal, read_price, read_power,
                                                               read_promises, read_promise};
    if (size > 0) {
        readers[(data[0] - (size_t)'0') % (sizeof readers / sizeof readers[0])](data + 1, size - 1);
    }
}
