/* Which fields each resource can be selected by. */
#include "coord/api/select/field_selector.h"

static const char *const of_any[] = {"metadata.name", "metadata.namespace", NULL};
static const char *const of_pods[] = {
	"metadata.name",
	"metadata.namespace",
	"spec.nodeName",
	"spec.restartPolicy",
	"spec.schedulerName",
	"spec.serviceAccountName",
	"spec.hostNetwork",
	"status.phase",
	"status.podIP",
	"status.podIPs",
	"status.nominatedNodeName",
	NULL,
};
static const char *const of_nodes[] = {"metadata.name", "spec.unschedulable", NULL};
static const char *const of_namespaces[] = {"metadata.name", "status.phase", NULL};
static const char *const of_controllers[] = {"metadata.name", "metadata.namespace",
                                             "status.replicas", NULL};
static const char *const of_services[] = {"metadata.name", "metadata.namespace",
                                          "spec.clusterIP", "spec.type", NULL};
static const char *const of_jobs[] = {"metadata.name", "metadata.namespace",
                                      "status.successful", NULL};
static const char *const of_events[] = {
	"metadata.name",
	"metadata.namespace",
	"involvedObject.kind",
	"involvedObject.namespace",
	"involvedObject.name",
	"involvedObject.uid",
	"involvedObject.apiVersion",
	"involvedObject.resourceVersion",
	"involvedObject.fieldPath",
	"reason",
	"reportingComponent",
	"source",
	"type",
	NULL,
};

/* The names of events.k8s.io. */
static const char *const of_new_events[] = {
	"metadata.name",
	"metadata.namespace",
	"regarding.kind",
	"regarding.namespace",
	"regarding.name",
	"regarding.uid",
	"regarding.apiVersion",
	"regarding.resourceVersion",
	"regarding.fieldPath",
	"reason",
	"reportingController",
	"type",
	NULL,
};

#define NOT_SUPPORTED "field label not supported: ", "", false

static const struct field_set sets[] = {
	{"", "pods", of_pods, NOT_SUPPORTED},
	{"", "nodes", of_nodes, NOT_SUPPORTED},
	{"", "namespaces", of_namespaces, NOT_SUPPORTED},
	{"", "events", of_events, NOT_SUPPORTED},
	{"events.k8s.io", "events", of_new_events, NOT_SUPPORTED},
	{"", "replicationcontrollers", of_controllers, NOT_SUPPORTED},
	{"", "services", of_services, NOT_SUPPORTED},
	{"batch", "jobs", of_jobs, "field label ", " not supported for Job", true},
	{"batch", "cronjobs", of_any, "",
         " is not a known field selector: only \"metadata.name\", "
         "\"metadata.namespace\"",
         true},
};
/* A plain resource is refused like a cronjob. */
enum { PLAIN = sizeof sets / sizeof sets[0] - 1 };

const struct field_set *field_set_of(const char *group, const char *plural)
{
	for (size_t i = 0; i < PLAIN; i++)
		if (strcmp(sets[i].group, group) == 0 &&
		    strcmp(sets[i].plural, plural) == 0)
			return &sets[i];
	return &sets[PLAIN];
}

const char *field_set_find(const struct field_set *set, struct pl_span label)
{
	/* The name of old clients. */
	if (set->fields == of_pods && pl_span_eq(label, PL_SPAN_LIT("spec.host")))
		return "spec.nodeName";
	for (size_t i = 0; set->fields[i] != NULL; i++)
		if (pl_span_eq(pl_span_str(set->fields[i]), label))
			return set->fields[i];
	return NULL;
}
