#include "coord/cli/pods/wait_names.h"

#include <stdlib.h>

#include "coord/cli/pods/pods_named.h"
#include "coord/cli/pods/podwatch.h"
#include "store/base/alloc.h"

void wait_names_init(struct wait_names *names)
{
	*names = (struct wait_names){0};
	pl_map_init(&names->map);
}

void wait_names_done(struct wait_names *names)
{
	PL_MAP_EACH (node, &names->map) {
		pl_map_del(&names->map, node);
		free(PL_CONTAINER_OF(node, struct wanted, node));
	}
	pl_map_done(&names->map);
}

static enum pl_code want(void *ctx, uint32_t partition, struct pl_span space,
                         struct pl_span name, struct pl_err *err)
{
	struct wait_names *names = ctx;
	size_t len = space.len + 1 + name.len;
	struct wanted *wanted = NULL;

	if (names->map.count < PODWATCH_PODS_MAX)
		wanted = pl_calloc(1, sizeof *wanted + len);
	if (wanted == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the pods' names");
	wanted->partition = partition;
	memcpy(wanted->key, space.at, space.len);
	wanted->key[space.len] = '/';
	memcpy(wanted->key + space.len + 1, name.at, name.len);
	if (pl_map_add(&names->map, &wanted->node, pl_span(wanted->key, len)) != NULL)
		free(wanted); /* it came twice */
	names->in_partition[partition] = true;
	return PL_OK;
}

enum pl_code wait_names_read(struct wait_names *names, const struct reach *reach,
                             const struct pods_given *given, struct pl_err *err)
{
	return pods_named_each(reach, given, want, names, NULL, err);
}

struct wanted *wait_names_get(const struct wait_names *names, struct pl_span key)
{
	struct pl_map_node *node = pl_map_get(&names->map, key);

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct wanted, node);
}
