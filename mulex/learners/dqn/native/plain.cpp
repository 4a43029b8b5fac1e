// For any processor that the compiler compiles for.
#define MULEX_MAKE make_plain
#define MULEX_WIDTH 4
#include "engine.inc"
