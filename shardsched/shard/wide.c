/*
 * Rules that reach beyond this shard's nodes. What a pod requires of other pods in a
 * topology holds only if all of its nodes are seen. A shard sees its own partitions. So
 * such pods are placed by a shard that owns every partition, and elsewhere they wait and
 * are told why: a placement that breaks what was required would be worse.
 *
 * Anti-affinity over hosts needs no more than the node's own pods, which its alloc lists
 * whoever placed them.
 */
#include "shardsched/shard/inner.h"

static const char hostname[] = "kubernetes.io/hostname";

static bool sees_all(const struct sched *sched)
{
	for (uint32_t i = 0; i < sched->opts.partitions; i++)
		if (!sched->partition[i].open || sched->partition[i].quiet)
			return false;
	return true;
}

bool wide_is(const struct sched *sched, const struct spec *spec)
{
	if (spec->affinity.count > 0)
		return true;
	for (unsigned i = 0; i < spec->spreads.count; i++)
		if (spec_spreads(spec)[i].hard)
			return true;
	for (unsigned i = 0; i < spec->anti_affinity.count; i++) {
		const struct pod_term *term = spec_anti_affinity(spec)[i].term;

		if (!pl_span_eq(sched_text(sched, term->topology_key),
		                pl_span_str(hostname)))
			return true;
	}
	return false;
}

enum reason_code wide_refusal(const struct sched *sched, const struct spec *spec)
{
	if (wide_is(sched, spec) && !sees_all(sched))
		return REASON_RULES_WIDE;
	return REASON_NONE;
}

void wide_opened(struct sched *sched)
{
	if (sees_all(sched))
		tell_event(sched, QUEUE_EV_ANY, 0);
}
