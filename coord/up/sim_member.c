#include "coord/up/sim_member.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/hash.h"
#include "store/base/num.h"
#include "store/net/unconst.h"

struct sim_pod {
	struct pl_map_node node;
	struct pl_heap_node due;
	struct pl_list line;
	uint64_t due_ms;
	enum state_phase phase;
	int64_t since_ms;
	enum state_ended how;
	uint8_t key[];
};

static struct sim_pod *of_due(const struct pl_heap_node *node)
{
	return PL_CONTAINER_OF((struct pl_heap_node *)unconst(node), struct sim_pod, due);
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
	pl_list_init(&member->line);
}

static void count_pod(struct sim_member *member, const struct sim_pod *pod, int by)
{
	if (pod->phase == STATE_BOUND)
		member->running += (uint64_t)by;
	else
		member->leaving += (uint64_t)by;
}

static void unschedule_pod(struct sim_member *member, struct sim_pod *pod)
{
	if (pl_heap_has(&pod->due))
		pl_heap_del(&member->due, &pod->due);
	pl_list_del(&pod->line);
}

static void drop_pod(struct sim_member *member, struct sim_pod *pod)
{
	count_pod(member, pod, -1);
	unschedule_pod(member, pod);
	pl_map_del(&member->pods, &pod->node);
	free(pod);
}

void sim_member_done(struct sim_member *member)
{
	PL_MAP_EACH (node, &member->pods)
		drop_pod(member, PL_CONTAINER_OF(node, struct sim_pod, node));
	pl_map_done(&member->pods);
	pl_heap_done(&member->due);
}

/* -- lifetimes of pods ------------------------------------------------------------- */

static uint64_t draw_number(const struct sim_member *member, const struct sim_pod *pod,
                            uint64_t what)
{
	const struct pl_hash_key key = {member->opts.seed + what,
	                                (uint64_t)pod->since_ms};

	return pl_hash_keyed(pod->node.key, key);
}

/* UINT64_MAX: the pod does not end by itself. */
static uint64_t lasts_ms(const struct sim_member *member, const struct sim_pod *pod)
{
	uint64_t mean = member->opts.lifetime_ms;

	if (pod->phase == STATE_TERMINATING)
		return member->opts.grace_ms;
	return mean == 0 ? UINT64_MAX
	                 : mean / 2 + draw_number(member, pod, 0) % (mean + 1);
}

static enum state_ended ends_as(const struct sim_member *member,
                                const struct sim_pod *pod)
{
	if (pod->phase == STATE_TERMINATING)
		return STATE_ENDED_GONE;
	return draw_number(member, pod, 1) % 100 < member->opts.fail_percent
	               ? STATE_ENDED_FAILED
	               : STATE_ENDED_SUCCEEDED;
}

/* -- due pods ---------------------------------------------------------------------- */

static void queue_pod(struct sim_member *member, struct sim_pod *pod, uint64_t now_ms)
{
	if (member->opts.ends.count == 0 || pod->phase != STATE_BOUND)
		return;
	if (pl_list_empty(&member->line)) {
		member->line_ms = now_ms;
		member->turns = 0;
	}
	pl_list_add_tail(&member->line, &pod->line);
}

/* Counted from when the line became non-empty, so that no fraction of a turn is lost. */
static uint64_t turn_ms(const struct sim_member *member)
{
	const struct sim_rate *ends = &member->opts.ends;

	if (pl_list_empty(&member->line))
		return UINT64_MAX;
	return member->line_ms +
	       ((member->turns + 1) * ends->period_ms + ends->count - 1) / ends->count;
}

static enum pl_code schedule_pod(struct sim_member *member, struct sim_pod *pod,
                                 uint64_t now_ms)
{
	uint64_t lasts = lasts_ms(member, pod);

	unschedule_pod(member, pod);
	pod->how = ends_as(member, pod);
	queue_pod(member, pod, now_ms);
	if (lasts == UINT64_MAX)
		return PL_OK;
	pod->due_ms = now_ms + lasts;
	return pl_heap_add(&member->due, &pod->due);
}

/* -- records seen ------------------------------------------------------------------ */

static struct sim_pod *find_pod(const struct sim_member *member, struct pl_span key)
{
	struct pl_map_node *node = pl_map_get(&member->pods, key);

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct sim_pod, node);
}

static struct sim_pod *add_pod(struct sim_member *member, struct pl_span key)
{
	struct sim_pod *pod = pl_calloc(1, sizeof *pod + key.len);

	if (pod == NULL)
		return NULL;
	memcpy(pod->key, key.at, key.len);
	pl_list_init(&pod->line);
	pod->phase = STATE_BOUND;
	(void)!pl_map_add(&member->pods, &pod->node, pl_span(pod->key, key.len));
	count_pod(member, pod, 1);
	return pod;
}

/* Whether the pod runs on this cluster, as far as its state says. */
static bool is_here(const struct sim_member *member, const struct pod_state *state)
{
	return state != NULL && state_has_place(state) &&
	       state->ended == STATE_ENDED_NOT &&
	       pl_span_eq(state->cluster, member->opts.cluster);
}

enum pl_code sim_member_apply(struct sim_member *member, struct pl_span key,
                              const struct pod_state *state, uint64_t now_ms)
{
	struct sim_pod *pod = find_pod(member, key);

	if (!is_here(member, state)) {
		if (pod != NULL)
			drop_pod(member, pod);
		return PL_OK;
	}
	if (pod == NULL) {
		pod = add_pod(member, key);
		if (pod == NULL)
			return PL_NOMEM;
	} else if (pod->phase == state->phase && pod->since_ms == state->since_ms) {
		return PL_OK; /* deletion was requested; the shard changes the state */
	}
	count_pod(member, pod, -1);
	pod->phase = state->phase;
	pod->since_ms = state->since_ms;
	count_pod(member, pod, 1);
	return schedule_pod(member, pod, now_ms);
}

/* -- reports ----------------------------------------------------------------------- */

/* NULL: no pod's time has come. */
static struct sim_pod *pop_due(struct sim_member *member, uint64_t now_ms)
{
	const struct pl_heap_node *top = pl_heap_top(&member->due);
	struct sim_pod *pod = NULL;

	if (top != NULL && of_due(top)->due_ms <= now_ms) {
		pod = of_due(top);
	} else if (turn_ms(member) <= now_ms) {
		pod = PL_LIST_ITEM(member->line.next, struct sim_pod, line);
		member->turns++;
	}
	if (pod != NULL)
		unschedule_pod(member, pod);
	return pod;
}

bool sim_member_next(struct sim_member *member, uint64_t now_ms, struct pl_span *key,
                     enum state_ended *how)
{
	struct sim_pod *pod = pop_due(member, now_ms);

	if (pod == NULL)
		return false;
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
	uint64_t turn = turn_ms(member);

	return top == NULL || of_due(top)->due_ms > turn ? turn : of_due(top)->due_ms;
}

/* -- rates ------------------------------------------------------------------------- */

static uint64_t period_ms_of(struct pl_span unit)
{
	if (pl_span_eq(unit, PL_SPAN_LIT("/s")))
		return 1000;
	if (pl_span_eq(unit, PL_SPAN_LIT("/m")))
		return 60000;
	return pl_span_eq(unit, PL_SPAN_LIT("/h")) ? SIM_PERIOD_MAX_MS : 0;
}

enum pl_code sim_rate_parse(struct pl_span text, struct sim_rate *out, struct pl_err *err)
{
	const uint8_t *slash = text.len == 0 ? NULL : memchr(text.at, '/', text.len);
	size_t digits = slash == NULL ? text.len : (size_t)(slash - text.at);
	uint64_t count, period_ms = 1000;
	enum pl_code code;

	if (slash != NULL)
		period_ms = period_ms_of(pl_span(slash, text.len - digits));
	code = pl_num_u64_in(pl_span(text.at, digits), 0, SIM_ENDS_MAX, &count, err);
	if (code != PL_OK)
		return code;
	if (period_ms == 0 || (slash == NULL && count != 0))
		return pl_err_set(
			err, PL_INVALID,
			"want so many a second, minute or hour: 50/s, 20/m, 1/h");
	*out = (struct sim_rate){.count = count, .period_ms = period_ms};
	return PL_OK;
}
