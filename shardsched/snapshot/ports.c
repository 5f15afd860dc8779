/*
 * Host ports in use: a chain for each node, in which equal ports are one element with a
 * count.
 */
#include <stdlib.h>

#include "shardsched/snapshot/snapshot_inner.h"
#include "store/base/alloc.h"

enum { CAP_MIN = 64, CAP_MOST = 1 << 28 };

enum pl_code ports_ready(struct snapshot *snapshot, uint32_t count, struct pl_err *err)
{
	struct number_pool *pool = &snapshot->inner->ports;
	uint64_t need = (uint64_t)snapshot->inner->ports_used +
	                snapshot->inner->ports_lifted + count;
	uint32_t cap = pool->cap == 0 ? CAP_MIN : pool->cap;
	struct port_use *grown;

	if (need <= pool->cap)
		return PL_OK;
	while (cap < need)
		if ((cap *= 2) > CAP_MOST)
			return pl_err_set(err, PL_LIMIT, "too many host ports");
	grown = pl_realloc(snapshot->port_use, cap * sizeof *grown);
	if (grown == NULL)
		return pl_err_set(err, PL_NOMEM, "count host ports");
	snapshot->port_use = grown;
	pool->cap = cap;
	return PL_OK;
}

static bool is_same_port(const struct spec_port *a, const struct spec_port *b)
{
	return a->ip == b->ip && a->port == b->port && a->protocol == b->protocol;
}

static uint32_t take_number(struct snapshot *snapshot)
{
	struct number_pool *pool = &snapshot->inner->ports;
	uint32_t use = pool->free;

	PL_ASSERT(number_pool_has(pool));
	snapshot->inner->ports_used++;
	if (use == SNAPSHOT_NONE)
		return pool->end++;
	pool->free = snapshot->port_use[use].next;
	return use;
}

/* The link that holds the number of the port's element, or the end of the chain. */
static uint32_t *find_port(struct snapshot *snapshot, uint32_t slot,
                           const struct spec_port *port)
{
	uint32_t *at = &snapshot->row[slot].first_port;

	while (*at != SNAPSHOT_NONE && !is_same_port(&snapshot->port_use[*at].port, port))
		at = &snapshot->port_use[*at].next;
	return at;
}

void ports_add(struct snapshot *snapshot, uint32_t slot, const struct spec *spec)
{
	for (uint32_t i = 0; i < spec->template->ports.count; i++) {
		const struct spec_port *port = &spec_ports(spec)[i];
		uint32_t *at = find_port(snapshot, slot, port);

		if (*at == SNAPSHOT_NONE) {
			*at = take_number(snapshot);
			snapshot->port_use[*at] =
				(struct port_use){.port = *port, .next = SNAPSHOT_NONE};
		}
		snapshot->port_use[*at].users++;
	}
	if (spec->template->ports.count > 0)
		pl_bitset_add(snapshot->with_ports, slot);
}

void ports_remove(struct snapshot *snapshot, uint32_t slot, const struct spec *spec)
{
	for (uint32_t i = 0; i < spec->template->ports.count; i++) {
		uint32_t *at = find_port(snapshot, slot, &spec_ports(spec)[i]), use = *at;

		PL_ASSERT(use != SNAPSHOT_NONE);
		if (--snapshot->port_use[use].users > 0)
			continue;
		*at = snapshot->port_use[use].next;
		snapshot->port_use[use].next = snapshot->inner->ports.free;
		snapshot->inner->ports.free = use;
		snapshot->inner->ports_used--;
	}
	if (snapshot->row[slot].first_port == SNAPSHOT_NONE)
		pl_bitset_del(snapshot->with_ports, slot);
}

static void set_hidden(struct snapshot *snapshot, uint32_t slot, const struct spec *spec,
                       bool hidden)
{
	for (uint32_t i = 0; i < spec->template->ports.count; i++) {
		uint32_t at = *find_port(snapshot, slot, &spec_ports(spec)[i]);
		struct port_use *use = &snapshot->port_use[at];

		if (at != SNAPSHOT_NONE)
			use->hidden = hidden ? use->users : 0;
	}
}

void ports_hide(struct snapshot *snapshot, uint32_t slot, const struct spec *spec)
{
	set_hidden(snapshot, slot, spec, true);
}

void ports_show(struct snapshot *snapshot, uint32_t slot, const struct spec *spec)
{
	set_hidden(snapshot, slot, spec, false);
}
