/*
 * Prints a node's alloc: the entries that stay, and what they and the reservations use.
 */
#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/reservations/reservation.h"
#include "store/base/alloc.h"

static int scalar_cmp(const void *a, const void *b)
{
	const struct alloc_scalar *x = a, *y = b;

	return pl_span_cmp(x->name, y->name);
}

/* A txn that is being made removes the entry. */
static bool entry_goes(const struct alloc_entry *listed)
{
	return listed->end != STATE_TRANSITION_NONE &&
	       listed->end != STATE_TRANSITION_TERMINATE;
}

/* The sums over all entries that stay. */
static struct sched_sums sums_of_stayers(const struct sched *sched,
                                         const struct sched_node *node)
{
	struct sched_sums used = node->used;

	for (uint32_t i = 0; i < node->count; i++) {
		if (!entry_goes(&node->listed[i]))
			continue;
		alloc_sums_add(sched, &used, node->listed[i].pod->spec, UINT64_MAX);
		used.pods--;
	}
	return used;
}

/* PL_LIMIT: there are too many kinds. */
static enum pl_code add_scalars(const struct sched *sched,
                                const struct resources *requests,
                                struct alloc_scalar *scalar, uint32_t *count)
{
	for (uint64_t r = 0; r < requests->count; r++) {
		struct pl_span name = sched_text(sched, requests->row[r].name);
		uint32_t i = 0;

		while (i < *count && !pl_span_eq(scalar[i].name, name))
			i++;
		if (i == ALLOC_SCALARS_MAX)
			return PL_LIMIT;
		*count += i == *count;
		scalar[i].name = name;
		if (__builtin_add_overflow(scalar[i].amount, requests->row[r].amount,
		                           &scalar[i].amount))
			scalar[i].amount = INT64_MAX; /* more than any node has */
	}
	return PL_OK;
}

/* Few nodes have pods with scalars, and the kinds are few, so a linear search will do. */
static enum pl_code put_scalars(struct sched *sched, const struct sched_node *node,
                                struct alloc_amounts *out)
{
	struct alloc_scalar *scalar =
		pl_arena_zalloc(&sched->arena, ALLOC_SCALARS_MAX, sizeof *scalar);
	uint32_t count = 0;
	enum pl_code code = scalar == NULL ? PL_NOMEM : PL_OK;

	for (uint32_t n = 0; n < node->count && code == PL_OK; n++)
		if (!entry_goes(&node->listed[n]))
			code = add_scalars(sched, node->listed[n].pod->spec->requests,
			                   scalar, &count);
	for (uint32_t n = 0; n < node->reservations && code == PL_OK; n++)
		if (reservation_counts(&node->reservation[n]))
			code = add_scalars(sched, node->reservation[n].is.amounts, scalar,
			                   &count);
	if (code != PL_OK)
		return code;
	qsort(scalar, count, sizeof *scalar, scalar_cmp);
	out->scalar = scalar;
	out->scalars = count;
	return PL_OK;
}

static const char *protocol_of(const struct spec_port *port)
{
	switch ((enum spec_protocol)port->protocol) {
	case SPEC_UDP:
		return "UDP";
	case SPEC_SCTP:
		return "SCTP";
	case SPEC_TCP:
	case SPEC_PROTOCOL_OTHER:
		break;
	}
	return "TCP";
}

static int port_cmp(const void *a, const void *b)
{
	return alloc_port_cmp(a, b);
}

static enum pl_code put_ports(struct sched *sched, const struct sched_node *node,
                              struct alloc *out)
{
	uint32_t count = 0, kept = 0;
	struct alloc_port *port;

	for (uint32_t n = 0; n < node->count; n++)
		count += node->listed[n].pod->spec->template->ports.count;
	port = pl_arena_zalloc(&sched->arena, count, sizeof *port);
	if (port == NULL)
		return PL_NOMEM;
	count = 0;
	for (uint32_t n = 0; n < node->count; n++) {
		const struct spec *spec = node->listed[n].pod->spec;
		const struct spec_port *row = spec_ports(spec);

		if (entry_goes(&node->listed[n]))
			continue;
		for (uint32_t i = 0; i < spec->template->ports.count; i++)
			port[count++] = (struct alloc_port){
				.protocol = pl_span_str(protocol_of(&row[i])),
				.ip = sched_text(sched, row[i].ip),
				.port = row[i].port};
	}
	qsort(port, count, sizeof *port, port_cmp);
	for (uint32_t i = 0; i < count; i++)
		if (kept == 0 || alloc_port_cmp(&port[kept - 1], &port[i]) != 0)
			port[kept++] = port[i];
	out->port = port;
	out->ports = kept;
	return PL_OK;
}

/* Entries that stay. */
static enum pl_code put_pods(struct sched *sched, const struct sched_node *node,
                             struct alloc *out)
{
	if (sched->alloc_pod_cap < node->count) {
		uint32_t cap = node->count * 2;
		struct alloc_pod *grown =
			pl_realloc(sched->alloc_pod, cap * sizeof *grown);

		if (grown == NULL)
			return PL_NOMEM;
		sched->alloc_pod = grown;
		sched->alloc_pod_cap = cap;
	}
	for (uint32_t i = 0; i < node->count; i++) {
		const struct alloc_entry *listed = &node->listed[i];
		struct alloc_pod *pod = &sched->alloc_pod[out->pods];

		if (entry_goes(listed))
			continue;
		*pod = alloc_entry_name(sched, listed->pod);
		pod->leaving =
			listed->leaving || listed->end == STATE_TRANSITION_TERMINATE;
		out->pods++;
	}
	out->pod = sched->alloc_pod;
	return PL_OK;
}

enum pl_code alloc_entries_print(struct sched *sched, struct sched_node *node,
                                 struct pl_buf *out, struct pl_err *err)
{
	const struct sched_sums sums = sums_of_stayers(sched, node), *used = &sums;
	struct alloc alloc = {
		.generation = node->generation + 1,
		.used = {.cpu_milli = (int64_t)used->cpu_milli,
	                 .memory = (int64_t)used->memory,
	                 .storage = (int64_t)used->storage,
	                 .pods = (int64_t)used->pods,
	                 .nonzero_cpu_milli = (int64_t)used->nonzero_cpu_milli,
	                 .nonzero_memory = (int64_t)used->nonzero_memory},
	};
	enum pl_code code = put_pods(sched, node, &alloc);

	node->leaves = node->count - alloc.pods;
	alloc.left = node->left + node->leaves;
	pl_arena_reset(&sched->arena);
	if (code == PL_OK && node->with_scalars > 0)
		code = put_scalars(sched, node, &alloc.used);
	if (code == PL_OK && node->with_ports > 0)
		code = put_ports(sched, node, &alloc);
	if (code == PL_OK)
		code = reservations_print(sched, node, &alloc);
	if (code != PL_OK)
		return pl_err_set(err, code, "sum what is used on a node");
	return alloc_print(&alloc, out, err);
}
