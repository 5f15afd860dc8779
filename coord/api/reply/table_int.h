/* Cells: what the columns of all kinds are made with. */
#ifndef COORD_API_REPLY_TABLE_INT_H
#define COORD_API_REPLY_TABLE_INT_H

#include "coord/api/reply/field_get.h"
#include "coord/api/reply/table.h"

struct table_row {
	struct table_writer *writer;
	const char *phase; /* pods: Succeeded or Failed ends the row's work */
};

/* -- whole cells ------------------------------------------------------------------------ */

/* text NULL: empty. */
void cell_text(struct table_row *row, const char *text);
void cell_int(struct table_row *row, int64_t value);
void cell_bool(struct table_row *row, bool value);
/* The string at the path; absent or empty: normal. */
void cell_field(struct table_row *row, struct pl_json object, const char *path,
                const char *normal);
void cell_field_int(struct table_row *row, struct pl_json object, const char *path);
void cell_field_bool(struct table_row *row, struct pl_json object, const char *path,
                     bool normal);
/* A string, a number or a boolean as text; absent: normal. */
void cell_scalar(struct table_row *row, struct pl_json object, const char *path,
                 const char *normal);
/* Number of elements or members. */
void cell_count(struct table_row *row, struct pl_json object, const char *path);
void cell_name(struct table_row *row, struct pl_json object);
/* Since the time at the path; absent: "<unknown>", or normal. */
void cell_since(struct table_row *row, struct pl_json object, const char *path,
                const char *normal);
void cell_age(struct table_row *row, struct pl_json object);
/* The cluster in the API's name of a node, "east:n-1"; a name without one is of the cluster
 * default. Empty: no node. */
void cell_cluster(struct table_row *row, const char *node);
/* "3/5" */
void cell_ratio(struct table_row *row, int64_t part, int64_t whole);
/* Names and images of the containers of a pod spec, as two cells. */
void cell_containers(struct table_row *row, struct pl_json pod_spec);
/* "a=b,c=d" of a map of strings, in order; empty: "<none>". */
void cell_labels(struct table_row *row, struct pl_json map);
/* A LabelSelector as text; empty: normal. */
void cell_selector(struct table_row *row, struct pl_json selector, const char *normal);

/* -- a cell in parts ---------------------------------------------------------------------- */

void cell_add(struct table_row *row, const char *text);
PL_PRINTF(2, 3) void cell_printf(struct table_row *row, const char *fmt, ...);
/* A comma before all parts but the first. */
void cell_next(struct table_row *row);
/* Nothing was added: normal. */
void cell_end(struct table_row *row, const char *normal);

/* -- values ------------------------------------------------------------------------------- */

/* False: absent, or no time. */
bool field_time(struct pl_json object, const char *path, int64_t *ms);
/* "12m", or "<unknown>". */
const char *since_text(const struct table_row *row, struct pl_json object,
                       const char *path, char out[32]);
/* The element of the conditions with that type; absent: none. */
struct pl_json condition_find(struct pl_json object, const char *type);
bool condition_is_true(struct pl_json object, const char *type);

/* -- the kinds ---------------------------------------------------------------------------- */

#define TABLE_NAME_DOC "Name of the object, unique among its kind in its namespace."
#define TABLE_AGE_DOC "Time since the object was created."
#define TABLE_NAME                                          \
	{                                                   \
		"Name", "string", "name", 0, TABLE_NAME_DOC \
	}
#define TABLE_AGE                                     \
	{                                             \
		"Age", "string", "", 0, TABLE_AGE_DOC \
	}
#define TABLE_TEXT(name, doc)              \
	{                                  \
		name, "string", "", 0, doc \
	}
#define TABLE_WIDE(name, doc)              \
	{                                  \
		name, "string", "", 1, doc \
	}
#define TABLE_INT(name, doc)                \
	{                                   \
		name, "integer", "", 0, doc \
	}
#define TABLE_BOOL(name, doc)               \
	{                                   \
		name, "boolean", "", 0, doc \
	}
#define TABLE_CONTAINERS                                            \
	TABLE_WIDE("Containers", "Names of the pod's containers."), \
		TABLE_WIDE("Images", "Images of the pod's containers.")
#define TABLE_SELECTOR \
	TABLE_WIDE("Selector", "Labels of the pods that belong to the object.")
#define TABLE_END                         \
	{                                 \
		NULL, NULL, NULL, 0, NULL \
	}

/* X(group, plural, columns and cells) */
#define TABLE_KIND_MAP(X)                                          \
	X("", "pods", pods)                                        \
	X("", "podtemplates", podtemplates)                        \
	X("policy", "poddisruptionbudgets", budgets)               \
	X("", "replicationcontrollers", controllers)               \
	X("apps", "replicasets", replicasets)                      \
	X("apps", "daemonsets", daemonsets)                        \
	X("apps", "deployments", deployments)                      \
	X("apps", "statefulsets", statefulsets)                    \
	X("batch", "jobs", jobs)                                   \
	X("batch", "cronjobs", cronjobs)                           \
	X("", "services", services)                                \
	X("", "nodes", nodes)                                      \
	X("", "events", events)                                    \
	X("events.k8s.io", "events", events)                       \
	X("", "namespaces", namespaces)                            \
	X("", "serviceaccounts", accounts)                         \
	X("", "configmaps", configmaps)                            \
	X("", "persistentvolumes", volumes)                        \
	X("", "persistentvolumeclaims", claims)                    \
	X("coordination.k8s.io", "leases", leases)                 \
	X("storage.k8s.io", "storageclasses", storageclasses)      \
	X("storage.k8s.io", "csinodes", csinodes)                  \
	X("storage.k8s.io", "csidrivers", csidrivers)              \
	X("storage.k8s.io", "csistoragecapacities", capacities)    \
	X("scheduling.k8s.io", "priorityclasses", priorityclasses) \
	X("autoscaling", "scales", scales)                         \
	X("placet.io", "clusters", placet_clusters)                \
	X("placet.io", "shards", placet_shards)                    \
	X("placet.io", "partitions", placet_partitions)            \
	X("placet.io", "configs", placet_configs)                  \
	X("placet.io", "gangs", placet_gangs)                      \
	X("placet.io", "tokens", placet_tokens)                    \
	X("placet.io", "explanations", placet_explanations)

#define TABLE_KIND_DECLARE(group, plural, word)                  \
	extern const struct table_column table_columns_##word[]; \
	table_cells_fn table_cells_##word;
TABLE_KIND_MAP(TABLE_KIND_DECLARE)
#undef TABLE_KIND_DECLARE

#endif
