#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/memkv/mvcc.h"

static struct mem_lease *lease_of_node(struct hash_table_node *node)
{
	return PL_CONTAINER_OF(node, struct mem_lease, node);
}

static struct mem_lease *lease_of_due(struct pl_heap_node *node)
{
	return PL_CONTAINER_OF(node, struct mem_lease, due);
}

struct mem_lease *mem_lease_find(const struct mvcc *mvcc, int64_t id)
{
	struct hash_table_node *node =
		hash_table_first(&mvcc->leases, hash_table_hash_int(id));

	while (node != NULL && lease_of_node(node)->id != id)
		node = hash_table_next(node);
	return node == NULL ? NULL : lease_of_node(node);
}

enum pl_code mem_lease_add(struct mvcc *mvcc, int64_t id, int64_t ttl_s,
                           struct mem_lease **out)
{
	enum pl_code code = hash_table_reserve(&mvcc->leases, mvcc->leases.count + 1);
	struct mem_lease *lease;

	if (code == PL_OK)
		code = pl_heap_reserve(&mvcc->due, mvcc->due.count + 1);
	if (code != PL_OK)
		return code;
	lease = pl_calloc(1, sizeof *lease);
	if (lease == NULL)
		return PL_NOMEM;
	lease->id = id;
	lease->ttl_s = ttl_s;
	lease->seq = mvcc->lease_seq++;
	pl_list_init(&lease->keys);
	hash_table_add(&mvcc->leases, &lease->node, hash_table_hash_int(id));
	code = pl_heap_add(&mvcc->due, &lease->due);
	PL_ASSERT(code == PL_OK); /* was reserved */
	*out = lease;
	return PL_OK;
}

void mem_lease_del(struct mvcc *mvcc, struct mem_lease *lease)
{
	PL_ASSERT(lease->key_count == 0);
	pl_heap_del(&mvcc->due, &lease->due);
	hash_table_del(&mvcc->leases, &lease->node);
	free(lease);
}

void mem_lease_set_due(struct mvcc *mvcc, struct mem_lease *lease, uint64_t expiry_ms,
                       uint64_t due_ms)
{
	lease->expiry_ms = expiry_ms;
	lease->due_ms = due_ms;
	pl_heap_fix(&mvcc->due, &lease->due);
}

struct mem_lease *mem_lease_next_due(const struct mvcc *mvcc)
{
	struct pl_heap_node *top = pl_heap_top(&mvcc->due);

	return top == NULL ? NULL : lease_of_due(top);
}

void mem_lease_attach(struct mem_key *key, struct mem_lease *lease)
{
	if (key->lease != NULL) {
		key->lease->key_count--;
		pl_list_del(&key->of_lease);
	}
	key->lease = lease;
	if (lease != NULL) {
		lease->key_count++;
		pl_list_add_tail(&lease->keys, &key->of_lease);
	}
}

static int key_order(const void *a, const void *b)
{
	const struct mem_key *const *x = a, *const *y = b;

	return pl_span_cmp((*x)->node.key, (*y)->node.key);
}

void mem_lease_keys(const struct mem_lease *lease, struct mem_key **out)
{
	size_t count = 0;

	PL_LIST_EACH (link, &lease->keys)
		out[count++] = PL_LIST_ITEM(link, struct mem_key, of_lease);
	PL_ASSERT(count == lease->key_count);
	if (count > 1)
		qsort((void *)out, count, sizeof(struct mem_key *), key_order);
}
