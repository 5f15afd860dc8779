#include "coord/cli/pods/wait_names.h"

#include <stdlib.h>

#include "coord/cli/pods/pods_by_name.h"
#include "coord/service/pods/pod_watch.h"
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
		free(PL_CONTAINER_OF(node, struct awaited_pod, node));
	}
	pl_map_done(&names->map);
}

static enum pl_code add_name(void *ctx, uint32_t partition, struct pl_span namespace,
                             struct pl_span name, struct pl_err *err)
{
	struct wait_names *names = ctx;
	size_t len = namespace.len + 1 + name.len;
	struct awaited_pod *wanted = NULL;

	if (names->map.count < POD_WATCH_PODS_MAX)
		wanted = pl_calloc(1, sizeof *wanted + len);
	if (wanted == NULL)
		return pl_err_set(err, PL_NOMEM, "keep the pods' names");
	wanted->partition = partition;
	memcpy(wanted->key, namespace.at, namespace.len);
	wanted->key[namespace.len] = '/';
	memcpy(wanted->key + namespace.len + 1, name.at, name.len);
	if (pl_map_add(&names->map, &wanted->node, pl_span(wanted->key, len)) != NULL)
		free(wanted); /* it came twice */
	names->in_partition[partition] = true;
	return PL_OK;
}

enum pl_code wait_names_read(struct wait_names *names, const struct cli_session *cli,
                             const struct pods_args *given, struct pl_err *err)
{
	return pods_by_name_each(cli, given, add_name, names, NULL, err);
}

struct awaited_pod *wait_names_find(const struct wait_names *names, struct pl_span key)
{
	struct pl_map_node *node = pl_map_get(&names->map, key);

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct awaited_pod, node);
}
