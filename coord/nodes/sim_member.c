#include "coord/nodes/sim_member.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/hash.h"
#include "store/net/unconst.h"

struct member_pod {
	struct pl_map_node node;
	struct pl_heap_node due;
	uint64_t due_ms;
	enum state_phase phase;
	int64_t since_ms;
	enum state_ended how;
	uint8_t key[];
};

static struct member_pod *of_due(const struct pl_heap_node *node)
{
	return PL_CONTAINER_OF((struct pl_heap_node *)unconst(node), struct member_pod,
	                       due);
}

static bool is_before(const struct pl_heap_node *a, const struct pl_heap_node *b)
{
	return of_due(a)->due_ms < of_due(b)->due_ms;
}

void sim_member_init(struct sim_member *member, const struct sim_member_opts *opts)
{
	*member = (struct sim_member){.opts = *opts};
	pl_map_init(&member->pods);
	pl_heap_init(&member->due, is_before);
}

static void count(struct sim_member *member, const struct member_pod *pod, int by)
{
	if (pod->phase == STATE_BOUND)
		member->running += (uint64_t)by;
	else
		member->leaving += (uint64_t)by;
}

static void drop(struct sim_member *member, struct member_pod *pod)
{
	count(member, pod, -1);
	if (pl_heap_has(&pod->due))
		pl_heap_del(&member->due, &pod->due);
	pl_map_del(&member->pods, &pod->node);
	free(pod);
}

void sim_member_done(struct sim_member *member)
{
	PL_MAP_EACH (node, &member->pods)
		drop(member, PL_CONTAINER_OF(node, struct member_pod, node));
	pl_map_done(&member->pods);
	pl_heap_done(&member->due);
}

/* -- how long, and how it ends ---------------------------------------------------------
 */

static uint64_t draw(const struct sim_member *member, const struct member_pod *pod,
                     uint64_t what)
{
	const struct pl_hash_key key = {member->opts.seed + what,
	                                (uint64_t)pod->since_ms};

	return pl_hash_keyed(pod->node.key, key);
}

/* UINT64_MAX: it does not end by itself. */
static uint64_t lasts_ms(const struct sim_member *member, const struct member_pod *pod)
{
	uint64_t mean = member->opts.lifetime_ms;

	if (pod->phase == STATE_TERMINATING)
		return member->opts.grace_ms;
	return mean == 0 ? UINT64_MAX : mean / 2 + draw(member, pod, 0) % (mean + 1);
}

static enum state_ended ends_as(const struct sim_member *member,
                                const struct member_pod *pod)
{
	if (pod->phase == STATE_TERMINATING)
		return STATE_ENDED_GONE;
	return draw(member, pod, 1) % 100 < member->opts.fail_percent
	               ? STATE_ENDED_FAILED
	               : STATE_ENDED_SUCCEEDED;
}

static enum pl_code schedule(struct sim_member *member, struct member_pod *pod,
                             uint64_t now_ms)
{
	uint64_t lasts = lasts_ms(member, pod);

	if (pl_heap_has(&pod->due))
		pl_heap_del(&member->due, &pod->due);
	if (lasts == UINT64_MAX)
		return PL_OK;
	pod->due_ms = now_ms + lasts;
	pod->how = ends_as(member, pod);
	return pl_heap_add(&member->due, &pod->due);
}

/* -- what is seen ----------------------------------------------------------------------
 */

static struct member_pod *find(const struct sim_member *member, struct pl_span key)
{
	struct pl_map_node *node = pl_map_get(&member->pods, key);

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct member_pod, node);
}

static struct member_pod *make(struct sim_member *member, struct pl_span key)
{
	struct member_pod *pod = pl_calloc(1, sizeof *pod + key.len);

	if (pod == NULL)
		return NULL;
	memcpy(pod->key, key.at, key.len);
	pod->phase = STATE_BOUND;
	(void)!pl_map_add(&member->pods, &pod->node, pl_span(pod->key, key.len));
	count(member, pod, 1);
	return pod;
}

/* It runs there, as far as anybody has said. */
static bool is_here(const struct sim_member *member, const struct pod_state *state)
{
	return state != NULL && state_has_place(state) &&
	       state->ended == STATE_ENDED_NOT &&
	       pl_span_eq(state->cluster, member->opts.cluster);
}

enum pl_code sim_member_take(struct sim_member *member, struct pl_span key,
                             const struct pod_state *state, uint64_t now_ms)
{
	struct member_pod *pod = find(member, key);

	if (!is_here(member, state)) {
		if (pod != NULL)
			drop(member, pod);
		return PL_OK;
	}
	if (pod == NULL) {
		pod = make(member, key);
		if (pod == NULL)
			return PL_NOMEM;
	} else if (pod->phase == state->phase && pod->since_ms == state->since_ms) {
		return PL_OK; /* somebody asked it to go: its shard will say so */
	}
	count(member, pod, -1);
	pod->phase = state->phase;
	pod->since_ms = state->since_ms;
	count(member, pod, 1);
	return schedule(member, pod, now_ms);
}

/* -- what is said ----------------------------------------------------------------------
 */

bool sim_member_next(struct sim_member *member, uint64_t now_ms, struct pl_span *key,
                     enum state_ended *how)
{
	struct pl_heap_node *top = pl_heap_top(&member->due);
	struct member_pod *pod;

	if (top == NULL || of_due(top)->due_ms > now_ms)
		return false;
	pod = of_due(top);
	pl_heap_del(&member->due, top);
	*key = pod->node.key;
	*how = pod->how;
	member->succeeded += pod->how == STATE_ENDED_SUCCEEDED;
	member->failed += pod->how == STATE_ENDED_FAILED;
	member->gone += pod->how == STATE_ENDED_GONE;
	return true;
}

uint64_t sim_member_deadline_ms(const struct sim_member *member)
{
	const struct pl_heap_node *top = pl_heap_top(&member->due);

	return top == NULL ? UINT64_MAX : of_due(top)->due_ms;
}
