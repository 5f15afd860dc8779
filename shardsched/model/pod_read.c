/* A pod from JSON; pod_read_spec.c has the larger parts. */
#include "shardsched/model/pod_read.h"

/* The pod's DisruptionTarget condition has the reason. */
static bool was_preempted(struct reader *reader, struct pl_json status)
{
	uint32_t count;
	struct pl_json list = reader_list(reader, status, "conditions", &count);

	PL_JSON_EACH (item, list) {
		if (!pl_span_eq(reader_text(reader, item, "type"),
		                PL_SPAN_LIT("DisruptionTarget")))
			continue;
		return pl_span_eq(reader_text(reader, item, "status"),
		                  PL_SPAN_LIT("True")) &&
		       pl_span_eq(reader_text(reader, item, "reason"),
		                  PL_SPAN_LIT("PreemptionByScheduler"));
	}
	return false;
}

static void read_status(struct reader *reader, struct pl_json root, struct pod_draft *out)
{
	struct pl_json status = reader_object(reader, root, "status");

	out->phase = reader_text(reader, status, "phase");
	out->nominated = reader_text(reader, status, "nominatedNodeName");
	out->started_ms = reader_time(reader, status, "startTime");
	out->preempted = was_preempted(reader, status);
}

static void read_tolerations(struct reader *reader, struct pl_json spec,
                             struct pod_draft *out)
{
	struct draft_tolerations *all = &out->tolerations;
	uint32_t i = 0;
	struct pl_json list = reader_list(reader, spec, "tolerations", &all->count);

	all->at = reader_alloc(reader, all->count, sizeof *all->at);
	if (all->at == NULL)
		return;
	PL_JSON_EACH (item, list) {
		all->at[i++] = (struct draft_toleration){
			.key = reader_text(reader, item, "key"),
			.op = reader_text(reader, item, "operator"),
			.value = reader_text(reader, item, "value"),
			.effect = reader_text(reader, item, "effect"),
			.has_seconds = reader_has(item, "tolerationSeconds"),
			.seconds = reader_int64(reader, item, "tolerationSeconds"),
		};
	}
}

static void read_gates(struct reader *reader, struct pl_json spec, struct pod_draft *out)
{
	uint32_t i = 0;
	struct pl_json list =
		reader_list(reader, spec, "schedulingGates", &out->gates.count);

	out->gates.at = reader_alloc(reader, out->gates.count, sizeof *out->gates.at);
	if (out->gates.at == NULL)
		return;
	PL_JSON_EACH (item, list)
		out->gates.at[i++] = reader_text(reader, item, "name");
}

static void read_spreads(struct reader *reader, struct pl_json spec,
                         struct pod_draft *out)
{
	uint32_t i = 0;
	struct pl_json list = reader_list(reader, spec, "topologySpreadConstraints",
	                                  &out->spread_count);

	out->spreads = reader_alloc(reader, out->spread_count, sizeof *out->spreads);
	if (out->spreads == NULL)
		return;
	PL_JSON_EACH (item, list) {
		out->spreads[i++] = (struct draft_spread){
			.selector = reader_selector(reader, item, "labelSelector"),
			.match_keys = reader_texts(reader, item, "matchLabelKeys"),
			.topology_key = reader_text(reader, item, "topologyKey"),
			.when = reader_text(reader, item, "whenUnsatisfiable"),
			.affinity_policy =
				reader_text(reader, item, "nodeAffinityPolicy"),
			.taints_policy = reader_text(reader, item, "nodeTaintsPolicy"),
			.max_skew = reader_int32(reader, item, "maxSkew"),
			.min_domains = reader_int32(reader, item, "minDomains"),
			.has_min_domains = reader_has(item, "minDomains"),
		};
	}
}

static void read_words(struct reader *reader, struct pl_json spec, struct pod_draft *out)
{
	out->node_name = reader_text(reader, spec, "nodeName");
	out->scheduler_name = reader_text(reader, spec, "schedulerName");
	if (out->scheduler_name.len == 0)
		out->scheduler_name = PL_SPAN_LIT("default-scheduler");
	out->priority_class = reader_text(reader, spec, "priorityClassName");
	out->runtime_class = reader_text(reader, spec, "runtimeClassName");
	out->preemption = reader_text(reader, spec, "preemptionPolicy");
	out->has_preemption = reader_has(spec, "preemptionPolicy");
	out->host_network = reader_bool(reader, spec, "hostNetwork");
	out->priority = reader_int32(reader, spec, "priority");
	out->overhead = reader_amounts(reader, spec, "overhead");
	out->node_selector = reader_pairs(reader, spec, "nodeSelector");
}

static void default_host_ports(struct draft_containers *all)
{
	for (uint32_t i = 0; i < all->count; i++)
		for (uint32_t j = 0; j < all->at[i].port_count; j++) {
			struct draft_port *port = &all->at[i].ports[j];

			if (port->host_port == 0)
				port->host_port = port->container_port;
		}
}

static enum pl_code read_draft(struct reader *reader, struct pl_json root,
                               struct pod_draft *out)
{
	struct pl_json spec;

	*out = (struct pod_draft){0};
	out->meta = reader_meta(reader, root);
	spec = reader_object(reader, root, "spec");
	read_words(reader, spec, out);
	out->containers = pod_read_containers(reader, spec, "containers");
	out->init = pod_read_containers(reader, spec, "initContainers");
	if (out->host_network) {
		default_host_ports(&out->containers);
		default_host_ports(&out->init);
	}
	pod_read_volumes(reader, spec, out);
	pod_read_affinity(reader, spec, out);
	read_tolerations(reader, spec, out);
	read_gates(reader, spec, out);
	read_spreads(reader, spec, out);
	read_status(reader, root, out);
	return reader->code;
}

enum pl_code pod_draft_read(struct pl_arena *arena, struct pl_span json,
                            struct pod_draft *out, struct pl_err *err)
{
	struct reader reader;
	struct pl_json root = reader_init(&reader, arena, json, err);

	return read_draft(&reader, root, out);
}

enum pl_code pod_draft_read_tree(struct pl_arena *arena, struct pl_json root,
                                 struct pod_draft *out, struct pl_err *err)
{
	struct reader reader;

	reader_over(&reader, arena, err);
	if (pl_json_type(root) != PL_JSON_OBJECT)
		(void)reader_fail(&reader, root, PL_INVALID, "want an object");
	return read_draft(&reader, root, out);
}
