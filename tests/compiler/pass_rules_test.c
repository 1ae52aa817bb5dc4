/* SPDX-License-Identifier: Apache-2.0
 *
 * The float passes on small graphs: which operators come of each, that a graph without the pattern stays as
 * it is, and that the numbers are those of the graph as it was, compiled without any pass. Then random graphs
 * through all passes at every level.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "run_graph.h"

static uint64_t seed;

#define IMAGE "graph \"t\"\ninput %x: f32[2,4,6,7]\n"
#define NORM                                                                                                 \
    "random %g: f32[4] 50 150\nrandom %b: f32[4] -50 50\nrandom %m: f32[4] -50 50\nrandom %v: f32[4] 50 "    \
    "150\n"
#define NEIGHBOURS                                                                                           \
    "const %deep: i64[5] = [2, 1, 4, 6, 7]\nconst %flat: i64[4] = [2, 4, 6, 7]\n"                            \
    "const %alpha: f32[] = [0.001]\nconst %k: f32[] = [1]\nconst %beta: f32[] = [0.75]\n"
#define NEIGHBOUR_SUM                                                                                        \
    "%q: f32[2,4,6,7] = Mul(%x, %x)\n%d: f32[2,1,4,6,7] = Reshape(%q, %deep)\n"                              \
    "%e: f32[2,1,6,6,7] = Pad(%d, %pads)\n%m: f32[2,1,4,6,7] = AveragePool(%e) {kernel_shape=[3, 1, 1]}\n"   \
    "%s: f32[2,4,6,7] = Reshape(%m, %flat)\n%f: f32[2,4,6,7] = Mul(%s, %alpha)\n"                            \
    "%g: f32[2,4,6,7] = Add(%f, %k)\n%h: f32[2,4,6,7] = Pow(%g, %beta)\n%y: f32[2,4,6,7] = Div(%x, %h)\n"    \
    "output %y\n"
#define ROW                                                                                                  \
    "const %last: i64[1] = [-1]\nconst %two: f32[] = [2]\nconst %one: f32[] = [1]\nconst %minus: f32[] = "   \
    "[-0.5]\nconst %eps: f32[] = [0.01]\nrandom %g: f32[7] -150 150\nrandom %b: f32[1,7] -50 50\n"
/* (pad(v, 1) k^T) q, divided by its last row, with these keys. */
#define LINEAR(keys)                                                                                         \
    "const %pads: i64[8] = [0, 0, 0, 0, 0, 0, 1, 0]\nconst %v1: f32[] = [1]\nconst %ax: i64[1] = [2]\n"      \
    "const %s0: i64[1] = [0]\nconst %s1: i64[1] = [6]\nconst %s2: i64[1] = [100]\n"                          \
    "const %eps: f32[] = [1e-6]\n"                                                                           \
    "%n: f32[2,4,6,7] = Neg(%x)\n%q: f32[2,4,6,7] = Relu(%x)\n%k: f32[2,4,6,7] = " keys                      \
    "%v: f32[2,4,7,7] = Pad(%x, %pads, %v1)\n%t: f32[2,4,7,6] = Transpose(%k) {perm=[0, 1, 3, 2]}\n"         \
    "%m: f32[2,4,7,6] = MatMul(%v, %t)\n%p: f32[2,4,7,7] = MatMul(%m, %q)\n"                                 \
    "%a: f32[2,4,6,7] = Slice(%p, %s0, %s1, %ax)\n%b: f32[2,4,1,7] = Slice(%p, %s1, %s2, %ax)\n"             \
    "%e: f32[2,4,1,7] = Add(%b, %eps)\n%y: f32[2,4,6,7] = Div(%a, %e)\noutput %y\n"
#define FILTER "random %w: f32[4,4,3,3] -30 30\n"
#define CONV   "%c: f32[2,4,6,7] = Conv(%x, %w) {pads=[1, 1, 1, 1]}\n"

static const struct {
    vtac_pass pass;
    const char *name, *text, *ops;
} cases[] = {
    {VTAC_PASS_SIMPLIFY_INFERENCE, "norm, identity and dropout",
     IMAGE NORM "%i: f32[2,4,6,7] = Identity(%x)\n%n: f32[2,4,6,7] = BatchNormalization(%i, %g, %b, %m, %v) "
                "{epsilon=0.01f}\n"
                "%d: f32[2,4,6,7] = Dropout(%n)\noutput %d\n",
     "Mul Add"},
    {VTAC_PASS_SIMPLIFY_INFERENCE, "an identity that an output needs",
     IMAGE "%i: f32[2,4,6,7] = Identity(%x)\noutput %i\n", "Identity"},
    {VTAC_PASS_SIMPLIFY_INFERENCE, "a norm whose statistics are not known",
     IMAGE NORM "input %s: f32[4]\n%n: f32[2,4,6,7] = BatchNormalization(%x, %g, %b, %s, %v)\noutput %n\n",
     "BatchNormalization"},
    {VTAC_PASS_CANONICALIZE, "reshapes of reshapes",
     IMAGE "const %s: i64[3] = [2, 4, -1]\n%r: f32[2,4,42] = Reshape(%x, %s)\n%f: f32[2,168] = Flatten(%r)\n"
           "const %a: i64[1] = [1]\n%u: f32[2,1,168] = Unsqueeze(%f, %a)\noutput %u\n",
     "Reshape"},
    {VTAC_PASS_CANONICALIZE, "transposes of transposes, one of which is nothing",
     IMAGE "%a: f32[2,6,7,4] = Transpose(%x) {perm=[0, 2, 3, 1]}\n%b: f32[6,2,4,7] = Transpose(%a) {perm=[1, "
           "0, 3, 2]}\n"
           "%c: f32[6,2,4,7] = Transpose(%b) {perm=[0, 1, 2, 3]}\noutput %c\n",
     "Transpose"},
    {VTAC_PASS_CANONICALIZE, "operators that do nothing",
     IMAGE "const %s: i64[4] = [2, 4, 6, 7]\n%a: f32[2,4,6,7] = Expand(%x, %s)\n%b: f32[2,4,6,7] = Cast(%a) "
           "{to=\"f32\"}\n"
           "%c: f32[2,4,6,7] = Sum(%b)\n%d: f32[2,4,6,7] = Concat(%c) {axis=1}\n%e: f32[2,4,6,7] = "
           "Neg(%d)\noutput %e\n",
     "Neg"},
    {VTAC_PASS_CANONICALIZE, "clip from zero upwards, twice",
     IMAGE "const %z: f32[] = [0]\n%a: f32[2,4,6,7] = Clip(%x, %z)\n%b: f32[2,4,6,7] = Relu(%a)\noutput %b\n",
     "Relu"},
    {VTAC_PASS_CANONICALIZE, "clip with an upper bound",
     IMAGE "const %z: f32[] = [0]\nconst %h: f32[] = [1]\n%a: f32[2,4,6,7] = Clip(%x, %z, %h)\noutput %a\n",
     "Clip"},
    {VTAC_PASS_CANONICALIZE, "zeros around an image that a convolution reads",
     IMAGE FILTER "const %p: i64[8] = [0, 0, 0, 2, 0, 0, 1, 3]\n%q: f32[2,4,7,12] = Pad(%x, %p)\n"
                  "%c: f32[2,4,4,6] = Conv(%q, %w) {pads=[1, 0, 1, 1], strides=[2, 2]}\noutput %c\n",
     "Conv"},
    {VTAC_PASS_CANONICALIZE, "other numbers around an image",
     IMAGE FILTER "const %p: i64[8] = [0, 0, 0, 2, 0, 0, 1, 3]\nconst %v: f32[] = [2]\n%q: f32[2,4,7,12] = "
                  "Pad(%x, %p, %v)\n"
                  "%c: f32[2,4,5,10] = Conv(%q, %w)\noutput %c\n",
     "Pad Conv"},
    {VTAC_PASS_CANONICALIZE, "zeros around an image that something else reads, too",
     IMAGE FILTER "const %p: i64[8] = [0, 0, 0, 2, 0, 0, 1, 3]\n%q: f32[2,4,7,12] = Pad(%x, %p)\n"
                  "%c: f32[2,4,5,10] = Conv(%q, %w)\noutput %c\noutput %q\n",
     "Pad Conv"},
    {VTAC_PASS_CANONICALIZE, "pads in words",
     IMAGE FILTER "%c: f32[2,4,3,4] = Conv(%x, %w) {auto_pad=\"SAME_LOWER\", strides=[2, 2]}\n"
                  "%p: f32[2,4,2,2] = MaxPool(%c) {auto_pad=\"SAME_UPPER\", kernel_shape=[2, 2], strides=[2, "
                  "2]}\noutput %p\n",
     "Conv MaxPool"},
    {VTAC_PASS_FOLD_CONSTANTS, "what depends on constants alone",
     IMAGE
     "random %qw: i8[4,4,3,3] -90 90\nrandom %s: f32[4] 1 3\nconst %z: i8[4] = [1, -2, 3, -4]\n"
     "%d: f32[4,4,3,3] = DequantizeLinear(%qw, %s, %z) {axis=-4}\nconst %h: f32[] = [0.5]\n%w: f32[4,4,3,3] "
     "= Mul(%d, %h)\n"
     "%t: f32[4,4,3,3] = Transpose(%w) {perm=[1, 0, 3, 2]}\n%c: f32[2,4,4,5] = Conv(%x, %t)\noutput %c\n",
     "Conv"},
    {VTAC_PASS_FOLD_CONSTANTS, "operators of every family",
     IMAGE
     "random %p: f32[4,6,7] 10 90\nrandom %w: f32[4,4,3,3] -90 90\nrandom %i: f32[1,4,6,7] -90 90\n"
     "random %g: f32[7] 10 90\nrandom %m: f32[7,7] -90 90\nconst %k: i64[1] = [3]\nconst %n: i64[] = "
     "[1]\nconst %minus: i64[1] = [-1]\n"
     "%a: f32[4,6,7] = Exp(%p)\n%b: f32[4,6,7] = Pow(%a, %p)\n%c: f32[4,6,7] = Softmax(%b) {axis=1}\n"
     "%d: f32[4,6,7] = LayerNormalization(%c, %g)\n%e: f32[4,6,7] = MatMul(%d, %m)\n"
     "%f: f32[4,6,7] = CumSum(%e, %n)\nconst %axis: i64[1] = [1]\n%q: f32[4,1,7] = ReduceLogSumExp(%f, "
     "%axis)\n"
     "%t: f32[4,6,3], %ti: i64[4,6,3] = TopK(%f, %k)\n%u: f32[4,6] = Einsum(%t) {equation=\"abc->ab\"}\n"
     "%r: f32[4,6] = Erf(%u)\n%h: f32[4,6,1] = Unsqueeze(%r, %minus)\n"
     "%v: f32[1,4,6,7] = Conv(%i, %w) {pads=[1, 1, 1, 1]}\n%j: f32[1,4,6,7] = Sum(%v, %f, %h, %q)\n"
     "%y: u8[1,4,6,7], %ys: f32[], %yz: u8[] = DynamicQuantizeLinear(%j)\n"
     "%z: f32[1,4,6,7] = DequantizeLinear(%y, %ys, %yz)\n%o: f32[2,4,6,7] = Add(%x, %z)\noutput %o\n",
     "Add"},
    {VTAC_PASS_FOLD_CONSTANTS, "zeros that would fill the artifact",
     IMAGE "const %z: f32[] = [0]\nconst %s: i64[2] = [1024, 1024]\n%e: f32[1024,1024] = Expand(%z, %s)\n"
           "%m: f32[] = ReduceMax(%e) {keepdims=0}\n%a: f32[2,4,6,7] = Add(%x, %m)\noutput %a\n",
     "Expand ReduceMax Add"},
    {VTAC_PASS_ELIMINATE_COMMON, "equal cones and equal constants",
     IMAGE
     "const %one: f32[] = [1]\nconst %uno: f32[] = [1]\nconst %two: f32[] = [2]\n%a: f32[2,4,6,7] = Add(%x, "
     "%one)\n"
     "%b: f32[2,4,6,7] = Add(%x, %uno)\n%c: f32[2,4,6,7] = Add(%x, %two)\n%s: f32[2,4,6,7] = Sigmoid(%a)\n"
     "%t: f32[2,4,6,7] = Sigmoid(%b)\n%l: f32[2,4,6,7] = LeakyRelu(%c) {alpha=0.1f}\n"
     "%m: f32[2,4,6,7] = LeakyRelu(%c) {alpha=0.2f}\n%o: f32[2,4,6,7] = Sum(%s, %t, %l, %m)\noutput %o\n",
     "Add Add Sigmoid LeakyRelu LeakyRelu Sum"},
    {VTAC_PASS_ELIMINATE_COMMON, "two outputs that are equal",
     IMAGE "%a: f32[2,4,6,7] = Relu(%x)\n%b: f32[2,4,6,7] = Relu(%x)\noutput %a\noutput %b\n", "Relu Relu"},
    {VTAC_PASS_FOLD_SCALE_AXIS, "factor and offset behind a convolution",
     IMAGE FILTER CONV
     "random %f: f32[4,1,1] -200 200\nrandom %o: f32[1,4,1,1] -200 200\nconst %h: f32[] = [0.5]\n"
     "%a: f32[2,4,6,7] = Mul(%f, %c)\n%b: f32[2,4,6,7] = Add(%a, %o)\n%d: f32[2,4,6,7] = Mul(%b, %h)\noutput "
     "%d\n",
     "Conv"},
    {VTAC_PASS_FOLD_SCALE_AXIS, "columns of a gemm",
     "graph \"t\"\ninput %x: f32[5,6]\nrandom %w: f32[6,4] -90 90\nrandom %b: f32[4] -90 90\nrandom %f: "
     "f32[4] -200 200\n"
     "%c: f32[5,4] = Gemm(%x, %w, %b)\n%a: f32[5,4] = Mul(%c, %f)\n%o: f32[5,4] = Add(%a, %b)\noutput %o\n",
     "Gemm"},
    {VTAC_PASS_FOLD_SCALE_AXIS, "factors along a row, and a sum that others use",
     IMAGE FILTER CONV
     "random %f: f32[7] -200 200\nrandom %o: f32[4,1,1] -200 200\n%a: f32[2,4,6,7] = Mul(%c, %f)\n"
     "%d: f32[2,4,6,7] = Conv(%x, %w) {pads=[2, 2, 2, 2], dilations=[2, 2]}\n%e: f32[2,4,6,7] = Add(%d, "
     "%o)\noutput %a\noutput %d\noutput %e\n",
     "Conv Mul Conv Add"},
    {VTAC_PASS_COMBINE_PARALLEL_CONV2D, "three convolutions of one input",
     IMAGE FILTER CONV
     "random %w2: f32[3,4,3,3] -30 30\nrandom %b2: f32[3] -30 30\nrandom %w3: f32[5,4,3,3] -30 30\nrandom "
     "%wk: f32[5,4,1,1] -30 30\n"
     "%d: f32[2,3,6,7] = Conv(%x, %w2, %b2) {pads=[1, 1, 1, 1]}\n%k: f32[2,5,6,7] = Conv(%x, %wk)\n"
     "%e: f32[2,5,6,7] = Conv(%x, %w3) {pads=[1, 1, 1, 1]}\n%j: f32[2,12,6,7] = Concat(%c, %d, %e) {axis=1}\n"
     "%r: f32[2,5,6,7] = Add(%e, %k)\noutput %j\noutput %r\n",
     "Conv Split Conv Concat Add"},
    {VTAC_PASS_COMBINE_PARALLEL_CONV2D, "two are not enough",
     IMAGE FILTER CONV
     "%d: f32[2,4,6,7] = Conv(%x, %w) {pads=[1, 1, 1, 1]}\n%a: f32[2,4,6,7] = Add(%c, %d)\noutput %a\n",
     "Conv Conv Add"},
    {VTAC_PASS_ALTER_LAYOUT, "there and back around a chain",
     IMAGE
     "%a: f32[2,6,7,4] = Transpose(%x) {perm=[0, 2, 3, 1]}\nconst %h: f32[1] = [0.5]\n%b: f32[2,6,7,4] = "
     "Mul(%a, %h)\n"
     "%c: f32[2,6,7,4] = Sigmoid(%b)\n%d: f32[2,4,6,7] = Transpose(%c) {perm=[0, 3, 1, 2]}\noutput %d\n",
     "Mul Sigmoid"},
    {VTAC_PASS_ALTER_LAYOUT, "there and elsewhere",
     IMAGE "%a: f32[2,6,7,4] = Transpose(%x) {perm=[0, 2, 3, 1]}\n%c: f32[2,6,7,4] = Sigmoid(%a)\n"
           "%d: f32[2,7,4,6] = Transpose(%c) {perm=[0, 2, 3, 1]}\noutput %d\n",
     "Transpose Sigmoid Transpose"},
    {VTAC_PASS_ALTER_LAYOUT, "a factor for each channel stays",
     IMAGE "random %f: f32[4] 50 150\n%a: f32[2,6,7,4] = Transpose(%x) {perm=[0, 2, 3, 1]}\n%c: f32[2,6,7,4] "
           "= Mul(%a, %f)\n"
           "%d: f32[2,4,6,7] = Transpose(%c) {perm=[0, 3, 1, 2]}\noutput %d\n",
     "Transpose Mul Transpose"},
    {VTAC_PASS_ALTER_LAYOUT, "a maximum pool of halves",
     IMAGE "%h: f16[2,4,6,7] = Cast(%x) {to=\"f16\"}\n%m: f16[2,4,4,5] = MaxPool(%h) {kernel_shape=[3, 3]}\n"
           "%d: f16[2,4,4,5] = Sign(%m)\n%f: f32[2,4,4,5] = Cast(%d) {to=\"f32\"}\noutput %f\n",
     "Cast Cast MaxPool Cast Sign Cast"},
    {VTAC_PASS_ALTER_LAYOUT, "a convolution of halves",
     "graph \"t\"\ninput %x: f32[1,2,3,4]\nconst %w: f16[3,2,1,1] = [0.5, -1.25, 2.0, 0.25, -3.0, 1.5]\n"
     "const %b: f16[3] = [0.125, -2.0, 7.0]\n%h: f16[1,2,3,4] = Cast(%x) {to=\"f16\"}\n"
     "%c: f16[1,3,3,4] = Conv(%h, %w, %b)\n%d: f16[1,3,3,4] = Sign(%c)\n"
     "%e: f32[1,3,3,4] = Cast(%d) {to=\"f32\"}\noutput %e\n",
     "Cast Cast Conv Cast Sign Cast"},
    {VTAC_PASS_FUSE, "a convolution moves down to its sum",
     IMAGE FILTER CONV "%p: f32[2,4,6,7] = Softmax(%x) {axis=3}\n%q: f32[2,4,6,7] = Softmax(%p) {axis=2}\n"
                       "%a: f32[2,4,6,7] = Add(%c, %q)\n%b: f32[2,4,6,7] = Add(%a, %q)\noutput %b\n",
     "Softmax Softmax Conv Add Add"},
    {VTAC_PASS_FUSE, "the later one can be joined",
     IMAGE FILTER CONV "%p: f32[2,4,6,7] = Softmax(%x) {axis=3}\n%a: f32[2,4,6,7] = Add(%c, %p)\noutput %a\n",
     "Conv Softmax Add"},
    {VTAC_PASS_ELIMINATE_DEAD, "what nothing needs",
     IMAGE FILTER CONV "%r: f32[2,4,6,7] = Relu(%x)\noutput %r\n", "Relu"},
    {VTAC_PASS_GATHER_ROWS, "a layer normalization in its parts",
     IMAGE ROW
     "%m: f32[2,4,6,1] = ReduceMean(%x, %last)\n%d: f32[2,4,6,7] = Sub(%x, %m)\n"
     "%p: f32[2,4,6,7] = Pow(%d, %two)\n%v: f32[2,4,6,1] = ReduceMean(%p, %last)\n"
     "%e: f32[2,4,6,1] = Add(%v, %eps)\n%s: f32[2,4,6,1] = Sqrt(%e)\n%n: f32[2,4,6,7] = Div(%d, %s)\n"
     "%h: f32[2,4,6,7] = Mul(%n, %g)\n%y: f32[2,4,6,7] = Add(%h, %b)\noutput %y\n",
     "LayerNormalization"},
    {VTAC_PASS_GATHER_ROWS, "a layer normalization with two differences, casts and a product",
     IMAGE ROW
     "%c: f32[2,4,6,7] = Cast(%x) {to=\"f32\"}\n%m: f32[2,4,6,1] = ReduceMean(%c, %last)\n"
     "%d: f32[2,4,6,7] = Sub(%c, %m)\n%f: f32[2,4,6,7] = Sub(%x, %m)\n%p: f32[2,4,6,7] = Mul(%f, %f)\n"
     "%v: f32[2,4,6,1] = ReduceMean(%p, %last)\n%e: f32[2,4,6,1] = Add(%eps, %v)\n"
     "%r: f32[2,4,6,1] = Pow(%e, %minus)\n%n: f32[2,4,6,7] = Mul(%r, %d)\noutput %n\n",
     "LayerNormalization"},
    {VTAC_PASS_GATHER_ROWS, "an RMS normalization by the reciprocal of a root",
     IMAGE ROW
     "%p: f32[2,4,6,7] = Pow(%x, %two)\n%v: f32[2,4,6,1] = ReduceMean(%p, %last)\n"
     "%e: f32[2,4,6,1] = Add(%v, %eps)\n%s: f32[2,4,6,1] = Sqrt(%e)\n%r: f32[2,4,6,1] = Reciprocal(%s)\n"
     "%n: f32[2,4,6,7] = Mul(%x, %r)\n%y: f32[2,4,6,7] = Mul(%g, %n)\noutput %y\n",
     "RMSNormalization"},
    {VTAC_PASS_GATHER_ROWS, "an RMS normalization by 1 / root, whose result two read",
     IMAGE ROW
     "%p: f32[2,4,6,7] = Mul(%x, %x)\n%v: f32[2,4,6,1] = ReduceMean(%p, %last)\n"
     "%e: f32[2,4,6,1] = Add(%v, %eps)\n%s: f32[2,4,6,1] = Sqrt(%e)\n%r: f32[2,4,6,1] = Div(%one, %s)\n"
     "%n: f32[2,4,6,7] = Mul(%x, %r)\n%y: f32[2,4,6,7] = Mul(%n, %g)\noutput %y\noutput %n\n",
     "RMSNormalization Mul"},
    {VTAC_PASS_GATHER_ROWS, "an instance normalization in its parts",
     IMAGE ROW
     "const %planes: i64[2] = [-1, 2]\nrandom %cg: f32[4,1,1] -50 50\nrandom %cb: f32[1,4,1,1] -50 50\n"
     "%m: f32[2,4,1,1] = ReduceMean(%x, %planes)\n%d: f32[2,4,6,7] = Sub(%x, %m)\n"
     "%p: f32[2,4,6,7] = Mul(%d, %d)\n%v: f32[2,4,1,1] = ReduceMean(%p, %planes)\n"
     "%e: f32[2,4,1,1] = Add(%v, %eps)\n%s: f32[2,4,1,1] = Sqrt(%e)\n%n: f32[2,4,6,7] = Div(%d, %s)\n"
     "%h: f32[2,4,6,7] = Mul(%n, %cg)\n%y: f32[2,4,6,7] = Add(%h, %cb)\noutput %y\n",
     "InstanceNormalization"},
    {VTAC_PASS_GATHER_ROWS, "a group normalization as instances of another shape",
     IMAGE
     "const %front: i64[3] = [0, 2, -1]\nconst %back: i64[4] = [2, 4, 6, 7]\nrandom %cg: f32[4,1,1] -50 50\n"
     "random %cb: f32[4,1,1] -50 50\nrandom %g: f32[2] -50 50\nrandom %b: f32[2] -50 50\n"
     "%r: f32[2,2,84] = Reshape(%x, %front)\n%n: f32[2,2,84] = InstanceNormalization(%r, %g, %b)\n"
     "%i: f32[2,4,6,7] = Reshape(%n, %back)\n%h: f32[2,4,6,7] = Mul(%i, %cg)\n"
     "%y: f32[2,4,6,7] = Add(%h, %cb)\noutput %y\n",
     "GroupNormalization"},
    {VTAC_PASS_GATHER_ROWS, "instances whose groups cross images",
     IMAGE "const %front: i64[3] = [1, 4, 84]\nconst %back: i64[4] = [2, 4, 6, 7]\n"
           "random %g: f32[4] -50 50\nrandom %b: f32[4] -50 50\n"
           "%r: f32[1,4,84] = Reshape(%x, %front)\n%n: f32[1,4,84] = InstanceNormalization(%r, %g, %b)\n"
           "%i: f32[2,4,6,7] = Reshape(%n, %back)\noutput %i\n",
     "Reshape InstanceNormalization Reshape"},
    {VTAC_PASS_GATHER_ROWS, "a normalization by neighbouring channels in its parts",
     IMAGE NEIGHBOURS "const %pads: i64[10] = [0, 0, 1, 0, 0, 0, 0, 1, 0, 0]\n" NEIGHBOUR_SUM, "LRN"},
    {VTAC_PASS_GATHER_ROWS, "one whose neighbours lie on one side",
     IMAGE NEIGHBOURS "const %pads: i64[10] = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0]\n" NEIGHBOUR_SUM,
     "Mul Reshape Pad AveragePool Reshape Mul Add Pow Div"},
    {VTAC_PASS_GATHER_ROWS, "a softmax in its parts",
     IMAGE ROW "%m: f32[2,4,6,1] = ReduceMax(%x, %last)\n%d: f32[2,4,6,7] = Sub(%x, %m)\n"
               "%e: f32[2,4,6,7] = Exp(%d)\n%s: f32[2,4,6,1] = ReduceSum(%e, %last)\n"
               "%y: f32[2,4,6,7] = Div(%e, %s)\noutput %y\n",
     "Softmax"},
    {VTAC_PASS_GATHER_ROWS, "linear attention", IMAGE LINEAR("Sigmoid(%n)\n"),
     "Neg Sigmoid Reshape Reshape Relu ReduceMean Mul Reshape Transpose LpNormalization LpNormalization "
     "Reshape "
     "Transpose MatMul MatMul Transpose"},
    {VTAC_PASS_GATHER_ROWS, "one whose keys are not known to be above 0", IMAGE LINEAR("Cosh(%n)\n"),
     "Neg Relu Cosh Pad Transpose MatMul MatMul Slice Slice Add Div"},
    {VTAC_PASS_GATHER_ROWS, "separable attention, whose convolution is parted",
     IMAGE ROW FILTER CONV
     "const %parts: i64[2] = [1, 3]\n%q: f32[2,1,6,7], %k: f32[2,3,6,7] = Split(%c, %parts) {axis=1}\n"
     "%e: f32[2,1,6,7] = Softmax(%q) {axis=-1}\n%m: f32[2,3,6,7] = Mul(%k, %e)\n"
     "%y: f32[2,3,6,1] = ReduceSum(%m, %last)\noutput %y\n",
     "Conv Conv Transpose Softmax Transpose MatMul Transpose"},
    {VTAC_PASS_GATHER_ROWS, "rows divided by the sum of their sizes",
     IMAGE ROW "%s: f32[2,4,6,1] = ReduceL1(%x, %last)\n%y: f32[2,4,6,7] = Div(%x, %s)\noutput %y\n",
     "LpNormalization"},
    {VTAC_PASS_GATHER_ROWS, "the variance of something else, and a mean over another axis",
     IMAGE ROW
     "%m: f32[2,4,6,1] = ReduceMean(%x, %last)\n%d: f32[2,4,6,7] = Sub(%x, %m)\n"
     "%p: f32[2,4,6,7] = Mul(%x, %x)\n%v: f32[2,4,6,1] = ReduceMean(%p, %last)\n"
     "%e: f32[2,4,6,1] = Add(%v, %eps)\n%s: f32[2,4,6,1] = Sqrt(%e)\n%n: f32[2,4,6,7] = Div(%d, %s)\n"
     "const %rows: i64[1] = [2]\n%q: f32[2,4,6,7] = Mul(%n, %n)\n%w: f32[2,4,1,7] = ReduceMean(%q, %rows)\n"
     "%z: f32[2,4,1,7] = Sqrt(%w)\n%y: f32[2,4,6,7] = Div(%n, %z)\noutput %y\n",
     "ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul ReduceMean Sqrt Div"},
    {VTAC_PASS_CANONICALIZE, "pads of nothing and a slice of all",
     IMAGE "const %p: i64[8] = [0, 0, 0, 0, 0, 0, 0, 0]\n%a: f32[2,4,6,7] = Pad(%x, %p)\n"
           "const %s: i64[2] = [0, 0]\nconst %e: i64[2] = [6, 100]\nconst %h: i64[2] = [2, 3]\n"
           "%b: f32[2,4,6,7] = Slice(%a, %s, %e, %h)\n%c: f32[2,4,6,7] = Neg(%b)\noutput %c\n",
     "Neg"},
    {VTAC_PASS_CANONICALIZE, "a resize to the size that is there",
     IMAGE "const %s: f32[4] = [1, 1, 1, 1]\n%a: f32[2,4,6,7] = Resize(%x, _, %s)\n"
           "const %z: i64[4] = [2, 4, 6, 7]\n%b: f32[2,4,6,7] = Resize(%a, _, _, %z)\n"
           "%c: f32[2,4,6,7] = Neg(%b)\noutput %c\n",
     "Neg"},
    {VTAC_PASS_CANONICALIZE, "a resize by so little that no size changes",
     IMAGE "const %s: f32[4] = [1, 1, 1.1, 1]\n%a: f32[2,4,6,7] = Resize(%x, _, %s)\noutput %a\n", "Resize"},
    {VTAC_PASS_CANONICALIZE, "pads that shift, and a slice that turns",
     IMAGE "const %p: i64[8] = [0, 0, 1, 0, 0, 0, -1, 0]\n%a: f32[2,4,6,7] = Pad(%x, %p)\n"
           "const %s: i64[1] = [-1]\nconst %e: i64[1] = [-100]\nconst %h: i64[1] = [3]\n"
           "const %t: i64[1] = [-1]\n%b: f32[2,4,6,7] = Slice(%a, %s, %e, %h, %t)\noutput %b\n",
     "Pad Slice"},
};

static void compare(vta_model *a, vta_model *b, const char *name)
{
    assert_int_equal(vta_model_output_count(a), vta_model_output_count(b));
    for (uint32_t o = 0; o < vta_model_output_count(a); o++) {
        double max = 0.0;
        assert_string_equal(vta_model_output(a, o).name, vta_model_output(b, o).name);
        assert_int_equal(graph_elements(a, o), graph_elements(b, o));
        for (size_t i = 0; i < graph_elements(a, o); i++) {
            max = fmax(max, fabs(graph_output(a, o, i)));
        }
        for (size_t i = 0; i < graph_elements(a, o); i++) {
            const double expected = graph_output(a, o, i);
            const double got = graph_output(b, o, i);
            if (!(fabs(got - expected) <= 1e-5 * max)) {
                fail_msg("%s: output %u, element %zu is %g, expected %g", name, o, i, got, expected);
            }
        }
    }
}

static void run_both(vta_model *expected, vta_model *got, uint64_t from, const char *name)
{
    for (uint64_t turn = 0; turn < 2; turn++) {
        graph_fill(expected, from + turn, -2.0, 2.0);
        graph_fill(got, from + turn, -2.0, 2.0);
        graph_run(expected);
        graph_run(got);
        compare(expected, got, name);
    }
}

static void each_rule_applies_and_keeps_the_numbers(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        vtac_graph *graph = graph_parse(cases[c].text, seed + c);
        vta_model *expected = graph_load(graph, 0);
        vtac_pass_report report;
        vta_diag diag = {0};
        GRAPH_CHECK(vtac_run_pass(graph, cases[c].pass, true, &report, &diag), diag);
        char *ops = graph_ops(graph);
        if (strcmp(ops, cases[c].ops) != 0) {
            fail_msg("%s: expected %s, got %s", cases[c].name, cases[c].ops, ops);
        }
        free(ops);
        GRAPH_CHECK(vtac_run_pass(graph, cases[c].pass, true, &report, &diag), diag);
        assert_int_equal(report.changes, 0);
        vta_model *got = graph_load(graph, 2);
        run_both(expected, got, seed + 10 * c, cases[c].name);
        vta_model_destroy(expected);
        vta_model_destroy(got);
        vtac_graph_destroy(graph);
    }
}

/* The table: names are unique and found, levels are levels, and a wrong name gets a hint. */
static void the_table_is_sane(void **state)
{
    (void)state;
    for (int i = 0; i < VTAC_PASS_COUNT; i++) {
        const vtac_pass_info *pass = vtac_pass_get((vtac_pass)i);
        assert_int_equal(vtac_pass_find(pass->name, NULL), i);
        assert_in_range(pass->level, 0, 3);
        assert_true(pass->doc[0] != '\0' && strlen(pass->name) <= 24);
    }
    vta_diag diag = {0};
    assert_int_equal(vtac_pass_find("fold-qqd", &diag), VTAC_PASS_COUNT);
    assert_string_equal(diag.text, "there is no pass 'fold-qqd'; did you mean 'fold-qdq'?");
    diag = (vta_diag){0};
    assert_int_equal(vtac_pass_find("zzzzzzzzz", &diag), VTAC_PASS_COUNT);
    assert_string_equal(diag.text, "there is no pass 'zzzzzzzzz'; --list-passes shows them");
}

/* ---- random graphs: elementwise operators, transposes, reshapes, convolutions, sums over a growing pool of
 * values */

typedef struct pool {
    vta_str text;
    int64_t dim[64][4];
    int count;
    rng r;
} pool;

static void put_dims(pool *p, const int64_t *dim)
{
    vta_str_printf(&p->text, "f32[%lld,%lld,%lld,%lld]", (long long)dim[0], (long long)dim[1],
                   (long long)dim[2], (long long)dim[3]);
}

/* "%vN: type = " */
static void define(pool *p, const int64_t *dim)
{
    memcpy(p->dim[p->count], dim, sizeof p->dim[0]);
    vta_str_printf(&p->text, "%%v%d: ", p->count++);
    put_dims(p, dim);
    vta_str_put(&p->text, " = ");
}

static void add_conv(pool *p, int from)
{
    const int64_t *x = p->dim[from];
    const int64_t y[4] = {x[0], 4, x[2], x[3]};
    vta_str_printf(&p->text, "random %%w%d: f32[4,%lld,1,1] -60 60\n", p->count, (long long)x[1]);
    const int weight = p->count;
    define(p, y);
    vta_str_printf(&p->text, "Conv(%%v%d, %%w%d)\n", from, weight);
}

static void add_norm(pool *p, int from)
{
    const int64_t *x = p->dim[from];
    for (const char *name = "gbmv"; *name != '\0'; name++) {
        vta_str_printf(&p->text, "random %%%c%d.n: f32[%lld] 50 150\n", *name, p->count, (long long)x[1]);
    }
    const int n = p->count;
    define(p, x);
    vta_str_printf(&p->text, "BatchNormalization(%%v%d, %%g%d.n, %%b%d.n, %%m%d.n, %%v%d.n)\n", from, n, n, n,
                   n);
}

static void add_transpose(pool *p, int from)
{
    static const int perms[][4] = {{0, 2, 3, 1}, {0, 3, 1, 2}, {1, 0, 2, 3}, {0, 1, 2, 3}};
    const int *perm = perms[rng_below(&p->r, 4)];
    int64_t y[4];
    for (int i = 0; i < 4; i++) {
        y[i] = p->dim[from][perm[i]];
    }
    define(p, y);
    vta_str_printf(&p->text, "Transpose(%%v%d) {perm=[%d, %d, %d, %d]}\n", from, perm[0], perm[1], perm[2],
                   perm[3]);
}

static void add_reshape(pool *p, int from)
{
    const int64_t *x = p->dim[from];
    const int64_t y[4] = {x[1], x[0], x[3], x[2]};
    vta_str_printf(&p->text, "const %%s%d: i64[4] = [%lld, %lld, %lld, %lld]\n", p->count, (long long)y[0],
                   (long long)y[1], (long long)y[2], (long long)y[3]);
    const int shape = p->count;
    define(p, y);
    vta_str_printf(&p->text, "Reshape(%%v%d, %%s%d)\n", from, shape);
}

static void add_binary(pool *p, int from)
{
    int other = (int)rng_below(&p->r, (uint32_t)p->count);
    for (int i = 0; i < p->count && memcmp(p->dim[other], p->dim[from], sizeof p->dim[0]) != 0; i++) {
        other = (other + 1) % p->count;
    }
    const char *op = rng_percent(&p->r, 60) ? "Add" : "Max";
    define(p, p->dim[from]);
    vta_str_printf(&p->text, "%s(%%v%d, %%v%d)\n", op, from, other);
}

static void add_scaled(pool *p, int from)
{
    const bool channel = rng_percent(&p->r, 50);
    vta_str_printf(&p->text, "random %%c%d: f32[%lld,1,1] -100 100\n", p->count,
                   channel ? (long long)p->dim[from][1] : 1LL);
    const int n = p->count;
    define(p, p->dim[from]);
    vta_str_printf(&p->text, "%s(%%c%d, %%v%d)\n", rng_percent(&p->r, 50) ? "Mul" : "Add", n, from);
}

static void add_unary(pool *p, int from)
{
    static const char *const ops[] = {"Relu", "Sigmoid", "Tanh", "Identity", "Dropout", "Neg"};
    const char *op = ops[rng_below(&p->r, 6)];
    define(p, p->dim[from]);
    vta_str_printf(&p->text, "%s(%%v%d)\n", op, from);
}

static char *random_graph(uint64_t from)
{
    static void (*const add[])(pool *, int) = {add_conv,   add_norm,   add_transpose, add_reshape,
                                               add_binary, add_scaled, add_unary,     add_conv};
    pool p = {.r = {from}};
    const int64_t first[4] = {2, 4, 3, 4};
    vta_str_put(&p.text, "graph \"random\"\ninput %v0: ");
    put_dims(&p, first);
    vta_str_put(&p.text, "\n");
    memcpy(p.dim[p.count++], first, sizeof first);
    while (p.count < 24) {
        /* mostly the newest values, so that chains grow */
        const uint32_t back = rng_below(&p.r, rng_percent(&p.r, 70) ? 2 : 8);
        const int at = p.count - 1 - (int)back;
        add[rng_below(&p.r, 8)](&p, at < 0 ? 0 : at);
    }
    for (int i = 0; i < 3; i++) {
        vta_str_printf(&p.text, "output %%v%d\n", p.count - 1 - 3 * i);
    }
    char *text = vta_str_take(&p.text);
    assert_non_null(text);
    return text;
}

static void random_graphs_keep_their_numbers(void **state)
{
    (void)state;
    enum { GRAPHS = 8 };
    for (uint64_t n = 0; n < GRAPHS; n++) {
        char *text = random_graph(seed + 1000 + n);
        vtac_graph *graph = graph_parse(text, seed + n);
        vta_model *expected = graph_load(graph, 0);
        const vtac_pass_options passes = {.level = 3, .verify = true};
        vta_diag diag = {0};
        GRAPH_CHECK(vtac_run_passes(graph, &passes, &diag), diag);
        vta_model *got = graph_load(graph, 3);
        char name[80];
        (void)snprintf(name, sizeof name, "graph of seed %llu", (unsigned long long)(seed + 1000 + n));
        run_both(expected, got, seed + 20 * n, name);
        vta_model_destroy(expected);
        vta_model_destroy(got);
        vtac_graph_destroy(graph);
        free(text);
    }
}

int main(void)
{
    seed = test_seed("pass_rules");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_sane),
        cmocka_unit_test(each_rule_applies_and_keeps_the_numbers),
        cmocka_unit_test(random_graphs_keep_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
