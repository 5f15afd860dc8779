/* Holds from allocs, and into them. Beside those that go an alloc that is written leaves
 * out nominations for which there is no room any more (holds_crowd.c). */
#include <stdlib.h>

#include "shardsched/shard/room/holds.h"
#include "shardsched/shard/tables/tables.h"
#include "store/base/alloc.h"

/* -- amounts -------------------------------------------------------------- */

static void sums_add(struct resource_sums *sums, struct pl_span name, int64_t amount,
                     int64_t nano)
{
	if (amount > 0) /* there is room for all that an alloc names */
		(void)resource_sums_add(sums, name, (pl_int128)amount * nano);
}

/* With a reference; NULL: no memory. */
const struct resources *hold_resources(struct sched *sched,
                                       const struct alloc_amounts *used)
{
	struct resource_sums sums = {.at = pl_arena_zalloc(&sched->arena,
	                                                   RESOURCE_NAMES_MAX,
	                                                   sizeof *sums.at)};
	struct maker maker;
	const struct resources *made;

	if (sums.at == NULL)
		return NULL;
	sums_add(&sums, PL_SPAN_LIT("cpu"), used->cpu_milli, 1000000);
	sums_add(&sums, PL_SPAN_LIT("memory"), used->memory, 1000000000);
	sums_add(&sums, PL_SPAN_LIT("ephemeral-storage"), used->storage, 1000000000);
	sums_add(&sums, PL_SPAN_LIT("pods"), used->pods, 1000000000);
	for (uint32_t i = 0; i < used->scalars; i++)
		sums_add(&sums, used->scalar[i].name, used->scalar[i].amount, 1000000000);
	maker_init(&maker, &sched->model, &sched->arena);
	made = resources_make(&maker, &sums, false);
	if (maker.code == PL_OK)
		return made;
	model_unref(&sched->model, MODEL_RESOURCES, made);
	return NULL;
}

void hold_sum(const struct sched *sched, struct sched_node *node,
              const struct sched_hold *hold, bool add)
{
	const struct resources *amounts = hold->is.amounts;
	struct sched_sums *used = &node->used;
	uint64_t sign = add ? 1 : UINT64_MAX;

	used->cpu_milli += sign * (uint64_t)amounts->cpu_milli;
	used->memory += sign * (uint64_t)amounts->memory;
	used->storage += sign * (uint64_t)amounts->storage;
	used->pods += sign * (uint64_t)amounts->pods;
	used->nonzero_cpu_milli += sign * (uint64_t)hold->is.nonzero_cpu_milli;
	used->nonzero_memory += sign * (uint64_t)hold->is.nonzero_memory;
	for (uint64_t i = 0; i < amounts->count; i++)
		used->scalars += sign * (uint64_t)amounts->row[i].amount *
		                 pl_hash(sched_text(sched, amounts->row[i].name));
	node->with_scalars += (uint32_t)sign * (amounts->count > 0);
}

/* -- from the alloc -------------------------------------------------------- */

void holds_free(struct sched *sched, struct sched_holds *holds)
{
	for (uint32_t i = 0; i < holds->count; i++) {
		struct sched_pod *pod = holds->at[i].pod;

		hold_free(sched, &holds->at[i]);
		if (pod == NULL)
			continue;
		pod->held--;
		pod_tidy(sched, pod);
	}
	free(holds->at);
	*holds = (struct sched_holds){0};
}

static enum pl_code read_one(struct sched *sched, const struct alloc_hold *from,
                             struct sched_hold *out)
{
	struct strings *strings = &sched->model.strings;

	*out = (struct sched_hold){
		.kind = from->kind, .until_ms = from->until_ms, .number = SNAPSHOT_NONE};
	if (from->kind == ALLOC_HOLD_NOMINATED) {
		if (from->partition >= sched->opts.partitions)
			return PL_INVALID;
		out->pod = pod_get(sched, from->partition, from->space, from->name);
		if (out->pod == NULL)
			return PL_NOMEM;
		out->pod->held++;
	}
	out->is = (struct node_hold){.amounts = hold_resources(sched, &from->used),
	                             .nonzero_cpu_milli = from->used.nonzero_cpu_milli,
	                             .nonzero_memory = from->used.nonzero_memory};
	if (out->is.amounts == NULL ||
	    strings_add(strings, from->space, &out->key[0]) != PL_OK ||
	    strings_add(strings, from->name, &out->key[1]) != PL_OK)
		return PL_NOMEM;
	return PL_OK;
}

enum pl_code holds_read(struct sched *sched, const struct alloc *alloc,
                        struct sched_holds *out)
{
	enum pl_code code = PL_OK;

	*out = (struct sched_holds){0};
	if (alloc->holds == 0)
		return PL_OK;
	out->at = pl_calloc(alloc->holds, sizeof *out->at);
	if (out->at == NULL)
		return PL_NOMEM;
	for (uint32_t i = 0; i < alloc->holds && code == PL_OK; i++) {
		code = read_one(sched, &alloc->hold[i], &out->at[i]);
		out->count++;
	}
	if (code != PL_OK)
		holds_free(sched, out);
	return code;
}

static bool is_same(const struct sched_hold *a, const struct sched_hold *b)
{
	return a->kind == b->kind && a->key[0] == b->key[0] && a->key[1] == b->key[1] &&
	       a->pod == b->pod && a->is.amounts == b->is.amounts &&
	       a->is.nonzero_cpu_milli == b->is.nonzero_cpu_milli &&
	       a->is.nonzero_memory == b->is.nonzero_memory;
}

bool holds_are(const struct sched_node *node, const struct sched_holds *holds)
{
	bool same = node->holds == holds->count;

	for (uint32_t i = 0; same && i < holds->count; i++)
		same = is_same(&node->hold[i], &holds->at[i]);
	return same;
}

/* What is in the snapshot stays there; who has moved the deadline is alive. */
static void carry_over(struct sched_node *node, const struct sched_hold *old,
                       uint32_t olds, struct sched_hold *new)
{
	for (uint32_t i = 0; i < olds; i++) {
		if (!is_same(&old[i], new))
			continue;
		new->number = old[i].number;
		new->nominates = old[i].nominates;
		new->taken = old[i].taken;
		new->unwanted = old[i].unwanted;
		new->lone_ms = old[i].lone_ms;
		if (new->until_ms != old[i].until_ms)
			continue;
		new->over_ms = old[i].over_ms;
		new->due = old[i].due;
		new->overdue = old[i].overdue;
	}
	if (new->pod != NULL &&new->pod->nominated == NULL)
		new->pod->nominated = node;
}

static bool is_carried(const struct sched_node *node, const struct sched_hold *old)
{
	for (uint32_t i = 0; i < node->holds; i++)
		if (is_same(&node->hold[i], old))
			return true;
	return false;
}

void holds_take(struct sched *sched, struct sched_node *node, struct sched_holds *holds)
{
	struct sched_hold *old = node->hold;
	uint32_t olds = node->holds;

	if (olds == 0 && holds->count == 0)
		return;
	for (uint32_t i = 0; i < olds; i++) {
		PL_ASSERT(!old[i].out && !old[i].planned && !old[i].shrinks &&
		          old[i].until_next == 0);
		sched->gangs.holds -= old[i].kind == ALLOC_HOLD_GANG;
		hold_sum(sched, node, &old[i], false);
	}
	node->hold = holds->at;
	node->holds = node->hold_cap = holds->count;
	*holds = (struct sched_holds){0};
	pl_list_del(&node->holding);
	if (node->holds > 0)
		pl_list_add_tail(&sched->holding, &node->holding);
	for (uint32_t i = 0; i < node->holds; i++) {
		hold_sum(sched, node, &node->hold[i], true);
		sched->gangs.holds += node->hold[i].kind == ALLOC_HOLD_GANG;
		carry_over(node, old, olds, &node->hold[i]);
	}
	for (uint32_t i = 0; i < olds; i++) {
		if (is_carried(node, &old[i]))
			old[i].number = SNAPSHOT_NONE;
		hold_end(sched, node, &old[i]);
	}
	free(old);
	for (uint32_t i = 0; i < node->holds; i++) {
		hold_show(sched, node, &node->hold[i]);
		hold_watch(sched, node, &node->hold[i]);
	}
}

/* -- and out of the row -------------------------------------------------------- */

void hold_drop_at(struct sched *sched, struct sched_node *node, uint32_t i)
{
	struct sched_hold hold = node->hold[i];

	if (hold_counts(&hold))
		hold_sum(sched, node, &hold, false);
	sched->gangs.holds -= hold.kind == ALLOC_HOLD_GANG;
	node->holds--;
	memmove(&node->hold[i], &node->hold[i + 1],
	        (node->holds - i) * sizeof *node->hold);
	if (node->holds == 0)
		pl_list_del(&node->holding);
	hold_end(sched, node, &hold);
}

void holds_clear(struct sched *sched, struct sched_node *node)
{
	while (node->holds > 0)
		hold_drop_at(sched, node, node->holds - 1);
}

/* -- nominations that are made here ------------------------------------------- */

/* As a pod of that spec takes. */
static enum pl_code amounts_of(struct sched *sched, const struct spec *spec,
                               struct node_hold *out)
{
	const struct resources *asks = spec->requests;
	struct alloc_amounts used = {.cpu_milli = asks->cpu_milli,
	                             .memory = asks->memory,
	                             .storage = asks->storage,
	                             .pods = 1};
	struct alloc_scalar *scalar;

	pl_arena_reset(&sched->arena);
	scalar = pl_arena_zalloc(&sched->arena, asks->count + 1, sizeof *scalar);
	if (scalar == NULL)
		return PL_NOMEM;
	for (uint64_t i = 0; i < asks->count; i++)
		scalar[used.scalars++] = (struct alloc_scalar){
			.name = sched_text(sched, asks->row[i].name),
			.amount = asks->row[i].amount};
	used.scalar = scalar;
	*out = (struct node_hold){.amounts = hold_resources(sched, &used),
	                          .nonzero_cpu_milli = spec_nonzero_cpu_milli(spec),
	                          .nonzero_memory = spec_nonzero_memory(spec)};
	return out->amounts == NULL ? PL_NOMEM : PL_OK;
}

enum pl_code hold_room(struct sched_node *node)
{
	uint32_t cap = node->hold_cap < 2 ? 4 : node->hold_cap * 2;
	struct sched_hold *grown;

	if (node->holds < node->hold_cap)
		return PL_OK;
	if (node->holds >= ALLOC_HOLDS_MAX)
		return PL_LIMIT;
	grown = pl_realloc(node->hold, cap * sizeof *grown);
	if (grown == NULL)
		return PL_NOMEM;
	node->hold = grown;
	node->hold_cap = cap;
	return PL_OK;
}

static struct alloc_hold name_of(const struct sched *sched, const struct sched_hold *hold)
{
	return (struct alloc_hold){.kind = hold->kind,
	                           .space = sched_text(sched, hold->key[0]),
	                           .name = sched_text(sched, hold->key[1])};
}

/* In its order; NULL: one of that name is there, for another pod. */
struct sched_hold *hold_insert(struct sched *sched, struct sched_node *node,
                               const struct sched_hold *new)
{
	struct alloc_hold name = name_of(sched, new), other;
	uint32_t i = node->holds;

	for (; i > 0; i--) {
		other = name_of(sched, &node->hold[i - 1]);
		if (alloc_hold_cmp(&other, &name) <= 0)
			break;
	}
	if (i > 0 && alloc_hold_cmp(&other, &name) == 0)
		return NULL;
	memmove(&node->hold[i + 1], &node->hold[i],
	        (node->holds - i) * sizeof *node->hold);
	node->hold[i] = *new;
	sched->gangs.holds += new->kind == ALLOC_HOLD_GANG;
	if (node->holds++ == 0)
		pl_list_add_tail(&sched->holding, &node->holding);
	return &node->hold[i];
}

enum pl_code hold_plan(struct sched *sched, struct sched_node *node,
                       struct sched_pod *pod, int64_t until_ms, struct pl_err *err)
{
	struct sched_hold new = {.kind = ALLOC_HOLD_NOMINATED,
	                         .key = {pod->key[1], pod->key[2]},
	                         .pod = pod,
	                         .until_ms = until_ms,
	                         .number = SNAPSHOT_NONE,
	                         .planned = true};
	struct sched_hold *hold = hold_of_pod(node, pod);
	enum pl_code code;

	if (hold != NULL && !hold_goes(hold))
		return PL_OK;
	code = hold != NULL ? PL_BUSY : hold_room(node);
	if (code == PL_OK)
		code = amounts_of(sched, pod->spec, &new.is);
	if (code != PL_OK)
		return pl_err_set(err, code, "nominate a pod");
	strings_ref(&sched->model.strings, new.key[0]);
	strings_ref(&sched->model.strings, new.key[1]);
	hold = hold_insert(sched, node, &new);
	if (hold == NULL) {
		hold_free(sched, &new);
		return pl_err_set(err, PL_EXISTS,
		                  "a pod of that name is nominated there");
	}
	pod->held++;
	pod->nominated = node;
	hold_show(sched, node, hold);
	if (node->slot == SNAPSHOT_NONE) {
		hold_unplan(sched, node, pod);
		return pl_err_set(err, PL_NOMEM, "nominate a pod");
	}
	holds_settle_pod(sched, pod); /* others are not wanted any more */
	return PL_OK;
}

static struct sched_hold *planned_for(const struct sched_node *node,
                                      const struct sched_pod *pod)
{
	struct sched_hold *hold = hold_of_pod(node, pod);

	return hold != NULL && hold->planned ? hold : NULL;
}

void hold_send_planned(struct sched *sched, struct sched_node *node,
                       const struct sched_pod *pod)
{
	struct sched_hold *hold = planned_for(node, pod);

	if (hold == NULL)
		return;
	hold->sent = true;
	hold->until_ms = sched->wall_ms + HOLD_MS; /* it may have waited for its turn */
	hold_sum(sched, node, hold, true);
}

void hold_unsend_planned(struct sched *sched, struct sched_node *node,
                         const struct sched_pod *pod)
{
	struct sched_hold *hold = planned_for(node, pod);

	if (hold == NULL || !hold->sent)
		return;
	hold_sum(sched, node, hold, false);
	hold->sent = false;
}

void hold_planned(struct sched *sched, struct sched_node *node,
                  const struct sched_pod *pod)
{
	struct sched_hold *hold = planned_for(node, pod);

	if (hold == NULL)
		return;
	hold->planned = hold->sent = false;
	hold_settle(sched, node, hold);
}

void hold_unplan(struct sched *sched, struct sched_node *node,
                 const struct sched_pod *pod)
{
	struct sched_hold *hold = planned_for(node, pod);

	if (hold != NULL)
		hold_drop_at(sched, node, (uint32_t)(hold - node->hold));
}

/* -- into the alloc --------------------------------------------------------- */

/* The pod that it is for waits here, but does not come along. */
static bool is_left_behind(const struct sched_node *node, const struct sched_hold *hold)
{
	const struct sched_pod *pod = hold->pod;

	return pod != NULL && pod->place == POD_WAITS && pod->node == node &&
	       listed_find(node, pod) == UINT32_MAX;
}

bool holds_go(const struct sched *sched, const struct sched_node *node)
{
	if (node->slot == SNAPSHOT_NONE || node->scope == NODE_ASIDE)
		return false;
	for (uint32_t i = 0; i < node->holds; i++)
		if ((hold_goes(&node->hold[i]) || hold_renews(sched, &node->hold[i])) &&
		    hold_counts(&node->hold[i]) && !is_left_behind(node, &node->hold[i]))
			return true;
	return false;
}

/* -- and those that go ------------------------------------------------------ */

/* What is held and what is to be. */
static void exchange(struct sched *sched, struct sched_node *node,
                     struct sched_hold *hold)
{
	struct node_hold was = hold->is;

	hold_sum(sched, node, hold, false);
	hold->is = hold->rest;
	hold->rest = was;
	hold->shrunk = !hold->shrunk;
	hold_sum(sched, node, hold, true);
}

void holds_send(struct sched *sched, struct sched_node *node)
{
	struct sched_hold *last;

	if (node->holds == 0)
		return;
	while (node->slot != SNAPSHOT_NONE &&
	       (last = holds_crowded_out(sched, node)) != NULL) {
		last->out = true;
		hold_sum(sched, node, last, false);
	}
	for (uint32_t i = 0; i < node->holds; i++) {
		struct sched_hold *hold = &node->hold[i];

		if (hold->shrinks && !hold->shrunk)
			exchange(sched, node, hold);
		if (hold_renews(sched, hold) && hold_counts(hold))
			hold_renew(sched, hold);
		if (!hold_goes(hold) || !hold_counts(hold) || is_left_behind(node, hold))
			continue;
		hold->out = true;
		hold_sum(sched, node, hold, false);
	}
}

void holds_unsend(struct sched *sched, struct sched_node *node)
{
	for (uint32_t i = 0; i < node->holds; i++) {
		struct sched_hold *hold = &node->hold[i];

		if (hold->shrunk)
			exchange(sched, node, hold);
		hold->until_next = 0;
		if (hold->kind == ALLOC_HOLD_GANG && hold->sent) {
			hold_sum(sched, node, hold, false);
			hold->sent = false;
		}
		hold_untake_gang(sched, node, hold);
		if (!hold->out)
			continue;
		hold->out = false;
		hold_sum(sched, node, hold, true);
		hold_settle(sched, node, hold);
	}
}

/* It holds less from now on. */
static void has_shrunk(struct sched *sched, struct sched_node *node,
                       struct sched_hold *hold)
{
	model_unref(&sched->model, MODEL_RESOURCES, hold->rest.amounts);
	hold->rest = (struct node_hold){0};
	hold->shrinks = hold->shrunk = false;
	hold_hide(sched, hold);
	hold_show(sched, node, hold);
}

void holds_sent(struct sched *sched, struct sched_node *node)
{
	for (uint32_t i = node->holds; i > 0; i--) {
		struct sched_hold *hold = &node->hold[i - 1];

		if (hold->kind == ALLOC_HOLD_GANG && hold->sent)
			hold->planned = hold->sent = false;
		if (hold->shrunk)
			has_shrunk(sched, node, hold);
		if (hold->until_next != 0)
			hold_renewed(sched, hold);
		if (hold->out)
			hold_drop_at(sched, node, i - 1);
	}
}

/* Of so many in order. */
static void scalar_insert(struct alloc_scalar *scalar, uint32_t count,
                          struct alloc_scalar new)
{
	for (; count > 0 && pl_span_cmp(scalar[count - 1].name, new.name) > 0; count--)
		scalar[count] = scalar[count - 1];
	scalar[count] = new;
}

static enum pl_code print_one(struct sched *sched, const struct sched_hold *hold,
                              struct alloc_hold *out)
{
	const struct resources *amounts = hold->is.amounts;
	struct alloc_scalar *scalar =
		pl_arena_zalloc(&sched->arena, amounts->count + 1, sizeof *scalar);

	if (scalar == NULL)
		return PL_NOMEM;
	for (uint32_t i = 0; i < amounts->count; i++)
		scalar_insert(scalar, i,
		              (struct alloc_scalar){
				      .name = sched_text(sched, amounts->row[i].name),
				      .amount = amounts->row[i].amount});
	*out = (struct alloc_hold){
		.kind = hold->kind,
		.space = sched_text(sched, hold->key[0]),
		.name = sched_text(sched, hold->key[1]),
		.partition = hold->pod == NULL ? 0 : hold->pod->key[0],
		.used = {.cpu_milli = amounts->cpu_milli,
	                 .memory = amounts->memory,
	                 .storage = amounts->storage,
	                 .pods = amounts->pods,
	                 .nonzero_cpu_milli = hold->is.nonzero_cpu_milli,
	                 .nonzero_memory = hold->is.nonzero_memory,
	                 .scalar = scalar,
	                 .scalars = (uint32_t)amounts->count},
		.until_ms = hold->until_next != 0 ? hold->until_next : hold->until_ms,
	};
	return PL_OK;
}

enum pl_code holds_print(struct sched *sched, const struct sched_node *node,
                         struct alloc *out)
{
	struct alloc_hold *hold;

	if (node->holds == 0)
		return PL_OK;
	hold = pl_arena_zalloc(&sched->arena, node->holds, sizeof *hold);
	if (hold == NULL)
		return PL_NOMEM;
	out->hold = hold;
	for (uint32_t i = 0; i < node->holds; i++) {
		if (!hold_counts(&node->hold[i]))
			continue;
		if (print_one(sched, &node->hold[i], &hold[out->holds++]) != PL_OK)
			return PL_NOMEM;
	}
	return PL_OK;
}
