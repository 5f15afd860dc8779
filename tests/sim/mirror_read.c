/* Values of allocs and states, read for the judges. */
#include <stdlib.h>

#include "store/base/json.h"
#include "store/base/timestamp.h"
#include "tests/sim/world.h"

/* "250m", "1500", as whole units, or as thousandths if milli. */
static int64_t read_amount(struct pl_json object, const char *name, bool milli)
{
	const char *text = NULL;
	char *end;
	long long number;

	if (pl_json_string(object, name, PL_JSON_OPTIONAL, &text, NULL) != PL_OK ||
	    text == NULL)
		return 0;
	number = strtoll(text, &end, 10);
	if (!milli)
		return *end == 0 ? number : -1;
	return *end == 'm' ? number : number * 1000;
}

static struct mirror_sum sum_of(struct pl_json used)
{
	return (struct mirror_sum){.cpu_milli = read_amount(used, "cpu", true),
	                           .memory_bytes = read_amount(used, "memory", false),
	                           .pods = read_amount(used, "pods", false)};
}

static bool read_namespace(struct mirror *mirror, struct pl_json names,
                           uint32_t partition, struct mirror_node *out)
{
	PL_JSON_EACH (name, names) {
		const char *text;

		if (pl_json_as_string(name, &text, NULL) != PL_OK ||
		    out->listed == MIRROR_LISTED_MAX)
			return false;
		out->list[out->listed++] = (struct mirror_listed){
			.pod = scenario_pod_of(&mirror->scenario,
		                               pl_span_str(pl_json_key(names)),
		                               pl_span_str(text)),
			.partition = partition};
	}
	return true;
}

static void sum_add(struct mirror_sum *to, const struct mirror_sum *sum)
{
	to->cpu_milli += sum->cpu_milli;
	to->memory_bytes += sum->memory_bytes;
	to->pods += sum->pods;
}

static int32_t priority_of(const struct mirror *mirror, struct pl_json reservation)
{
	const char *namespace = "", *name = "";
	uint32_t pod = MIRROR_NONE;

	if (pl_json_string(reservation, "namespace", PL_JSON_OPTIONAL, &namespace,
	                   NULL) == PL_OK &&
	    pl_json_string(reservation, "name", PL_JSON_OPTIONAL, &name, NULL) == PL_OK)
		pod = scenario_pod_of(&mirror->scenario, pl_span_str(namespace),
		                      pl_span_str(name));
	return pod == MIRROR_NONE ? MIRROR_NO_PRIORITY
	                          : scenario_priority(scenario_kind(pod));
}

/* False: there are too many. */
static bool read_gang_reservation(const struct mirror *mirror, struct pl_json reservation,
                                  const struct mirror_sum *sum, struct mirror_node *out)
{
	const char *namespace = "", *name = "";
	struct mirror_reservation *to = &out->gang_reservation[out->gang_reservations];

	if (out->gang_reservations == MIRROR_GANG_RESERVATIONS ||
	    pl_json_string(reservation, "namespace", PL_JSON_REQUIRED, &namespace,
	                   NULL) != PL_OK ||
	    pl_json_string(reservation, "name", PL_JSON_REQUIRED, &name, NULL) != PL_OK)
		return false;
	out->gang_reservations++;
	*to = (struct mirror_reservation){.gang = scenario_gang_of(pl_span_str(namespace),
	                                                           pl_span_str(name),
	                                                           mirror->pods),
	                                  .sum = *sum};
	return to->gang != MIRROR_NONE;
}

static bool read_reservations(const struct mirror *mirror, struct pl_json reservations,
                              struct mirror_node *out)
{
	PL_JSON_EACH (reservation, reservations) {
		struct mirror_sum sum = sum_of(pl_json_member(reservation, "used"));
		const char *kind = "";
		int32_t priority = priority_of(mirror, reservation);

		out->reservations++;
		sum_add(&out->reserved, &sum);
		if (pl_json_string(reservation, "kind", PL_JSON_REQUIRED, &kind, NULL) !=
		            PL_OK ||
		    (strcmp(kind, "gang") == 0 &&
		     !read_gang_reservation(mirror, reservation, &sum, out)))
			return false;
		if (strcmp(kind, "nominated") != 0)
			continue;
		sum_add(&out->nominated, &sum);
		if (priority > out->nominated_priority)
			out->nominated_priority = priority;
	}
	return true;
}

/* False: the pod is not listed. */
static bool mark_leaving(struct mirror *mirror, struct mirror_node *out,
                         const char *namespace, const char *name)
{
	uint32_t pod = scenario_pod_of(&mirror->scenario, pl_span_str(namespace),
	                               pl_span_str(name));

	for (uint32_t i = 0; i < out->listed; i++)
		if (out->list[i].pod == pod) {
			out->list[i].leaving = true;
			return true;
		}
	return false;
}

static bool read_leaving(struct mirror *mirror, struct pl_json leaving,
                         struct mirror_node *out)
{
	bool good = true;

	PL_JSON_EACH (partition, leaving) {
		PL_JSON_EACH (namespace, partition) {
			PL_JSON_EACH (name, namespace) {
				const char *text = "";

				good = good &&
				       pl_json_as_string(name, &text, NULL) == PL_OK &&
				       mark_leaving(mirror, out, pl_json_key(namespace),
				                    text);
			}
		}
	}
	return good;
}

bool mirror_read_alloc(struct mirror *mirror, struct pl_span value,
                       struct mirror_node *out)
{
	struct pl_json root;
	int64_t v = 0, generation = 0;

	pl_arena_reset(&mirror->arena);
	out->listed = out->reservations = out->gang_reservations = 0;
	out->nominated_priority = MIRROR_NO_PRIORITY;
	out->reserved = out->nominated = (struct mirror_sum){0};
	if (pl_json_parse(&mirror->arena, value, NULL, &root, NULL) != PL_OK ||
	    pl_json_int(root, "v", PL_JSON_REQUIRED, &v, NULL) != PL_OK || v != 1 ||
	    pl_json_int(root, "generation", PL_JSON_REQUIRED, &generation, NULL) != PL_OK)
		return false;
	out->generation = (uint64_t)generation;
	out->used = sum_of(pl_json_member(root, "used"));
	PL_JSON_EACH (partition, pl_json_member(root, "pods")) {
		PL_JSON_EACH (namespace, partition)
			if (!read_namespace(
				    mirror, namespace,
				    (uint32_t)strtoul(pl_json_key(partition), NULL, 10),
				    out))
				return false;
	}
	return read_reservations(mirror, pl_json_member(root, "holds"), out) &&
	       read_leaving(mirror, pl_json_member(root, "leaving"), out);
}

static enum mirror_phase phase_of(const char *word)
{
	static const char *const words[] = {[MIRROR_PENDING] = "Pending",
	                                    [MIRROR_BOUND] = "Bound",
	                                    [MIRROR_TERMINATING] = "Terminating",
	                                    [MIRROR_SUCCEEDED] = "Succeeded",
	                                    [MIRROR_FAILED] = "Failed"};

	for (unsigned i = MIRROR_PENDING; i <= MIRROR_FAILED; i++)
		if (strcmp(words[i], word) == 0)
			return (enum mirror_phase)i;
	return MIRROR_BAD_STATE;
}

/* "room is made on <cluster>/<node>, where ..." */
static uint32_t makes_room(const struct mirror *mirror, const char *reason,
                           const char *message)
{
	char cluster[MIRROR_TEXT_SIZE] = "", node[MIRROR_TEXT_SIZE] = "";

	_Static_assert(MIRROR_TEXT_SIZE == 48, "as the format says");
	if (strcmp(reason, "preempting") != 0 ||
	    sscanf(message, "room is made on %47[^/]/%47[^,],", cluster, node) != 2)
		return MIRROR_NONE;
	return scenario_node_of(&mirror->scenario, pl_span_str(cluster),
	                        pl_span_str(node));
}

bool mirror_read_state(struct mirror *mirror, struct pl_span value,
                       struct mirror_pod *out)
{
	const char *phase = NULL, *cluster = "", *node = "", *shard = "", *reason = "",
		   *uid = "", *since = NULL, *ask = "", *ended = "", *next = "",
		   *message = "";
	struct pl_json root;
	int64_t v = 0;

	pl_arena_reset(&mirror->arena);
	out->phase = MIRROR_BAD_STATE;
	out->node = out->makes_room = MIRROR_NONE;
	out->epoch = 0;
	if (pl_json_parse(&mirror->arena, value, NULL, &root, NULL) != PL_OK ||
	    pl_json_int(root, "v", PL_JSON_REQUIRED, &v, NULL) != PL_OK || v != 1 ||
	    pl_json_string(root, "phase", PL_JSON_REQUIRED, &phase, NULL) != PL_OK ||
	    pl_json_string(root, "cluster", PL_JSON_OPTIONAL, &cluster, NULL) != PL_OK ||
	    pl_json_string(root, "node", PL_JSON_OPTIONAL, &node, NULL) != PL_OK ||
	    pl_json_string(root, "uid", PL_JSON_OPTIONAL, &uid, NULL) != PL_OK ||
	    pl_json_string(root, "shard", PL_JSON_OPTIONAL, &shard, NULL) != PL_OK ||
	    pl_json_string(root, "since", PL_JSON_REQUIRED, &since, NULL) != PL_OK ||
	    pl_json_string(root, "ask", PL_JSON_OPTIONAL, &ask, NULL) != PL_OK ||
	    pl_json_string(root, "next", PL_JSON_OPTIONAL, &next, NULL) != PL_OK ||
	    pl_json_string(root, "ended", PL_JSON_OPTIONAL, &ended, NULL) != PL_OK ||
	    pl_json_string(root, "reason", PL_JSON_OPTIONAL, &reason, NULL) != PL_OK ||
	    pl_json_string(root, "message", PL_JSON_OPTIONAL, &message, NULL) != PL_OK ||
	    pl_json_int(root, "epoch", PL_JSON_OPTIONAL, &out->epoch, NULL) != PL_OK ||
	    pl_timestamp_parse(pl_span_str(since), &out->said_ms, NULL) != PL_OK)
		return false;
	out->phase = phase_of(phase);
	out->asked = *ask != 0;
	out->unwanted = strcmp(ask, "delete") == 0 ||
	                (out->phase == MIRROR_TERMINATING && *next == 0);
	out->ended = *ended != 0;
	out->shard = truth_shard_of(pl_span_str(shard), UINT16_MAX);
	out->node = *node == 0 ? MIRROR_NONE
	                       : scenario_node_of(&mirror->scenario, pl_span_str(cluster),
	                                          pl_span_str(node));
	(void)snprintf(out->reason, sizeof out->reason, "%s", reason);
	out->makes_room = makes_room(mirror, reason, message);
	uid = strrchr(uid, '-');
	out->incarnation =
		uid == NULL ? UINT32_MAX : (uint32_t)strtoul(uid + 1, NULL, 10);
	return out->phase != MIRROR_BAD_STATE;
}
