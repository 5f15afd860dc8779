/*
 * VolumeRestrictions: a disk that only one machine or one pod can write to is not used
 * twice on a node. A ReadWriteOncePod claim is not used twice at all: if another pod uses
 * it, all nodes are refused.
 */
#include "shardsched/model/claim_pattern.h"
#include "shardsched/plugins/volume_claims.h"
#include "shardsched/snapshot/claim_users.h"

enum {
	DISK_KINDS = 1 << DRAFT_GCE | 1 << DRAFT_AWS | 1 << DRAFT_ISCSI | 1 << DRAFT_RBD,
};

struct restriction_state {
	/* How many of the pod's ReadWriteOncePod claims others use; changes while a probe
	 * moves pods. */
	int64_t claims_in_use;
	bool disks;
};

/* -- ReadWriteOncePod claims ------------------------------------------------------------- */

static bool is_for_one_pod(const struct plugin_call *call,
                           const struct spec_volume *volume)
{
	const struct claim *claim;

	if (volume->kind != DRAFT_CLAIM)
		return false;
	claim = volume_claim(call->snapshot, claims_of_call(call), volume);
	return claim != NULL && (claim->modes & VOLUME_RWOP) != 0;
}

static uint32_t claim_name_of(const struct plugin_call *call,
                              const struct spec_volume *volume)
{
	return volume_claim_name(&call->snapshot->model->strings, volume,
	                         call->pod->name);
}

static bool repeats_earlier(const struct spec_volume *volume, unsigned at)
{
	for (unsigned i = 0; i < at; i++)
		if (volume[i].kind == DRAFT_CLAIM && volume[i].id == volume[at].id &&
		    volume[i].own == volume[at].own)
			return true;
	return false;
}

static int64_t count_claims_in_use(const struct plugin_call *call)
{
	const struct spec_volume *volume = spec_volumes(call->spec);
	struct catalog_key key = {call->spec->namespace, 0, 0};
	int64_t claims_in_use = 0;

	for (unsigned i = 0; i < call->spec->volumes; i++) {
		if (!is_for_one_pod(call, &volume[i]) || repeats_earlier(volume, i))
			continue;
		key.name = claim_name_of(call, &volume[i]);
		claims_in_use += claims_users(&call->snapshot->catalog, key) > 0;
	}
	return claims_in_use;
}

/* The first claim that the pod names and that does not exist. */
static const struct spec_volume *find_missing(const struct plugin_call *call)
{
	const struct spec_volume *volume = spec_volumes(call->spec);

	for (unsigned i = 0; i < call->spec->volumes; i++)
		if (volume[i].kind == DRAFT_CLAIM &&
		    volume_claim(call->snapshot, claims_of_call(call), &volume[i]) ==
		            NULL)
			return &volume[i];
	return NULL;
}

static enum verdict_code pre_filter(const struct plugin_call *call,
                                    struct plugin_narrow *narrow, struct verdict *verdict)
{
	struct restriction_state *state = call->state;
	const struct spec_volume *missing;

	(void)narrow;
	if (call->spec->volumes == 0)
		return VERDICT_SKIP;
	missing = find_missing(call);
	if (missing != NULL) {
		struct reason reason =
			volume_claim_missing(claims_of_call(call), missing);

		verdict_add(verdict, VERDICT_UNRESOLVABLE, &reason);
		return VERDICT_UNRESOLVABLE;
	}
	state->disks = spec_has_volumes(call->spec, DISK_KINDS);
	state->claims_in_use = count_claims_in_use(call);
	return state->disks || state->claims_in_use > 0 ? VERDICT_SUCCESS : VERDICT_SKIP;
}

static unsigned count_uses(const struct plugin_call *call, const struct placed_pod *pod,
                           uint32_t claim)
{
	const struct strings *strings = &call->snapshot->model->strings;
	const struct spec_volume *others = spec_volumes(pod->view->spec);
	unsigned uses = 0;

	for (unsigned i = 0; i < pod->view->spec->volumes; i++)
		uses += others[i].kind == DRAFT_CLAIM &&
		        volume_claim_name(strings, &others[i], pod->name) == claim;
	return uses;
}

static void pod_moved(const struct plugin_call *call, const struct placed_pod *pod,
                      int delta)
{
	const struct spec_volume *own = spec_volumes(call->spec);
	struct restriction_state *state = call->state;

	if (pod->view->spec->namespace != call->spec->namespace ||
	    pod->view->spec->volumes == 0)
		return;
	for (unsigned i = 0; i < call->spec->volumes; i++)
		if (is_for_one_pod(call, &own[i]) && !repeats_earlier(own, i))
			state->claims_in_use +=
				delta * (int64_t)count_uses(call, pod,
			                                    claim_name_of(call, &own[i]));
}

/* -- disks ------------------------------------------------------------------------------- */

static bool share_a_monitor(const struct spec *spec, const struct spec_volume *a,
                            const struct spec *other, const struct spec_volume *b)
{
	const uint32_t *own = spec_monitors(spec, a);
	const uint32_t *others = spec_monitors(other, b);

	for (uint32_t i = 0; i < a->monitors; i++)
		for (uint32_t j = 0; j < b->monitors; j++)
			if (own[i] == others[j])
				return true;
	return false;
}

static bool volumes_conflict(const struct spec *spec, const struct spec_volume *a,
                             const struct spec *other, const struct spec_volume *b)
{
	bool both_read = a->read_only != 0 && b->read_only != 0;

	if (a->kind != b->kind || a->id != b->id)
		return false;
	switch (a->kind) {
	case DRAFT_GCE:
	case DRAFT_ISCSI:
		return !both_read;
	case DRAFT_AWS:
		return true;
	case DRAFT_RBD:
		return !both_read && spec_pool(spec, a) == spec_pool(other, b) &&
		       share_a_monitor(spec, a, other, b);
	default:
		return false;
	}
}

static bool specs_conflict(const struct spec *spec, const struct spec *other)
{
	const struct spec_volume *own = spec_volumes(spec);
	const struct spec_volume *others = spec_volumes(other);

	for (unsigned i = 0; i < spec->volumes; i++)
		for (unsigned j = 0; j < other->volumes; j++)
			if (volumes_conflict(spec, &own[i], other, &others[j]))
				return true;
	return false;
}

static bool node_conflicts(const struct plugin_call *call, uint32_t slot)
{
	const struct snapshot *snapshot = call->snapshot;
	uint32_t at = snapshot->row[slot].first_pod;

	for (; at != SNAPSHOT_NONE; at = snapshot->placed[at].next_on_node)
		if (specs_conflict(call->spec, snapshot->placed[at].view->spec))
			return true;
	return false;
}

/* -- filter ------------------------------------------------------------------------------ */

static void filter_nodes(const struct plugin_call *call, struct node_span span)
{
	const struct restriction_state *state = call->state;
	const uint64_t *with_volumes = call->snapshot->with_volumes.word + span.word;

	SPAN_EACH_WORD(i, span)
	{
		if (state->claims_in_use > 0)
			span.bits[i] = 0;
		if (!state->disks)
			continue;
		for (uint64_t left = span.bits[i] & with_volumes[i]; left != 0;
		     left &= left - 1) {
			uint32_t bit = (uint32_t)__builtin_ctzll(left);

			if (node_conflicts(call, (span.word + i) * 64 + bit))
				span.bits[i] &= ~(UINT64_C(1) << bit);
		}
	}
}

static void explain_refusal(const struct plugin_call *call, uint32_t slot,
                            struct verdict *verdict)
{
	const struct restriction_state *state = call->state;

	if (state->disks && node_conflicts(call, slot))
		verdict_add(verdict, VERDICT_UNSCHEDULABLE,
		            &(struct reason){.code = REASON_DISK_CONFLICT});
	else if (state->claims_in_use > 0)
		verdict_add(verdict, VERDICT_UNSCHEDULABLE,
		            &(struct reason){.code = REASON_CLAIM_TAKEN});
}

const struct plugin plugin_volume_restrictions = {
	.name = "VolumeRestrictions",
	.refusal = PLUGIN_REFUSES_MIXED,
	.events = QUEUE_ON(POD_REMOVED) | QUEUE_ON(PVC_ADDED) | QUEUE_ON(PVC_CHANGED) |
                  QUEUE_ON(NODE_ADDED) | QUEUE_ON(NODE_REMOVED),
	.hint = claims_hint,
	.epoch = volume_claims_epoch,
	.state_size = sizeof(struct restriction_state),
	.pre_filter = pre_filter,
	.filter = filter_nodes,
	.why = explain_refusal,
	.moved = pod_moved,
};
