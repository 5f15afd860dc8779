#include "coord/service/pods/pod_find.h"

#include <stdlib.h>

#include "coord/service/base/sequence.h"
#include "shardsched/records/pod_location.h"
#include "store/base/alloc.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

struct pod_find {
	struct sequence sequence;
	struct keys_text key;
	uint32_t partition;
	pod_find_fn *done;
	void *ctx;
};

static void on_spec(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct pod_find *find = ctx;
	uint32_t partition = find->partition;
	pod_find_fn *done = find->done;
	struct pl_err why = {0};
	bool is_pointer;

	if (err != NULL)
		why = *err;
	else if (result->get.count == 0)
		(void)pl_err_set(&why, PL_NOTFOUND, "no such pod");
	else if (pointer_parse(result->get.records[0].value, &is_pointer, &partition,
	                       &why) != PL_OK)
		(void)pl_err_wrap(&why, "%s", find->key.at);
	ctx = find->ctx;
	sequence_done(&find->sequence);
	free(find);
	done(ctx, partition, why.code == PL_OK ? NULL : &why);
}

enum pl_code pod_find_start(const struct service *service, const struct pod_name *name,
                            pod_find_fn *done, void *ctx, struct pod_find **out,
                            struct pl_err *err)
{
	struct keys_id id = {
		.kind = KEYS_SPEC, .scope = name->namespace, .name = name->name};
	struct pod_find *find;
	struct kv_req req;

	if (partition_of_pod(name->namespace, name->name, service->partitions,
	                     &id.partition, err) != PL_OK)
		return err->code;
	find = pl_calloc(1, sizeof *find);
	if (find == NULL)
		return pl_err_set(err, PL_NOMEM, "find a pod");
	find->partition = id.partition;
	find->done = done;
	find->ctx = ctx;
	if (keys_build(&id, &find->key, err) != PL_OK ||
	    sequence_init(&find->sequence, service->kv, service->timeout_ms, find, err) !=
	            PL_OK) {
		free(find);
		return err->code;
	}
	req = kv_op_get(kv_key(keys_span(&find->key)));
	sequence_send(&find->sequence, &req, on_spec);
	*out = find;
	return PL_OK;
}

void pod_find_cancel(struct pod_find *find)
{
	sequence_cancel(&find->sequence);
}
