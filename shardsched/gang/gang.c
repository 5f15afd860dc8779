#include "shardsched/gang/gang.h"

#include <stdlib.h>

#include "shardsched/gang/gang_int.h"
#include "store/base/alloc.h"

enum { GANG_ARENA = 16 << 20 };

#define GANG_WORD(name, word) word,
#define GANG_FIELD(name, field, sentence) field,
#define GANG_SENTENCE(name, field, sentence) sentence,

const char *gang_result_word(enum gang_result result)
{
	static const char *const words[] = {GANG_RESULT_MAP(GANG_WORD)};

	PL_ASSERT(result < GANG_RESULTS);
	return words[result];
}

const char *gang_fault_field(enum gang_fault fault)
{
	static const char *const fields[] = {GANG_FAULT_MAP(GANG_FIELD)};

	PL_ASSERT(fault < GANG_FAULTS);
	return fields[fault];
}

const char *gang_fault_sentence(enum gang_fault fault)
{
	static const char *const sentences[] = {GANG_FAULT_MAP(GANG_SENTENCE)};

	PL_ASSERT(fault < GANG_FAULTS);
	return sentences[fault];
}

enum pl_code gang_new(struct gang **out, struct pl_err *err)
{
	struct gang *made = pl_calloc(1, sizeof *made);

	if (made == NULL)
		return pl_err_set(err, PL_NOMEM, "gangs: out of memory");
	pl_arena_init(&made->arena, 0, GANG_ARENA);
	*out = made;
	return PL_OK;
}

void gang_free(struct gang *gang)
{
	if (gang == NULL)
		return;
	pl_arena_done(&gang->arena);
	number_map_done(&gang->seen);
	scratch_done(&gang->groups);
	scratch_done(&gang->order);
	scratch_done(&gang->group_by_member);
	scratch_done(&gang->by_group);
	scratch_done(&gang->slot);
	scratch_done(&gang->placements);
	scratch_done(&gang->domains);
	scratch_done(&gang->words);
	free(gang);
}

bool gang_fail(struct gang *gang, enum pl_code code, const char *what)
{
	gang->code = code;
	if (what != NULL)
		(void)pl_err_set(gang->err, code, "%s", what);
	return false;
}

static bool try_orders(struct gang *gang)
{
	for (unsigned order = 0; order < GANG_ORDERS && !gang_has_stopped(gang); order++)
		if (gang_make_order(gang, (enum gang_order)order) && gang_try(gang))
			return true;
	return false;
}

/* How many of the given members have to find a node. */
static void compute_need(struct gang *gang)
{
	const struct spec *spec = gang->members[0].class->view->spec;
	uint32_t least =
		spec->template->gang_min > 0 ? (uint32_t)spec->template->gang_min : 1;

	least = least > gang->opts->present ? least - gang->opts->present : 0;
	gang->need = least > 0 ? least : 1;
	gang->topology_key = spec->template->gang_domain;
}

static void decide_gang(struct gang *gang)
{
	struct gang_outcome *out = gang->out;
	bool held;

	if (gang->count == 0 || !gang_agrees(gang))
		return;
	compute_need(gang);
	if (gang->need > gang->count)
		return;
	out->result = GANG_NO_ROOM;
	if (!gang_make_groups(gang))
		return;
	held = gang->topology_key == 0 ? try_orders(gang)
	                               : gang_try_domains(gang, try_orders);
	if (held) {
		out->result = GANG_PLACED;
		out->slot = gang->slot.at;
		out->placement = gang->placements.at;
	} else if (out->result == GANG_FAILED) {
		out->blocked = gang->blocked;
		out->why = gang->last;
	}
}

enum pl_code gang_decide(struct gang *gang, struct cycle *cycle,
                         const struct gang_member *members, uint32_t count,
                         const struct gang_opts *opts, struct gang_outcome *out,
                         struct pl_err *err)
{
	*out = (struct gang_outcome){.result = GANG_INCOMPLETE, .blocked = SNAPSHOT_NONE};
	gang->cycle = cycle;
	gang->snapshot = cycle_snapshot(cycle);
	gang->members = members;
	gang->count = count;
	gang->opts = opts;
	gang->out = out;
	gang->err = err;
	gang->code = PL_OK;
	gang->measured = false;
	gang->asked = false;
	gang->placement_count = 0;
	decide_gang(gang);
	return gang->code;
}
