/*
 * Orders pods by importance: by priority, then by age.
 *
 * What kube-scheduler leaves to chance beyond that is decided by namespace, name and uid,
 * so that decisions repeat. Among pods that have not started the last one comes first:
 * kube-scheduler takes "now" for their start, and reads the clock for the one behind
 * before the one in front.
 *
 * Priority, age (as precisely as bits allow) and the index of the victim make one number
 * to sort by. Only victims with equal priority and age bits are compared in full.
 */
#include "shardsched/preempt/preempt_int.h"

#define NOT_STARTED INT64_MAX

enum { ORDER_RUN = 8 };

static int compare_texts(const struct snapshot *snapshot, uint32_t a, uint32_t b)
{
	if (a == b)
		return 0;
	return pl_span_cmp(model_text(snapshot->model, a),
	                   model_text(snapshot->model, b));
}

static int compare_names(const struct snapshot *snapshot, const struct placed_pod *a,
                         const struct placed_pod *b)
{
	int order = compare_texts(snapshot, a->view->spec->namespace,
	                          b->view->spec->namespace);

	if (order == 0)
		order = compare_texts(snapshot, a->name, b->name);
	if (order == 0)
		order = compare_texts(snapshot, a->uid, b->uid);
	return order;
}

/* Compares two pods of the same priority. */
static bool goes_before(const struct snapshot *snapshot, const struct victim *a,
                        const struct victim *b)
{
	int order;

	if (a->started_ms != b->started_ms)
		return a->started_ms < b->started_ms;
	order = compare_names(snapshot, &snapshot->placed[a->placed],
	                      &snapshot->placed[b->placed]);
	return a->started_ms == NOT_STARTED ? order > 0 : order < 0;
}

/* -- victims with equal keys ------------------------------------------------------------- */

static void sort_run(const struct snapshot *snapshot, struct victim *at, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		struct victim moving = at[i];
		uint32_t to = i;

		for (; to > 0 && goes_before(snapshot, &moving, &at[to - 1]); to--)
			at[to] = at[to - 1];
		at[to] = moving;
	}
}

/* Merges from[0..half) and from[half..count), each of which is sorted. */
static void merge_sorted(const struct snapshot *snapshot, const struct victim *from,
                         uint32_t half, uint32_t count, struct victim *to)
{
	uint32_t a = 0, b = half;

	for (uint32_t i = 0; i < count; i++) {
		bool second = a == half ||
		              (b < count && goes_before(snapshot, &from[b], &from[a]));

		to[i] = second ? from[b++] : from[a++];
	}
}

static void sort_equal(const struct snapshot *snapshot, struct victim *victim,
                       uint32_t count, struct victim *other)
{
	struct victim *from = victim, *to = other;

	for (uint32_t i = 0; i < count; i += ORDER_RUN)
		sort_run(snapshot, from + i,
		         count - i < ORDER_RUN ? count - i : ORDER_RUN);
	for (uint32_t run = ORDER_RUN; run < count; run *= 2) {
		struct victim *next = from;

		for (uint32_t i = 0; i < count; i += 2 * run) {
			uint32_t rest = count - i;

			merge_sorted(snapshot, from + i, rest < run ? rest : run,
			             rest < 2 * run ? rest : 2 * run, to + i);
		}
		from = to;
		to = next;
	}
	if (from != victim)
		memcpy(victim, from, count * sizeof *from);
}

/* -- sort keys --------------------------------------------------------------------------- */

/* How priority, start and the index of the victim share 64 bits. The highest value of the
 * start means "not started". */
struct key_layout {
	uint64_t highest; /* the highest priority, shifted */
	uint64_t none;
	int64_t first_ms;
	unsigned shift; /* bits dropped from the time since first_ms */
	unsigned age_bits, index_bits;
};

static unsigned bits_needed(uint64_t most)
{
	return most == 0 ? 0 : 64 - (unsigned)__builtin_clzll(most);
}

static struct key_layout make_layout(const struct victim *victim, uint32_t count)
{
	struct key_layout code = {.first_ms = INT64_MAX,
	                          .index_bits = bits_needed(count)};
	uint64_t lowest = UINT64_MAX, range;
	int64_t last_ms = INT64_MIN;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t priority = priority_shifted(victim[i].priority);
		int64_t ms = victim[i].started_ms;
		int64_t start_ms = ms == NOT_STARTED ? INT64_MIN : ms;

		lowest = priority < lowest ? priority : lowest;
		code.highest = priority > code.highest ? priority : code.highest;
		code.first_ms = ms < code.first_ms ? ms : code.first_ms;
		last_ms = start_ms > last_ms ? start_ms : last_ms;
	}
	/* A node has fewer than 2^26 pods, so some bits remain. */
	code.age_bits = 64 - code.index_bits - bits_needed(code.highest - lowest);
	code.age_bits = code.age_bits > 32 ? 32 : code.age_bits;
	code.none = (UINT64_C(1) << code.age_bits) - 1;
	range = last_ms < code.first_ms ? 0 : (uint64_t)last_ms - (uint64_t)code.first_ms;
	while (range >> code.shift >= code.none)
		code.shift++;
	return code;
}

static uint64_t sort_key(const struct key_layout *code, const struct victim *victim,
                         uint32_t index)
{
	uint64_t since =
		((uint64_t)victim->started_ms - (uint64_t)code->first_ms) >> code->shift;
	uint64_t below = code->highest - priority_shifted(victim->priority);

	since = victim->started_ms == NOT_STARTED ? code->none : since;
	return (below << code->age_bits | since) << code->index_bits | index;
}

/* Sorts a short run: each key goes to the index that is the number of smaller keys. */
static void keys_run(const uint64_t *from, uint32_t count, uint64_t *to)
{
	uint32_t place[ORDER_RUN] = {0};

	for (uint32_t i = 1; i < count; i++)
		for (uint32_t k = 0; k < i; k++) {
			bool after = from[k] > from[i];

			place[k] += after;
			place[i] += !after;
		}
	for (uint32_t i = 0; i < count; i++)
		to[place[i]] = from[i];
}

/* The rest of two runs, and where it goes. */
struct key_merge {
	const uint64_t *a, *a_end, *b, *b_end;
	uint64_t *to, *to_end;
};

/* Merges from both ends at once, so that each end waits only for its own comparisons.
 * After steps rounds both runs still have elements; no two keys are equal. */
static void keys_merge_ends(struct key_merge *merge_sorted, uint32_t steps)
{
	struct key_merge at = *merge_sorted;

	for (uint32_t i = 0; i < steps; i++) {
		uint64_t one = *at.a, two = *at.b;
		uint64_t last = at.a_end[-1], latter = at.b_end[-1];
		bool second = two<one, later = latter> last;

		*at.to++ = second ? two : one;
		at.b += second;
		at.a += !second;
		*--at.to_end = later ? latter : last;
		at.b_end -= later;
		at.a_end -= !later;
	}
	*merge_sorted = at;
}

static void keys_merge(const uint64_t *from, uint32_t half, uint32_t count, uint64_t *to)
{
	struct key_merge at = {from,         from + half, from + half,
	                       from + count, to,          to + count};

	for (;;) {
		size_t a = (size_t)(at.a_end - at.a), b = (size_t)(at.b_end - at.b);

		if (a < 2 || b < 2)
			break;
		keys_merge_ends(&at, (uint32_t)((a < b ? a : b) / 2));
	}
	while (at.a < at.a_end && at.b < at.b_end)
		*at.to++ = *at.b < *at.a ? *at.b++ : *at.a++;
	memcpy(at.to, at.a, (size_t)(at.a_end - at.a) * sizeof *at.a);
	memcpy(at.to + (at.a_end - at.a), at.b, (size_t)(at.b_end - at.b) * sizeof *at.b);
}

/* Returns the one of the two arrays that is sorted in the end. */
static const uint64_t *keys_sort(uint64_t *key, uint32_t count, uint64_t *other)
{
	uint64_t *from = other, *to = key;

	for (uint32_t i = 0; i < count; i += ORDER_RUN)
		keys_run(key + i, count - i < ORDER_RUN ? count - i : ORDER_RUN,
		         other + i);
	for (uint32_t run = ORDER_RUN; run < count; run *= 2) {
		uint64_t *next = from;

		for (uint32_t i = 0; i < count; i += 2 * run) {
			uint32_t rest = count - i;

			keys_merge(from + i, rest < run ? rest : run,
			           rest < 2 * run ? rest : 2 * run, to + i);
		}
		from = to;
		to = next;
	}
	return from;
}

/* -- sorting ----------------------------------------------------------------------------- */

bool victims_sort_ready(struct preempt *preempt, uint32_t most)
{
	return scratch_grow(&preempt->sorted, most, sizeof(struct victim)) &&
	       scratch_grow(&preempt->keys, 2 * (size_t)most, sizeof(uint64_t));
}

const struct victim *victims_sort(struct preempt *preempt, struct victim *victim,
                                  uint32_t count)
{
	uint64_t *key = preempt->keys.at, index;
	struct victim *sorted = preempt->sorted.at;
	struct key_layout code = make_layout(victim, count);
	const uint64_t *order;

	for (uint32_t i = 0; i < count; i++)
		key[i] = sort_key(&code, &victim[i], i);
	order = keys_sort(key, count, key + count);
	index = (UINT64_C(1) << code.index_bits) - 1;
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = victim[order[i] & index];
	for (uint32_t i = 0, to; i < count; i = to) {
		for (to = i + 1; to < count && (order[to] | index) == (order[i] | index);)
			to++;
		if (to - i > 1)
			sort_equal(preempt->snapshot, sorted + i, to - i, victim + i);
	}
	return sorted;
}
