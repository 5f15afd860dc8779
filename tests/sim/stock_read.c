/* What allocs and states say, read for the judges. */
#include <stdlib.h>

#include "store/base/json.h"
#include "store/base/timestamp.h"
#include "tests/sim/world.h"

/* "250m", "1500", as whole units of one thousandth when milli. */
static int64_t amount(struct pl_json object, const char *name, bool milli)
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

static struct stock_sum sum_of(struct pl_json used)
{
	return (struct stock_sum){.cpu_milli = amount(used, "cpu", true),
	                          .memory_bytes = amount(used, "memory", false),
	                          .pods = amount(used, "pods", false)};
}

static bool read_space(struct stock *stock, struct pl_json names, uint32_t partition,
                       struct stock_node *out)
{
	PL_JSON_EACH (name, names) {
		const char *text;

		if (pl_json_as_string(name, &text, NULL) != PL_OK ||
		    out->listed == STOCK_LISTED_MAX)
			return false;
		out->list[out->listed++] = (struct stock_listed){
			.pod = scene_pod_of(&stock->scene,
		                            pl_span_str(pl_json_key(names)),
		                            pl_span_str(text)),
			.partition = partition};
	}
	return true;
}

static void sum_add(struct stock_sum *to, const struct stock_sum *sum)
{
	to->cpu_milli += sum->cpu_milli;
	to->memory_bytes += sum->memory_bytes;
	to->pods += sum->pods;
}

static int32_t priority_of(const struct stock *stock, struct pl_json hold)
{
	const char *namespace = "", *name = "";
	uint32_t pod = STOCK_NONE;

	if (pl_json_string(hold, "namespace", PL_JSON_OPTIONAL, &namespace, NULL) ==
	            PL_OK &&
	    pl_json_string(hold, "name", PL_JSON_OPTIONAL, &name, NULL) == PL_OK)
		pod = scene_pod_of(&stock->scene, pl_span_str(namespace),
		                   pl_span_str(name));
	return pod == STOCK_NONE ? STOCK_NO_PRIORITY : scene_priority(scene_kind(pod));
}

/* False: there are too many. */
static bool read_gang_hold(const struct stock *stock, struct pl_json hold,
                           const struct stock_sum *sum, struct stock_node *out)
{
	const char *namespace = "", *name = "";
	struct stock_hold *to = &out->gang_hold[out->gang_holds];

	if (out->gang_holds == STOCK_GANG_HOLDS ||
	    pl_json_string(hold, "namespace", PL_JSON_REQUIRED, &namespace, NULL) !=
	            PL_OK ||
	    pl_json_string(hold, "name", PL_JSON_REQUIRED, &name, NULL) != PL_OK)
		return false;
	out->gang_holds++;
	*to = (struct stock_hold){.gang = scene_gang_of(pl_span_str(namespace),
	                                                pl_span_str(name), stock->pods),
	                          .sum = *sum};
	return to->gang != STOCK_NONE;
}

static bool read_holds(const struct stock *stock, struct pl_json holds,
                       struct stock_node *out)
{
	PL_JSON_EACH (hold, holds) {
		struct stock_sum sum = sum_of(pl_json_member(hold, "used"));
		const char *kind = "";
		int32_t priority = priority_of(stock, hold);

		out->holds++;
		sum_add(&out->held, &sum);
		if (pl_json_string(hold, "kind", PL_JSON_REQUIRED, &kind, NULL) !=
		            PL_OK ||
		    (strcmp(kind, "gang") == 0 &&
		     !read_gang_hold(stock, hold, &sum, out)))
			return false;
		if (strcmp(kind, "nominated") != 0)
			continue;
		sum_add(&out->nominated, &sum);
		if (priority > out->hold_priority)
			out->hold_priority = priority;
	}
	return true;
}

/* False: one that is not listed. */
static bool mark_leaving(struct stock *stock, struct stock_node *out,
                         const char *namespace, const char *name)
{
	uint32_t pod =
		scene_pod_of(&stock->scene, pl_span_str(namespace), pl_span_str(name));

	for (uint32_t i = 0; i < out->listed; i++)
		if (out->list[i].pod == pod) {
			out->list[i].leaving = true;
			return true;
		}
	return false;
}

static bool read_leaving(struct stock *stock, struct pl_json leaving,
                         struct stock_node *out)
{
	bool good = true;

	PL_JSON_EACH (partition, leaving) {
		PL_JSON_EACH (namespace, partition) {
			PL_JSON_EACH (name, namespace) {
				const char *text = "";

				good = good &&
				       pl_json_as_string(name, &text, NULL) == PL_OK &&
				       mark_leaving(stock, out, pl_json_key(namespace),
				                    text);
			}
		}
	}
	return good;
}

bool stock_read_alloc(struct stock *stock, struct pl_span value, struct stock_node *out)
{
	struct pl_json root;
	int64_t v = 0, generation = 0;

	pl_arena_reset(&stock->arena);
	out->listed = out->holds = out->gang_holds = 0;
	out->hold_priority = STOCK_NO_PRIORITY;
	out->held = out->nominated = (struct stock_sum){0};
	if (pl_json_parse(&stock->arena, value, NULL, &root, NULL) != PL_OK ||
	    pl_json_int(root, "v", PL_JSON_REQUIRED, &v, NULL) != PL_OK || v != 1 ||
	    pl_json_int(root, "generation", PL_JSON_REQUIRED, &generation, NULL) != PL_OK)
		return false;
	out->generation = (uint64_t)generation;
	out->used = sum_of(pl_json_member(root, "used"));
	PL_JSON_EACH (partition, pl_json_member(root, "pods")) {
		PL_JSON_EACH (namespace, partition)
			if (!read_space(
				    stock, namespace,
				    (uint32_t)strtoul(pl_json_key(partition), NULL, 10),
				    out))
				return false;
	}
	return read_holds(stock, pl_json_member(root, "holds"), out) &&
	       read_leaving(stock, pl_json_member(root, "leaving"), out);
}

static enum stock_phase phase_of(const char *word)
{
	static const char *const words[] = {[STOCK_PENDING] = "Pending",
	                                    [STOCK_BOUND] = "Bound",
	                                    [STOCK_TERMINATING] = "Terminating",
	                                    [STOCK_SUCCEEDED] = "Succeeded",
	                                    [STOCK_FAILED] = "Failed"};

	for (unsigned i = STOCK_PENDING; i <= STOCK_FAILED; i++)
		if (strcmp(words[i], word) == 0)
			return (enum stock_phase)i;
	return STOCK_BAD_STATE;
}

/* "room is made on <cluster>/<node>, where ..." */
static uint32_t makes_room(const struct stock *stock, const char *reason,
                           const char *message)
{
	char cluster[STOCK_WORD] = "", node[STOCK_WORD] = "";

	_Static_assert(STOCK_WORD == 48, "as the format says");
	if (strcmp(reason, "preempting") != 0 ||
	    sscanf(message, "room is made on %47[^/]/%47[^,],", cluster, node) != 2)
		return STOCK_NONE;
	return scene_node_of(&stock->scene, pl_span_str(cluster), pl_span_str(node));
}

bool stock_read_state(struct stock *stock, struct pl_span value, struct stock_pod *out)
{
	const char *phase = NULL, *cluster = "", *node = "", *shard = "", *reason = "",
		   *uid = "", *since = NULL, *ask = "", *ended = "", *next = "",
		   *message = "";
	struct pl_json root;
	int64_t v = 0;

	pl_arena_reset(&stock->arena);
	out->phase = STOCK_BAD_STATE;
	out->node = out->makes_room = STOCK_NONE;
	out->epoch = 0;
	if (pl_json_parse(&stock->arena, value, NULL, &root, NULL) != PL_OK ||
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
	                (out->phase == STOCK_TERMINATING && *next == 0);
	out->ended = *ended != 0;
	out->shard = truth_shard_of(pl_span_str(shard), UINT16_MAX);
	out->node = *node == 0 ? STOCK_NONE
	                       : scene_node_of(&stock->scene, pl_span_str(cluster),
	                                       pl_span_str(node));
	(void)snprintf(out->reason, sizeof out->reason, "%s", reason);
	out->makes_room = makes_room(stock, reason, message);
	uid = strrchr(uid, '-');
	out->life = uid == NULL ? UINT32_MAX : (uint32_t)strtoul(uid + 1, NULL, 10);
	return out->phase != STOCK_BAD_STATE;
}
