module vtac.invalid/vta

go 1.19
