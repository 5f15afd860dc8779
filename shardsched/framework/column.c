#include "shardsched/framework/column.h"

#include <stddef.h>

#define KERNEL
#define NAME(name) plain_##name
#include "shardsched/framework/column_body.h"

#ifdef __x86_64__

#define KERNEL __attribute__((target("avx2,popcnt")))
#define NAME(name) wide_##name
#include "shardsched/framework/column_body.h"

/* gcc prefers half of the vector width unless told otherwise. */
#ifdef __clang__
#define WIDEST "avx512f,avx512bw,avx512vl,avx512dq,popcnt"
#else
#define WIDEST "avx512f,avx512bw,avx512vl,avx512dq,popcnt,prefer-vector-width=512"
#endif

#define KERNEL __attribute__((target(WIDEST)))
#define NAME(name) widest_##name
#include "shardsched/framework/column_body.h"

#endif

struct column_scale column_scale(int32_t max, int32_t weight, bool down)
{
	uint64_t top = (UINT64_C(100) << COLUMN_SHIFT) + (uint64_t)max - 1;

	return (struct column_scale){
		.max = (uint32_t)max,
		.factor = max < COLUMN_EXACT ? (uint32_t)(top / (uint64_t)max) : 0,
		.weight = down ? -weight : weight,
		.offset = down ? 100 * weight : 0,
	};
}

#ifdef __x86_64__
static bool cpu_has_widest(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

static bool cpu_has_wide(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}
#endif

unsigned column_ops_all(const struct column_ops *out[COLUMN_VARIANTS])
{
	unsigned count = 0;

#ifdef __x86_64__
	if (cpu_has_wide() && cpu_has_widest())
		out[count++] = &widest_ops;
	if (cpu_has_wide())
		out[count++] = &wide_ops;
#endif
	out[count++] = &plain_ops;
	return count;
}

const struct column_ops *column_ops(void)
{
	const struct column_ops *all[COLUMN_VARIANTS];

	(void)column_ops_all(all);
	return all[0];
}
