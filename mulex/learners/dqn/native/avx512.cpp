// For processors with AVX-512; compiled with the flags that setup.py gives this file.
#define MULEX_MAKE make_avx512
#define MULEX_WIDTH 16
#include "engine.inc"
