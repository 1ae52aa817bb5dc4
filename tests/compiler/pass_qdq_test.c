/* SPDX-License-Identifier: Apache-2.0
 *
 * fold-qdq pattern by pattern: which operators come of it, and that they compute what the float operators
 * between the quantizations did. These are the reference: compiled without any pass. Results are 8-bit
 * integers, so that the two may differ by one where the exact number lies at the middle between two, which is
 * rare.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "run_graph.h"

static uint64_t seed;

#define QUANTIZED                                                                                            \
    "graph \"t\"\n"                                                                                          \
    "const %sx: f32[] = [0.031]\nconst %zx: i8[] = [-7]\n"                                                   \
    "const %sy: f32[] = [0.057]\nconst %zy: i8[] = [-128]\nconst %zm: i8[] = [11]\n"                         \
    "const %su: f32[1] = [0.017]\nconst %zu: u8[1] = [131]\n"
#define IMAGE                                                                                                \
    QUANTIZED "input %f: f32[1,6,9,10]\n"                                                                    \
              "%q: i8[1,6,9,10] = QuantizeLinear(%f, %sx, %zx)\n"                                            \
              "%x: f32[1,6,9,10] = DequantizeLinear(%q, %sx, %zx)\n"
#define PLANES                                                                                               \
    "graph \"g\"\ninput %i: f32[2,6,5,4]\nconst %sx: f32[] = [0.02]\nconst %zm: i8[] = [-3]\n"               \
    "%q: i8[2,6,5,4] = QuantizeLinear(%i, %sx, %zm)\n%x: f32[2,6,5,4] = DequantizeLinear(%q, %sx, %zm)\n"
#define MATRIX                                                                                               \
    QUANTIZED "input %f: f32[7,20]\n"                                                                        \
              "%q: i8[7,20] = QuantizeLinear(%f, %sx, %zx)\n"                                                \
              "%x: f32[7,20] = DequantizeLinear(%q, %sx, %zx)\n"
#define SHARES "const %share: f32[] = [0.00390625]\n"
#define SHARE  "%o: i8[7,20] = QuantizeLinear(%s, %share, %zy)\noutput %o\n"
#define FILTER                                                                                               \
    "random %qw: i8[8,6,3,3] -90 90\nrandom %sw: f32[8] 1 3\nconst %zw: i8[8] = [0, 0, 0, 0, 0, 0, 0, 0]\n"  \
    "%w: f32[8,6,3,3] = DequantizeLinear(%qw, %sw, %zw) {axis=0}\n"
#define TRANSPOSED                                                                                           \
    "random %qw: i8[6,5,3,3] -90 90\nrandom %sw: f32[5] 1 3\n"                                               \
    "%w: f32[6,5,3,3] = DequantizeLinear(%qw, %sw) {axis=1}\n"
#define CONV "%c: f32[1,8,9,10] = Conv(%x, %w) {pads=[1, 1, 1, 1]}\n"

static const struct {
    const char *name, *text, *ops;
} cases[] = {
    {"conv", IMAGE FILTER CONV "%o: i8[1,8,9,10] = QuantizeLinear(%c, %sy, %zm)\noutput %o\n",
     "QuantizeLinear QLinearConv"},
    {"conv and relu at the end of the range",
     IMAGE FILTER CONV
     "%r: f32[1,8,9,10] = Relu(%c)\n%o: i8[1,8,9,10] = QuantizeLinear(%r, %sy, %zy)\noutput %o\n",
     "QuantizeLinear QLinearConv"},
    {"conv and relu in the middle of the range",
     IMAGE FILTER CONV
     "%r: f32[1,8,9,10] = Relu(%c)\n%o: i8[1,8,9,10] = QuantizeLinear(%r, %sy, %zm)\noutput %o\n",
     "QuantizeLinear QLinearConv Clip"},
    {"conv, clip and relu",
     IMAGE FILTER CONV
     "const %lo: f32[] = [-1.5]\nconst %hi: f32[] = [3.12]\n%k: f32[1,8,9,10] = Clip(%c, %lo, %hi)\n"
     "%r: f32[1,8,9,10] = Relu(%k)\n%o: i8[1,8,9,10] = QuantizeLinear(%r, %sy, %zm)\noutput %o\n",
     "QuantizeLinear QLinearConv Clip"},
    {"conv with a float bias, to u8",
     IMAGE FILTER
     "random %b: f32[8] -300 300\n%c: f32[1,8,4,5] = Conv(%x, %w, %b) {strides=[2, 2], pads=[0, 0, 1, 1]}\n"
     "%o: u8[1,8,4,5] = QuantizeLinear(%c, %sy, %zu)\noutput %o\n",
     "QuantizeLinear QLinearConv"},
    {"conv with asymmetric weights and a quantized bias",
     IMAGE
     "random %qw: u8[8,6,3,3] 0 255\nconst %sw: f32[] = [0.004]\nconst %zw: u8[] = [119]\n"
     "%w: f32[8,6,3,3] = DequantizeLinear(%qw, %sw, %zw)\n"
     "random %qb: i32[8] -9000 9000\nconst %sb: f32[] = [0.000124]\n%b: f32[8] = DequantizeLinear(%qb, %sb)\n"
     "%c: f32[1,8,9,10] = Conv(%x, %w, %b) {pads=[1, 1, 1, 1]}\n"
     "%o: i8[1,8,9,10] = QuantizeLinear(%c, %sy, %zm)\noutput %o\n",
     "QuantizeLinear QLinearConv"},
    {"transposed conv, every second pixel, cut at the border",
     IMAGE TRANSPOSED "%c: f32[1,5,17,19] = ConvTranspose(%x, %w) {strides=[2, 2], pads=[1, 1, 1, 1]}\n"
                      "%o: i8[1,5,17,19] = QuantizeLinear(%c, %sy, %zm)\noutput %o\n",
     "QuantizeLinear QLinearConv DepthToSpace Slice"},
    {"transposed conv with more behind, a bias and a Relu",
     IMAGE TRANSPOSED "random %b: f32[5] -3 3\n"
                      "%c: f32[1,5,29,32] = ConvTranspose(%x, %w, %b) {strides=[3, 3], pads=[0, 0, 0, 0], "
                      "output_padding=[2, 2]}\n"
                      "%r: f32[1,5,29,32] = Relu(%c)\n"
                      "%o: i8[1,5,29,32] = QuantizeLinear(%r, %sy, %zm)\noutput %o\n",
     "QuantizeLinear QLinearConv DepthToSpace Slice Clip"},
    {"transposed conv without a stride",
     IMAGE TRANSPOSED "%c: f32[1,5,11,12] = ConvTranspose(%x, %w)\n"
                      "%o: i8[1,5,11,12] = QuantizeLinear(%c, %sy, %zm)\noutput %o\n",
     "QuantizeLinear QLinearConv"},
    {"conv with a Relu6 as TensorFlow writes it",
     IMAGE FILTER CONV
     "const %six: f32[] = [6]\n%r: f32[1,8,9,10] = Relu(%c)\n%m: f32[1,8,9,10] = Min(%six, %r)\n"
     "%o: i8[1,8,9,10] = QuantizeLinear(%m, %sy, %zy)\noutput %o\n",
     "QuantizeLinear QLinearConv Clip"},
    {"conv between Max and Min with quantized bounds",
     IMAGE FILTER CONV
     "const %ql: i8[] = [-40]\nconst %qh: i8[] = [90]\n%l: f32[] = DequantizeLinear(%ql, %sy)\n"
     "%h: f32[] = DequantizeLinear(%qh, %sy)\n%r: f32[1,8,9,10] = Max(%c, %l)\n"
     "%m: f32[1,8,9,10] = Min(%r, %h)\n%o: i8[1,8,9,10] = QuantizeLinear(%m, %sy, %zm)\noutput %o\n",
     "QuantizeLinear QLinearConv Clip"},
    {"depthwise conv without a zero point",
     IMAGE "random %qw: i8[6,1,3,3] -90 90\nrandom %sw: f32[6] 1 3\n%w: f32[6,1,3,3] = DequantizeLinear(%qw, "
           "%sw) {axis=0}\n"
           "%c: f32[1,6,9,10] = Conv(%x, %w) {group=6, pads=[1, 1, 1, 1]}\n"
           "%o: i8[1,6,9,10] = QuantizeLinear(%c, %sy, %zm)\noutput %o\n",
     "QuantizeLinear QLinearConv"},
    {"conv, reshape, then the quantization",
     IMAGE FILTER CONV "const %s: i64[2] = [8, -1]\n%r: f32[8,90] = Reshape(%c, %s)\n"
                       "%o: i8[8,90] = QuantizeLinear(%r, %sy, %zm)\noutput %o\n",
     "QuantizeLinear QLinearConv Reshape"},
    {"two convs joined before the quantization",
     IMAGE FILTER CONV "%d: f32[1,8,9,10] = Conv(%x, %w) {dilations=[2, 2], pads=[2, 2, 2, 2]}\n"
                       "%j: f32[1,16,9,10] = Concat(%c, %d) {axis=1}\n"
                       "%o: i8[1,16,9,10] = QuantizeLinear(%j, %sy, %zm)\noutput %o\n",
     "QuantizeLinear QLinearConv QLinearConv Concat"},
    {"gemm with everything",
     MATRIX "random %qw: i8[12,20] -90 90\nrandom %sw: f32[12] 1 3\n%w: f32[12,20] = DequantizeLinear(%qw, "
            "%sw) {axis=0}\n"
            "random %b: f32[12] -300 300\n%c: f32[7,12] = Gemm(%x, %w, %b) {alpha=0.5f, beta=2f, transB=1}\n"
            "%o: i8[7,12] = QuantizeLinear(%c, %sy, %zm)\noutput %o\n",
     "QuantizeLinear QGemm"},
    {"gemm that stays float",
     MATRIX
     "random %qw: i8[20,12] -90 90\nconst %sw: f32[] = [0.011]\n%w: f32[20,12] = DequantizeLinear(%qw, %sw)\n"
     "%c: f32[7,12] = Gemm(%x, %w)\noutput %c\n",
     "QuantizeLinear QGemm"},
    {"matmul, weights turned after dequantizing",
     MATRIX "random %qw: i8[12,20] -90 90\nrandom %sw: f32[12] 1 3\n%d: f32[12,20] = DequantizeLinear(%qw, "
            "%sw) {axis=0}\n"
            "%w: f32[20,12] = Transpose(%d) {perm=[1, 0]}\n%c: f32[7,12] = MatMul(%x, %w)\n"
            "%o: i8[7,12] = QuantizeLinear(%c, %sy, %zm)\noutput %o\n",
     "QuantizeLinear Transpose QLinearMatMul"},
    {"matmul of two activations",
     MATRIX "%t: f32[20,7] = Transpose(%x) {perm=[1, 0]}\n%c: f32[7,7] = MatMul(%x, %t)\n"
            "%o: i8[7,7] = QuantizeLinear(%c, %sy, %zm)\noutput %o\n",
     "QuantizeLinear Transpose QLinearMatMul"},
    {"matmul and bias over rows",
     QUANTIZED
     "input %f: f32[2,7,20]\n%q: i8[2,7,20] = QuantizeLinear(%f, %sx, %zx)\n"
     "%x: f32[2,7,20] = DequantizeLinear(%q, %sx, %zx)\n"
     "random %qw: i8[20,12] -90 90\nconst %sw: f32[] = [0.011]\n%w: f32[20,12] = DequantizeLinear(%qw, %sw)\n"
     "random %b: f32[12] -300 300\n%c: f32[2,7,12] = MatMul(%x, %w)\n%d: f32[2,7,12] = Add(%b, %c)\n"
     "%o: i8[2,7,12] = QuantizeLinear(%d, %sy, %zm)\noutput %o\n",
     "QuantizeLinear Reshape QGemm Reshape"},
    {"add and relu",
     IMAGE "input %g: f32[1,6,9,10]\n%p: i8[1,6,9,10] = QuantizeLinear(%g, %sy, %zm)\n"
           "%y: f32[1,6,9,10] = DequantizeLinear(%p, %sy, %zm)\n%a: f32[1,6,9,10] = Add(%x, %y)\n"
           "%r: f32[1,6,9,10] = Relu(%a)\n%o: i8[1,6,9,10] = QuantizeLinear(%r, %sx, %zy)\noutput %o\n",
     "QuantizeLinear QuantizeLinear QLinearAdd"},
    {"mul that broadcasts",
     IMAGE "%g: f32[1,6,1,1] = GlobalAveragePool(%x)\n%p: i8[1,6,1,1] = QuantizeLinear(%g, %sy, %zm)\n"
           "%y: f32[1,6,1,1] = DequantizeLinear(%p, %sy, %zm)\n%a: f32[1,6,9,10] = Mul(%x, %y)\n"
           "%o: i8[1,6,9,10] = QuantizeLinear(%a, %sx, %zx)\noutput %o\n",
     "QuantizeLinear QLinearGlobalAveragePool QLinearMul"},
    {"max pool between equal parameters",
     IMAGE "%m: f32[1,6,5,5] = MaxPool(%x) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]}\n"
           "%o: i8[1,6,5,5] = QuantizeLinear(%m, %sx, %zx)\noutput %o\n",
     "QuantizeLinear MaxPool"},
    {"max pool, then another scale",
     IMAGE "%m: f32[1,6,5,5] = MaxPool(%x) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]}\n"
           "%o: i8[1,6,5,5] = QuantizeLinear(%m, %sy, %zm)\noutput %o\n",
     "QuantizeLinear MaxPool QLinearConcat"},
    {"average pool",
     IMAGE "%m: f32[1,6,5,5] = AveragePool(%x) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]}\n"
           "%o: i8[1,6,5,5] = QuantizeLinear(%m, %su, %zm)\noutput %o\n",
     "QuantizeLinear QLinearAveragePool"},
    {"mean over an image, channels first",
     IMAGE "const %a: i64[2] = [2, 3]\n%m: f32[1,6] = ReduceMean(%x, %a) {keepdims=0}\n"
           "%o: i8[1,6] = QuantizeLinear(%m, %su, %zm)\noutput %o\n",
     "QuantizeLinear QLinearGlobalAveragePool Reshape"},
    {"mean over an image, channels last",
     IMAGE "const %a: i64[2] = [1, -2]\n%m: f32[1,1,1,10] = ReduceMean(%x, %a)\n"
           "%o: i8[1,1,1,10] = QuantizeLinear(%m, %su, %zm)\noutput %o\n",
     "QuantizeLinear QLinearGlobalAveragePool"},
    {"concat of different scales",
     IMAGE "input %g: f32[1,2,9,10]\n%p: i8[1,2,9,10] = QuantizeLinear(%g, %sy, %zm)\n"
           "%y: f32[1,2,9,10] = DequantizeLinear(%p, %sy, %zm)\n%a: f32[1,8,9,10] = Concat(%x, %y) {axis=1}\n"
           "%o: i8[1,8,9,10] = QuantizeLinear(%a, %sy, %zy)\noutput %o\n",
     "QuantizeLinear QuantizeLinear QLinearConcat"},
    {"concat of equal scales, through movers",
     IMAGE
     "%t: f32[1,9,10,6] = Transpose(%x) {perm=[0, 2, 3, 1]}\n%a: f32[1,18,10,6] = Concat(%t, %t) {axis=1}\n"
     "const %s: i64[2] = [1, -1]\n%r: f32[1,1080] = Reshape(%a, %s)\n%l: f32[1,1080] = Flatten(%r)\n"
     "%o: i8[1,1080] = QuantizeLinear(%l, %sx, %zx)\noutput %o\n",
     "QuantizeLinear Transpose Concat Reshape Flatten"},
    {"pad with zeros",
     IMAGE "const %p: i64[8] = [0, 0, 1, 2, 0, 0, 0, 1]\n%a: f32[1,6,10,13] = Pad(%x, %p)\n"
           "%o: i8[1,6,10,13] = QuantizeLinear(%a, %sx, %zx)\noutput %o\n",
     "QuantizeLinear Pad"},
    {"split, slice, gather, resize",
     IMAGE "%a: f32[1,3,9,10], %b: f32[1,3,9,10] = Split(%x) {axis=1}\n"
           "const %l: i64[1] = [1]\nconst %h: i64[1] = [9]\nconst %two: i64[1] = [2]\n"
           "%c: f32[1,3,8,10] = Slice(%a, %l, %h, %two)\nconst %i: i64[2] = [2, 0]\n"
           "%d: f32[1,2,8,10] = Gather(%c, %i) {axis=1}\nconst %s: f32[4] = [1, 1, 2, 2]\n"
           "%r: f32[1,2,16,20] = Resize(%d, _, %s) {mode=\"nearest\", "
           "coordinate_transformation_mode=\"asymmetric\"}\n"
           "%o: i8[1,2,16,20] = QuantizeLinear(%r, %sx, %zx)\noutput %o\n",
     "QuantizeLinear Split Slice Gather Resize"},
    {"leaky relu and sigmoid",
     IMAGE "%a: f32[1,6,9,10] = LeakyRelu(%x) {alpha=0.2f}\n%p: i8[1,6,9,10] = QuantizeLinear(%a, %sy, %zm)\n"
           "%y: f32[1,6,9,10] = DequantizeLinear(%p, %sy, %zm)\n%b: f32[1,6,9,10] = Sigmoid(%y)\n"
           "const %sp: f32[] = [0.0039]\n%o: i8[1,6,9,10] = QuantizeLinear(%b, %sp, %zy)\noutput %o\n",
     "QuantizeLinear LookUp"},
    {"leaky relu",
     IMAGE "%a: f32[1,6,9,10] = LeakyRelu(%x) {alpha=0.2f}\n%o: i8[1,6,9,10] = QuantizeLinear(%a, %sy, %zm)\n"
           "output %o\n",
     "QuantizeLinear QLinearLeakyRelu"},
    {"sigmoid",
     IMAGE "%b: f32[1,6,9,10] = Sigmoid(%x)\nconst %sp: f32[] = [0.0039]\n"
           "%o: i8[1,6,9,10] = QuantizeLinear(%b, %sp, %zy)\noutput %o\n",
     "QuantizeLinear LookUp"},
    {"relu without a quantization behind it",
     MATRIX "%r: f32[7,20] = Relu(%x)\n%s: f32[7,20] = Softmax(%r)\noutput %s\n",
     "QuantizeLinear Clip DequantizeLinear Softmax"},
    {"the place of the largest", MATRIX "%r: i64[7,1] = ArgMax(%x) {axis=1}\noutput %r\n",
     "QuantizeLinear ArgMax"},
    {"another scale alone", MATRIX "%o: i8[7,20] = QuantizeLinear(%x, %sy, %zm)\noutput %o\n",
     "QuantizeLinear QLinearConcat"},
    {"i8 as u8 and back",
     QUANTIZED "const %z8: u8[] = [121]\ninput %f: f32[7,20]\n%u: u8[7,20] = QuantizeLinear(%f, %sx, %z8)\n"
               "%g: f32[7,20] = DequantizeLinear(%u, %sx, %z8)\n%q: i8[7,20] = QuantizeLinear(%g, %sx, %zx)\n"
               "%x: f32[7,20] = DequantizeLinear(%q, %sx, %zx)\n%v: u8[7,20] = QuantizeLinear(%x, %sx, %z8)\n"
               "%o: f32[7,20] = DequantizeLinear(%v, %sx, %z8)\noutput %o\n",
     "QuantizeLinear DequantizeLinear"},
    /* what has to stay */
    {"a result that is also used as a float",
     IMAGE FILTER CONV "%o: i8[1,8,9,10] = QuantizeLinear(%c, %sy, %zm)\noutput %o\noutput %c\n",
     "QuantizeLinear DequantizeLinear DequantizeLinear Conv QuantizeLinear"},
    {"a scale that is not known",
     IMAGE FILTER CONV "input %s: f32[1]\n%o: i8[1,8,9,10] = QuantizeLinear(%c, %s, %zm)\noutput %o\n",
     "QuantizeLinear DequantizeLinear DequantizeLinear Conv QuantizeLinear"},
    {"activations with a scale for each channel",
     QUANTIZED "input %f: f32[1,6,9,10]\nrandom %sc: f32[6] 1 3\nconst %zc: i8[6] = [1, 2, 3, 4, 5, 6]\n"
               "%q: i8[1,6,9,10] = QuantizeLinear(%f, %sc, %zc)\n%x: f32[1,6,9,10] = DequantizeLinear(%q, "
               "%sc, %zc)\n" FILTER CONV "%o: i8[1,8,9,10] = QuantizeLinear(%c, %sy, %zm)\noutput %o\n",
     "QuantizeLinear DequantizeLinear DequantizeLinear Conv QuantizeLinear"},
    {"a float bias between two coarse steps",
     IMAGE
     "random %qw: i8[8,6,1,1] -2 2\nconst %sw: f32[] = [1.5]\n%w: f32[8,6,1,1] = DequantizeLinear(%qw, %sw)\n"
     "random %b: f32[8] -330 -320\n%c: f32[1,8,9,10] = Conv(%x, %w, %b)\n"
     "%o: i8[1,8,9,10] = QuantizeLinear(%c, %sy, %zm)\noutput %o\n",
     "QuantizeLinear DequantizeLinear DequantizeLinear Conv QuantizeLinear"},
    {"softmax of the last axis", MATRIX SHARES "%s: f32[7,20] = Softmax(%x) {axis=-1}\n" SHARE,
     "QuantizeLinear RowSoftmax"},
    {"softmax of another axis", MATRIX SHARES "%s: f32[7,20] = Softmax(%x) {axis=0}\n" SHARE,
     "QuantizeLinear QLinearSoftmax"},
    {"softmax behind a quotient and a mask",
     MATRIX SHARES
     "const %eight: f32[] = [3]\nconst %m: f32[20] = [0, 0, -1000, 0, 0, 0, 0, -inf, 0, 0, 0, 0, 0, 0, "
     "0, 0, 0, 0, 0, -10000]\n"
     "%a: f32[7,20] = Div(%x, %eight)\n%c: f32[7,20] = Add(%m, %a)\n%s: f32[7,20] = Softmax(%c)\n" SHARE,
     "QuantizeLinear Less RowSoftmax"},
    {"softmax behind a choice",
     MATRIX SHARES "random %t: bool[7,20] 0 1\nconst %far: f32[] = [-3.4e38]\n"
                   "%c: f32[7,20] = Where(%t, %x, %far)\n%s: f32[7,20] = Softmax(%c)\n" SHARE,
     "QuantizeLinear Not RowSoftmax"},
    {"softmax behind two masks, one of which the run gives",
     MATRIX SHARES "input %k: f32[1,20]\nconst %one: f32[] = [1]\nconst %far: f32[] = [-10000]\n"
                   "random %t: bool[7,20] 0 1\n%h: f32[1,20] = HardSigmoid(%k) {alpha=1000.0f}\n"
                   "%i: f32[1,20] = Sub(%one, %h)\n%j: f32[1,20] = Mul(%i, %far)\n"
                   "%c: f32[7,20] = Add(%x, %j)\n%d: f32[7,20] = Where(%t, %far, %c)\n"
                   "%s: f32[7,20] = Softmax(%d)\n" SHARE,
     "QuantizeLinear HardSigmoid Sub Mul Less Or RowSoftmax"},
    {"softmax of sums with numbers that hide nothing",
     MATRIX SHARES
     "random %m: f32[20] -300 300\n%c: f32[7,20] = Add(%x, %m)\n%s: f32[7,20] = Softmax(%c)\n" SHARE,
     "QuantizeLinear DequantizeLinear Add Softmax QuantizeLinear"},
    {"layer normalization",
     MATRIX "random %g: f32[20] -100 100\nrandom %b: f32[20] -50 50\n"
            "%n: f32[7,20] = LayerNormalization(%x, %g, %b) {axis=1, epsilon=0.001f}\n"
            "%o: i8[7,20] = QuantizeLinear(%n, %sx, %zm)\noutput %o\n",
     "QuantizeLinear RowNorm"},
    {"RMS normalization with a stored gain",
     MATRIX
     "random %qg: i8[20] -100 100\nconst %sg: f32[] = [0.01]\n%g: f32[20] = DequantizeLinear(%qg, %sg)\n"
     "%n: f32[7,20] = RMSNormalization(%x, %g)\n%o: i8[7,20] = QuantizeLinear(%n, %sx, %zm)\noutput %o\n",
     "QuantizeLinear RowNorm"},
    {"instance normalization",
     PLANES "random %g: f32[6] -100 100\nrandom %b: f32[6] -50 50\n"
            "%n: f32[2,6,5,4] = InstanceNormalization(%x, %g, %b) {epsilon=0.001f}\n"
            "%o: i8[2,6,5,4] = QuantizeLinear(%n, %sx, %zm)\noutput %o\n",
     "QuantizeLinear PlaneNorm"},
    {"normalization of groups with a number for each",
     PLANES "random %g: f32[2] 50 100\nrandom %b: f32[2] -50 50\n"
            "%n: f32[2,6,5,4] = GroupNormalization(%x, %g, %b) {num_groups=2, scale_per_group=1}\n"
            "%o: i8[2,6,5,4] = QuantizeLinear(%n, %sx, %zm)\noutput %o\n",
     "QuantizeLinear PlaneNorm"},
    {"rows of a table that are looked up",
     QUANTIZED "random %t: f32[9,20] -300 300\ninput %f: f32[7,20]\n%i: i64[7,1] = ArgMax(%f) {axis=1}\n"
               "%g: f32[7,1,20] = Gather(%t, %i) {axis=0}\nconst %s: i64[2] = [7, 20]\n"
               "%r: f32[7,20] = Reshape(%g, %s)\n%o: i8[7,20] = QuantizeLinear(%r, %sx, %zx)\noutput %o\n",
     "ArgMax Gather Reshape"},
    {"rows of a table that are also used as floats",
     QUANTIZED "random %t: f32[9,20] -300 300\ninput %f: f32[7,20]\n%i: i64[7,1] = ArgMax(%f) {axis=1}\n"
               "%g: f32[7,1,20] = Gather(%t, %i) {axis=0}\n%o: i8[7,1,20] = QuantizeLinear(%g, %sx, %zx)\n"
               "output %o\noutput %g\n",
     "ArgMax Gather QuantizeLinear"},
    {"layer normalization over two axes",
     MATRIX "random %g: f32[7,20] -100 100\n%n: f32[7,20] = LayerNormalization(%x, %g) {axis=0}\n"
            "%o: i8[7,20] = QuantizeLinear(%n, %sx, %zm)\noutput %o\n",
     "QuantizeLinear DequantizeLinear LayerNormalization QuantizeLinear"},
};

/* Both models on the same inputs; how many elements differ. */
static size_t compare_outputs(vta_model *a, vta_model *b, const char *name, size_t *count)
{
    size_t off = 0;
    *count = 0;
    assert_int_equal(vta_model_output_count(a), vta_model_output_count(b));
    for (uint32_t o = 0; o < vta_model_output_count(a); o++) {
        const vta_tensor_info info = vta_model_output(a, o);
        const double max = info.dtype_code == 2 ? 1e-4 : 1.0;
        assert_string_equal(info.name, vta_model_output(b, o).name);
        assert_int_equal(graph_elements(a, o), graph_elements(b, o));
        for (size_t i = 0; i < graph_elements(a, o); i++) {
            const double expected = graph_output(a, o, i);
            const double got = graph_output(b, o, i);
            if (!(fabs(got - expected) <= max)) {
                fail_msg("%s: element %zu is %g, expected %g", name, i, got, expected);
            }
            off += info.dtype_code != 2 && got != expected;
            (*count)++;
        }
    }
    return off;
}

/* Cases whose results often lie close to the middle between two integers: a bias that is rounded moves them
 * by a 64th at most, which is how often they may come out otherwise; means of four and six lie there. */
static const char *const close_ones[] = {"conv with a float bias, to u8", "gemm with everything",
                                         "matmul and bias over rows", "average pool"};

/* The number of so many outputs that may differ. */
static size_t max_off(const char *name, size_t all)
{
    for (size_t i = 0; i < sizeof close_ones / sizeof close_ones[0]; i++) {
        if (strcmp(name, close_ones[i]) == 0) {
            return 4 + all / 64;
        }
    }
    const bool rows = strstr(name, "softmax") != NULL || strstr(name, "normalization") != NULL;
    return rows ? 2 + all / 200
                : 1 + all / 500; /* the integers of rows and planes: 99.5 % equal, of a small sample */
}

/* Not all the same: a comparison of constants would show nothing. */
static void check_varied(const vta_model *model, const char *name)
{
    const size_t count = graph_elements(model, 0);
    for (size_t i = 1; i < count; i++) {
        if (graph_output(model, 0, i) != graph_output(model, 0, 0)) {
            return;
        }
    }
    fail_msg("%s: all outputs are %g", name, graph_output(model, 0, 0));
}

static void each_pattern_folds_and_computes_the_same(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        vtac_graph *graph = graph_parse(cases[c].text, seed + c);
        vta_model *expected = graph_load(graph, 0);
        vtac_pass_report report;
        vta_diag diag = {0};
        GRAPH_CHECK(vtac_run_pass(graph, VTAC_PASS_FOLD_QDQ, true, &report, &diag), diag);
        char *ops = graph_ops(graph);
        if (strcmp(ops, cases[c].ops) != 0) {
            fail_msg("%s: expected %s, got %s", cases[c].name, cases[c].ops, ops);
        }
        free(ops);
        vta_model *got = graph_load(graph, 0);
        size_t off = 0;
        size_t all = 0;
        for (uint64_t turn = 0; turn < 3; turn++) {
            size_t count;
            graph_fill(expected, seed + 100 * c + turn, -4.0, 4.0);
            graph_fill(got, seed + 100 * c + turn, -4.0, 4.0);
            graph_run(expected);
            graph_run(got);
            check_varied(expected, cases[c].name);
            off += compare_outputs(expected, got, cases[c].name, &count);
            all += count;
        }
        if (off > max_off(cases[c].name, all)) {
            fail_msg("%s: %zu of %zu differ", cases[c].name, off, all);
        }
        vta_model_destroy(expected);
        vta_model_destroy(got);
        vtac_graph_destroy(graph);
    }
}

/* The pass finds nothing more in what it made. */
static void folding_again_changes_nothing(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        vtac_graph *graph = graph_parse(cases[c].text, seed + c);
        vtac_pass_report report;
        vta_diag diag = {0};
        GRAPH_CHECK(vtac_run_pass(graph, VTAC_PASS_FOLD_QDQ, true, &report, &diag), diag);
        GRAPH_CHECK(vtac_run_pass(graph, VTAC_PASS_FOLD_QDQ, true, &report, &diag), diag);
        assert_int_equal(report.changes, 0);
        vtac_graph_destroy(graph);
    }
}

int main(void)
{
    seed = test_seed("pass_qdq");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pattern_folds_and_computes_the_same),
        cmocka_unit_test(folding_again_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
