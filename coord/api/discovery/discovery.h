/*
 * Discovery: what the server serves, said in the ways that clients ask.
 *
 *	/version                        the version of Kubernetes whose API this is
 *	/                               the paths
 *	/api, /apis, /apis/<group>      versions and groups
 *	/api/v1, /apis/<group>/<v>      resources of a version
 *	/api, /apis aggregated          everything at once (kubectl >= 1.27)
 *
 * Pure: all comes from the table of resources, so an answer never changes while the
 * server runs, and may be written once and kept with its ETag.
 *
 * The version is that of the API which is served, v1.32.0, with Placet's own behind it:
 * clients derive from it what they may ask for, and charts what they may install. kubectl
 * of another minor version says in `kubectl version` that the two differ, as it does with
 * any cluster.
 */
#ifndef COORD_API_DISCOVERY_DISCOVERY_H
#define COORD_API_DISCOVERY_DISCOVERY_H

#include <stdbool.h>

#include "coord/api/schema/schema.h"
#include "store/base/json_out.h"

enum { DISCOVERY_ETAG_SIZE = 24 };

struct discovery {
	const struct schema_resource *resources; /* groups together, the core first */
	size_t count;
	const char *version; /* of Placet */
	const char *address; /* "127.0.0.1:6443", where clients reach the server */
};

void discovery_version(const struct discovery *discovery, struct pl_json_out *out);
/* GET /: more (ends with NULL) are paths that other parts serve. */
void discovery_paths(const struct discovery *discovery, const char *const *more,
                     struct pl_json_out *out);
/* GET /api */
void discovery_core(const struct discovery *discovery, struct pl_json_out *out);
/* GET /apis */
void discovery_groups(const struct discovery *discovery, struct pl_json_out *out);
/* GET /apis/<group>. False, and nothing is written: there is none. */
bool discovery_group(const struct discovery *discovery, struct pl_span group,
                     struct pl_json_out *out);
/* GET /api/v1 (group empty), /apis/<group>/<version>. False, and nothing is written: there
 * is none. */
bool discovery_resources(const struct discovery *discovery, struct pl_span group,
                         struct pl_span version, struct pl_json_out *out);
/* GET /api (core) or /apis as APIGroupDiscoveryList. beta: v2beta1. */
void discovery_aggregated(const struct discovery *discovery, bool core, bool beta,
                          struct pl_json_out *out);

/* The ETag of an answer, with its quotes. Returns out. */
const char *discovery_etag(struct pl_span body, char out[DISCOVERY_ETAG_SIZE]);
/* Whether an If-None-Match names it, so that 304 answers. */
bool discovery_etag_matches(struct pl_span if_none_match, const char *etag);

#endif
