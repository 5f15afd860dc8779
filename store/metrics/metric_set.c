#include "store/metrics/metric_set.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/arena.h"
#include "store/base/utf8.h"

enum { ARENA_CHUNK = 32 * 1024, ARENA_MAX = 64 << 20 };

/* A value that a label has had. */
struct label_value {
	struct pl_map_node by_text;
};

struct metric_family {
	struct pl_map cells;
	struct pl_map values[METRIC_LABELS_MAX]; /* by label: struct label_value */
};

struct metric_set {
	const struct metric_def *defs;
	size_t count;
	uint64_t dropped;
	struct pl_arena arena;
	struct metric_family *family[]; /* NULL: no sample yet */
};

enum pl_code metric_set_new(const struct metric_def *defs, size_t count,
                            struct metric_set **out, struct pl_err *err)
{
	struct metric_set *set =
		pl_calloc(1, sizeof *set + count * sizeof set->family[0]);

	if (set == NULL)
		return pl_err_set(err, PL_NOMEM, "a set of metrics");
	set->defs = defs;
	set->count = count;
	pl_arena_init(&set->arena, ARENA_CHUNK, ARENA_MAX);
	*out = set;
	return PL_OK;
}

static void family_done(const struct metric_def *def, struct metric_family *family)
{
	pl_map_done(&family->cells);
	for (unsigned i = 0; i < def->label_count; i++)
		pl_map_done(&family->values[i]);
}

void metric_set_free(struct metric_set *set)
{
	if (set == NULL)
		return;
	for (size_t i = 0; i < set->count; i++)
		if (set->family[i] != NULL)
			family_done(&set->defs[i], set->family[i]);
	pl_arena_done(&set->arena);
	free(set);
}

/* -- labels ------------------------------------------------------------------------------ */

static bool is_control(uint8_t byte)
{
	return byte < ' ' || byte == 0x7f;
}

/* Whether the value can stand as it is; most can. */
static bool is_plain(struct pl_span value)
{
	if (value.len > METRIC_VALUE_MAX)
		return false;
	for (size_t i = 0; i < value.len; i++)
		if (is_control(value.at[i]) || value.at[i] > '~')
			return false;
	return true;
}

/* Replaces what a value must not have, and cuts it between characters. */
static struct pl_span clean_value(struct pl_span value, uint8_t room[METRIC_VALUE_MAX])
{
	size_t len = 0;

	for (size_t i = 0; i < value.len;) {
		size_t size = pl_utf8_char(value.at + i, value.len - i);
		bool bad = size == 0 || is_control(value.at[i]);

		if (bad)
			size = 1;
		if (len + size > METRIC_VALUE_MAX)
			break;
		if (bad)
			room[len] = '?';
		else
			memcpy(room + len, value.at + i, size);
		len += size;
		i += size;
	}
	return pl_span(room, len);
}

/* The value that counts for the label: itself, or "other" beyond the bound. at NULL: no
 * memory. */
static struct pl_span bounded_value(struct metric_set *set, struct pl_map *known,
                                    unsigned max, struct pl_span value)
{
	struct pl_map_node *found;
	struct label_value *added;
	struct pl_span copy;

	if (value.len == 0) /* as if the label was not there */
		return PL_SPAN_LIT("");
	if (pl_span_eq(value, PL_SPAN_LIT("other")))
		return PL_SPAN_LIT("other");
	found = pl_map_get(known, value);
	if (found != NULL)
		return found->key;
	if (known->count >= max)
		return PL_SPAN_LIT("other");
	added = pl_arena_zalloc(&set->arena, 1, sizeof *added);
	copy = pl_arena_dup(&set->arena, value);
	if (added == NULL || copy.at == NULL)
		return (struct pl_span){0};
	found = pl_map_add(known, &added->by_text, copy);
	PL_ASSERT(found == NULL);
	return copy;
}

/* -- cells ------------------------------------------------------------------------------- */

static struct metric_family *family_of(struct metric_set *set, unsigned metric)
{
	struct metric_family *family = set->family[metric];

	if (family != NULL)
		return family;
	family = pl_arena_zalloc(&set->arena, 1, sizeof *family);
	if (family == NULL)
		return NULL;
	pl_map_init(&family->cells);
	for (unsigned i = 0; i < set->defs[metric].label_count; i++)
		pl_map_init(&family->values[i]);
	set->family[metric] = family;
	return family;
}

static struct metric_cell *cell_new(struct metric_set *set, const struct metric_def *def,
                                    struct pl_span key)
{
	size_t bounds = def->bounds == NULL ? 0 : def->bounds->count;
	struct metric_cell *cell = pl_arena_zalloc(
		&set->arena, 1, sizeof *cell + bounds * sizeof cell->bucket[0]);
	uint8_t *copy = pl_arena_alloc(&set->arena, key.len + 1);

	if (cell == NULL || copy == NULL)
		return NULL;
	memcpy(copy, key.at, key.len);
	cell->by_labels.key = pl_span(copy, key.len);
	return cell;
}

/* The key of a cell: its values, each with its length in front. */
struct cell_key {
	size_t len;
	uint8_t at[METRIC_LABELS_MAX * (METRIC_VALUE_MAX + 1)];
};

static bool key_make(struct metric_set *set, unsigned metric,
                     const struct pl_span *values, struct cell_key *key)
{
	const struct metric_def *def = &set->defs[metric];

	key->len = 0;
	for (unsigned i = 0; i < def->label_count; i++) {
		uint8_t room[METRIC_VALUE_MAX];
		struct pl_span value =
			is_plain(values[i]) ? values[i] : clean_value(values[i], room);

		value = bounded_value(set, &set->family[metric]->values[i],
		                      def->label[i].values_max, value);
		if (value.at == NULL)
			return false;
		key->at[key->len++] = (uint8_t)value.len;
		memcpy(key->at + key->len, value.at, value.len);
		key->len += value.len;
	}
	return true;
}

static void set_values(struct metric_cell *cell, unsigned labels)
{
	const uint8_t *at = cell->by_labels.key.at;

	for (unsigned i = 0; i < labels; i++) {
		cell->value_of[i] = pl_span(at + 1, at[0]);
		at += 1 + at[0];
	}
}

/* NULL: there is no memory for it. */
static struct metric_cell *cell_of(struct metric_set *set, unsigned metric,
                                   const struct pl_span *values)
{
	struct metric_family *family;
	struct metric_cell *cell = NULL;
	struct pl_map_node *found;
	struct cell_key key;

	PL_ASSERT(metric < set->count);
	family = family_of(set, metric);
	if (family != NULL && key_make(set, metric, values, &key)) {
		found = pl_map_get(&family->cells, pl_span(key.at, key.len));
		if (found != NULL)
			return PL_CONTAINER_OF(found, struct metric_cell, by_labels);
		cell = cell_new(set, &set->defs[metric], pl_span(key.at, key.len));
	}
	if (cell == NULL) {
		set->dropped++;
		return NULL;
	}
	set_values(cell, set->defs[metric].label_count);
	found = pl_map_add(&family->cells, &cell->by_labels, cell->by_labels.key);
	PL_ASSERT(found == NULL);
	return cell;
}

/* -- values ------------------------------------------------------------------------------ */

void metric_add(struct metric_set *set, unsigned metric, const struct pl_span *values,
                double by)
{
	struct metric_cell *cell = cell_of(set, metric, values);

	PL_ASSERT(set->defs[metric].type != METRIC_HISTOGRAM);
	if (cell != NULL)
		cell->value += by;
}

void metric_put(struct metric_set *set, unsigned metric, const struct pl_span *values,
                double value)
{
	struct metric_cell *cell = cell_of(set, metric, values);

	PL_ASSERT(set->defs[metric].type == METRIC_GAUGE ||
	          set->defs[metric].type == METRIC_LEVEL);
	if (cell != NULL)
		cell->value = value;
}

void metric_observe(struct metric_set *set, unsigned metric, const struct pl_span *values,
                    double value)
{
	const struct metric_bounds *bounds = set->defs[metric].bounds;
	struct metric_cell *cell = cell_of(set, metric, values);
	unsigned i = 0;

	PL_ASSERT(bounds != NULL);
	if (cell == NULL)
		return;
	while (i < bounds->count && value > bounds->at[i])
		i++;
	if (i < bounds->count)
		cell->bucket[i]++;
	cell->count++;
	cell->value += value;
}

void metric_fold(struct metric_set *set, unsigned metric, const struct pl_span *values,
                 const struct histogram *from, double unit)
{
	const struct metric_bounds *bounds = set->defs[metric].bounds;
	struct metric_cell *cell = cell_of(set, metric, values);
	unsigned at = 0;

	PL_ASSERT(bounds != NULL);
	if (cell == NULL)
		return;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
		/* Bounds are written as decimals: the last bit says nothing. */
		double last = (double)histogram_last(i) * unit * (1 - 1e-12);

		while (at < bounds->count && last > bounds->at[at])
			at++;
		if (at < bounds->count)
			cell->bucket[at] += from->bucket[i];
	}
	cell->count += from->count;
	cell->value += (double)from->sum * unit;
}

static void merge_cell(struct metric_set *to, unsigned metric,
                       const struct metric_cell *from)
{
	const struct metric_def *def = &to->defs[metric];
	struct metric_cell *cell = cell_of(to, metric, from->value_of);

	if (cell == NULL)
		return;
	if (def->type == METRIC_LEVEL)
		cell->value = from->value > cell->value ? from->value : cell->value;
	else
		cell->value += from->value;
	cell->count += from->count;
	for (unsigned i = 0; def->bounds != NULL && i < def->bounds->count; i++)
		cell->bucket[i] += from->bucket[i];
}

void metric_set_merge(struct metric_set *to, const struct metric_set *from)
{
	PL_ASSERT(to->defs == from->defs && to->count == from->count);
	for (unsigned i = 0; i < from->count; i++)
		for (const struct metric_cell *cell = metric_set_next(from, i, NULL);
		     cell != NULL; cell = metric_set_next(from, i, cell))
			merge_cell(to, i, cell);
	to->dropped += from->dropped;
}

/* -- questions --------------------------------------------------------------------------- */

size_t metric_set_count(const struct metric_set *set)
{
	return set->count;
}

const struct metric_def *metric_set_def(const struct metric_set *set, unsigned metric)
{
	return &set->defs[metric];
}

const struct metric_cell *metric_set_next(const struct metric_set *set, unsigned metric,
                                          const struct metric_cell *before)
{
	const struct metric_family *family = set->family[metric];
	const struct pl_map_node *next;

	if (family == NULL)
		return NULL;
	next = before == NULL ? pl_map_first(&family->cells)
	                      : pl_map_next(&family->cells, &before->by_labels);
	return next == NULL ? NULL
	                    : PL_CONTAINER_OF_CONST(next, struct metric_cell, by_labels);
}

uint64_t metric_set_dropped(const struct metric_set *set)
{
	return set->dropped;
}
