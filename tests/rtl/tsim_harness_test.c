/* SPDX-License-Identifier: Apache-2.0
 *
 * The harness of the RTL simulators around a register page of a few lines of C: one that keeps the rules of
 * AXI-Lite, and ones that break each of them once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model.h"

enum { REGISTERS = 16 };

typedef enum fault {
    NONE,
    EARLY_B,
    WRONG_BRESP,
    FLEETING_B,
    NO_B,
    EARLY_R,
    WRONG_RRESP,
    FLEETING_R,
    CHANGING_R,
    NO_R
} fault;

static fault chosen;

typedef struct page {
    uint32_t words[REGISTERS];
    uint64_t cycle;
    bool has_address, has_data;
} page;

static page only;

static void *create(const vta_rtlsim_options *options, const vta_bus *bus, char *message, uint32_t size)
{
    (void)options;
    (void)bus;
    (void)message;
    (void)size;
    only = (page){0};
    return &only;
}

static void destroy(void *self)
{
    (void)self;
}

static const char *failure(void *self)
{
    (void)self;
    return NULL;
}

static void seed(void *self, uint64_t value)
{
    (void)self;
    (void)value;
}

static void clock_writes(page *p, const vta_pins_in *in, vta_pins_out *out)
{
    if (out->bvalid && in->bready) {
        out->bvalid = 0;
        p->has_address = p->has_data = false;
    } else if (out->bvalid && chosen == FLEETING_B) {
        out->bvalid = 0;
        return;
    }
    p->has_address = p->has_address || (in->awvalid && out->awready);
    p->has_data = p->has_data || (in->wvalid && out->wready);
    if (p->has_address && p->has_data && chosen != NO_B) {
        p->words[in->awaddr / 4 % REGISTERS] = in->wdata;
        out->bvalid = 1;
    }
    out->awready = !p->has_address;
    out->wready = !p->has_data;
    out->bvalid = out->bvalid || chosen == EARLY_B;
    out->bresp = chosen == WRONG_BRESP ? 2 : VTA_AXI_OKAY;
}

static void clock_reads(page *p, const vta_pins_in *in, vta_pins_out *out)
{
    const bool waits = out->rvalid && !in->rready;
    if (!waits) {
        out->rvalid = in->arvalid && out->arready && chosen != NO_R;
        out->rdata = p->words[in->araddr / 4 % REGISTERS];
    } else if (chosen == FLEETING_R) {
        out->rvalid = 0;
    } else if (chosen == CHANGING_R) {
        out->rdata++;
    }
    out->arready = !out->rvalid;
    out->rvalid = out->rvalid || chosen == EARLY_R;
    out->rresp = chosen == WRONG_RRESP ? 2 : VTA_AXI_OKAY;
}

static void clock_page(void *self, const vta_pins_in *in, vta_pins_out *out)
{
    page *p = self;
    if (in->reset) {
        *out = (vta_pins_out){0};
        return;
    }
    clock_writes(p, in, out);
    clock_reads(p, in, out);
}

const vta_model *vta_model_get(void)
{
    static const vta_model model = {.kind = "page",
                                    .has_memory = true,
                                    .create = create,
                                    .destroy = destroy,
                                    .clock = clock_page,
                                    .failure = failure,
                                    .seed = seed};
    return &model;
}

static void *map_nothing(void *context, uint64_t addr, uint64_t size)
{
    (void)context;
    (void)addr;
    (void)size;
    return NULL;
}

static void *open_page(const vta_rtlsim *sim, uint32_t stall_percent, uint64_t number)
{
    char message[256] = "";
    const vta_bus bus = {map_nothing, NULL};
    const vta_rtlsim_options options = {.stall_percent = stall_percent, .seed = number};
    void *self = sim->create(&options, &bus, message, sizeof message);
    assert_non_null(self);
    return self;
}

static void a_page_that_keeps_the_rules(void **state)
{
    (void)state;
    const vta_rtlsim *sim = vta_rtlsim_entry();
    chosen = NONE;
    for (uint32_t round = 0; round < 4; round++) {
        void *self = open_page(sim, round * 30, round);
        for (uint32_t i = 1; i < REGISTERS; i++) {
            sim->write(self, 4 * i, 1000 * round + i);
        }
        for (uint32_t i = 1; i < REGISTERS; i++) {
            assert_int_equal(sim->read(self, 4 * i), 1000 * round + i);
        }
        assert_null(sim->failure(self));
        sim->destroy(self);
    }
}

static void every_broken_rule_is_named(void **state)
{
    (void)state;
    static const struct {
        fault fault;
        const char *what;
        uint32_t offset;
    } rows[] = {
        {EARLY_B, "BVALID without a write", 4},
        {WRONG_BRESP, "BRESP is not OKAY", 4},
        {FLEETING_B, "BVALID was taken back before BREADY", 4},
        {NO_B, "a write was not answered", 4},
        {EARLY_R, "RVALID without a read", 8},
        {WRONG_RRESP, "RRESP is not OKAY", 8},
        {FLEETING_R, "RVALID or RDATA changed before RREADY", 8},
        {CHANGING_R, "RVALID or RDATA changed before RREADY", 8},
        {NO_R, "a read was not answered", 8},
    };
    const vta_rtlsim *sim = vta_rtlsim_entry();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char expected[128];
        unsigned long long cycle = 0;
        chosen = rows[i].fault;
        void *self = open_page(sim, 50, i);
        for (uint32_t n = 0; n < 20; n++) { /* the answers have to wait now and then */
            sim->write(self, 4, n);
            (void)sim->read(self, 8);
        }
        const char *text = sim->failure(self);
        assert_non_null(text);
        assert_int_equal(sscanf(text, "AXI-Lite rule broken in cycle %llu: ", &cycle), 1);
        (void)snprintf(expected, sizeof expected, "AXI-Lite rule broken in cycle %llu: %s (register 0x%03x)",
                       cycle, rows[i].what, (unsigned)rows[i].offset);
        assert_string_equal(text, expected);
        assert_int_equal(sim->step(self, 10), 0); /* time stands still */
        sim->destroy(self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_that_keeps_the_rules),
        cmocka_unit_test(every_broken_rule_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
