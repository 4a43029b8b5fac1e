// For processors with AVX2 and FMA; compiled with the flags that setup.py gives this file.
#define MULEX_MAKE make_avx2
#define MULEX_WIDTH 8
#include "engine.inc"
