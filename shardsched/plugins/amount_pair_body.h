/*
 * cpu and memory in one pass, without intermediate arrays; a part of
 * amount_kernels_body.h. Values are clamped as integers, so that doubles need no
 * comparisons.
 *
 *	FUSED       fused multiply-add is one instruction: shares are made with units
 */
#define EACH_OF(words) for (uint32_t i = 0; i < (words)*64; i++)

/* left: max(there - used, asked) - asked, what remains, at least 0. with: min(used +
 * asked, there). Neither overflows. */
KERNEL static inline int32_t NAME(left32)(int32_t there, int32_t used, int32_t requested)
{
	int32_t free = there - used;

	return (free > requested ? free : requested) - requested;
}

KERNEL static inline int64_t NAME(left64)(int64_t there, int64_t used, int64_t requested)
{
	int64_t free = there - used;

	return (free > requested ? free : requested) - requested;
}

KERNEL static inline int32_t NAME(with32)(int32_t there, int32_t used, int32_t requested)
{
	int32_t most = there - requested;

	return (used < most ? used : most) + requested;
}

KERNEL static inline int64_t NAME(with64)(int64_t there, int64_t used, int64_t requested)
{
	int64_t sum = used + requested;

	return sum < there ? sum : there;
}

/* The value cut off; up to 100. */
KERNEL static inline int64_t NAME(whole)(double value)
{
#ifdef WIDE
	return (int64_t)value;
#else
	return (int32_t)value;
#endif
}

/* 100 * part / there, cut off; part is at most there. */
KERNEL static inline int64_t NAME(percent)(double part, double there, double unit)
{
	double hundreds = part * 100;
#ifdef FUSED
	(void)there;
	return NAME(whole)(__builtin_fma(hundreds, unit, PERCENT_NUDGE));
#else
	double quotient = hundreds / there;

	(void)unit;
	return NAME(whole)(part > 0 ? quotient : 0);
#endif
}

/* part / there, rounded as a division is. */
KERNEL static inline double NAME(share)(double part, double there, double unit)
{
#ifdef FUSED
	double near = part * unit;

	return __builtin_fma(__builtin_fma(-near, there, part), unit, near);
#else
	(void)unit;
	return part / there;
#endif
}

KERNEL static inline void NAME(mean_of)(const struct amount_pair *in, uint32_t words,
                                        int64_t *restrict score, bool of_free, bool alike)
{
	const int32_t *restrict cpu_alloc = in->cpu_alloc;
	const int32_t *restrict cpu_used = in->cpu_used;
	const double *restrict cpu_unit = in->cpu_unit;
	const int64_t *restrict memory_alloc = in->memory_alloc;
	const int64_t *restrict memory_used = in->memory_used;
	const double *restrict memory_unit = in->memory_unit;
	const int32_t cpu = in->cpu;
	const int64_t memory = in->memory;
	const double cpu_weight = in->cpu_weight, memory_weight = in->memory_weight;
	const double of_cpu = 1 / cpu_weight, of_memory = 1 / memory_weight;
	const double of_both = 1 / (cpu_weight + memory_weight);

	EACH_OF(words)
	{
		int32_t part = of_free ? NAME(left32)(cpu_alloc[i], cpu_used[i], cpu)
		                       : NAME(with32)(cpu_alloc[i], cpu_used[i], cpu);
		int64_t bytes =
			of_free ? NAME(left64)(memory_alloc[i], memory_used[i], memory)
				: NAME(with64)(memory_alloc[i], memory_used[i], memory);
		int64_t one = NAME(percent)(part, cpu_alloc[i], cpu_unit[i]);
		int64_t two = NAME(percent)(NAME(real)((uint64_t)bytes),
		                            NAME(real)((uint64_t)memory_alloc[i]),
		                            memory_unit[i]);

		if (alike) {
			score[i] = one + two;
			if ((cpu_unit[i] > 0) & (memory_unit[i] > 0))
				score[i] = (one + two) >> 1;
		} else {
			double of = memory_unit[i] > 0 ? of_both : of_cpu;
			double sum = (double)(int32_t)one * cpu_weight +
			             (double)(int32_t)two * memory_weight;

			of = cpu_unit[i] > 0 ? of : of_memory;
			score[i] = NAME(whole)(sum * of + MEAN_NUDGE);
		}
	}
}

KERNEL static void NAME(mean_free)(const struct amount_pair *in, uint32_t words,
                                   int64_t *restrict score)
{
	if (in->cpu_weight == in->memory_weight)
		NAME(mean_of)(in, words, score, true, true);
	else
		NAME(mean_of)(in, words, score, true, false);
}

KERNEL static void NAME(mean_used)(const struct amount_pair *in, uint32_t words,
                                   int64_t *restrict score)
{
	if (in->cpu_weight == in->memory_weight)
		NAME(mean_of)(in, words, score, false, true);
	else
		NAME(mean_of)(in, words, score, false, false);
}

KERNEL static void NAME(balance_pair)(const struct amount_pair *in, uint32_t words,
                                      int64_t *restrict score)
{
	const int32_t *restrict cpu_alloc = in->cpu_alloc;
	const int32_t *restrict cpu_used = in->cpu_used;
	const double *restrict cpu_unit = in->cpu_unit;
	const int64_t *restrict memory_alloc = in->memory_alloc;
	const int64_t *restrict memory_used = in->memory_used;
	const double *restrict memory_unit = in->memory_unit;
	const int32_t cpu = in->cpu;
	const int64_t memory = in->memory;

	EACH_OF(words)
	{
		int32_t part = NAME(with32)(cpu_alloc[i], cpu_used[i], cpu);
		int64_t bytes = NAME(with64)(memory_alloc[i], memory_used[i], memory);
		double one = NAME(share)(part, cpu_alloc[i], cpu_unit[i]);
		double two = NAME(share)(NAME(real)((uint64_t)bytes),
		                         NAME(real)((uint64_t)memory_alloc[i]),
		                         memory_unit[i]);
		double difference = __builtin_fabs(one - two) * 0.5;

		difference = ((cpu_unit[i] > 0) & (memory_unit[i] > 0)) ? difference : 0;
		score[i] = NAME(whole)((1 - difference) * 100);
	}
}

#undef EACH_OF
