#include "coord/api/verbs/first_objects.h"

#include <stdlib.h>

#include "store/base/alloc.h"
#include "store/base/log.h"
#include "store/base/timestamp.h"

enum { FIRST_PUTS = 3 };

/* A namespace with its service account and its bundle of certificates. */
struct first_namespace {
	struct api *api;
	struct write write;
	struct pl_arena arena;
	struct keys_text key[FIRST_PUTS];
	struct pl_span value[FIRST_PUTS];
};

static bool add_namespace(struct write *write, struct txn_builder *builder)
{
	struct first_namespace *first = write->ctx;

	for (unsigned i = 0; i < FIRST_PUTS; i++)
		if (!builder_put(builder, keys_span(&first->key[i]), 0, first->value[i]))
			return false;
	return true;
}

static void on_made(struct write *write, const struct write_outcome *outcome)
{
	struct first_namespace *first = write->ctx;

	if (outcome->result == WRITE_FAILED)
		PL_LOG(PL_LOG_WARN, "api.namespace_not_made",
		       pl_log_err("err", outcome->err));
	first->api->open--;
	pl_arena_done(&first->arena);
	if (first->api->open == 0 && first->api->stopping)
		first->api->idle(first->api->idle_ctx);
	free(first);
}

static bool put_object(struct first_namespace *first, unsigned at, const char *plural,
                       const char *namespace, const char *name, const char *head,
                       const char *rest)
{
	const struct schema_resource *resource = schema_resource_find(
		(struct pl_span){0}, PL_SPAN_LIT("v1"), pl_span_str(plural));
	char uid[CHANGE_UID_SIZE], time[PL_TIMESTAMP_SIZE];
	const char *in = namespace[0] == 0 ? "" : "\",\"namespace\":\"";
	char *text;

	object_new_uid(first->api, uid);
	(void)pl_timestamp_print(first->api->wall_ms(first->api->clock_ctx), time);
	text = pl_arena_printf(&first->arena,
	                       "{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":{"
	                       "\"name\":\"%s%s%s\",\"uid\":\"%s\","
	                       "\"creationTimestamp\":\"%.19sZ\"%s",
	                       head, name, in, namespace, uid, time, rest);
	first->value[at] = pl_span_str(text);
	return text != NULL && object_key(resource, pl_span_str(namespace),
	                                  pl_span_str(name), &first->key[at]);
}

static bool make_namespace(struct first_namespace *first, const char *name)
{
	char *rest = pl_arena_printf(
		&first->arena,
		",\"labels\":{\"kubernetes.io/metadata.name\":\"%s\"}},\"spec\":{"
		"\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}",
		name);
	struct pl_err err = {0};

	if (rest == NULL ||
	    !put_object(first, 0, "namespaces", "", name, "Namespace", rest) ||
	    !put_object(first, 1, "serviceaccounts", name, "default", "ServiceAccount",
	                "}}") ||
	    !put_object(first, 2, "configmaps", name, "kube-root-ca.crt", "ConfigMap",
	                "},\"data\":{\"ca.crt\":\"\"}}"))
		return false;
	for (unsigned i = 0; i < FIRST_PUTS; i++)
		write_adds_key(&first->write, keys_span(&first->key[i]));
	return write_queue_add(first->api->writes, &first->write, &err) == PL_OK;
}

void first_objects_make(struct api *api)
{
	static const char *const names[] = {"default", "kube-node-lease", "kube-public",
	                                    "kube-system"};
	const struct schema_resource *namespaces = schema_resource_find(
		(struct pl_span){0}, PL_SPAN_LIT("v1"), PL_SPAN_LIT("namespaces"));

	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct first_namespace *first;
		struct object object;

		if (source_get(api->sources, namespaces, (struct pl_span){0},
		               pl_span_str(names[i]), &object))
			continue;
		first = pl_calloc(1, sizeof *first);
		if (first == NULL)
			return;
		first->api = api;
		first->write = (struct write){
			.add = add_namespace, .done = on_made, .ctx = first};
		pl_arena_init(&first->arena, 4096, 64 << 10);
		if (make_namespace(first, names[i])) {
			api->open++;
			continue;
		}
		pl_arena_done(&first->arena);
		free(first);
	}
}
