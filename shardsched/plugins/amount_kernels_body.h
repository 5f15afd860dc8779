/*
 * The kernels, included once for each kind of processor:
 *
 *	KERNEL      attributes of a function
 *	NAME(name)  name of the function for this kind
 *	FUSED       fused multiply-add is one instruction
 *	WIDE        converting 64-bit integers to doubles is one instruction (AVX-512)
 *
 * Loops have 64 rounds and no branches, so that compilers vectorise them.
 */
#define EACH for (int i = 0; i < 64; i++)

/* Packs eight bytes that are 0 or 1 into eight bits. */
KERNEL static uint64_t NAME(pack)(const uint8_t ok[64])
{
	uint64_t bits = 0;

	for (size_t i = 0; i < 64; i += 8) {
		uint64_t eight;

		memcpy(&eight, ok + i, sizeof(eight));
		bits |= (eight * UINT64_C(0x0102040810204080) >> 56) << i;
	}
	return bits;
}

#ifdef WIDE
/* Written by hand: compilers turn the mask into bytes and back. */
KERNEL static inline uint64_t NAME(fits_16)(const struct amount_fits *in, size_t at)
{
	__m512i cpu = _mm512_sub_epi32(_mm512_loadu_si512(in->cpu_alloc + at),
	                               _mm512_loadu_si512(in->cpu_used + at));
	__m512i low = _mm512_sub_epi64(_mm512_loadu_si512(in->memory_alloc + at),
	                               _mm512_loadu_si512(in->memory_used + at));
	__m512i high = _mm512_sub_epi64(_mm512_loadu_si512(in->memory_alloc + at + 8),
	                                _mm512_loadu_si512(in->memory_used + at + 8));
	__m512i memory = _mm512_set1_epi64(in->memory);

	return (uint64_t)_mm512_cmpge_epi32_mask(cpu, _mm512_set1_epi32(in->cpu)) &
	       ((uint64_t)_mm512_cmpge_epi64_mask(low, memory) |
	        (uint64_t)_mm512_cmpge_epi64_mask(high, memory) << 8);
}

KERNEL static void NAME(fits)(const struct amount_fits *in, uint32_t words,
                              uint64_t *bits)
{
	for (size_t word = 0; word < words; word++)
		bits[word] &= NAME(fits_16)(in, word * 64) |
		              NAME(fits_16)(in, word * 64 + 16) << 16 |
		              NAME(fits_16)(in, word * 64 + 32) << 32 |
		              NAME(fits_16)(in, word * 64 + 48) << 48;
}
#else
KERNEL static void NAME(fits)(const struct amount_fits *in, uint32_t words,
                              uint64_t *bits)
{
	for (size_t word = 0; word < words; word++) {
		const int32_t *restrict cpu_alloc = in->cpu_alloc + word * 64;
		const int32_t *restrict cpu_used = in->cpu_used + word * 64;
		const int64_t *restrict memory_alloc = in->memory_alloc + word * 64;
		const int64_t *restrict memory_used = in->memory_used + word * 64;
		uint8_t ok[64];

		EACH ok[i] = (uint8_t)(cpu_alloc[i] - cpu_used[i] >= in->cpu);
		EACH ok[i] = (uint8_t)(ok[i] &
		                       (memory_alloc[i] - memory_used[i] >= in->memory));
		bits[word] &= NAME(pack)(ok);
	}
}
#endif

KERNEL static uint64_t NAME(free)(const int64_t *restrict alloc,
                                  const int64_t *restrict used, int64_t least)
{
	uint8_t ok[64];

	EACH ok[i] = (uint8_t)(alloc[i] - used[i] >= least);
	return NAME(pack)(ok);
}

KERNEL static uint64_t NAME(mask_at_least)(const int64_t *restrict column, int64_t least)
{
	uint8_t ok[64];

	EACH ok[i] = (uint8_t)(column[i] >= least);
	return NAME(pack)(ok);
}

KERNEL static void NAME(load32)(const int32_t *restrict alloc,
                                const int32_t *restrict used, int64_t requested,
                                struct amount_word *restrict out)
{
	double more = (double)requested;

	EACH
	{
		out->alloc[i] = (double)alloc[i];
		out->requested[i] = (double)used[i] + more;
	}
}

/* value is below 2^52. */
KERNEL static inline double NAME(real)(uint64_t value)
{
#ifdef WIDE
	return (double)(int64_t)value;
#else
	/* The bits of 2^52 + value: the mantissa's last place is worth 1. */
	uint64_t bits = value | UINT64_C(0x4330000000000000);
	double real;

	memcpy(&real, &bits, sizeof(real));
	return real - 0x1p52;
#endif
}

KERNEL static uint64_t NAME(load64)(const int64_t *restrict alloc,
                                    const int64_t *restrict used, int64_t requested,
                                    struct amount_word *restrict out)
{
	uint64_t all = 0;

	EACH
	{
		/* The sum may pass 2^63; all then has bit 63. */
		uint64_t sum = (uint64_t)used[i] + (uint64_t)requested;

		all |= (uint64_t)alloc[i] | sum;
		out->alloc[i] = NAME(real)((uint64_t)alloc[i]);
		out->requested[i] = NAME(real)(sum);
	}
	return all;
}

KERNEL static inline int32_t NAME(free_of)(double alloc, double requested)
{
	double part = (alloc - requested) * 100;
	double quotient = part / alloc;

	return (int32_t)(part > 0 ? quotient : 0);
}

KERNEL static inline int32_t NAME(used_of)(double alloc, double requested)
{
	double part = requested < alloc ? requested : alloc;
	double quotient = part * 100 / alloc;

	return (int32_t)(part > 0 ? quotient : 0);
}

KERNEL static void NAME(percent_used)(const struct amount_word *restrict in,
                                      int32_t *restrict percent)
{
	EACH percent[i] = NAME(used_of)(in->alloc[i], in->requested[i]);
}

KERNEL static void NAME(weigh_free)(const struct amount_word *restrict in, int32_t weight,
                                    struct amount_means *restrict out)
{
	EACH
	{
		out->sum[i] += NAME(free_of)(in->alloc[i], in->requested[i]) * weight;
		out->weights[i] += in->alloc[i] > 0 ? weight : 0;
	}
}

KERNEL static void NAME(weigh_used)(const struct amount_word *restrict in, int32_t weight,
                                    struct amount_means *restrict out)
{
	EACH
	{
		out->sum[i] += NAME(used_of)(in->alloc[i], in->requested[i]) * weight;
		out->weights[i] += in->alloc[i] > 0 ? weight : 0;
	}
}

KERNEL static void NAME(mean)(const struct amount_means *restrict in,
                              int64_t *restrict score)
{
	EACH
	{
		float quotient = (float)in->sum[i] / (float)in->weights[i];

		score[i] = (int32_t)(in->weights[i] > 0 ? quotient : 0);
	}
}

KERNEL static void NAME(balance)(const struct amount_word *restrict a,
                                 const struct amount_word *restrict b,
                                 int64_t *restrict score)
{
	EACH
	{
		double one = a->requested[i] / a->alloc[i];
		double two = b->requested[i] / b->alloc[i];
		double difference;

		one = one > 1 ? 1 : one;
		two = two > 1 ? 1 : two;
		difference = __builtin_fabs((one - two) / 2);
		difference = ((a->alloc[i] > 0) & (b->alloc[i] > 0)) ? difference : 0;
		score[i] = (int32_t)((1 - difference) * 100);
	}
}

#include "shardsched/plugins/amount_pair_body.h"

static const struct amount_kernels NAME(kernels) = {
	.name = KERNEL_NAME,
	.fits = NAME(fits),
	.free = NAME(free),
	.mask_at_least = NAME(mask_at_least),
	.load32 = NAME(load32),
	.load64 = NAME(load64),
	.percent_used = NAME(percent_used),
	.weigh_free = NAME(weigh_free),
	.weigh_used = NAME(weigh_used),
	.mean = NAME(mean),
	.balance = NAME(balance),
	.mean_free = NAME(mean_free),
	.mean_used = NAME(mean_used),
	.balance_pair = NAME(balance_pair),
};

#undef EACH
#undef KERNEL
#undef KERNEL_NAME
#undef NAME
#undef FUSED
#undef WIDE
