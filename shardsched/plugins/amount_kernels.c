#include "shardsched/plugins/amount_kernels.h"

#include <stdbool.h>
#include <string.h>

#define PERCENT_NUDGE 0x1p-44
#define MEAN_NUDGE 0x1p-12

#define KERNEL
#define KERNEL_NAME "any"
#define NAME(name) any_##name
#include "shardsched/plugins/amount_kernels_body.h"

#ifdef __x86_64__

#include <immintrin.h>

#define KERNEL __attribute__((target("avx2,fma")))
#define KERNEL_NAME "avx2"
#define FUSED
#define NAME(name) avx2_##name
#include "shardsched/plugins/amount_kernels_body.h"

/* clang uses 512-bit vectors by itself, gcc has to be told. */
#ifdef __clang__
#define AVX512 "avx512f,avx512bw,avx512dq,avx512vl"
#else
#define AVX512 "avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"
#endif

#define KERNEL __attribute__((target(AVX512)))
#define KERNEL_NAME "avx512"
#define NAME(name) avx512_##name
#define FUSED
#define WIDE
#include "shardsched/plugins/amount_kernels_body.h"

const struct amount_kernels *amount_kernels_at(unsigned level)
{
	switch (level) {
	case 0:
		return &any_kernels;
	case 1:
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
		               ? &avx2_kernels
		               : NULL;
	case 2:
		return __builtin_cpu_supports("avx512f") &&
		                       __builtin_cpu_supports("avx512bw") &&
		                       __builtin_cpu_supports("avx512dq") &&
		                       __builtin_cpu_supports("avx512vl")
		               ? &avx512_kernels
		               : NULL;
	default:
		return NULL;
	}
}

#else

const struct amount_kernels *amount_kernels_at(unsigned level)
{
	return level == 0 ? &any_kernels : NULL;
}

#endif

const struct amount_kernels *amount_kernels(void)
{
	for (unsigned level = AMOUNT_LEVELS - 1; level > 0; level--) {
		const struct amount_kernels *kernels = amount_kernels_at(level);

		if (kernels != NULL)
			return kernels;
	}
	return &any_kernels;
}
