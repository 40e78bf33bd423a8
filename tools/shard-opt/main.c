//===- main.c - shard-opt -----------------------------------------*- C -*-===//
#include "MlirOpt.h"

int main(int argc, char **argv) { return shardMlirOptMain(argc, argv); }
