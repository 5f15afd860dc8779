#include "shardsched/shard/commit/conflicts.h"

#include <stdlib.h>
#include <string.h>

static const char *const words[] = {
#define CONFLICT_WORD(cause, word) word,
	CONFLICT_MAP(CONFLICT_WORD)};

const char *conflict_word(enum conflict_cause cause)
{
	PL_ASSERT((unsigned)cause < CONFLICT_CAUSES);
	return words[cause];
}

void conflicts_init(struct conflicts *conflicts, struct strings *strings)
{
	*conflicts = (struct conflicts){.strings = strings};
}

/* -- names ------------------------------------------------------------------------- */

static void hold(const struct conflicts *conflicts, uint32_t to[2], const uint32_t key[2])
{
	to[0] = strings_ref(conflicts->strings, key[0]);
	to[1] = strings_ref(conflicts->strings, key[1]);
}

static void let_go(const struct conflicts *conflicts, const uint32_t key[2])
{
	strings_unref(conflicts->strings, key[0]);
	strings_unref(conflicts->strings, key[1]);
}

static bool is_same(const uint32_t a[2], const uint32_t b[2])
{
	return a[0] == b[0] && a[1] == b[1];
}

void conflicts_done(struct conflicts *conflicts)
{
	for (uint32_t i = 0; i < conflicts->rows; i++)
		let_go(conflicts, conflicts->row[i].key);
	for (uint32_t i = 0; i < conflicts->asides; i++)
		let_go(conflicts, conflicts->aside[i].key);
	conflicts->rows = conflicts->asides = 0;
}

/* -- nodes that conflict --------------------------------------------------------------
 */

static void row_drop(struct conflicts *conflicts, uint32_t i)
{
	let_go(conflicts, conflicts->row[i].key);
	conflicts->row[i] = conflicts->row[--conflicts->rows];
}

static void fade(struct conflicts *conflicts, uint64_t now_ms)
{
	if (conflicts->fade_ms == 0)
		conflicts->fade_ms = now_ms;
	while (now_ms - conflicts->fade_ms >= CONFLICT_FADE_MS) {
		conflicts->fade_ms += CONFLICT_FADE_MS;
		if (conflicts->rows == 0)
			conflicts->fade_ms = now_ms;
		for (uint32_t i = conflicts->rows; i-- > 0;) {
			conflicts->row[i].count /= 2;
			conflicts->row[i].over /= 2;
			if (conflicts->row[i].count == 0)
				row_drop(conflicts, i);
		}
	}
}

static struct conflict_row *row_least(struct conflicts *conflicts)
{
	struct conflict_row *least = &conflicts->row[0];

	for (uint32_t i = 1; i < conflicts->rows; i++)
		if (conflicts->row[i].count < least->count)
			least = &conflicts->row[i];
	return least;
}

static struct conflict_row *row_of(struct conflicts *conflicts, const uint32_t key[2])
{
	struct conflict_row *row;

	for (uint32_t i = 0; i < conflicts->rows; i++)
		if (is_same(conflicts->row[i].key, key))
			return &conflicts->row[i];
	if (conflicts->rows < CONFLICT_ROWS) {
		row = &conflicts->row[conflicts->rows++];
		*row = (struct conflict_row){0};
	} else {
		row = row_least(conflicts);
		let_go(conflicts, row->key);
		row->over = row->count;
	}
	hold(conflicts, row->key, key);
	return row;
}

void conflicts_add(struct conflicts *conflicts, const uint32_t key[2],
                   enum conflict_cause cause, uint32_t placements, uint64_t now_ms)
{
	struct conflict_row *row;

	PL_ASSERT((unsigned)cause < CONFLICT_CAUSES);
	conflicts->placements[cause] += placements;
	if (key == NULL || placements == 0)
		return;
	fade(conflicts, now_ms);
	row = row_of(conflicts, key);
	row->count += placements;
	row->last_ms = now_ms;
	row->cause = (uint8_t)cause;
}

/* -- nodes that are set aside -----------------------------------------------------------
 */

static void aside_drop(struct conflicts *conflicts, uint32_t i)
{
	let_go(conflicts, conflicts->aside[i].key);
	conflicts->aside[i] = conflicts->aside[--conflicts->asides];
}

/* Its place, or one for it; NULL: all others last longer. */
static struct conflict_aside *aside_of(struct conflicts *conflicts, const uint32_t key[2],
                                       uint64_t until_ms)
{
	struct conflict_aside *first = NULL;

	for (uint32_t i = 0; i < conflicts->asides; i++) {
		struct conflict_aside *aside = &conflicts->aside[i];

		if (is_same(aside->key, key))
			return aside;
		if (first == NULL || aside->until_ms < first->until_ms)
			first = aside;
	}
	if (conflicts->asides < CONFLICT_ASIDE_MAX) {
		first = &conflicts->aside[conflicts->asides++];
	} else {
		if (first->until_ms >= until_ms)
			return NULL;
		let_go(conflicts, first->key);
	}
	hold(conflicts, first->key, key);
	return first;
}

void conflicts_set_aside(struct conflicts *conflicts, const uint32_t key[2],
                         enum conflict_cause cause, uint64_t until_ms, uint64_t now_ms)
{
	struct conflict_aside *aside;

	PL_ASSERT((unsigned)cause < CONFLICT_CAUSES);
	for (uint32_t i = conflicts->asides; i-- > 0;)
		if (conflicts->aside[i].until_ms <= now_ms ||
		    (until_ms <= now_ms && is_same(conflicts->aside[i].key, key)))
			aside_drop(conflicts, i);
	if (until_ms <= now_ms)
		return;
	aside = aside_of(conflicts, key, until_ms);
	if (aside == NULL)
		return;
	aside->until_ms = until_ms;
	aside->cause = (uint8_t)cause;
}

/* -- for people ----------------------------------------------------------- */

static int most_first(const void *a, const void *b)
{
	const struct conflict_row *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->last_ms != y->last_ms)
		return x->last_ms > y->last_ms ? -1 : 1;
	return x->key[1] < y->key[1] ? -1 : x->key[1] > y->key[1];
}

static int longest_first(const void *a, const void *b)
{
	const struct conflict_aside *x = a, *y = b;

	if (x->until_ms != y->until_ms)
		return x->until_ms > y->until_ms ? -1 : 1;
	return x->key[1] < y->key[1] ? -1 : x->key[1] > y->key[1];
}

static void tell_rows(const struct conflicts *conflicts, uint64_t now_ms,
                      struct conflict_summary *out)
{
	struct conflict_row row[CONFLICT_ROWS];

	memcpy(row, conflicts->row, sizeof row);
	qsort(row, conflicts->rows, sizeof row[0], most_first);
	while (out->nodes < conflicts->rows && out->nodes < CONFLICT_TOLD_MAX) {
		const struct conflict_row *from = &row[out->nodes];

		out->node[out->nodes++] = (struct conflict_node){
			.cluster = strings_get(conflicts->strings, from->key[0]),
			.name = strings_get(conflicts->strings, from->key[1]),
			.cause = (enum conflict_cause)from->cause,
			.count = from->count,
			.over = from->over,
			.ago_ms = now_ms - from->last_ms,
		};
	}
}

static void tell_asides(const struct conflicts *conflicts, uint64_t now_ms,
                        struct conflict_summary *out)
{
	struct conflict_aside aside[CONFLICT_ASIDE_MAX];

	memcpy(aside, conflicts->aside, sizeof aside);
	qsort(aside, conflicts->asides, sizeof aside[0], longest_first);
	for (uint32_t i = 0; i < conflicts->asides; i++) {
		const struct conflict_aside *from = &aside[i];

		if (from->until_ms <= now_ms)
			break;
		out->asides_all++;
		if (out->asides == CONFLICT_TOLD_MAX)
			continue;
		out->aside[out->asides++] = (struct conflict_node){
			.cluster = strings_get(conflicts->strings, from->key[0]),
			.name = strings_get(conflicts->strings, from->key[1]),
			.cause = (enum conflict_cause)from->cause,
			.left_ms = from->until_ms - now_ms,
		};
	}
}

void conflicts_tell(const struct conflicts *conflicts, uint64_t now_ms,
                    struct conflict_summary *out)
{
	memset(out, 0, sizeof *out);
	memcpy(out->placements, conflicts->placements, sizeof out->placements);
	memcpy(out->txns, conflicts->txns, sizeof out->txns);
	tell_rows(conflicts, now_ms, out);
	tell_asides(conflicts, now_ms, out);
}
