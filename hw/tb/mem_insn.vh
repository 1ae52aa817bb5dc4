// SPDX-License-Identifier: Apache-2.0
//
// LOAD and STORE for benches of the memory side, field by field. Included after vta_isa.vh.
    reg [127:0] insn;

    task make_insn(input [2:0] opcode, input [2:0] memory, input integer sram, input integer segment, input [31:0] dram,
                   input integer y, input integer x, input integer stride);
        begin
            insn = 128'd0;
            insn[VTA_F_HEADER_OPCODE_LSB +: VTA_F_HEADER_OPCODE_WIDTH] = opcode;
            insn[VTA_F_MEM_MEMORY_LSB +: VTA_F_MEM_MEMORY_WIDTH]       = memory;
            insn[VTA_F_MEM_SRAM_BASE_LSB +: VTA_F_MEM_SRAM_BASE_WIDTH] = sram;
            insn[VTA_F_MEM_SEGMENT_LSB +: VTA_F_MEM_SEGMENT_WIDTH]     = segment;
            insn[VTA_F_MEM_DRAM_BASE_LSB +: VTA_F_MEM_DRAM_BASE_WIDTH] = dram;
            insn[VTA_F_MEM_Y_SIZE_LSB +: VTA_F_MEM_Y_SIZE_WIDTH]       = y;
            insn[VTA_F_MEM_X_SIZE_LSB +: VTA_F_MEM_X_SIZE_WIDTH]       = x;
            insn[VTA_F_MEM_X_STRIDE_LSB +: VTA_F_MEM_X_STRIDE_WIDTH]   = stride;
        end
    endtask

    task pad_insn(input integer y0, input integer y1, input integer x0, input integer x1, input [7:0] pad);
        begin
            insn[VTA_F_MEM_Y_PAD_0_LSB +: VTA_F_MEM_Y_PAD_0_WIDTH]   = y0;
            insn[VTA_F_MEM_Y_PAD_1_LSB +: VTA_F_MEM_Y_PAD_1_WIDTH]   = y1;
            insn[VTA_F_MEM_X_PAD_0_LSB +: VTA_F_MEM_X_PAD_0_WIDTH]   = x0;
            insn[VTA_F_MEM_X_PAD_1_LSB +: VTA_F_MEM_X_PAD_1_WIDTH]   = x1;
            insn[VTA_F_MEM_PAD_LOW_LSB +: VTA_F_MEM_PAD_LOW_WIDTH]   = pad[5:0];
            insn[VTA_F_MEM_PAD_HIGH_LSB +: VTA_F_MEM_PAD_HIGH_WIDTH] = pad[7:6];
        end
    endtask
