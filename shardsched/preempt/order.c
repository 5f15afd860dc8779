/* Who is more important: by priority, then by age. What kube-scheduler leaves to chance
 * beyond that is decided by namespace, name and uid, so that decisions repeat. Of those
 * that have not started the last comes first: kube-scheduler takes "now" for their start,
 * and reads the clock for the one that stood behind before the one that stood in front.
 */
#include "shardsched/preempt/inner.h"

#define NOT_STARTED INT64_MAX

enum { ORDER_RUN = 8 };

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

static bool goes_before(const struct snapshot *snapshot, const struct victim *a,
                        const struct victim *b)
{
	int order;

	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->started_ms != b->started_ms)
		return a->started_ms < b->started_ms;
	order = compare_names(snapshot, &snapshot->placed[a->placed],
	                      &snapshot->placed[b->placed]);
	return a->started_ms == NOT_STARTED ? order > 0 : order < 0;
}

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

void victims_sort(struct preempt *preempt, struct victim *victim, uint32_t count)
{
	struct victim *from = victim, *to = preempt->sorted.at;

	for (uint32_t i = 0; i < count; i += ORDER_RUN)
		sort_run(preempt->snapshot, from + i,
		         count - i < ORDER_RUN ? count - i : ORDER_RUN);
	for (uint32_t run = ORDER_RUN; run < count; run *= 2) {
		struct victim *next = from;

		for (uint32_t i = 0; i < count; i += 2 * run) {
			uint32_t rest = count - i;

			merge(preempt->snapshot, from + i, rest < run ? rest : run,
			      rest < 2 * run ? rest : 2 * run, to + i);
		}
		from = to;
		to = next;
	}
	if (from != victim)
		memcpy(victim, from, count * sizeof *from);
}
