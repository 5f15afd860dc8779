/*
 * Finds victims on a node where only amounts stand in the way: pods are reprieved one
 * after another while what they hold still leaves enough. Most pods are, so they are
 * added up several at a time.
 */
#include "shardsched/preempt/preempt_int.h"

enum { BLOCK = 8 };

/* Amounts that reprieved pods may take; INT64_MAX for a resource that is not requested,
 * which is more than all pods of a node hold. */
struct slack {
	int64_t cpu_milli;
	int64_t memory;
	int64_t storage;
	int64_t pods;
};

/* Pods in the order in which they may be reprieved, as indexes of the part; NULL: all of
 * them in order. */
struct reprieve_order {
	const uint32_t *index;
	uint32_t count;
};

static int64_t slack_for(int64_t free, int64_t ask)
{
	return ask == INT64_MIN ? INT64_MAX : free - ask;
}

static inline bool slack_covers(const struct slack *slack, const struct slack *sum)
{
	return (sum->cpu_milli <= slack->cpu_milli) & (sum->memory <= slack->memory) &
	       (sum->storage <= slack->storage) & (sum->pods <= slack->pods);
}

static inline void slack_take(struct slack *slack, const struct slack *sum)
{
	slack->cpu_milli -= sum->cpu_milli;
	slack->memory -= sum->memory;
	slack->storage -= sum->storage;
	slack->pods -= sum->pods;
}

static inline uint32_t index_at(const uint32_t *index, uint32_t i)
{
	return index == NULL ? i : index[i];
}

/* Most runs need not read the storage column. */
static inline int64_t storage_of(const struct ranking_part *part, uint32_t at,
                                 bool stores)
{
	return stores ? part->storage[at] : 0;
}

/* Reprieves whole blocks from the front while they fit; returns how many pods. */
static inline uint32_t reprieve_blocks(const struct ranking_part *part,
                                       const uint32_t *index, uint32_t count, bool stores,
                                       struct slack *slack)
{
	uint32_t done = 0;

	for (; count - done >= BLOCK; done += BLOCK) {
		struct slack sum = {.pods = BLOCK};

		for (uint32_t i = done; i < done + BLOCK; i++) {
			uint32_t at = index_at(index, i);

			sum.cpu_milli += part->cpu_milli[at];
			sum.memory += part->memory[at];
			sum.storage += storage_of(part, at, stores);
		}
		if (!slack_covers(slack, &sum))
			break;
		slack_take(slack, &sum);
	}
	return done;
}

/* Has no branch on whether a pod fits, which is unpredictable. Writes the indexes of pods
 * that are not reprieved to out, which has room for all. */
static inline uint32_t reprieve_each(const struct ranking_part *part,
                                     const struct reprieve_order *order,
                                     const uint32_t *index, bool stores,
                                     struct slack *slack, uint32_t *out)
{
	uint32_t away = 0;

	for (uint32_t i = reprieve_blocks(part, index, order->count, stores, slack);
	     i < order->count; i++) {
		uint32_t at = index_at(index, i);
		struct slack pod = {part->cpu_milli[at], part->memory[at],
		                    storage_of(part, at, stores), 1};
		bool back = slack_covers(slack, &pod);
		int64_t mask = -(int64_t)back;

		slack->cpu_milli -= pod.cpu_milli & mask;
		slack->memory -= pod.memory & mask;
		slack->storage -= pod.storage & mask;
		slack->pods -= back;
		out[away] = at;
		away += !back;
	}
	return away;
}

/* The four calls are the same, but the compiler knows their constants. */
static uint32_t reprieve_pods(const struct ranking_part *part,
                              const struct reprieve_order *order, struct slack *slack,
                              uint32_t *out)
{
	bool stores = slack->storage != INT64_MAX; /* storage is requested */

	if (order->index == NULL)
		return stores ? reprieve_each(part, order, NULL, true, slack, out)
		              : reprieve_each(part, order, NULL, false, slack, out);
	return stores ? reprieve_each(part, order, order->index, true, slack, out)
	              : reprieve_each(part, order, order->index, false, slack, out);
}

static int64_t start_ms_of(const struct preempt *preempt, uint32_t placed)
{
	int64_t ms = preempt->snapshot->placed[placed].started_ms;

	return ms == 0 ? INT64_MAX : ms;
}

/* The victims are in the order in which they were given up, protected ones first. So the
 * oldest one of the highest priority is the first protected or the first other victim. */
static int64_t oldest_start(const struct preempt *preempt,
                            const struct ranking_part *part, const uint32_t *away,
                            const struct candidate_rank *rank)
{
	uint32_t second = rank->violations;
	int64_t first_ms = start_ms_of(preempt, part->placed[away[0]]), second_ms;

	if (second == 0 || second == rank->count ||
	    part->priority[away[second]] < part->priority[away[0]])
		return first_ms;
	second_ms = start_ms_of(preempt, part->placed[away[second]]);
	if (part->priority[away[second]] > part->priority[away[0]])
		return second_ms;
	return second_ms < first_ms ? second_ms : first_ms;
}

static void add_candidate(struct preempt *preempt, uint32_t slot,
                          const struct ranking_part *part, struct candidate_rank *rank)
{
	struct preempt_candidate candidate = {
		slot, rank->violations, preempt->candidate_victim_count, rank->count};
	uint32_t *away = (uint32_t *)preempt->candidate_victims.at + candidate.first;

	candidate_found(preempt, rank->violations);
	rank->highest = part->priority[away[0]];
	rank->oldest_ms = INT64_MAX;
	if (candidate_loses(preempt, rank))
		return;
	for (uint32_t i = 0; i < rank->count; i++)
		rank->priorities += priority_shifted(part->priority[away[i]]);
	if (candidate_loses(preempt, rank))
		return;
	rank->oldest_ms = oldest_start(preempt, part, away, rank);
	for (uint32_t i = 0; i < rank->count; i++)
		away[i] = part->placed[away[i]];
	preempt->candidate_victim_count += rank->count;
	if (!candidate_add(preempt, &candidate, rank))
		preempt->no_memory = true;
}

static void find_victims(struct preempt *preempt, uint32_t slot,
                         const struct ranking_part *part, const struct free_amounts *free,
                         struct candidate_rank *rank)
{
	const struct resource_request *request = &preempt->request;
	struct slack slack = {slack_for(free->cpu_milli, request->cpu_milli),
	                      slack_for(free->memory, request->memory),
	                      slack_for(free->storage, request->storage), free->pods - 1};
	uint32_t *away = (uint32_t *)preempt->candidate_victims.at +
	                 preempt->candidate_victim_count;
	struct reprieve_order others = {NULL, part->count};
	uint32_t protected = split_protected(preempt, part);

	if (protected > 0) {
		struct reprieve_order first = {preempt->order.at, protected};

		others = (struct reprieve_order){first.index + protected,
		                                 part->count - protected};
		rank->violations = reprieve_pods(part, &first, &slack, away);
		/* The fields that are not known yet get their best value. */
		rank->highest = INT32_MIN;
		rank->oldest_ms = INT64_MAX;
		rank->count = rank->violations;
		if (rank->violations > 0 && candidate_loses(preempt, rank)) {
			candidate_found(preempt, rank->violations);
			return;
		}
	}
	rank->count = rank->violations +
	              reprieve_pods(part, &others, &slack, away + rank->violations);
	if (rank->count > 0)
		add_candidate(preempt, slot, part, rank);
}

void victims_find_by_sum(struct preempt *preempt, uint32_t slot,
                         const struct ranking_part *part, const struct free_amounts *free)
{
	struct candidate_rank rank = {0};

	find_victims(preempt, slot, part, free, &rank);
	if (rank.count > 0 && !preempt->no_memory)
		candidate_cache_put(preempt, slot, &rank);
}
