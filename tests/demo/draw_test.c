/* SPDX-License-Identifier: Apache-2.0
 *
 * The pictures of the demo: the same from the same seed, each of its own, and through a file unharmed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "draw.h"
#include "outline.h"
#include "seed.h"
#include "temporary.h"
#include "vta/file.h"

static void a_seed_is_a_picture(void **state)
{
    (void)state;
    const uint64_t seed = test_seed("demo_draw");
    picture a;
    picture b;
    for (uint32_t i = 0; i < 50; i++) {
        demo_draw_picture(seed, i, &a);
        demo_draw_picture(seed, i, &b);
        assert_memory_equal(a.rgb, b.rgb, sizeof a.rgb);
        assert_int_equal(a.which, i % demo_class_count);
        demo_draw_picture(seed, i + demo_class_count, &b);
        assert_int_equal(a.which, b.which);
        assert_memory_not_equal(a.rgb, b.rgb, sizeof a.rgb);
        demo_draw_picture(seed + 1, i, &b);
        assert_memory_not_equal(a.rgb, b.rgb, sizeof a.rgb);
    }
}

static void outlines_are_round_the_origin(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < demo_class_count; i++) {
        const outline o = demo_class_outline(i);
        assert_in_range(o.count, 3, OUTLINE_MAX_POINTS);
        assert_true(demo_outline_distance(&o, (point){3.0F, 0.0F}) > 1.5F);
        float reach = 0.0F;
        for (uint32_t k = 0; k < o.count; k++) {
            const float square = o.at[k].x * o.at[k].x + o.at[k].y * o.at[k].y;
            reach = square > reach ? square : reach;
            assert_true(demo_outline_distance(&o, o.at[k]) < 1e-3F &&
                        demo_outline_distance(&o, o.at[k]) > -1e-3F);
        }
        assert_true(reach > 0.8F && reach < 1.4F);
    }
    const outline circle = demo_class_outline(0);
    const float middle = demo_outline_distance(&circle, (point){0.0F, 0.0F});
    assert_true(middle < -0.99F && middle > -1.01F);
}

static void files_hold_pictures(void **state)
{
    (void)state;
    char path[TEMPORARY_PATH];
    assert_true(temporary_file(path, ""));
    const uint64_t seed = test_seed("demo_files");
    vta_diag diag = {0};
    picture all[3];
    picture read;
    for (uint32_t i = 0; i < 3; i++) {
        demo_draw_picture(seed, i, &all[i]);
        assert_int_equal(demo_picture_write(&all[i], 1, 1, 1, path, &diag), VTA_OK);
        assert_int_equal(demo_picture_read(path, &read, &diag), VTA_OK);
        assert_memory_equal(read.rgb, all[i].rgb, sizeof read.rgb);
    }
    assert_int_equal(demo_picture_write(all, 3, 2, 2, path, &diag), VTA_OK);
    assert_int_equal(demo_picture_read(path, &read, &diag), VTA_INVALID);
    assert_non_null(strstr(diag.text, "it has 130 x 130 pixels, expected 32 x 32"));
    diag = (vta_diag){0};
    assert_int_equal(vta_file_write(path, "PNG?", 4, &diag), VTA_OK);
    assert_int_equal(demo_picture_read(path, &read, &diag), VTA_INVALID);
    assert_non_null(strstr(diag.text, path));
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_seed_is_a_picture),
                                       cmocka_unit_test(outlines_are_round_the_origin),
                                       cmocka_unit_test(files_hold_pictures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
