#include "shardsched/snapshot/domain_counts.h"

#include <stdlib.h>

#include "shardsched/snapshot/snapshot_inner.h"
#include "store/base/alloc.h"

enum { DOMAINS_FIRST = 16 };

enum pl_code domain_counts_reserve(struct domain_counts *counts, uint32_t domains,
                                   uint32_t capacity, struct pl_err *err)
{
	uint32_t words = capacity / 64, cap = counts->cap;
	uint32_t *count;
	uint64_t *bits;

	if (cap < domains) {
		cap = cap == 0 ? DOMAINS_FIRST : cap;
		while (cap < domains)
			cap *= 2;
		/* Fresh pages of a large array take no memory before they are touched. */
		count = pl_calloc(cap, sizeof *count);
		if (count == NULL)
			return pl_err_set(err, PL_NOMEM, "count in %u domains", cap);
		for (uint32_t i = 0; i < counts->cap; i++)
			if (counts->count[i] != 0)
				count[i] = counts->count[i];
		free(counts->count);
		counts->count = count;
		counts->cap = cap;
	}
	if (counts->words < words) {
		bits = pl_calloc(words, sizeof *bits);
		if (bits == NULL)
			return pl_err_set(err, PL_NOMEM, "a set of %u nodes", capacity);
		for (uint32_t i = 0; i < counts->words; i++)
			if (counts->bits[i] != 0)
				bits[i] = counts->bits[i];
		free(counts->bits);
		counts->bits = bits;
		counts->words = words;
	}
	return PL_OK;
}

enum pl_code domain_counts_init(struct domain_counts *counts,
                                const struct snapshot *snapshot,
                                struct label_column *column, struct pl_err *err)
{
	enum pl_code code;

	*counts = (struct domain_counts){.column = column};
	pl_list_init(&counts->of_column);
	code = domain_counts_reserve(counts, label_column_room(column),
	                             snapshot->capacity, err);
	if (code != PL_OK)
		domain_counts_done(counts);
	return code;
}

void domain_counts_done(struct domain_counts *counts)
{
	pl_list_del(&counts->of_column);
	free(counts->count);
	free(counts->bits);
	counts->count = NULL;
	counts->bits = NULL;
}

static void set_bit(struct domain_counts *counts, uint32_t slot, bool on)
{
	uint64_t bit = UINT64_C(1) << slot % 64;

	if (on)
		counts->bits[slot / 64] |= bit;
	else
		counts->bits[slot / 64] &= ~bit;
}

/* A domain that changes twice is back where it was (a probe that undid its change),
 * unless nodes have moved in between. */
static void defer_domain(struct domain_counts *counts, uint32_t domain)
{
	if (counts->pending_count > DOMAIN_COUNTS_PENDING)
		return;
	for (uint32_t i = 0; i < counts->pending_count; i++) {
		if (counts->pending[i] != domain)
			continue;
		if (!counts->moved)
			counts->pending[i] = counts->pending[--counts->pending_count];
		return;
	}
	if (counts->pending_count < DOMAIN_COUNTS_PENDING)
		counts->pending[counts->pending_count] = domain;
	counts->pending_count++;
}

/* To be called when the domain gets its first pod or loses its last. */
static void flip_domain(struct domain_counts *counts, uint32_t slot, uint32_t domain,
                        bool on)
{
	if (counts->column->domain[domain].nodes == 1)
		set_bit(counts, slot, on);
	else
		defer_domain(counts, domain);
}

void domain_counts_add(struct domain_counts *counts, uint32_t slot, uint32_t pods)
{
	uint32_t domain = counts->column->value[slot];

	if (domain == 0) {
		counts->others += pods;
		return;
	}
	PL_ASSERT(domain < counts->cap);
	if (counts->count[domain] == 0 && pods > 0)
		flip_domain(counts, slot, domain, true);
	counts->count[domain] += pods;
	counts->inside += pods;
}

void domain_counts_sub(struct domain_counts *counts, uint32_t slot, uint32_t pods)
{
	uint32_t domain = counts->column->value[slot];

	if (domain == 0) {
		PL_ASSERT(counts->others >= pods);
		counts->others -= pods;
		return;
	}
	PL_ASSERT(domain < counts->cap && counts->count[domain] >= pods);
	counts->count[domain] -= pods;
	counts->inside -= pods;
	if (counts->count[domain] == 0 && pods > 0)
		flip_domain(counts, slot, domain, false);
}

static void leave_domain(struct domain_counts *counts, uint32_t domain, uint32_t pods)
{
	if (domain == 0) {
		counts->others -= pods;
		return;
	}
	PL_ASSERT(counts->count[domain] >= pods);
	counts->count[domain] -= pods;
	counts->inside -= pods;
	if (counts->count[domain] == 0)
		defer_domain(counts, domain);
}

static void enter_domain(struct domain_counts *counts, uint32_t domain, uint32_t pods)
{
	if (domain == 0) {
		counts->others += pods;
		return;
	}
	if (counts->count[domain] == 0)
		defer_domain(counts, domain);
	counts->count[domain] += pods;
	counts->inside += pods;
}

/* While nodes move, the number of nodes in a domain is not certain, so no domain counts
 * as one of a single node. */
void domain_counts_move(struct domain_counts *counts, uint32_t slot, uint32_t from,
                        uint32_t to, uint32_t pods)
{
	PL_ASSERT(from < counts->cap && to < counts->cap);
	if (pods > 0) {
		leave_domain(counts, from, pods);
		enter_domain(counts, to, pods);
	}
	set_bit(counts, slot, counts->count[to] != 0);
	counts->moved = counts->pending_count > 0;
}

static void update_word(struct domain_counts *counts, uint32_t domain, uint32_t word)
{
	const uint32_t *value = counts->column->value + (size_t)word * 64;
	uint64_t nodes = 0;

	for (unsigned i = 0; i < 64; i++)
		nodes |= (uint64_t)(value[i] == domain) << i;
	if (counts->count[domain] != 0)
		counts->bits[word] |= nodes;
	else
		counts->bits[word] &= ~nodes;
}

static void update_domain(struct domain_counts *counts, uint32_t domain, uint32_t words)
{
	for (uint32_t word = 0; word < words; word++) {
		const uint32_t *value = counts->column->value + (size_t)word * 64;
		uint32_t any = 0;

		for (unsigned i = 0; i < 64; i++)
			any |= value[i] == domain;
		if (any != 0)
			update_word(counts, domain, word);
	}
}

static void rebuild_bits(struct domain_counts *counts, uint32_t words)
{
	for (uint32_t word = 0; word < words; word++) {
		const uint32_t *value = counts->column->value + (size_t)word * 64;
		uint64_t nodes = 0;

		for (unsigned i = 0; i < 64; i++)
			nodes |= (uint64_t)(counts->count[value[i]] != 0) << i;
		counts->bits[word] = nodes;
	}
}

void domain_counts_refresh(struct domain_counts *counts, uint32_t slots)
{
	uint32_t words = slots / 64 + (slots % 64 != 0);

	if (counts->pending_count > DOMAIN_COUNTS_PENDING)
		rebuild_bits(counts, words);
	else
		for (uint32_t i = 0; i < counts->pending_count; i++)
			update_domain(counts, counts->pending[i], words);
	counts->pending_count = 0;
	counts->moved = false;
}
