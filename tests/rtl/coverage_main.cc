// SPDX-License-Identifier: Apache-2.0
//
// coverage_main FILE +PLUSARG...: runs a bench that Verilator has translated (--prefix Vbench) to its end;
// what it covered goes to FILE.
#include <memory>

#include "Vbench.h"
#include "verilated.h"
#include "verilated_cov.h"

int main(int argc, char **argv)
{
    const std::unique_ptr<VerilatedContext> context{new VerilatedContext};
    context->commandArgs(argc, argv);
    const std::unique_ptr<Vbench> bench{new Vbench{context.get()}};
    while (!context->gotFinish()) {
        bench->eval();
        if (!bench->eventsPending()) {
            break;
        }
        context->time(bench->nextTimeSlot());
    }
    bench->final();
    context->coveragep()->write(argv[1]);
    return 0;
}
