// SPDX-License-Identifier: Apache-2.0
//
// The clock of soc_top_tb under Verilator, until the bench ends.
#include "Vsoc_top_tb.h"
#include "verilated.h"

int main(int argc, char **argv)
{
    VerilatedContext context;
    context.commandArgs(argc, argv);
    Vsoc_top_tb bench(&context);
    for (bool high = false; !context.gotFinish(); high = !high) {
        bench.clk = high;
        bench.eval();
    }
    bench.final();
    return 0;
}
