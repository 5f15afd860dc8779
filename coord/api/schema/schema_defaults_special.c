/* Defaults that depend on other fields. */
#include <string.h>

#include "coord/api/schema/schema_defaults_int.h"
#include "coord/api/schema/schema_types.h"

static struct pl_arena *arena_of(const struct filler *filler)
{
	return filler->tree->arena;
}

static void put(struct filler *filler, struct cJSON *object, const char *name,
                struct cJSON *value)
{
	if (!json_set(arena_of(filler), object, name, value))
		filler->failed = true;
}

static void put_str(struct filler *filler, struct cJSON *object, const char *name,
                    const char *text)
{
	put(filler, object, name, json_new_str(arena_of(filler), text));
}

static struct cJSON *open_object(struct filler *filler, struct cJSON *object,
                                 const char *name)
{
	struct cJSON *node = json_get_object(arena_of(filler), object, name);

	if (node == NULL)
		filler->failed = true;
	return node;
}

static struct pl_json value_of(const struct filler *filler, const struct cJSON *node)
{
	return node == NULL ? (struct pl_json){NULL, NULL}
	                    : json_tree_value(filler->tree, node);
}

/* The member as a text; empty: it is absent, or no text. */
static const char *text_of(const struct filler *filler, const struct cJSON *object,
                           const char *name)
{
	const char *text = "";

	if (pl_json_as_string(value_of(filler, json_get(object, name)), &text, NULL) !=
	    PL_OK)
		return "";
	return text;
}

static bool is_true(const struct filler *filler, const struct cJSON *object,
                    const char *name)
{
	bool value = false;

	return pl_json_as_bool(value_of(filler, json_get(object, name)), &value, NULL) ==
	               PL_OK &&
	       value;
}

static void put_absent(struct filler *filler, struct cJSON *object, const char *name,
                       struct cJSON *value)
{
	if (json_get(object, name) == NULL)
		put(filler, object, name, value);
}

static void copy_absent(struct filler *filler, struct cJSON *object, const char *name,
                        struct cJSON *from)
{
	if (from != NULL && json_get(object, name) == NULL)
		put(filler, object, name,
		    json_new_copy(arena_of(filler), value_of(filler, from)));
}

/* -- containers and pods ----------------------------------------------------------------- */

/* Whether the image is the one that its tag names at the moment: without a tag, or with
 * "latest". A digest alone names one image for ever. */
static bool is_latest(const char *image)
{
	size_t len = strcspn(image, "@");
	const char *name = image, *tag = NULL;

	for (const char *at = image; at < image + len; at++) {
		if (*at == '/') {
			name = at + 1;
			tag = NULL;
		} else if (*at == ':' && at >= name) {
			tag = at + 1;
		}
	}
	if (tag == NULL)
		return image[len] == '\0';
	return pl_span_eq(pl_span(tag, (size_t)(image + len - tag)),
	                  PL_SPAN_LIT("latest"));
}

static void fill_pull_policy(struct filler *filler, struct cJSON *object,
                             const char *name, const char *image)
{
	if (*text_of(filler, object, name) == '\0')
		put_str(filler, object, name,
		        is_latest(image) ? "Always" : "IfNotPresent");
}

static void fill_container(struct filler *filler, struct cJSON *container)
{
	fill_pull_policy(filler, container, "imagePullPolicy",
	                 text_of(filler, container, "image"));
}

/* A volume without a source is an empty directory. */
static void fill_volume(struct filler *filler, struct cJSON *volume)
{
	struct cJSON *image = json_get(volume, "image");
	bool source = false;

	PL_JSON_EACH (item, value_of(filler, volume))
		source = source || strcmp(pl_json_key(item), "name") != 0;
	if (!source)
		open_object(filler, volume, "emptyDir");
	if (image != NULL)
		fill_pull_policy(filler, image, "pullPolicy",
		                 text_of(filler, image, "reference"));
}

static void fill_requests(struct filler *filler, struct cJSON *container)
{
	struct cJSON *resources = json_get(container, "resources");
	struct cJSON *limits = resources == NULL ? NULL : json_get(resources, "limits");
	struct cJSON *requests;

	if (limits == NULL || pl_json_first(value_of(filler, limits)).node == NULL)
		return;
	requests = open_object(filler, resources, "requests");
	if (requests == NULL)
		return;
	PL_JSON_EACH (item, value_of(filler, limits))
		copy_absent(filler, requests, pl_json_key(item),
		            json_tree_node(filler->tree, item));
}

static void fill_host_ports(struct filler *filler, struct cJSON *container)
{
	PL_JSON_EACH (item, value_of(filler, json_get(container, "ports"))) {
		struct cJSON *port = json_tree_node(filler->tree, item);
		double number = 0;

		if (pl_json_double(item, "hostPort", PL_JSON_OPTIONAL, &number, NULL) !=
		            PL_OK ||
		    number != 0)
			continue;
		json_remove(port, "hostPort");
		copy_absent(filler, port, "hostPort", json_get(port, "containerPort"));
	}
}

static void fill_pod_containers(struct filler *filler, struct cJSON *spec,
                                const char *name)
{
	bool host = is_true(filler, spec, "hostNetwork");

	PL_JSON_EACH (item, value_of(filler, json_get(spec, name))) {
		fill_requests(filler, json_tree_node(filler->tree, item));
		if (host)
			fill_host_ports(filler, json_tree_node(filler->tree, item));
	}
}

/* Defaults of a pod that its template does not get. */
static void fill_pod(struct filler *filler, struct cJSON *pod)
{
	struct cJSON *spec = json_get(pod, "spec");

	if (spec == NULL)
		return;
	fill_pod_containers(filler, spec, "containers");
	fill_pod_containers(filler, spec, "initContainers");
	put_absent(filler, spec, "enableServiceLinks",
	           json_new_bool(arena_of(filler), true));
}

/* -- core ---------------------------------------------------------------------------------- */

static void fill_node_status(struct filler *filler, struct cJSON *status)
{
	copy_absent(filler, status, "allocatable", json_get(status, "capacity"));
}

static void fill_namespace(struct filler *filler, struct cJSON *object)
{
	struct cJSON *meta = json_get(object, "metadata");
	const char *name = meta == NULL ? "" : text_of(filler, meta, "name");
	struct cJSON *labels;

	if (*name == '\0')
		return;
	labels = open_object(filler, meta, "labels");
	if (labels != NULL)
		put_str(filler, labels, "kubernetes.io/metadata.name", name);
}

static struct cJSON *template_labels(struct cJSON *object)
{
	static const char *const path[] = {"spec", "template", "metadata", "labels"};
	struct cJSON *node = object;

	for (size_t i = 0; node != NULL && i < sizeof path / sizeof *path; i++)
		node = json_get(node, path[i]);
	return node;
}

static bool has_members(const struct filler *filler, const struct cJSON *object)
{
	return object != NULL && pl_json_first(value_of(filler, object)).node != NULL;
}

static void take_labels(struct filler *filler, struct cJSON *object, const char *name,
                        struct cJSON *labels)
{
	if (labels == NULL || object == NULL ||
	    has_members(filler, json_get(object, name)))
		return;
	json_remove(object, name);
	copy_absent(filler, object, name, labels);
}

static void fill_replication_controller(struct filler *filler, struct cJSON *object)
{
	struct cJSON *labels = template_labels(object);

	if (labels == NULL)
		return;
	take_labels(filler, json_get(object, "spec"), "selector", labels);
	take_labels(filler, open_object(filler, object, "metadata"), "labels", labels);
}

static void fill_affinity(struct filler *filler, struct cJSON *spec)
{
	const char *affinity = text_of(filler, spec, "sessionAffinity");
	struct cJSON *config, *client;

	if (strcmp(affinity, "None") == 0)
		json_remove(spec, "sessionAffinityConfig");
	if (strcmp(affinity, "ClientIP") != 0)
		return;
	config = open_object(filler, spec, "sessionAffinityConfig");
	client = config == NULL ? NULL : open_object(filler, config, "clientIP");
	if (client != NULL)
		put_absent(filler, client, "timeoutSeconds",
		           json_new_number(arena_of(filler), 10800));
}

static void fill_service_port(struct filler *filler, struct cJSON *port)
{
	struct cJSON *target = json_get(port, "targetPort");
	const char *text;
	double number;

	if (target != NULL &&
	    ((pl_json_as_string(value_of(filler, target), &text, NULL) == PL_OK &&
	      *text == '\0') ||
	     (pl_json_as_double(value_of(filler, target), &number, NULL) == PL_OK &&
	      number == 0)))
		json_remove(port, "targetPort");
	copy_absent(filler, port, "targetPort", json_get(port, "port"));
}

static void fill_service(struct filler *filler, struct cJSON *spec)
{
	const char *type = text_of(filler, spec, "type");
	bool balanced = strcmp(type, "LoadBalancer") == 0;
	bool outside =
		balanced || strcmp(type, "NodePort") == 0 ||
		(strcmp(type, "ClusterIP") == 0 &&
	         pl_json_first(value_of(filler, json_get(spec, "externalIPs"))).node !=
	                 NULL);

	fill_affinity(filler, spec);
	PL_JSON_EACH (item, value_of(filler, json_get(spec, "ports")))
		fill_service_port(filler, json_tree_node(filler->tree, item));
	if (outside && *text_of(filler, spec, "externalTrafficPolicy") == '\0')
		put_str(filler, spec, "externalTrafficPolicy", "Cluster");
	if (strcmp(type, "ExternalName") != 0 &&
	    *text_of(filler, spec, "internalTrafficPolicy") == '\0')
		put_str(filler, spec, "internalTrafficPolicy", "Cluster");
	if (balanced)
		put_absent(filler, spec, "allocateLoadBalancerNodePorts",
		           json_new_bool(arena_of(filler), true));
}

/* -- workloads ------------------------------------------------------------------------------ */

static void fill_rolling_update(struct filler *filler, struct cJSON *strategy)
{
	const char *type = text_of(filler, strategy, "type");

	if (*type == '\0' || strcmp(type, "RollingUpdate") == 0)
		open_object(filler, strategy, "rollingUpdate");
}

/* Only a strategy that nothing is said about gets its parts. */
static void fill_stateful_strategy(struct filler *filler, struct cJSON *spec)
{
	struct cJSON *strategy = open_object(filler, spec, "updateStrategy");

	if (strategy == NULL || *text_of(filler, strategy, "type") != '\0')
		return;
	put_str(filler, strategy, "type", "RollingUpdate");
	open_object(filler, strategy, "rollingUpdate");
}

static void fill_job_spec(struct filler *filler, struct cJSON *spec)
{
	bool by_index = json_get(spec, "backoffLimitPerIndex") != NULL;
	bool has_policy = json_get(spec, "podFailurePolicy") != NULL;

	if (json_get(spec, "parallelism") == NULL)
		put_absent(filler, spec, "completions",
		           json_new_number(arena_of(filler), 1));
	put_absent(filler, spec, "backoffLimit",
	           json_new_number(arena_of(filler), by_index ? INT32_MAX : 6));
	if (*text_of(filler, spec, "podReplacementPolicy") == '\0')
		put_str(filler, spec, "podReplacementPolicy",
		        has_policy ? "Failed" : "TerminatingOrFailed");
}

static void fill_job(struct filler *filler, struct cJSON *job)
{
	struct cJSON *labels = template_labels(job);

	if (json_get(job, "spec") != NULL)
		fill_job_spec(filler, json_get(job, "spec"));
	if (labels != NULL)
		take_labels(filler, open_object(filler, job, "metadata"), "labels",
		            labels);
}

static void fill_job_template(struct filler *filler, struct cJSON *template)
{
	if (json_get(template, "spec") != NULL)
		fill_job_spec(filler, json_get(template, "spec"));
}

struct special {
	const struct schema_type *type;
	void (*fill)(struct filler *filler, struct cJSON *object);
};

static const struct special before[] = {
	{&schema_core_container, fill_container},
	{&schema_core_ephemeral_container, fill_container},
	{&schema_core_volume, fill_volume},
	{&schema_core_node_status, fill_node_status},
	{&schema_core_namespace, fill_namespace},
	{&schema_core_replication_controller, fill_replication_controller},
	{&schema_apps_deployment_strategy, fill_rolling_update},
	{&schema_apps_daemon_set_update_strategy, fill_rolling_update},
	{&schema_apps_stateful_set_spec, fill_stateful_strategy},
	{&schema_batch_job, fill_job},
	{&schema_batch_job_template_spec, fill_job_template},
};
static const struct special after[] = {
	{&schema_core_pod, fill_pod},
	{&schema_core_service_spec, fill_service},
};

static void run(const struct special *table, size_t count, struct filler *filler,
                struct cJSON *object, const struct schema_type *type)
{
	for (size_t i = 0; i < count; i++)
		if (table[i].type == type)
			table[i].fill(filler, object);
}

void schema_defaults_before(struct filler *filler, struct cJSON *object,
                            const struct schema_type *type)
{
	run(before, sizeof before / sizeof *before, filler, object, type);
}

void schema_defaults_after(struct filler *filler, struct cJSON *object,
                           const struct schema_type *type)
{
	run(after, sizeof after / sizeof *after, filler, object, type);
}
