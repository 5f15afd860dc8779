/*
 * Attributes: a request in the words of Kubernetes' authorization: a verb on a resource,
 * or on a path that is none.
 *
 *	GET    /api/v1/namespaces/shop/pods?watch=1   watch pods in shop
 *	POST   /api/v1/namespaces/shop/pods/a/binding create pods/binding of a in shop
 *	GET    /metrics                               get /metrics
 *
 * A plain value; spans are borrowed. namespace is empty for objects of the cluster's scope
 * and for all namespaces. cluster is the one that the object belongs to, where that is known:
 * a node's name tells it, a pod's state, a binding's target.
 */
#ifndef COORD_ACCESS_BASE_ATTRIBUTES_H
#define COORD_ACCESS_BASE_ATTRIBUTES_H

#include <stdbool.h>

#include "store/base/span.h"

struct access_attributes {
	bool is_resource;
	struct pl_span verb; /* "get", "deletecollection"; of a path the method, "get" */
	struct pl_span group, version, resource, subresource, namespace, name;
	struct pl_span cluster;
	struct pl_span path; /* not a resource */
};

#endif
