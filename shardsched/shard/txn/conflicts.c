#include "shardsched/shard/txn/conflicts.h"

#include <stdlib.h>
#include <string.h>

static const char *const cause_names[] = {
#define CONFLICT_WORD(cause, word) word,
	CONFLICT_MAP(CONFLICT_WORD)};

const char *conflict_cause_name(enum conflict_cause cause)
{
	PL_ASSERT((unsigned)cause < CONFLICT_CAUSES);
	return cause_names[cause];
}

void conflicts_init(struct conflicts *conflicts, struct strings *strings)
{
	*conflicts = (struct conflicts){.strings = strings};
}

/* -- names ------------------------------------------------------------------------- */

static void ref_key(const struct conflicts *conflicts, uint32_t to[2],
                    const uint32_t key[2])
{
	to[0] = strings_ref(conflicts->strings, key[0]);
	to[1] = strings_ref(conflicts->strings, key[1]);
}

static void unref_key(const struct conflicts *conflicts, const uint32_t key[2])
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
		unref_key(conflicts, conflicts->row[i].key);
	for (uint32_t i = 0; i < conflicts->excluded_count; i++)
		unref_key(conflicts, conflicts->excluded[i].key);
	conflicts->rows = conflicts->excluded_count = 0;
}

/* -- counts of nodes --------------------------------------------------------------- */

static void row_drop(struct conflicts *conflicts, uint32_t i)
{
	unref_key(conflicts, conflicts->row[i].key);
	conflicts->row[i] = conflicts->row[--conflicts->rows];
}

static void fade_counts(struct conflicts *conflicts, uint64_t now_ms)
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
		unref_key(conflicts, row->key);
		row->over = row->count;
	}
	ref_key(conflicts, row->key, key);
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
	fade_counts(conflicts, now_ms);
	row = row_of(conflicts, key);
	row->count += placements;
	row->last_ms = now_ms;
	row->cause = (uint8_t)cause;
}

/* -- exclusions -------------------------------------------------------------------- */

static void drop_excluded(struct conflicts *conflicts, uint32_t i)
{
	unref_key(conflicts, conflicts->excluded[i].key);
	conflicts->excluded[i] = conflicts->excluded[--conflicts->excluded_count];
}

/* The node's row, or a row for it; NULL: all others last longer. */
static struct conflict_excluded *excluded_of(struct conflicts *conflicts,
                                             const uint32_t key[2], uint64_t until_ms)
{
	struct conflict_excluded *first = NULL;

	for (uint32_t i = 0; i < conflicts->excluded_count; i++) {
		struct conflict_excluded *excluded = &conflicts->excluded[i];

		if (is_same(excluded->key, key))
			return excluded;
		if (first == NULL || excluded->until_ms < first->until_ms)
			first = excluded;
	}
	if (conflicts->excluded_count < CONFLICT_EXCLUDED_MAX) {
		first = &conflicts->excluded[conflicts->excluded_count++];
	} else {
		if (first->until_ms >= until_ms)
			return NULL;
		unref_key(conflicts, first->key);
	}
	ref_key(conflicts, first->key, key);
	return first;
}

void conflicts_exclude(struct conflicts *conflicts, const uint32_t key[2],
                       enum conflict_cause cause, uint64_t until_ms, uint64_t now_ms)
{
	struct conflict_excluded *excluded;

	PL_ASSERT((unsigned)cause < CONFLICT_CAUSES);
	for (uint32_t i = conflicts->excluded_count; i-- > 0;)
		if (conflicts->excluded[i].until_ms <= now_ms ||
		    (until_ms <= now_ms && is_same(conflicts->excluded[i].key, key)))
			drop_excluded(conflicts, i);
	if (until_ms <= now_ms)
		return;
	excluded = excluded_of(conflicts, key, until_ms);
	if (excluded == NULL)
		return;
	excluded->until_ms = until_ms;
	excluded->cause = (uint8_t)cause;
}

/* -- summary ----------------------------------------------------------------------- */

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
	const struct conflict_excluded *x = a, *y = b;

	if (x->until_ms != y->until_ms)
		return x->until_ms > y->until_ms ? -1 : 1;
	return x->key[1] < y->key[1] ? -1 : x->key[1] > y->key[1];
}

static void summarize_rows(const struct conflicts *conflicts, uint64_t now_ms,
                           struct conflict_summary *out)
{
	struct conflict_row row[CONFLICT_ROWS];

	memcpy(row, conflicts->row, sizeof row);
	qsort(row, conflicts->rows, sizeof row[0], most_first);
	while (out->nodes < conflicts->rows && out->nodes < CONFLICT_SUMMARY_MAX) {
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

static void summarize_excluded(const struct conflicts *conflicts, uint64_t now_ms,
                               struct conflict_summary *out)
{
	struct conflict_excluded excluded[CONFLICT_EXCLUDED_MAX];

	memcpy(excluded, conflicts->excluded, sizeof excluded);
	qsort(excluded, conflicts->excluded_count, sizeof excluded[0], longest_first);
	for (uint32_t i = 0; i < conflicts->excluded_count; i++) {
		const struct conflict_excluded *from = &excluded[i];

		if (from->until_ms <= now_ms)
			break;
		out->excluded_all++;
		if (out->excluded_count == CONFLICT_SUMMARY_MAX)
			continue;
		out->excluded[out->excluded_count++] = (struct conflict_node){
			.cluster = strings_get(conflicts->strings, from->key[0]),
			.name = strings_get(conflicts->strings, from->key[1]),
			.cause = (enum conflict_cause)from->cause,
			.left_ms = from->until_ms - now_ms,
		};
	}
}

void conflicts_summarize(const struct conflicts *conflicts, uint64_t now_ms,
                         struct conflict_summary *out)
{
	memset(out, 0, sizeof *out);
	memcpy(out->placements, conflicts->placements, sizeof out->placements);
	memcpy(out->txns, conflicts->txns, sizeof out->txns);
	summarize_rows(conflicts, now_ms, out);
	summarize_excluded(conflicts, now_ms, out);
}
