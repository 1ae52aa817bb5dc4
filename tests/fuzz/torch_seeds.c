/* SPDX-License-Identifier: Apache-2.0
 *
 * First inputs of the target `torch`. Usage: torch_seeds FOLDER
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torch_root.h"
#include "vta/file.h"
#include "vta/str.h"

static void save(const char *folder, const char *name, const void *bytes, size_t size)
{
    char path[4096];
    vta_str file = {0};
    vta_diag diag = {0};
    vta_str_append(&file, name, 1);
    vta_str_append(&file, bytes, size);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    if (file.failed || vta_file_write(path, file.text, file.size, &diag) != VTA_OK) {
        (void)fprintf(stderr, "torch_seeds: %s\n", diag.text);
        exit(1);
    }
    vta_str_free(&file);
}

#define HEAD "class Net(Module):\n  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n"
#define NODE(target, inputs, out)                                                                            \
    "{\"target\":\"torch.ops.aten." target "\",\"inputs\":[" inputs "],\"outputs\":[" out "]}"
#define TENSOR(name)     "{\"as_tensor\":{\"name\":\"" name "\"}}"
#define INPUT(name, arg) "{\"name\":\"" name "\",\"arg\":" arg "}"

int main(int argc, char **argv)
{
    static const char layers[] =
        HEAD "    y = torch.conv2d(x, self.w, self.b, [1, 1], [1, 1])\n    y0 = "
             "torch.relu_(torch.max_pool2d(y, [2, 2]))\n"
             "    z = torch.cat([y0, torch.upsample_nearest2d(torch.avg_pool2d(y0, [2, 2]), [3, 3])], 1)\n"
             "    a, b, = torch.split(z, 4, 1)\n    return {\"a\": torch.softmax(torch.flatten(a, 1), 1), "
             "\"b\": torch.mean(b, [2, 3])}\n";
    static const char statements[] =
        HEAD "    n = 0\n    on = True\n    while on:\n      m = torch.add(n, 1)\n      on, n = torch.lt(m, "
             "3), m\n    for i in range(torch.size(x, 1)):\n"
             "      if torch.eq(i, 1):\n        y = torch.mul(x, float(i))\n      else:\n        y = "
             "(self).more(x, [1, -2])\n    return (y, self.w)\n"
             "  def more(self: __torch__.Net,\n    v: Tensor,\n    k: List[int]=[3]) -> Tensor:\n    return "
             "torch.add(v, k[0], alpha=k[-1])\n";
    static const char program[] = "{\"graph_module\":{\"graph\":{\"nodes\":[" NODE(
        "conv2d.default",
        INPUT("input", TENSOR("x")) "," INPUT("weight", TENSOR("w")) "," INPUT("bias", TENSOR("b")) "," INPUT(
            "padding", "{\"as_ints\":[1,1]}"),
        TENSOR(
            "c")) "," NODE("chunk.default",
                           INPUT("self", TENSOR("c")) "," INPUT("chunks", "{\"as_int\":2}") "," INPUT(
                               "dim", "{\"as_int\":1}"),
                           "{\"as_tensors\":[{\"name\":\"d\"},{\"name\":\"e\"}]}") "," NODE("add.Tensor",
                                                                                            INPUT("self", TENSOR("d")) "," INPUT(
                                                                                                "other",
                                                                                                TENSOR("e")),
                                                                                            TENSOR(
                                                                                                "y")) "],"
                                                                                                      "\"tens"
                                                                                                      "or_"
                                                                                                      "values"
                                                                                                      "\":{"
                                                                                                      "\"x\":"
                                                                                                      "{\"dty"
                                                                                                      "pe\":"
                                                                                                      "7,"
                                                                                                      "\"size"
                                                                                                      "s\":[{"
                                                                                                      "\"as_"
                                                                                                      "int\":"
                                                                                                      "1},{"
                                                                                                      "\"as_"
                                                                                                      "int\":"
                                                                                                      "2},{"
                                                                                                      "\"as_"
                                                                                                      "int\":"
                                                                                                      "6},{"
                                                                                                      "\"as_"
                                                                                                      "int\":"
                                                                                                      "6}],"
                                                                                                      "\"stri"
                                                                                                      "des\":"
                                                                                                      "[{"
                                                                                                      "\"as_"
                                                                                                      "int\":"
                                                                                                      "72},{"
                                                                                                      "\"as_"
                                                                                                      "int\":"
                                                                                                      "36},"
                                                                                                      "{\"as_"
                                                                                                      "int\":"
                                                                                                      "6},{"
                                                                                                      "\"as_"
                                                                                                      "int\":"
                                                                                                      "1}]}}}"
                                                                                                      ",\"sig"
                                                                                                      "nature"
                                                                                                      "\":{"
                                                                                                      "\"inpu"
                                                                                                      "t_"
                                                                                                      "specs"
                                                                                                      "\":[{"
                                                                                                      "\"para"
                                                                                                      "meter"
                                                                                                      "\":{"
                                                                                                      "\"arg"
                                                                                                      "\":{"
                                                                                                      "\"name"
                                                                                                      "\":"
                                                                                                      "\"w\"}"
                                                                                                      ",\"par"
                                                                                                      "ameter"
                                                                                                      "_name"
                                                                                                      "\":"
                                                                                                      "\"w\"}"
                                                                                                      "},"
                                                                                                      "{\"buf"
                                                                                                      "fer\":"
                                                                                                      "{\"arg"
                                                                                                      "\":{"
                                                                                                      "\"name"
                                                                                                      "\":"
                                                                                                      "\"b\"}"
                                                                                                      ",\"buf"
                                                                                                      "fer_"
                                                                                                      "name\""
                                                                                                      ":\"b\""
                                                                                                      "}},{"
                                                                                                      "\"user"
                                                                                                      "_input"
                                                                                                      "\":{"
                                                                                                      "\"arg"
                                                                                                      "\""
                                                                                                      ":" TENSOR("x") "}}],\"output_specs\":[{\"user_output\":{\"arg\":" TENSOR(
                                                                                                          "y") "}}]}}}";
    if (argc != 2) {
        (void)fprintf(stderr, "usage: torch_seeds FOLDER\n");
        return 2;
    }
    save(argv[1], "s_layers", layers, sizeof layers - 1);
    save(argv[1], "s_statements", statements, sizeof statements - 1);
    save(argv[1], "e_program", program, sizeof program - 1);
    save(argv[1], "p_module", fuzz_root, sizeof fuzz_root - 1);
    save(argv[1], "z_archive", "PK\3\4", 4);
    return 0;
}
