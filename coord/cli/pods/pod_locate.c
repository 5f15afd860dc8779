#include "coord/cli/pods/pod_locate.h"

#include "shardsched/records/pod_location.h"
#include "store/keys/partition.h"
#include "store/kv/calls.h"

enum pl_code pod_locate(const struct cli_session *cli, struct pl_span namespace,
                        struct pl_span name, uint32_t *out, struct pl_err *err)
{
	struct keys_id id = {.kind = KEYS_SPEC, .scope = namespace, .name = name};
	bool is_pointer = false;
	struct kv_result result;
	struct keys_text key;
	struct kv_req req;
	enum pl_code code = partition_of_pod(namespace, name, cli->meta.partitions,
	                                     &id.partition, err);

	if (code == PL_OK)
		code = keys_build(&id, &key, err);
	if (code != PL_OK)
		return code;
	req = kv_op_get(kv_key(keys_span(&key)));
	pl_arena_reset(&cli->session->arena);
	code = store_session_call(cli->session, &req, &result, err);
	if (code != PL_OK)
		return code;
	if (result.get.count == 0)
		return pl_err_set(err, PL_NOTFOUND,
		                  PL_SPAN_FMT "/" PL_SPAN_FMT ": no such pod",
		                  PL_SPAN_ARG(namespace), PL_SPAN_ARG(name));
	*out = id.partition;
	code = pointer_parse(result.get.records[0].value, &is_pointer, out, err);
	return code == PL_OK ? code : pl_err_wrap(err, "%s", key.at);
}
