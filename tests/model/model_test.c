/* SPDX-License-Identifier: Apache-2.0
 *
 * The model loader and executor on hand-written shared objects: results, threads, two runs with different
 * data, two models at once, and every refusal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "temporary.h"
#include "vta/artifact.h"
#include "vta/file.h"
#include "vta/flow.h"
#include "vta/hash.h"
#include "vta/model.h"
#include "vta/room.h"

enum { N = 1000 };
static const char *folder;
static char sealed[TEMPORARY_PATH];

/* The bytes of a file, with a seal if asked for; owned. */
static uint8_t *read_fixture(const char *name, size_t *size)
{
    char path[4096];
    uint8_t *bytes;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(vta_file_read(path, (size_t)1 << 24, &bytes, size, NULL), VTA_OK);
    return bytes;
}

static void write_model(const void *bytes, size_t size, bool seal)
{
    assert_int_equal(vta_file_write(sealed, bytes, size, NULL), VTA_OK);
    if (seal) {
        assert_int_equal(vta_artifact_seal_file(sealed, NULL), VTA_OK);
    }
}

/* Loads a sealed copy of a fixture. */
static vta_status load(const char *name, uint32_t threads, vta_model **model, vta_diag *diag)
{
    size_t size;
    uint8_t *bytes = read_fixture(name, &size);
    write_model(bytes, size, true);
    free(bytes);
    const char *path = sealed;
    const vta_model_options options = {.threads = threads};
    return vta_model_load(path, &options, model, diag);
}

/* Runs with data that depends on `salt` and compares with the model's formula, worked out here. */
static void run_by(vta_model *model, int32_t salt, int32_t factor)
{
    int32_t x[N];
    int32_t y[N];
    for (int32_t i = 0; i < N; i++) {
        x[i] = i * salt - 7;
    }
    vta_diag diag = {0};
    assert_int_equal(vta_model_set_input(model, 0, x, sizeof x, &diag), VTA_OK);
    assert_int_equal(vta_model_run(model, &diag), VTA_OK);
    assert_int_equal(vta_model_get_output(model, 0, y, sizeof y, &diag), VTA_OK);
    for (int32_t i = 0; i < N; i++) {
        const int32_t from = N - 1 - i;
        assert_int_equal(y[i], x[from] * factor + (from % 2 == 0 ? 1 : 0));
    }
}

static void run_once(vta_model *model, int32_t salt)
{
    run_by(model, salt, 3);
}

static void test_runs_twice_with_any_threads(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 5; threads += 2) {
        vta_model *model = NULL;
        vta_diag diag = {0};
        if (load("model_GOOD.so", threads, &model, &diag) != VTA_OK) {
            fail_msg("%s", diag.text);
        }
        for (int32_t salt = 1; salt < 50; salt++) {
            run_once(model, salt);
        }
        vta_model_destroy(model);
    }
}

static void test_description(void **state)
{
    (void)state;
    vta_model *model = NULL;
    vta_diag diag = {0};
    assert_int_equal(load("model_GOOD.so", 1, &model, &diag), VTA_OK);
    assert_string_equal(vta_model_name(model), "fixture");
    assert_int_equal(vta_model_input_count(model), 1);
    assert_int_equal(vta_model_output_count(model), 1);
    const vta_tensor_info y = vta_model_output(model, 0);
    assert_string_equal(y.name, "y");
    assert_int_equal(y.rank, 2);
    assert_int_equal(y.dim[1], N);
    assert_int_equal(y.dtype_bits, 32);
    assert_null(vta_model_input(model, 1).name);
    assert_int_equal((uintptr_t)vta_model_input_data(model, 0) % 64, 0);
    const vta_step_profile *steps;
    uint32_t count;
    assert_int_equal(vta_model_profile(model, &steps, &count, &diag), VTA_OK);
    assert_int_equal(count, 2);
    assert_string_equal(steps[0].name, "scale");
    assert_int_equal(steps[1].node, 2);
    assert_true(steps[0].seconds >= 0.0);
    assert_int_equal(vta_model_cycles(model), 0); /* all on the host */
    vta_model_destroy(model);
}

/* dlpack.h's own layout, written down from its text. */
typedef struct dlpack_tensor {
    void *data;
    struct {
        int device_type;
        int32_t device_id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code;
        uint8_t bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} dlpack_tensor;
_Static_assert(sizeof(dlpack_tensor) == sizeof(vta_dl_tensor), "the layout is DLPack's");

static void test_tensors_are_dlpack(void **state)
{
    (void)state;
    vta_model *model = NULL;
    assert_int_equal(load("model_GOOD.so", 1, &model, NULL), VTA_OK);
    for (int32_t salt = 3; salt < 5; salt++) {
        const vta_dl_tensor own[] = {vta_model_input_tensor(model, 0), vta_model_output_tensor(model, 0)};
        dlpack_tensor t[2];
        memcpy(t, own, sizeof t);
        assert_int_equal(t[0].device.device_type, 1);
        assert_int_equal(t[0].ndim, 1);
        assert_int_equal(t[0].shape[0], N);
        assert_int_equal(t[1].ndim, 2);
        assert_int_equal(t[1].shape[1], N);
        assert_int_equal(t[1].dtype.code, 0);
        assert_int_equal(t[1].dtype.bits, 32);
        assert_int_equal(t[1].dtype.lanes, 1);
        assert_null(t[1].strides);
        assert_int_equal(t[1].byte_offset, 0);
        int32_t *x = t[0].data;
        for (int32_t i = 0; i < N; i++) {
            x[i] = i + salt;
        }
        assert_int_equal(vta_model_run(model, NULL), VTA_OK);
        assert_int_equal(((int32_t *)t[1].data)[0], (N - 1 + salt) * 3);
    }
    assert_null(vta_model_input_tensor(model, 1).data);
    assert_null(vta_model_output_tensor(model, 1).data);
    vta_model_destroy(model);
}

static void *run_many(void *argument)
{
    vta_model *model = argument;
    for (int32_t salt = 1; salt < 200; salt++) {
        run_once(model, salt);
    }
    return NULL;
}

static void test_two_at_once(void **state)
{
    (void)state;
    vta_model *models[2] = {NULL, NULL};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(load("model_GOOD.so", 2, &models[i], NULL), VTA_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, models[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        vta_model_destroy(models[i]);
    }
}

/* Writes over the file that is there, as `cp` does: the same name, the same inode. */
static void write_over(const char *name)
{
    size_t size;
    uint8_t *bytes = read_fixture(name, &size);
    FILE *file = fopen(sealed, "r+b");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(ftruncate(fileno(file), (off_t)size), 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(vta_artifact_seal_file(sealed, NULL), VTA_OK);
    free(bytes);
}

/* The path of a loaded model holds another one: replaced, written over, back again. Each is what was there
 * when it was loaded, and stays so. */
static void test_another_model_under_the_same_path(void **state)
{
    (void)state;
    vta_model *models[4] = {NULL, NULL, NULL, NULL};
    static const int32_t factors[] = {3, 4, 3, 4};
    assert_int_equal(load("model_GOOD.so", 1, &models[0], NULL), VTA_OK);
    assert_int_equal(load("model_OTHER.so", 1, &models[1], NULL), VTA_OK);
    write_over("model_GOOD.so");
    assert_int_equal(vta_model_load(sealed, NULL, &models[2], NULL), VTA_OK);
    write_over("model_OTHER.so");
    assert_int_equal(vta_model_load(sealed, NULL, &models[3], NULL), VTA_OK);
    for (int32_t salt = 1; salt < 3; salt++) {
        for (int i = 0; i < 4; i++) {
            run_by(models[i], salt, factors[i]);
        }
    }
    for (int i = 0; i < 4; i++) {
        vta_model_destroy(models[i]);
        for (int k = i + 1; k < 4; k++) {
            run_by(models[k], 9, factors[k]);
        }
    }
    assert_int_equal(load("model_GOOD.so", 1, &models[0], NULL), VTA_OK);
    run_by(models[0], 5, 3);
    vta_model_destroy(models[0]);
}

/* As a profiler wants it: the map of the process names the file. */
static bool is_mapped(const char *name)
{
    char line[4400];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        found = found || strstr(line, name) != NULL;
    }
    assert_int_equal(fclose(maps), 0);
    return found;
}

static void test_in_place(void **state)
{
    (void)state;
    for (int in_place = 0; in_place < 2; in_place++) {
        vta_model *model = NULL;
        assert_int_equal(setenv("VTA_MODEL_IN_PLACE", in_place != 0 ? "1" : "0", 1), 0);
        assert_int_equal(load("model_OTHER.so", 1, &model, NULL), VTA_OK);
        run_by(model, 7, 4);
        assert_int_equal(is_mapped(sealed), in_place);
        vta_model_destroy(model);
    }
    assert_int_equal(unsetenv("VTA_MODEL_IN_PLACE"), 0);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *name, *message;
        vta_status status;
    } rows[] = {
        {"model_MAGIC.so", "it is not a compiled model; 'vtac compile' makes them", VTA_SYNTAX},
        {"model_ABI.so", "it was compiled for model format 4, this runtime reads 3; compile it again",
         VTA_UNSUPPORTED},
        {"model_CPU.so",
         "it needs the CPU feature 'no-such-feature', which this machine lacks; compile it for this machine "
         "with --host host",
         VTA_UNSUPPORTED},
        {"model_CONSTANTS.so", "its constants are damaged (checksum differs)", VTA_SYNTAX},
        {"model_BUFFER.so", "a buffer of its plan lies outside its memory", VTA_SYNTAX},
        {"model_TENSOR.so", "the description of a tensor is damaged", VTA_SYNTAX},
        {"model_KIND.so", "step 1 is of kind 7, which this runtime does not run", VTA_UNSUPPORTED},
        {"model_REGION.so", "the accelerator program of step 'reverse' is damaged", VTA_SYNTAX},
        {"model_SPACE.so", "buffer 0 of step 'reverse' is not in device memory", VTA_SYNTAX},
        {"model_DEVICE.so", "its accelerator's constants are damaged (checksum differs)", VTA_SYNTAX},
        {"model_CONFIG.so", "its accelerator configuration is damaged (checksum differs)", VTA_SYNTAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vta_model *model = NULL;
        vta_diag diag = {0};
        assert_int_equal(load(rows[i].name, 1, &model, &diag), rows[i].status);
        assert_null(model);
        char message[4400];
        (void)snprintf(message, sizeof message, "%s: %s", sealed, rows[i].message);
        assert_string_equal(diag.text, message);
    }
    vta_model *model = NULL;
    vta_diag diag = {0};
    assert_int_equal(vta_model_load("no/such/model.so", NULL, &model, &diag), VTA_IO);
    assert_non_null(strstr(diag.text, "cannot load it: "));
}

static void refuse(const char *reason)
{
    vta_model *model = NULL;
    vta_diag diag = {0};
    char message[4400];
    assert_int_not_equal(vta_model_load(sealed, NULL, &model, &diag), VTA_OK);
    assert_null(model);
    (void)snprintf(message, sizeof message, "%s: %s", sealed, reason);
    assert_string_equal(diag.text, message);
}

/* Cut off anywhere, a bit flipped anywhere, made for another processor: told before anything of it is mapped.
 */
static void test_damaged_files(void **state)
{
    (void)state;
    enum { MACHINE = 18, AARCH64 = 183 }; /* e_machine of the ELF header */
    static const char *const cut = "it is cut off, or is no model that 'vtac compile' wrote";
    static const char *const damaged = "it is damaged (its checksum differs); compile or copy it again";
    size_t size;
    uint8_t *good = read_fixture("model_GOOD.so", &size);
    write_model(good, size, true);
    free(good);
    uint8_t *whole;
    assert_int_equal(vta_file_read(sealed, (size_t)1 << 24, &whole, &size, NULL), VTA_OK);
    for (size_t length = 0; length < size; length += 97) {
        write_model(whole, length, false);
        refuse(length < 4 ? "it is not a compiled model; 'vtac compile' makes them" : cut);
    }
    for (size_t bit = 32; bit < 8 * (size - sizeof(vta_artifact_seal)); bit += 1009) {
        whole[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        write_model(whole, size, false);
        refuse(damaged);
        whole[bit / 8] ^= (uint8_t)(1U << (bit % 8));
    }
    whole[size - 1] ^= 1;
    write_model(whole, size, false);
    refuse(damaged);
    whole[MACHINE] = AARCH64;
    write_model(whole, size - sizeof(vta_artifact_seal), true);
#ifdef __x86_64__
    refuse("it was compiled for aarch64, this machine is x86-64; compile it with --host for this one");
#endif
    write_model("text", 4, false);
    refuse("it is not a compiled model; 'vtac compile' makes them");
    free(whole);
}

/* ---- sizes that a model only claims */

static void do_nothing(void *const *buffers, int64_t begin, int64_t end, void *scratch)
{
    (void)buffers;
    (void)begin;
    (void)end;
    memset(scratch, 1, 64);
}

typedef struct claim {
    vta_artifact_tensor input;
    vta_artifact_step step;
    vta_artifact artifact;
} claim;

/* A model of one step, right in all but what it says to need. */
static void claim_memory(claim *c, uint64_t input, uint64_t workspace, uint64_t scratch)
{
    const uint64_t nothing = VTA_HASH_START; /* its hash */
    c->input = (vta_artifact_tensor){"x", 0, 8, 1, {(int64_t)input}, input};
    c->step = (vta_artifact_step){VTA_STEP_HOST, 0, "s", "Op", do_nothing, 1, 0, NULL, scratch, 0, NULL};
    c->artifact = (vta_artifact){.magic = VTA_ARTIFACT_MAGIC,
                                 .abi = VTA_ARTIFACT_ABI,
                                 .size = sizeof c->artifact,
                                 .name = "claim",
                                 .required = "",
                                 .input_count = 1,
                                 .step_count = 1,
                                 .inputs = &c->input,
                                 .steps = &c->step,
                                 .constant_hash = nothing,
                                 .workspace_bytes = workspace,
                                 .device_constant_hash = nothing};
}

/* Instructions of more kinds than this runtime knows, and of formats that it does not read, are told from
 * damage. */
static void test_instructions_of_another_age(void **state)
{
    (void)state;
    const int64_t good[] = {VTA_FLOW_MAGIC, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0};
    int64_t words[sizeof good / sizeof good[0]];
    char older[200];
    (void)snprintf(older, sizeof older,
                   "its instructions are of %d kinds, this runtime is older and knows %d; ", VTA_FLOW_OPS + 1,
                   VTA_FLOW_OPS);
    const struct {
        uint32_t abi;
        int64_t place, word;
        const char *expected; /* NULL: it loads */
    } rows[] = {
        {VTA_ARTIFACT_FLOW_ABI, 1, VTA_FLOW_OPS, NULL},
        {VTA_ARTIFACT_FLOW_ABI, 1, VTA_FLOW_OPS + 1, older},
        {VTA_ARTIFACT_FLOW_ABI, 1, -1, "its instructions are damaged"},
        {VTA_ARTIFACT_FLOW_ABI, 0, VTA_FLOW_MAGIC + 1, "its instructions are damaged"},
        {VTA_ARTIFACT_FLOW_ABI, 3, 7, "its instructions are damaged"},
        {VTA_ARTIFACT_FLOW_ABI + 1, 1, 1, "it was compiled for model format 5, this runtime reads 4; "},
        {VTA_ARTIFACT_ABI, 1, 1, "it was compiled for model format 3, this runtime reads 4; "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        claim c;
        vta_model *model = NULL;
        vta_diag diag = {0};
        claim_memory(&c, 64, 64, 64);
        memcpy(words, good, sizeof words);
        words[rows[i].place] = rows[i].word;
        c.artifact.abi = rows[i].abi;
        c.artifact.flow = words;
        c.artifact.flow_bytes = sizeof words;
        assert_int_equal(vta_model_open(&c.artifact, NULL, &model, &diag) == VTA_OK,
                         rows[i].expected == NULL);
        if (rows[i].expected != NULL) {
            assert_ptr_equal(strstr(diag.text, rows[i].expected), diag.text);
        }
        vta_model_destroy(model);
    }
}

static uint64_t peak_bytes(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (uint64_t)usage.ru_maxrss * 1024;
}

/* All that the machine has, as the kernel counts it elsewhere. */
static uint64_t machine_bytes(void)
{
    struct sysinfo info;
    assert_int_equal(sysinfo(&info), 0);
    return ((uint64_t)info.totalram + info.totalswap) * info.mem_unit;
}

/* More than the machine has: one sentence with both numbers. */
static void test_claims_of_too_much(void **state)
{
    (void)state;
    const uint64_t huge = UINT64_C(1) << 62;
    const uint64_t total = machine_bytes();
    const struct {
        uint64_t input, workspace, scratch, sum;
        const char *what;
    } rows[] = {
        {huge, 0, 0, huge, "its inputs, outputs and workspace"},
        {64, huge, 0, huge + 64, "its inputs, outputs and workspace"},
        {INT64_MAX, UINT64_MAX, 0, UINT64_MAX, "its inputs, outputs and workspace"},
        {total + 1, 0, 0, (total + 64) / 64 * 64, "its inputs, outputs and workspace"},
        {64, 64, huge, 2 * huge, "its scratch"},
        {64, 64, UINT64_MAX - 3, UINT64_MAX, "its scratch"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        claim c;
        vta_model *model = NULL;
        vta_diag diag = {0};
        const vta_model_options options = {.threads = 2};
        unsigned long long needed = 0;
        unsigned long long available = 0;
        char expected[400];
        claim_memory(&c, rows[i].input, rows[i].workspace, rows[i].scratch);
        assert_int_equal(vta_model_open(&c.artifact, &options, &model, &diag), VTA_NOMEM);
        assert_null(model);
        const char *behind = strstr(diag.text, rows[i].what);
        assert_non_null(behind);
        assert_int_equal(sscanf(diag.text, "%llu", &needed), 1);
        assert_int_equal(sscanf(behind + strlen(rows[i].what), ", %llu", &available), 1);
        assert_true(needed == rows[i].sum);
        assert_true(available > 0 && available <= total);
        (void)snprintf(
            expected, sizeof expected,
            "%llu bytes of memory are needed for %s, %llu are available; end other programs, or use "
            "a machine with more",
            needed, rows[i].what, available);
        assert_string_equal(diag.text, expected);
    }
}

/* Memory of the simulated device, which is this machine's as well. */
static void test_claims_of_device_memory(void **state)
{
    (void)state;
    const uint64_t rows[][2] = {{UINT64_C(1) << 62, UINT64_C(1) << 62}, {UINT64_MAX, UINT64_MAX}};
    const vta_artifact_region region = {.program = "no program"};
    vta_config config;
    vta_config_default(&config);
    char *json = vta_config_to_json(&config);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        claim c;
        char expected[120];
        vta_model *model = NULL;
        vta_diag diag = {0};
        claim_memory(&c, 64, 64, 64);
        c.step.kind = VTA_STEP_ACCELERATOR;
        c.step.region = &region;
        c.artifact.config_json = json;
        c.artifact.config_hash = config.hash;
        c.artifact.device_work_bytes = rows[i][0];
        assert_int_equal(vta_model_open(&c.artifact, NULL, &model, &diag), VTA_NOMEM);
        (void)snprintf(expected, sizeof expected,
                       "%llu bytes of memory are needed for the simulated device, ",
                       (unsigned long long)rows[i][1]);
        assert_ptr_equal(strstr(diag.text, expected), diag.text);
    }
    free(json);
}

/* Memory that is granted costs nothing until it is used. A sanitizer's books take an eighth of it; those of
 * the thread sanitizer are larger than the memory. */
static void test_claims_cost_nothing(void **state)
{
    (void)state;
    const uint64_t max = UINT64_C(1) << 30;
    const uint64_t there = vta_room_available();
    const uint64_t all = there < max ? there : max;
    const uint64_t before = peak_bytes();
    for (uint64_t i = 4; i < 6; i++) {
        claim c;
        vta_model *model = NULL;
        const vta_model_options options = {.threads = 1};
        claim_memory(&c, all / 4, all / i, all / 4);
        assert_int_equal(vta_model_open(&c.artifact, &options, &model, NULL), VTA_OK);
        const uint8_t *x = vta_model_input_data(model, 0);
        assert_int_equal((uintptr_t)x % VTA_ARTIFACT_ALIGN, 0);
        assert_int_equal(x[0] | x[all / 4 - 1], 0);
        assert_int_equal(vta_model_run(model, NULL), VTA_OK);
        assert_true(vta_model_workspace_bytes(model) == all / i);
        vta_model_destroy(model);
    }
#ifdef __SANITIZE_THREAD__
    (void)before;
#else
    assert_true(peak_bytes() - before < all / 4);
#endif
}

static void test_wrong_accesses(void **state)
{
    (void)state;
    vta_model *model = NULL;
    int32_t data[N];
    vta_diag diag = {0};
    assert_int_equal(load("model_GOOD.so", 1, &model, NULL), VTA_OK);
    assert_int_equal(vta_model_set_input(model, 1, data, sizeof data, &diag), VTA_RANGE);
    assert_string_equal(diag.text, "input 1 does not exist; the model has 1");
    diag = (vta_diag){0};
    assert_int_equal(vta_model_get_output(model, 0, data, 8, &diag), VTA_INVALID);
    assert_string_equal(diag.text, "output 0 has 4000 bytes, not 8");
    vta_model_destroy(model);
}

/* ---- huge pages ---- */

/* Mappings for which huge pages were asked, as the system tells. */
static int huge_mappings(void)
{
    char line[4400];
    int count = 0;
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        count += strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg") != NULL;
    }
    if (maps != NULL) {
        assert_int_equal(fclose(maps), 0);
    }
    return count;
}

/* True if this system has huge pages and tells: not where it was built without, or the program is emulated.
 */
static bool tells_of_huge_pages(void)
{
    enum { BYTES = 1 << 16 };
    char line[128] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    const bool there = file != NULL && fgets(line, sizeof line, file) != NULL;
    const int before = huge_mappings();
    void *probe = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(probe != MAP_FAILED);
    const bool told = madvise(probe, BYTES, 14 /* MADV_HUGEPAGE */) == 0 && huge_mappings() > before;
    assert_int_equal(munmap(probe, BYTES), 0);
    if (file != NULL) {
        assert_int_equal(fclose(file), 0);
    }
    return there && strstr(line, "[never]") == NULL && told && sizeof(void *) > 4;
}

/* Bytes that files without a name take. */
static uint64_t copied_bytes(void)
{
    uint64_t bytes = 0;
    for (int i = 0; i < 100; i++) {
        char name[64];
        char path[64] = "";
        struct stat info;
        (void)snprintf(name, sizeof name, "/proc/self/fd/%d", i);
        if (readlink(name, path, sizeof path - 1) > 0 && strncmp(path, "/memfd:", 7) == 0 &&
            fstat(i, &info) == 0) {
            bytes += (uint64_t)info.st_blocks * 512;
        }
    }
    return bytes;
}

/* Constants in huge pages and where they were: the same results, and each byte is there once. */
static void test_huge_pages(void **state)
{
    (void)state;
    enum { TABLE_BYTES = (5 << 20) + 12 };
    const bool tells = tells_of_huge_pages();
    for (int i = 0; i < 4; i++) {
        const bool wanted = i % 2 == 0;
        vta_model *model = NULL;
        const int before = huge_mappings();
        assert_int_equal(wanted ? unsetenv("VTA_HUGE_PAGES") : setenv("VTA_HUGE_PAGES", "0", 1), 0);
        assert_int_equal(setenv("VTA_MODEL_IN_PLACE", i < 2 ? "0" : "1", 1), 0);
        assert_int_equal(load("model_LARGE.so", 2, &model, NULL), VTA_OK);
        const int moved = huge_mappings() - before; /* constants and workspace, which may be neighbours */
        assert_true(!tells || (moved > 0) == wanted);
        if (i < 2 && tells) {
            assert_true(wanted ? copied_bytes() < TABLE_BYTES / 8 : copied_bytes() >= TABLE_BYTES);
        }
        run_once(model, i + 3);
        run_once(model, -i);
        vta_model_destroy(model);
        assert_int_equal(huge_mappings(), before);
        assert_int_equal(copied_bytes(), 0);
    }
    assert_int_equal(unsetenv("VTA_MODEL_IN_PLACE"), 0);
    assert_int_equal(unsetenv("VTA_HUGE_PAGES"), 0);
}

/* Bytes of this process's addresses. */
static uint64_t own_addresses(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%llu", &pages), 1);
    assert_int_equal(fclose(file), 0);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void test_huge_pages_are_given_back(void **state)
{
    (void)state;
    uint64_t first = 0;
    vta_model *models[2];
    assert_int_equal(load("model_LARGE.so", 1, &models[0], NULL), VTA_OK);
    vta_model_destroy(models[0]);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(vta_model_load(sealed, NULL, &models[0], NULL), VTA_OK);
        assert_int_equal(vta_model_load(sealed, NULL, &models[1], NULL), VTA_OK);
        run_once(models[i % 2], i);
        vta_model_destroy(models[0]);
        run_once(models[1], i + 1);
        vta_model_destroy(models[1]);
        first = i == 1 ? own_addresses() : first;
    }
#ifndef __SANITIZE_THREAD__ /* which has tables for addresses that were used once */
    assert_true(own_addresses() < first + (4 << 20));
#endif
}

/* A bound on addresses leaves room for the model, but not for a second copy of anything. */
static void test_without_room_for_huge_pages(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* its own tables are beyond any bound */
#endif
    enum { MORE = 12 << 20 }; /* the constants, and the workspace where it may be */
    struct rlimit own;
    vta_model *model = NULL;
    vta_diag diag = {0};
    assert_int_equal(getrlimit(RLIMIT_AS, &own), 0);
    assert_int_equal(load("model_LARGE.so", 1, &model, NULL),
                     VTA_OK); /* the file, and the heap as it will be */
    vta_model_destroy(model);
    for (int i = 0; i < 2; i++) {
        const int before = huge_mappings();
        const struct rlimit less = {.rlim_cur = (rlim_t)own_addresses() + MORE, .rlim_max = own.rlim_max};
        const vta_model_options options = {.threads = 1};
        assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
        const vta_status status = vta_model_load(sealed, &options, &model, &diag);
        const int after = huge_mappings();
        assert_int_equal(setrlimit(RLIMIT_AS, &own), 0);
        if (status != VTA_OK) {
            fail_msg("%s", diag.text);
        }
        assert_int_equal(after, before);
        run_once(model, 11 + i);
        vta_model_destroy(model);
    }
}

int main(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : ".";
    if (!temporary_file(sealed, ".so")) {
        (void)fprintf(stderr, "model: cannot write %s\n", sealed);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_twice_with_any_threads),
        cmocka_unit_test(test_description),
        cmocka_unit_test(test_tensors_are_dlpack),
        cmocka_unit_test(test_two_at_once),
        cmocka_unit_test(test_another_model_under_the_same_path),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_instructions_of_another_age),
        cmocka_unit_test(test_claims_of_too_much),
        cmocka_unit_test(test_claims_of_device_memory),
        cmocka_unit_test(test_claims_cost_nothing),
        cmocka_unit_test(test_wrong_accesses),
        cmocka_unit_test(test_huge_pages),
        cmocka_unit_test(test_huge_pages_are_given_back),
        cmocka_unit_test(test_without_room_for_huge_pages),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(sealed);
    return failed;
}
