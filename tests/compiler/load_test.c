/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiled models that run in this process without a link (vtac/load.h), and what is known of processors. It
 * fails when an object is placed that could not be linked, when one for another machine is taken, and when
 * what was learned of one processor is given for another. Argument: load_object.c, compiled.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "run_graph.h"
#include "vta/file.h"
#include "vtac/load.h"

static const char *object_file; /* load_object.c, compiled */

static const char powers[] = "graph \"g\"\n"
                             "input %x: f32[7]\n"
                             "%y: f32[7] = Exp(%x)\n"
                             "output %y\n";

static void compile_for(const char *host, const char *text, vtac_artifact_image *image)
{
    vtac_target target;
    vta_diag diag = {0};
    vtac_graph *graph = graph_parse(text, 1);
    GRAPH_CHECK(vtac_target_find(host, &target, &diag), diag);
    const vtac_compile_options options = {.level = 2, .target = &target};
    GRAPH_CHECK(vtac_compile(graph, &options, image, &diag), diag);
    vtac_graph_destroy(graph);
}

static void loaded_models_run(void **state)
{
    (void)state;
    vtac_artifact_image image;
    vtac_loaded loaded;
    vta_diag diag = {0};
    compile_for("host", powers, &image);
    assert_true(vtac_can_load(&image));
    GRAPH_CHECK(vtac_load(&image, &(vta_model_options){.threads = 1}, &loaded, &diag), diag);
    vtac_artifact_image_free(&image); /* the code is a copy */
    for (uint64_t turn = 0; turn < 2; turn++) {
        graph_fill(loaded.model, test_seed("load") + turn, -20.0, 20.0);
        graph_run(loaded.model);
        const float *x = vta_model_input_data(loaded.model, 0);
        const float *y = vta_model_output_data(loaded.model, 0);
        for (int i = 0; i < 7; i++) {
            const double want = exp((double)x[i]);
            assert_true(fabs((double)y[i] - want) <= 1e-5 * want);
        }
    }
    vtac_unload(&loaded);
    vtac_unload(&loaded); /* nothing is left to do */
}

/* A name that no list of the image has is refused, as by the linker; one that a list has is found. */
static void unlisted_names_are_refused(void **state)
{
    (void)state;
    static const char *const others[] = {"rint", "rintf2", NULL};
    static const char *const rounds[] = {"floorf", "rintf", NULL};
    const struct {
        const char *const *libc, *const *libm;
        const char *says;
    } cases[] = {
        {NULL, NULL, "rintf"},
        {others, others, "rintf"},
        {NULL, rounds, "not a compiled model"},
        {rounds, others, "not a compiled model"},
    };
    vtac_artifact_image image = {0};
    vta_diag diag = {0};
    GRAPH_CHECK(vta_file_read(object_file, 1 << 20, &image.object, &image.object_bytes, &diag), diag);
    assert_true(vtac_can_load(&image));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vtac_loaded loaded;
        diag = (vta_diag){0};
        image.libc = cases[i].libc;
        image.libm = cases[i].libm;
        assert_int_not_equal(vtac_load(&image, NULL, &loaded, &diag), VTA_OK);
        assert_null(loaded.model);
        assert_null(loaded.code);
        assert_non_null(strstr(diag.text, cases[i].says));
        assert_int_equal(strstr(diag.text, "cannot be placed in memory") != NULL, i < 2);
    }
    vtac_artifact_image_free(&image);
}

static void other_machines_are_told_apart(void **state)
{
    (void)state;
    static const char *const hosts[] = {"pynq", "ultra96", "riscv64", "cortex-m7", "wasm32", "x86-64-v2"};
    vtac_artifact_image image;
    vtac_target ours;
    vta_diag diag = {0};
    GRAPH_CHECK(vtac_target_find("host", &ours, &diag), diag);
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        vtac_target target;
        GRAPH_CHECK(vtac_target_find(hosts[i], &target, &diag), diag);
        compile_for(hosts[i], powers, &image);
        const size_t arch = strcspn(target.triple, "-");
        const bool same = !target.is_bare && arch == strcspn(ours.triple, "-") &&
                          memcmp(target.triple, ours.triple, arch) == 0;
        assert_int_equal(vtac_can_load(&image), same);
        image.object_bytes = 20; /* cut off */
        assert_false(vtac_can_load(&image));
        vtac_artifact_image_free(&image);
    }
}

static void same_target(const vtac_target *a, const vtac_target *b, bool whatever_name)
{
    vtac_target other = *b;
    if (whatever_name) {
        memcpy(other.name, a->name, sizeof other.name);
    }
    assert_memory_equal(a, &other, sizeof other);
}

/* More processors than are remembered, in two orders: the same is said of each, and by its own name. */
static void processors_are_not_mixed_up(void **state)
{
    (void)state;
    vtac_target first[32];
    vta_diag diag = {0};
    size_t count;
    const vtac_target_row *rows = vtac_targets(&count);
    assert_in_range(count, 10, 32);
    for (size_t i = 0; i < count; i++) {
        GRAPH_CHECK(vtac_target_find(rows[i].name, &first[i], &diag), diag);
    }
    for (size_t turn = 0; turn < 3 * count; turn++) {
        const size_t i = turn < count                  ? turn
                         : (turn - count) / 2 % 2 == 0 ? turn % count
                                                       : count - 1 - turn % count;
        vtac_target again;
        GRAPH_CHECK(vtac_target_find(rows[i].name, &again, &diag), diag);
        same_target(&first[i], &again, false);
        assert_string_equal(again.name, rows[i].name);
    }
    vtac_target described;
    GRAPH_CHECK(vtac_target_find("x86_64-pc-linux-gnu,cpu=x86-64-v3,features=+avxvnni", &described, &diag),
                diag);
    vtac_target known;
    GRAPH_CHECK(vtac_target_find("x86-64-avxvnni", &known, &diag), diag);
    assert_string_equal(known.name, "x86-64-avxvnni");
    assert_string_not_equal(described.name, known.name);
    assert_true(known.has_vnni);
    same_target(&known, &described, true);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        return 2;
    }
    object_file = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loaded_models_run),
        cmocka_unit_test(unlisted_names_are_refused),
        cmocka_unit_test(other_machines_are_told_apart),
        cmocka_unit_test(processors_are_not_mixed_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
