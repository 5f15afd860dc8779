/*
 * A pod list: the pods that pass a filter, at one revision, by namespace and name.
 *
 * A pod that is named is read where its name falls, or where the pointer there leads. One
 * that is found nowhere so makes the whole store be read once: its keys may stand in a
 * partition that is not its own.
 */
#ifndef COORD_SERVICE_PODS_POD_LIST_H
#define COORD_SERVICE_PODS_POD_LIST_H

#include "coord/service/base/service.h"
#include "coord/service/pods/pod_filter.h"

enum { POD_LIST_MAX = 4000000 };

struct pod_list;

struct pod_list_opts {
	struct pod_filter filter;
	/* A list of very many pods that only names them: states are not kept, and the order
	 * is that of the keys, so that pods of a partition stand together. Not with a filter
	 * that looks at states, and pod_list_find does not find there. */
	bool names_only;
	/* err NULL: the list can be read until pod_list_free. */
	void (*done)(void *ctx, const struct pl_err *err);
	void *ctx;
};

PL_NODISCARD enum pl_code pod_list_start(const struct service *service,
                                         const struct pod_list_opts *opts,
                                         struct pod_list **out, struct pl_err *err);
void pod_list_cancel(struct pod_list *list);
/* Frees the list, in done or later. Takes NULL. */
void pod_list_free(struct pod_list *list);

const struct pod_info *pod_list_pods(const struct pod_list *list, size_t *count);
/* NULL: it is not among them. */
const struct pod_info *pod_list_find(const struct pod_list *list,
                                     const struct pod_name *name);

#endif
