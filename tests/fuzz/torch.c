/* SPDX-License-Identifier: Apache-2.0
 *
 * PyTorch's archives, made around any bytes so that the sums of an archive are right. The first byte chooses
 * what the others are: code of a TorchScript, the pickle of its module, a program of torch.export, or the
 * whole file.
 */
#include <stdlib.h>
#include <zlib.h>

#include "models.h"
#include "torch_root.h"
#include "vta/str.h"
#include "vtac/import.h"

typedef struct fuzz_zip {
    vta_str file, directory;
    unsigned count;
} fuzz_zip;

static void append_number(vta_str *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        const uint8_t byte = (uint8_t)(value >> (8 * i));
        vta_str_append(to, &byte, 1);
    }
}

/* Fields that a member's own header and its entry in the directory share. */
static void append_fields(vta_str *to, const char *name, const void *bytes, size_t size)
{
    append_number(to, 10, 2); /* version */
    append_number(to, 0, 8);  /* flags, stored, time, date */
    append_number(to, (uint32_t)crc32(0, bytes, (uInt)size), 4);
    append_number(to, size, 4);
    append_number(to, size, 4);
    append_number(to, strlen(name), 2);
    append_number(to, 0, 2);
}

static void add_member(fuzz_zip *zip, const char *name, const void *bytes, size_t size)
{
    const size_t place = zip->file.size;
    vta_str_append(&zip->file, "PK\3\4", 4);
    append_fields(&zip->file, name, bytes, size);
    vta_str_append(&zip->file, name, strlen(name));
    vta_str_append(&zip->file, bytes, size);
    vta_str_append(&zip->directory, "PK\1\2\12\0", 6);
    append_fields(&zip->directory, name, bytes, size);
    append_number(&zip->directory, 0, 8);
    append_number(&zip->directory, 0, 2);
    append_number(&zip->directory, place, 4);
    vta_str_append(&zip->directory, name, strlen(name));
    zip->count++;
}

static void end_archive(fuzz_zip *zip)
{
    const size_t place = zip->file.size;
    vta_str_append(&zip->file, zip->directory.text, zip->directory.size);
    vta_str_append(&zip->file, "PK\5\6\0\0\0\0", 8);
    append_number(&zip->file, zip->count, 2);
    append_number(&zip->file, zip->count, 2);
    append_number(&zip->file, zip->directory.size, 4);
    append_number(&zip->file, place, 4);
    append_number(&zip->file, 0, 2);
    vta_str_free(&zip->directory);
}

static void add_weights(fuzz_zip *zip)
{
    float numbers[72];
    for (int i = 0; i < 72; i++) {
        numbers[i] = 0.25F + (float)(i % 7) / 8.0F;
    }
    add_member(zip, "net/data/0", numbers, sizeof numbers);
    add_member(zip, "net/data/1", numbers, 16);
    add_member(zip, "net/version", "3", 1);
}

static void make_archive(fuzz_zip *zip, uint8_t what, const uint8_t *data, size_t size)
{
    static const char code[] =
        "class Net(Module):\n  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n"
        "    return torch.conv2d(x, self.w, self.b)\n";
    if (what == 's' || what == 'p') {
        add_member(zip, "net/code/__torch__.py", what == 's' ? (const void *)data : code,
                   what == 's' ? size : sizeof code - 1);
        add_member(zip, "net/data.pkl", what == 'p' ? (const void *)data : fuzz_root,
                   what == 'p' ? size : sizeof fuzz_root - 1);
        add_weights(zip);
        end_archive(zip);
        return;
    }
    fuzz_zip inner = {0};
    add_member(&inner, "net/data.pkl", fuzz_state, sizeof fuzz_state - 1);
    add_weights(&inner);
    end_archive(&inner);
    add_member(zip, "serialized_exported_program.json", data, size);
    add_member(zip, "serialized_state_dict.pt", inner.file.text, inner.file.size);
    end_archive(zip);
    vta_str_free(&inner.file);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static const vtac_shape_option shape = {.name = "x", .rank = 4, .dim = {1, 2, 6, 6}};
    const vtac_import_options options = {.shapes = &shape, .shape_count = 1};
    fuzz_zip zip = {0};
    if (size == 0) {
        return;
    }
    if (strchr("spe", data[0]) != NULL && data[0] != 0) {
        make_archive(&zip, data[0], data + 1, size - 1);
    } else {
        vta_str_append(&zip.file, data + 1, size - 1);
    }
    const vtac_model_file file = {
        .path = "net.pt", .bytes = (const uint8_t *)zip.file.text, .size = zip.file.size};
    vtac_graph *graph = NULL;
    vta_diag diag = {0};
    if (!zip.file.failed && zip.file.size > 0) {
        const vta_status status = vtac_load_torch(&file, &options, &graph, &diag);
        require_line_or_graph(status, &diag, graph);
    }
    vta_str_free(&zip.file);
}
