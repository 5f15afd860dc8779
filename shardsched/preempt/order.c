/*
 * Who is more important: by priority, then by age. What kube-scheduler leaves to chance
 * beyond that is decided by namespace, name and uid, so that decisions repeat. Of those
 * that have not started the last comes first: kube-scheduler takes "now" for their start,
 * and reads the clock for the one that stood behind before the one that stood in front.
 *
 * Priority and age, as exactly as they go, make one number to sort by; only what is equal
 * in it is sorted by comparing everything.
 */
#include "shardsched/preempt/inner.h"

#define NOT_STARTED INT64_MAX

enum { ORDER_RUN = 8 };

struct order_key {
	uint64_t key;
	uint32_t at; /* of the victim */
};

static int compare_texts(const struct snapshot *snapshot, uint32_t a, uint32_t b)
{
	if (a == b)
		return 0;
	return pl_span_cmp(model_text(snapshot->model, a),
	                   model_text(snapshot->model, b));
}

static int compare_names(const struct snapshot *snapshot, const struct placed *a,
                         const struct placed *b)
{
	int order = compare_texts(snapshot, a->view->spec->namespace,
	                          b->view->spec->namespace);

	if (order == 0)
		order = compare_texts(snapshot, a->name, b->name);
	if (order == 0)
		order = compare_texts(snapshot, a->uid, b->uid);
	return order;
}

/* Of one priority. */
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

/* -- what is equal in the number ----------------------------------------------------- */

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

/* from[0..half) and from[half..count), each in order. */
static void merge(const struct snapshot *snapshot, const struct victim *from,
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

			merge(snapshot, from + i, rest < run ? rest : run,
			      rest < 2 * run ? rest : 2 * run, to + i);
		}
		from = to;
		to = next;
	}
	if (from != victim)
		memcpy(victim, from, count * sizeof *from);
}

/* -- the number ---------------------------------------------------------------------- */

/* How starts are made to fit in 32 bits, of which the highest value says that there is
 * none. */
struct order_age {
	int64_t first_ms;
	unsigned shift;
};

static struct order_age ages_of(const struct victim *victim, uint32_t count)
{
	struct order_age age = {INT64_MAX, 0};
	int64_t last_ms = INT64_MIN;
	uint64_t range;

	for (uint32_t i = 0; i < count; i++) {
		int64_t ms = victim[i].started_ms;
		int64_t said = ms == NOT_STARTED ? INT64_MIN : ms;

		age.first_ms = ms < age.first_ms ? ms : age.first_ms;
		last_ms = said > last_ms ? said : last_ms;
	}
	range = last_ms < age.first_ms ? 0 : (uint64_t)last_ms - (uint64_t)age.first_ms;
	while (range >> age.shift >= UINT32_MAX)
		age.shift++;
	return age;
}

static uint64_t key_of(const struct order_age *age, const struct victim *victim)
{
	uint64_t since =
		((uint64_t)victim->started_ms - (uint64_t)age->first_ms) >> age->shift;

	since = victim->started_ms == NOT_STARTED ? UINT32_MAX : since;
	return ((uint64_t)UINT32_MAX - priority_shifted(victim->priority)) << 32 | since;
}

/* Each goes where the number of those before it says. */
static void keys_run(const struct order_key *from, uint32_t count, struct order_key *to)
{
	uint32_t place[ORDER_RUN] = {0};

	for (uint32_t i = 1; i < count; i++)
		for (uint32_t k = 0; k < i; k++) {
			bool after = from[k].key > from[i].key;

			place[k] += after;
			place[i] += !after;
		}
	for (uint32_t i = 0; i < count; i++)
		to[place[i]] = from[i];
}

static void keys_merge(const struct order_key *from, uint32_t half, uint32_t count,
                       struct order_key *to)
{
	const struct order_key *a = from, *b = from + half, *a_end = b,
			       *b_end = from + count;

	while (a < a_end && b < b_end) {
		bool second = b->key < a->key;

		*to++ = second ? *b : *a;
		b += second;
		a += !second;
	}
	memcpy(to, a, (size_t)(a_end - a) * sizeof *a);
	memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *b);
}

/* Gives the one of the two that they are in afterwards. */
static const struct order_key *keys_sort(struct order_key *key, uint32_t count,
                                         struct order_key *other)
{
	struct order_key *from = other, *to = key;

	for (uint32_t i = 0; i < count; i += ORDER_RUN)
		keys_run(key + i, count - i < ORDER_RUN ? count - i : ORDER_RUN,
		         other + i);
	for (uint32_t run = ORDER_RUN; run < count; run *= 2) {
		struct order_key *next = from;

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

/* -- all ----------------------------------------------------------------------------- */

bool victims_sort_ready(struct preempt *preempt, uint32_t most)
{
	return scratch_grow(&preempt->sorted, most, sizeof(struct victim)) &&
	       scratch_grow(&preempt->keys, 2 * (size_t)most, sizeof(struct order_key));
}

const struct victim *victims_sort(struct preempt *preempt, struct victim *victim,
                                  uint32_t count)
{
	struct order_key *key = preempt->keys.at;
	struct victim *sorted = preempt->sorted.at;
	struct order_age age = ages_of(victim, count);
	const struct order_key *order;

	for (uint32_t i = 0; i < count; i++)
		key[i] = (struct order_key){key_of(&age, &victim[i]), i};
	order = keys_sort(key, count, key + count);
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = victim[order[i].at];
	for (uint32_t i = 0, to; i < count; i = to) {
		for (to = i + 1; to < count && order[to].key == order[i].key;)
			to++;
		if (to - i > 1)
			sort_equal(preempt->snapshot, sorted + i, to - i, victim + i);
	}
	return sorted;
}
