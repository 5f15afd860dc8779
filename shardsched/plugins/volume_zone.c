/*
 * VolumeZone: a volume whose labels name a zone or a region goes only to nodes there. A
 * node without any such label takes every volume: its cluster may have just one zone.
 */
#include "shardsched/plugins/volume_claims.h"

static const char *const zone_keys[] = {"failure-domain.beta.kubernetes.io/zone",
                                        "failure-domain.beta.kubernetes.io/region",
                                        "topology.kubernetes.io/zone",
                                        "topology.kubernetes.io/region"};
enum { ZONE_KEYS = 4 };

/* One label of one volume: a node must have one of these values. */
struct zone_rule {
	uint32_t key;
	uint32_t count;
	const uint32_t *value;
};

struct zone_rules {
	uint32_t key[ZONE_KEYS]; /* 0: no object has such a label */
	uint32_t count;
	struct zone_rule *rule;
};

static enum verdict_code refuse_pod(struct verdict *verdict, enum reason_code code,
                                    uint32_t subject)
{
	verdict_add(verdict, VERDICT_UNRESOLVABLE,
	            &(struct reason){.code = code, .subject = subject});
	return VERDICT_UNRESOLVABLE;
}

static enum verdict_code fail_pod(struct verdict *verdict)
{
	verdict_add(verdict, VERDICT_ERROR, &(struct reason){.code = REASON_FAILED});
	return VERDICT_ERROR;
}

/* Where the part that begins at at ends: at two underscores, or at the end of the
 * text. */
static size_t part_end(struct pl_span text, size_t at)
{
	while (at < text.len &&
	       !(text.at[at] == '_' && at + 1 < text.len && text.at[at + 1] == '_'))
		at++;
	return at;
}

/* Number of parts between double underscores; 0: one of them is empty. */
static uint32_t count_parts(struct pl_span text)
{
	uint32_t count = 0;

	for (size_t at = 0;; at += 2) {
		size_t end = part_end(text, at);

		if (end == at)
			return 0;
		count++;
		at = end;
		if (at == text.len)
			return count;
	}
}

/* "a__b" is a set of values. A malformed one is ignored; false: out of memory. */
static bool add_rule(const struct plugin_call *call, struct zone_rules *zones,
                     uint32_t key, uint32_t text)
{
	const struct strings *strings = &call->snapshot->model->strings;
	struct pl_span span = strings_get(strings, text);
	uint32_t count = count_parts(span), i = 0;
	uint32_t *value;

	if (count == 0)
		return true;
	value = pl_arena_zalloc(call->arena, count, sizeof *value);
	if (value == NULL)
		return false;
	for (size_t at = 0; i < count; at += 2) {
		size_t end = part_end(span, at);

		value[i++] = strings_find(strings, pl_span(span.at + at, end - at));
		at = end;
	}
	zones->rule[zones->count++] = (struct zone_rule){key, count, value};
	return true;
}

static bool add_rules(const struct plugin_call *call, struct zone_rules *zones,
                      const struct volume *volume)
{
	for (unsigned i = 0; i < ZONE_KEYS; i++) {
		uint32_t text = zones->key[i] == 0
		                        ? 0
		                        : labels_get(volume->labels, zones->key[i]);

		if (text != 0 && !add_rule(call, zones, zones->key[i], text))
			return false;
	}
	return true;
}

/* A claim without a volume must be one that waits for its first consumer. */
static enum verdict_code check_unbound(const struct plugin_call *call,
                                       const struct claim *claim, struct verdict *verdict)
{
	const struct storage_class *class = claim_class(call->snapshot, claim);

	if (strings_get(&call->snapshot->model->strings, claim->class).len == 0)
		return refuse_pod(verdict, REASON_CLAIM_CLASSLESS, 0);
	if (class == NULL)
		return refuse_pod(verdict, REASON_VOLUME_CLASS_MISSING, claim->class);
	return class->waits ? VERDICT_SUCCESS
	                    : refuse_pod(verdict, REASON_VOLUME_NAMELESS, 0);
}

static enum verdict_code add_volume(const struct plugin_call *call,
                                    const struct spec_volume *of, struct verdict *verdict)
{
	const struct claim *claim =
		volume_claim(call->snapshot, claims_of_call(call), of);
	const struct volume *volume;

	if (claim == NULL) {
		struct reason missing = volume_claim_missing(claims_of_call(call), of);

		verdict_add(verdict, VERDICT_UNRESOLVABLE, &missing);
		return VERDICT_UNRESOLVABLE;
	}
	if (claim->volume == 0)
		return check_unbound(call, claim, verdict);
	volume = claim_volume(call->snapshot, claim);
	if (volume == NULL)
		return refuse_pod(verdict, REASON_VOLUME_MISSING, claim->volume);
	return add_rules(call, call->state, volume) ? VERDICT_SUCCESS : fail_pod(verdict);
}

static enum verdict_code pre_filter(const struct plugin_call *call,
                                    struct plugin_narrow *narrow, struct verdict *verdict)
{
	const struct spec_volume *volume = spec_volumes(call->spec);
	struct zone_rules *zones = call->state;

	(void)narrow;
	if (!spec_has_volumes(call->spec, 1 << DRAFT_CLAIM))
		return VERDICT_SKIP;
	for (unsigned i = 0; i < ZONE_KEYS; i++)
		zones->key[i] = strings_find(&call->snapshot->model->strings,
		                             pl_span_str(zone_keys[i]));
	zones->rule =
		pl_arena_zalloc(call->arena, (size_t)call->spec->volumes * ZONE_KEYS,
	                        sizeof *zones->rule);
	if (zones->rule == NULL)
		return fail_pod(verdict);
	for (unsigned i = 0; i < call->spec->volumes; i++) {
		enum verdict_code code = VERDICT_SUCCESS;

		if (volume[i].kind == DRAFT_CLAIM)
			code = add_volume(call, &volume[i], verdict);
		if (code != VERDICT_SUCCESS)
			return code;
	}
	return zones->count == 0 ? VERDICT_SKIP : VERDICT_SUCCESS;
}

static bool rule_accepts(const struct zone_rule *rule, uint32_t value)
{
	for (uint32_t i = 0; i < rule->count && value != 0; i++)
		if (rule->value[i] == value)
			return true;
	return false;
}

static bool refuses_node(const struct plugin_call *call, uint32_t slot)
{
	const struct zone_rules *zones = call->state;
	const struct labels *labels = call->snapshot->row[slot].node.labels;
	bool has_zone = false;

	for (unsigned i = 0; i < ZONE_KEYS && !has_zone; i++)
		has_zone = zones->key[i] != 0 && labels_get(labels, zones->key[i]) != 0;
	for (uint32_t i = 0; has_zone && i < zones->count; i++)
		if (!rule_accepts(&zones->rule[i],
		                  labels_get(labels, zones->rule[i].key)))
			return true;
	return false;
}

static void filter_nodes(const struct plugin_call *call, struct node_span span)
{
	SPAN_EACH_WORD(i, span)
	for (uint64_t left = span.bits[i]; left != 0; left &= left - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(left);

		if (refuses_node(call, (span.word + i) * 64 + bit))
			span.bits[i] &= ~(UINT64_C(1) << bit);
	}
}

static void explain_refusal(const struct plugin_call *call, uint32_t slot,
                            struct verdict *verdict)
{
	if (refuses_node(call, slot))
		(void)refuse_pod(verdict, REASON_VOLUME_ZONE, 0);
}

const struct plugin plugin_volume_zone = {
	.name = "VolumeZone",
	.refusal = PLUGIN_REFUSES_UNRESOLVABLE,
	.events = QUEUE_ON(STORAGE_CLASS) | QUEUE_ON(NODE_ADDED) | QUEUE_ON(NODE_LABELS) |
                  QUEUE_ON(PVC_ADDED) | QUEUE_ON(PVC_CHANGED) | QUEUE_ON(PV_ADDED) |
                  QUEUE_ON(PV_CHANGED),
	.hint = claims_hint,
	.epoch = volume_claims_epoch,
	.state_size = sizeof(struct zone_rules),
	.pre_filter = pre_filter,
	.filter = filter_nodes,
	.why = explain_refusal,
};
