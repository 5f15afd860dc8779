#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "shardsched/records/alloc.h"
#include "shardsched/records/pod_state.h"
#include "store/base/alloc.h"
#include "store/keys/keys.h"
#include "store/kv/calls.h"
#include "tests/support/coord/work/workload_int.h"

/* Reads nodes, allocs and schedules page by page, at the revision of the first page. */

enum { PAGE_KEYS = 2000, TIMEOUT_MS = 20000 };

static const char *const prefixes[] = {"/nodes/", "/alloc/", "/schedules/"};
enum { PREFIXES = sizeof prefixes / sizeof prefixes[0] };

#define NOWHERE UINT32_MAX

struct workload_pod {
	uint32_t bound, listed; /* node of the pod, by its state and by the allocs */
};

struct workload_checker {
	struct kv *kv;
	struct workload_spec workload;
	struct workload_found found;
	struct workload_pod *pod;
	struct pl_arena arena; /* for one record */
	unsigned prefix;
	struct keys_text from; /* first key of the next page */
	workload_found_fn *done;
	void *ctx;
};

PL_PRINTF(2, 3) static void complain(struct workload_checker *c, const char *fmt, ...)
{
	va_list args;

	if (c->found.wrong[0] != 0)
		return;
	va_start(args, fmt);
	(void)vsnprintf(c->found.wrong, sizeof c->found.wrong, fmt, args);
	va_end(args);
}

static void check_finish(struct workload_checker *c, const struct pl_err *err)
{
	workload_found_fn *done = c->done;
	struct workload_found found = c->found;
	void *ctx = c->ctx;

	pl_arena_done(&c->arena);
	free(c->pod);
	free(c);
	done(ctx, err == NULL ? &found : NULL, err);
}

/* The number of a node of that name. */
static bool place_of(const struct workload_checker *c, struct pl_span cluster,
                     struct pl_span name, uint32_t *node)
{
	char want[WORKLOAD_NAME_SIZE];

	if (!workload_node_of(name, node) || *node >= c->workload.nodes)
		return false;
	workload_node_cluster(*node, want);
	return pl_span_eq(cluster, pl_span_str(want));
}

static void check_pods(struct workload_checker *c, uint32_t node,
                       const struct alloc *alloc)
{
	int64_t cpu = 0;

	for (uint32_t i = 0; i < alloc->pods; i++) {
		uint32_t pod;

		if (!workload_pod_of(alloc->pod[i].name, &pod) ||
		    pod >= c->workload.pods) {
			complain(c, "node %u lists " PL_SPAN_FMT ", which was never put",
			         node, PL_SPAN_ARG(alloc->pod[i].name));
			continue;
		}
		if (c->pod[pod].listed != NOWHERE)
			complain(c, "pod %u is listed on nodes %u and %u", pod,
			         c->pod[pod].listed, node);
		c->pod[pod].listed = node;
		cpu += workload_pod_cpu(pod);
	}
	if (alloc->holds == 0 &&
	    (alloc->used.cpu_milli != cpu || alloc->used.pods != alloc->pods))
		complain(c, "node %u: %lld cpu for %lld pods used, its %u pods are %lld",
		         node, (long long)alloc->used.cpu_milli,
		         (long long)alloc->used.pods, alloc->pods, (long long)cpu);
	if (cpu > WORKLOAD_NODE_CPU_MILLI || alloc->pods > WORKLOAD_NODE_PODS)
		complain(c, "node %u is over: %lld cpu, %u pods", node, (long long)cpu,
		         alloc->pods);
}

static void check_alloc(struct workload_checker *c, const struct keys_id *id,
                        struct pl_span value)
{
	struct pl_err err = {0};
	struct alloc alloc;
	uint32_t node;

	c->found.allocs++;
	c->found.alloc_bytes += value.len;
	if (!place_of(c, id->scope, id->name, &node))
		complain(c, "alloc of " PL_SPAN_FMT ", a node that was never put",
		         PL_SPAN_ARG(id->name));
	else if (alloc_parse(value, &c->arena, &alloc, &err) != PL_OK)
		complain(c, "alloc of node %u: %s", node, err.msg);
	else
		check_pods(c, node, &alloc);
}

static void check_state(struct workload_checker *c, const struct keys_id *id,
                        struct pl_span value)
{
	struct pl_err err = {0};
	struct pod_state state;
	uint32_t pod, node;

	c->found.state_bytes += value.len;
	if (!workload_pod_of(id->name, &pod) || pod >= c->workload.pods) {
		complain(c, "state of " PL_SPAN_FMT ", a pod that was never put",
		         PL_SPAN_ARG(id->name));
	} else if (state_parse(value, &c->arena, &state, &err) != PL_OK) {
		complain(c, "state of pod %u: %s", pod, err.msg);
	} else if (!state_has_place(&state)) {
		c->found.pending += state.phase == STATE_PENDING;
	} else if (!place_of(c, state.cluster, state.node, &node)) {
		complain(c, "pod %u is on " PL_SPAN_FMT ", which was never put", pod,
		         PL_SPAN_ARG(state.node));
	} else {
		if (c->pod[pod].bound != NOWHERE)
			complain(c, "pod %u has two states", pod);
		c->pod[pod].bound = node;
		c->found.bound++;
	}
}

static void check_record(struct workload_checker *c, const struct kv_record *record)
{
	struct pl_err err = {0};
	struct keys_id id;

	pl_arena_reset(&c->arena);
	if (keys_parse(record->key, &id, &err) != PL_OK)
		complain(c, PL_SPAN_FMT ": %s", PL_SPAN_ARG(record->key), err.msg);
	else if (id.kind == KEYS_NODE)
		c->found.nodes++;
	else if (id.kind == KEYS_ALLOC)
		check_alloc(c, &id, record->value);
	else if (id.kind == KEYS_SPEC)
		c->found.specs++;
	else
		check_state(c, &id, record->value);
}

static void check_totals(struct workload_checker *c)
{
	if (c->found.nodes != c->found.allocs)
		complain(c, "%u nodes, %u allocs", c->found.nodes, c->found.allocs);
	for (uint32_t i = 0; i < c->workload.pods; i++)
		if (c->pod[i].bound != c->pod[i].listed)
			complain(c, "pod %u is bound to node %d and listed on %d", i,
			         (int)c->pod[i].bound, (int)c->pod[i].listed);
	check_finish(c, NULL);
}

static void next_page(struct workload_checker *c);

static void on_page(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct workload_checker *c = ctx;

	if (err != NULL) {
		check_finish(c, err);
		return;
	}
	if (c->found.revision == 0)
		c->found.revision = result->header.revision;
	for (size_t i = 0; i < result->get.count; i++)
		check_record(c, &result->get.records[i]);
	if (result->get.more && result->get.count > 0) {
		struct pl_span last = result->get.records[result->get.count - 1].key;

		PL_ASSERT(last.len < sizeof c->from.at);
		memcpy(c->from.at, last.at, last.len);
		c->from.at[last.len] = 0; /* the least key after the last one */
		c->from.len = last.len + 1;
	} else {
		c->prefix++;
		c->from.len = 0;
	}
	if (c->prefix == PREFIXES)
		check_totals(c);
	else
		next_page(c);
}

static enum pl_code page_start(struct workload_checker *c, struct pl_err *err)
{
	struct pl_span prefix = pl_span_str(prefixes[c->prefix]);
	char end[16];
	struct kv_get get = {.keys = kv_prefix(prefix),
	                     .limit = PAGE_KEYS,
	                     .revision = c->found.revision};

	if (c->from.len != 0) {
		memcpy(end, prefix.at, prefix.len);
		end[prefix.len - 1]++;
		get.keys = (struct kv_keys){.kind = KV_RANGE,
		                            .from = keys_span(&c->from),
		                            .to = pl_span(end, prefix.len)};
	}
	return kv_get(c->kv, &get, TIMEOUT_MS, on_page, c, NULL, err);
}

static void next_page(struct workload_checker *c)
{
	struct pl_err err = {0};

	if (page_start(c, &err) != PL_OK)
		check_finish(c, &err);
}

enum pl_code workload_check(struct kv *kv, const struct workload_spec *workload,
                            workload_found_fn *done, void *ctx, struct pl_err *err)
{
	struct workload_checker *c = pl_calloc(1, sizeof *c);
	struct workload_pod *pod = pl_calloc(workload->pods + 1, sizeof *pod);
	enum pl_code code;

	if (c == NULL || pod == NULL) {
		free(c);
		free(pod);
		return pl_err_set(err, PL_NOMEM, "check");
	}
	*c = (struct workload_checker){
		.kv = kv, .workload = *workload, .pod = pod, .done = done, .ctx = ctx};
	for (uint32_t i = 0; i < workload->pods; i++)
		pod[i] = (struct workload_pod){NOWHERE, NOWHERE};
	pl_arena_init(&c->arena, 64 << 10, 64 << 20);
	code = page_start(c, err);
	if (code == PL_OK)
		return PL_OK;
	pl_arena_done(&c->arena);
	free(pod);
	free(c);
	return code;
}
