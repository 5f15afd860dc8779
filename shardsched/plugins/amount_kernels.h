/*
 * The arithmetic of amounts, 64 nodes at once: one form for each sort of processor, the
 * same C compiled several times, with the same results bit for bit.
 *
 * All of it is exact where amounts are below AMOUNT_SMALL, which load64 tells; beyond,
 * whoever calls works in integers, node by node.
 *
 * Why percents are: with 0 <= part <= alloc < 2^43, part * 100 < 2^50 is exact in a
 * double. Where the quotient is no whole number it is at least 1 / alloc > 2^-43 below
 * the next one, and what rounding adds to a quotient up to 100 is at most 2^-47; so
 * the division, rounded as IEEE 754 wants it, does not reach that number, and what is
 * cut off gives what integers would. A whole quotient is exact at once.
 *
 * Why means are: weights up to 12,800 and a hundred times as much are exact in a float;
 * a quotient is 2^-14 at least below the next whole number, and rounding adds 2^-18.
 */
#ifndef SHARDSCHED_PLUGINS_AMOUNT_KERNELS_H
#define SHARDSCHED_PLUGINS_AMOUNT_KERNELS_H

#include <stdint.h>

#define AMOUNT_SMALL (INT64_C(1) << 43)

/* One resource on 64 nodes: what there is, and what is used with the pod on it. */
struct amount_word {
	_Alignas(64) double alloc[64];
	_Alignas(64) double asked[64];
};

struct amount_means {
	_Alignas(64) int32_t sum[64];
	_Alignas(64) int32_t weights[64];
};

/* Columns from the first slot of a word on. */
struct amount_fits {
	const int32_t *pods_alloc, *pods_used;
	const int32_t *cpu_alloc, *cpu_used;
	const int64_t *memory_alloc, *memory_used;
	int32_t cpu; /* at least that much is to be free */
	int64_t memory;
};

struct amount_kernels {
	const char *name;
	/* A bit for each node with room for a pod, cpu and memory. */
	uint64_t (*fits)(const struct amount_fits *in);
	/* ... with so much free. */
	uint64_t (*free)(const int64_t *alloc, const int64_t *used, int64_t least);
	uint64_t (*at_least)(const int64_t *column, int64_t least);

	/* asked < AMOUNT_SMALL. */
	void (*load32)(const int32_t *alloc, const int32_t *used, int64_t asked,
	               struct amount_word *out);
	/* Gives the bits of all amounts: below AMOUNT_SMALL, or out is worthless. */
	uint64_t (*load64)(const int64_t *alloc, const int64_t *used, int64_t asked,
	                   struct amount_word *out);

	/* Percents, rounded down: 0 where there is none; of what is free, 0 where more is
	 * asked, and of what is used, 100 there. */
	void (*percent_used)(const struct amount_word *in, int32_t percent[64]);
	/* Added, with their weight, where there is any. */
	void (*weigh_free)(const struct amount_word *in, int32_t weight,
	                   struct amount_means *out);
	void (*weigh_used)(const struct amount_word *in, int32_t weight,
	                   struct amount_means *out);
	/* Rounded down; 0 where nothing was weighed. */
	void (*mean)(const struct amount_means *in, int64_t score[64]);

	/* kube-scheduler's balance of two resources. */
	void (*balance)(const struct amount_word *a, const struct amount_word *b,
	                int64_t score[64]);
};

enum { AMOUNT_LEVELS = 3 };

/* The best for this processor. */
const struct amount_kernels *amount_kernels(void);
/* Each of them, for tests; NULL: this processor can not. */
const struct amount_kernels *amount_kernels_at(unsigned level);

#endif
