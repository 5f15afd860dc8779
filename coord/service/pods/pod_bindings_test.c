/* Bindings of pods to nodes that a client chose, over the store in memory. */
#include "tests/support/coord/service/pod_changes_kit.h"

T_CASE(a_pod_is_bound_where_the_client_says)
{
	char want[200];

	up();
	put_node("n-1", "4", EMPTY);
	put_spec(0, "", "");
	bind_pod(0);
	change[0].uid = PL_SPAN_LIT("u-0");
	run(1);
	was_done(0);
	T_STR(value_at(key_of(0, "state")),
	      "{\"v\":1,\"uid\":\"u-0\",\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":"
	      "\"n-1\",\"shard\":\"api-1\",\"since\":\"1970-01-01T00:00:01.000Z\"}");
	(void)snprintf(want, sizeof want, "\"pods\":{\"%04u\":{\"shop\":[\"web-0\"]}}}",
	               partition_of("web-0"));
	T_TRUE(strstr(value_at(node_key("alloc", "n-1")), want) != NULL);
	T_TRUE(strstr(value_at(node_key("alloc", "n-1")),
	              "\"generation\":8,\"used\":{\"cpu\":\"500m\",\"pods\":\"1\"}") !=
	       NULL);
	T_STR(value_at(key_of(0, "spec")), spec_text[0]);
	down();
}

T_CASE(a_waiting_pod_is_bound_over_its_state)
{
	up();
	put_node("n-1", "4", EMPTY);
	put_spec(0, "", "");
	put_state(0, WAITS);
	bind_pod(0);
	run(1);
	was_done(0);
	T_TRUE(strstr(value_at(key_of(0, "state")), "\"attempts\":3") != NULL);
	T_TRUE(strstr(value_at(key_of(0, "state")), "\"fit\"") == NULL);
	down();
}

/* An annotation since then: a conflict only where the client named the version. */
T_CASE(a_binding_may_name_the_version_of_its_pod)
{
	for (unsigned i = 0; i < 4; i++) {
		up();
		put_node("n-1", "4", EMPTY);
		put_spec(0, "", "");
		put_state(0, WAITS);
		bind_pod(0);
		change[0].exact = i % 2 == 1;
		if (i >= 2)
			(void)kit_put(&kit, key_of(0, "spec"), spec_text[0]);
		run(1);
		T_EQ(result[0].outcome, i == 3 ? POD_CHANGE_CONFLICT : POD_CHANGE_DONE);
		if (i == 3)
			T_STR(value_at(node_key("alloc", "n-1")), EMPTY);
		down();
	}
}

/* Eight pods of half a cpu on a node of two: four are bound, whichever those are. */
T_CASE(pods_on_one_node_share_its_room)
{
	unsigned done = 0;

	up();
	put_node("n-1", "2", EMPTY);
	for (unsigned i = 0; i < 8; i++) {
		put_spec(i, "", "");
		bind_pod(i);
	}
	run(8);
	for (unsigned i = 0; i < 8; i++) {
		done += result[i].outcome == POD_CHANGE_DONE;
		if (result[i].outcome == POD_CHANGE_DONE)
			continue;
		was_refused(i, POD_REFUSAL_ROOM);
		T_STR(why[i], "Insufficient cpu");
		T_EQ(value_at(key_of(i, "state")), NULL);
	}
	T_EQ(done, 4);
	T_TRUE(strstr(value_at(node_key("alloc", "n-1")),
	              "\"cpu\":\"2000m\",\"pods\":\"4\"") != NULL);
	down();
}

T_CASE(bindings_are_refused_as_kubernetes_refuses_them)
{
	static const struct {
		const char *meta, *spec, *state;
		enum pod_refusal refusal;
	} cases[] = {
		{"", ",\"schedulingGates\":[{\"name\":\"g\"}]", NULL, POD_REFUSAL_GATED},
		{"", ",\"nodeName\":\"n-1\"", NULL, POD_REFUSAL_ASSIGNED},
		{"", "", BOUND_TO("n-1"), POD_REFUSAL_ASSIGNED},
		{"", "",
	         "\"phase\":\"Terminating\",\"cluster\":\"east\",\"node\":\"n-1\"",
	         POD_REFUSAL_LEAVING},
		{"", "", "\"phase\":\"Failed\"", POD_REFUSAL_ENDED},
		{",\"deletionTimestamp\":\"2026-11-21T09:00:00Z\"", "", NULL,
	         POD_REFUSAL_LEAVING},
		{",\"annotations\":{\"placet.io/gang\":\"g\"}", "", NULL,
	         POD_REFUSAL_GANG},
	};

	for (unsigned i = 0; i < 7; i++) {
		up();
		put_node("n-1", "4", EMPTY);
		put_spec(0, cases[i].meta, cases[i].spec);
		if (cases[i].state != NULL)
			put_state(0, cases[i].state);
		bind_pod(0);
		run(1);
		was_refused(0, cases[i].refusal);
		T_STR(value_at(node_key("alloc", "n-1")), EMPTY);
		down();
	}
}

T_CASE(a_binding_names_its_pod_and_its_node)
{
	up();
	put_node("n-1", "4", EMPTY);
	put_node("n-2", "4", "not an alloc");
	for (unsigned i = 0; i < 3; i++) {
		put_spec(i, "", "");
		bind_pod(i);
	}
	change[0].uid = PL_SPAN_LIT("u-9");
	change[1].node = PL_SPAN_LIT("n-9");
	change[2].node = PL_SPAN_LIT("n-2");
	run(3);
	was_refused(0, POD_REFUSAL_UID);
	was_refused(1, POD_REFUSAL_NODE);
	was_refused(2, POD_REFUSAL_NODE);
	down();
}

static void put_port_spec(unsigned i, const char *ip)
{
	(void)snprintf(spec_text[i], sizeof spec_text[i],
	               "{\"metadata\":{\"namespace\":\"shop\",\"name\":\"%s\",\"uid\":"
	               "\"u-%u\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":"
	               "\"i\",\"ports\":[{\"containerPort\":80,\"hostPort\":80,"
	               "\"hostIP\":\"%s\"}],\"resources\":{\"requests\":{"
	               "\"example.com/gpu\":\"1\"},\"limits\":{\"example.com/gpu\":"
	               "\"1\"}}}]}}",
	               name_text[i], i, ip);
	change[i].spec.value = pl_span_str(spec_text[i]);
	change[i].spec.rev = kit_put(&kit, key_of(i, "spec"), spec_text[i]);
}

T_CASE(ports_and_devices_are_taken)
{
	char json[400];

	up();
	put_node("n-1", "4", EMPTY);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"n-1\"},\"status\":{\"allocatable\":{"
	               "\"cpu\":\"4\",\"pods\":\"9\",\"example.com/gpu\":\"2\"}}}");
	(void)kit_put(&kit, node_key("nodes", "n-1"), json);
	for (unsigned i = 0; i < 4; i++) {
		static const char *const ips[] = {"10.0.0.1", "10.0.0.2", "0.0.0.0",
		                                  "10.0.0.3"};

		put_port_spec(i, ips[i]);
		bind_pod(i);
	}
	run(2);
	was_done(0);
	was_done(1);
	T_TRUE(strstr(value_at(node_key("alloc", "n-1")), "\"example.com/gpu\":\"2\"") !=
	       NULL);
	T_TRUE(strstr(value_at(node_key("alloc", "n-1")),
	              "\"ports\":[\"TCP/10.0.0.1/80\",\"TCP/10.0.0.2/80\"]") != NULL);
	change[0] = change[2];
	run(1);
	was_refused(0, POD_REFUSAL_ROOM);
	change[0] = change[3];
	run(1);
	was_refused(0, POD_REFUSAL_ROOM);
	T_STR(why[0], "Insufficient example.com/gpu");
	down();
}

#define HOLD(kind, name, more)                                                      \
	"{\"v\":1,\"generation\":7,\"used\":{\"cpu\":\"3800m\",\"pods\":\"1\"},"    \
	"\"holds\":[{\"kind\":\"" kind "\",\"namespace\":\"shop\",\"name\":\"" name \
	"\"," more "\"used\":{\"cpu\":\"3800m\",\"pods\":\"1\"},\"until\":"         \
	"\"2026-11-21T09:00:00.000Z\"}]}"

T_CASE(reserved_room_is_its_owners)
{
	char own[500];

	up();
	put_node("n-1", "4", HOLD("gang", "g", ""));
	put_node("n-2", "4", HOLD("nominated", "web-7", "\"at\":1,"));
	put_node("n-3", "4", "");
	(void)snprintf(own, sizeof own, HOLD("nominated", "web-2", "\"at\":%u,"),
	               partition_of("web-2"));
	(void)kit_put(&kit, node_key("alloc", "n-3"), own);
	for (unsigned i = 0; i < 3; i++) {
		put_spec(i, "", "");
		bind_pod(i);
	}
	change[1].node = PL_SPAN_LIT("n-2");
	change[2].node = PL_SPAN_LIT("n-3");
	run(3);
	was_refused(0, POD_REFUSAL_ROOM);
	was_refused(1, POD_REFUSAL_ROOM);
	was_done(2);
	T_TRUE(strstr(value_at(node_key("alloc", "n-3")),
	              "\"used\":{\"cpu\":\"500m\",\"pods\":\"1\"}") != NULL);
	T_TRUE(strstr(value_at(node_key("alloc", "n-3")), "holds") == NULL);
	down();
}

/* The term is there for every shard in the revision in which the first pod has it. */
T_CASE(a_bound_pods_rules_are_registered_with_it)
{
	static const char *const pods[] = {SPREAD_POD("other"), SPREAD_POD("web")};

	up();
	put_node("n-1", "4", EMPTY);
	put_registry(pods, 1);
	put_spec(0, LABELS("web"), SPREAD("web"));
	/* The pod has no controller, so it stands where its name falls. */
	bind_pod(0);
	run(1);
	was_done(0);
	T_EQ(rev_at("/groups/shop/registry"), result[0].revision);
	T_TRUE(strstr(value_at("/groups/shop/registry"), terms_of(pods[0]).term[0].id) !=
	       NULL);
	T_TRUE(strstr(value_at("/groups/shop/registry"), terms_of(pods[1]).term[0].id) !=
	       NULL);
	T_EQ(rev_at(lock_key(pods[1])), result[0].revision);
	put_spec(1, LABELS("web"), SPREAD("web"));
	change[0] = change[1];
	bind_pod(0);
	run(1);
	was_done(0);
	T_EQ(rev_at(lock_key(pods[1])), result[0].revision);
	T_TRUE(rev_at("/groups/shop/registry") < result[0].revision);
	down();
}

/* -- what the caller knows --------------------------------------------------------- */

static struct pod_value value_of(const char *key, char *room, size_t size)
{
	struct pod_value value = {.rev = rev_at(key)};

	(void)snprintf(room, size, "%s", value.rev == 0 ? "" : value_at(key));
	value.value = pl_span_str(room);
	return value;
}

static void know_all(struct pod_batch *batch, char room[2][600])
{
	struct pod_value alloc = value_of(node_key("alloc", "n-1"), room[0], 600);
	struct pod_value node = value_of(node_key("nodes", "n-1"), room[1], 600);
	const struct pod_value none = {0};

	pod_batch_know_node(batch, PL_SPAN_LIT("east"), PL_SPAN_LIT("n-1"), &alloc,
	                    &node);
	T_OK(pod_batch_know_rules(batch, PL_SPAN_LIT(""), &none, &kit.err), &kit.err);
	T_OK(pod_batch_know_rules(batch, PL_SPAN_LIT("shop"), &none, &kit.err), &kit.err);
}

static uint32_t reads_of(struct pod_batch *batch, struct kv_req **op)
{
	uint32_t count;

	T_EQ(pod_batch_reads(batch, 128, &kit.arena, op, &count), PL_OK);
	return count;
}

static enum builder_verdict commit(struct pod_batch *batch)
{
	struct txn_builder builder;
	struct builder_found found;
	struct kv_req req;
	uint32_t asked;

	T_OK(pod_batch_build(batch, &builder, &kit.arena, (struct kv_limits){0}, 1000,
	                     &asked, &kit.err),
	     &kit.err);
	T_EQ(asked, 1);
	builder_req(&builder, &req);
	T_EQ(kit_call(&kit, &req), PL_OK);
	T_TRUE(pod_batch_answer(batch, &builder, &kit.result, 0, &found));
	return found.verdict;
}

/* The Node has changed since the caller heard of it, the alloc that it knows is newer. */
T_CASE(known_values_are_compared_and_read_when_they_are_outdated)
{
	struct pod_batch batch;
	char room[2][600];
	struct kv_req *op, req;
	uint32_t at, count;

	for (unsigned i = 0; i < 2; i++) {
		up();
		put_node("n-1", "4", EMPTY);
		put_spec(0, "", "");
		bind_pod(0);
		pod_batch_init(&batch, PARTITIONS, "api-1");
		pod_batch_begin(&batch);
		T_OK(pod_batch_add(&batch, &change[0], &at, &kit.err), &kit.err);
		T_EQ(reads_of(&batch, &op), 4);
		know_all(&batch, room);
		T_EQ(reads_of(&batch, &op), 0);
		if (i == 1) {
			(void)kit_put(&kit, node_key("nodes", "n-1"), room[1]);
			T_EQ(commit(&batch), BUILDER_SAME);
			count = reads_of(&batch, &op);
			T_EQ(count, 4);
			req = (struct kv_req){.op = KV_TXN,
			                      .txn = {.then = op, .then_count = count}};
			T_EQ(kit_call(&kit, &req), PL_OK);
			T_OK(pod_batch_take(&batch, op, &kit.result, count, &kit.err),
			     &kit.err);
		}
		T_EQ(commit(&batch), BUILDER_OURS);
		T_TRUE(value_at(key_of(0, "state")) != NULL);
		pod_batch_done(&batch);
		down();
	}
}

static uint32_t take_reads(struct pod_batch *batch)
{
	struct kv_req *op, req;
	uint32_t count = reads_of(batch, &op);

	req = (struct kv_req){.op = KV_TXN, .txn = {.then = op, .then_count = count}};
	T_EQ(kit_call(&kit, &req), PL_OK);
	T_OK(pod_batch_take(batch, op, &kit.result, count, &kit.err), &kit.err);
	return count;
}

/* The Node has grown since the caller heard of it: what it knew has no room, and is read
 * before anything is refused. */
T_CASE(nothing_is_refused_by_what_is_only_known)
{
	struct pod_batch batch;
	struct txn_builder builder;
	struct pod_value node;
	char room[600];
	uint32_t at, asked;

	for (unsigned i = 0; i < 2; i++) {
		up();
		put_node("n-1", i == 0 ? "0" : "4", EMPTY);
		put_spec(0, "", "");
		bind_pod(0);
		node = value_of(node_key("nodes", "n-1"), room, sizeof room);
		if (i == 0)
			put_node("n-1", "4", EMPTY);
		pod_batch_init(&batch, PARTITIONS, "api-1");
		pod_batch_begin(&batch);
		T_OK(pod_batch_add(&batch, &change[0], &at, &kit.err), &kit.err);
		pod_batch_know_node(&batch, PL_SPAN_LIT("east"), PL_SPAN_LIT("n-1"), NULL,
		                    &node);
		T_EQ(take_reads(&batch), 3); /* the alloc, and two registries */
		if (i == 0) {
			T_OK(pod_batch_build(&batch, &builder, &kit.arena,
			                     (struct kv_limits){0}, 1000, &asked,
			                     &kit.err),
			     &kit.err);
			T_EQ(asked, 0);
			T_TRUE(!batch.pod[at].done);
			T_EQ(take_reads(&batch), 2);
		}
		T_EQ(commit(&batch), BUILDER_OURS);
		pod_batch_done(&batch);
		down();
	}
}

static struct pod_value known_node;
static unsigned asked_about;

static bool on_know(void *ctx, struct pl_span cluster, struct pl_span name,
                    struct pod_value *out)
{
	(void)ctx;
	T_SPAN(cluster, PL_SPAN_LIT("east"));
	T_SPAN(name, PL_SPAN_LIT("n-1"));
	asked_about++;
	*out = known_node;
	return known_node.rev != 0;
}

/* Right, outdated, or not known: the pods are bound, and the one without room is refused. */
T_CASE(bindings_ask_the_caller_for_nodes)
{
	const struct pod_changes_opts opts = {.change = change,
	                                      .count = 2,
	                                      .who = "api-1",
	                                      .wall_ms = 1000,
	                                      .know = on_know,
	                                      .report = on_report,
	                                      .done = on_done};
	static const char *const cpus[] = {"500m", "0", "4", "500m"};
	struct pod_changes *changes;
	char room[600];

	for (unsigned i = 0; i < 4; i++) {
		up();
		put_node("n-1", cpus[i], EMPTY);
		known_node = value_of(node_key("nodes", "n-1"), room, sizeof room);
		put_node("n-1", "500m", EMPTY);
		if (i == 0)
			known_node.rev = rev_at(node_key("nodes", "n-1"));
		if (i == 3)
			known_node = (struct pod_value){0};
		for (unsigned pod = 0; pod < 2; pod++) {
			put_spec(pod, "", "");
			bind_pod(pod);
		}
		asked_about = dones = reports = 0;
		T_OK(pod_changes_start(&service, &opts, &changes, &kit.err), &kit.err);
		kit_until(&kit, kit.now_ms + 1000);
		T_EQ(dones, 1);
		T_EQ(reports, 2);
		T_TRUE(asked_about > 0);
		was_done(0);
		was_refused(1, POD_REFUSAL_ROOM);
		T_EQ(rev_at(node_key("alloc", "n-1")), result[0].revision);
		down();
	}
}
