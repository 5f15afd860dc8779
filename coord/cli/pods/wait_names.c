#include "coord/cli/pods/wait_names.h"

#include <stdlib.h>

#include "coord/cli/pods/pod_locate.h"
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

static enum pl_code want(struct wait_names *names, struct pl_span space,
                         struct pl_span name, uint32_t partition, struct pl_err *err)
{
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

static enum pl_code want_files(struct wait_names *names, const struct reach *reach,
                               const struct pods_given *given, struct pl_err *err)
{
	struct intake intake;
	struct intake_pod pod;
	enum pl_code code =
		pods_given_intake(given, reach->meta.partitions, false, &intake, err);

	if (code != PL_OK)
		return code;
	while (code == PL_OK) {
		code = intake_next(&intake, &pod, err);
		if (code == PL_OK)
			code = want(names, pod.pod.space, pod.pod.name,
			            pod.home.partition, err);
	}
	intake_close(&intake);
	return code == PL_NOTFOUND ? PL_OK : code;
}

enum pl_code wait_names_read(struct wait_names *names, const struct reach *reach,
                             const struct pods_given *given, struct pl_err *err)
{
	const struct options *options = reach->options;
	enum pl_code code = PL_OK;

	if (given->files.count > 0)
		code = want_files(names, reach, given, err);
	for (unsigned i = 0; i < options->arg_count && code == PL_OK; i++) {
		struct pl_span space, name;
		uint32_t partition = 0;

		code = pods_given_name(given, options->args[i], &space, &name, err);
		if (code == PL_OK)
			code = pod_locate(reach, space, name, &partition, err);
		if (code == PL_OK)
			code = want(names, space, name, partition, err);
	}
	return code;
}

struct wanted *wait_names_get(const struct wait_names *names, struct pl_span key)
{
	struct pl_map_node *node = pl_map_get(&names->map, key);

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct wanted, node);
}

unsigned wait_names_prefixes(const struct wait_names *names,
                             struct keys_text text[PODWATCH_LISTS_MAX])
{
	struct keys_id id = {.kind = KEYS_SPEC};
	unsigned count = 0;

	for (uint32_t p = 0; p < KEYS_PARTITIONS_MAX; p++) {
		if (!names->in_partition[p])
			continue;
		if (count == PODWATCH_LISTS_MAX)
			return 0;
		id.partition = p;
		if (keys_prefix(&id, 2, &text[count++], NULL) != PL_OK)
			PL_UNREACHABLE("a partition");
	}
	return count;
}
