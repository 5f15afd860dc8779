#include "coord/api/objects/shown_walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "coord/api/objects/shown_names.h"
#include "coord/api/objects/source_order.h"

/* The longest names of keys. */
enum { SHOWN_NAMESPACE_MAX = 63, SHOWN_POD_MAX = 253 };

const struct schema_resource *shown_event_resource(void)
{
	return schema_resource_find((struct pl_span){0}, PL_SPAN_LIT("v1"),
	                            PL_SPAN_LIT("pods"));
}

/* -- names that are shown in any case ---------------------------------------------------- */

/* An object without a key: what it shows follows from its name. */
static void make_absent(struct shown_walk *walk, struct object *out)
{
	int len = snprintf(walk->order, sizeof walk->order, "%s/", walk->name);

	*out = shown_name_object(walk->resource, pl_span_str(walk->name),
	                         pl_span(walk->order, (size_t)len));
}

static bool next_name(struct shown_walk *walk, struct object *out)
{
	if (!shown_name_at(walk->sources, walk->resource, walk->next, walk->name))
		return false;
	walk->next++;
	if (!source_get_at(walk->sources, walk->resource, (struct pl_span){0},
	                   pl_span_str(walk->name), walk->revision, out))
		make_absent(walk, out);
	return true;
}

/* -- events of pods ----------------------------------------------------------------------- */

static bool wanted(const struct object_filter *filter, const char *field,
                   const char *other, struct pl_span *out)
{
	return filter != NULL && (field_selector_wants(&filter->fields, field, out) ||
	                          field_selector_wants(&filter->fields, other, out));
}

bool shown_event_pods(struct pl_span namespace, const struct object_filter *filter,
                      char out[SOURCE_ORDER_MAX], size_t *len)
{
	struct pl_span kind, name = {0}, within = {0};

	if (wanted(filter, "involvedObject.kind", "regarding.kind", &kind) &&
	    !pl_span_eq(kind, PL_SPAN_LIT("Pod")))
		return false;
	/* Events have no labels. */
	if (wanted(filter, "involvedObject.namespace", "regarding.namespace", &within)) {
		if (namespace.len > 0 && !pl_span_eq(namespace, within))
			return false;
		namespace = within;
	}
	if (namespace.len > SHOWN_NAMESPACE_MAX)
		return false;
	if (namespace.len > 0 &&
	    wanted(filter, "involvedObject.name", "regarding.name", &name) &&
	    name.len > SHOWN_POD_MAX)
		return false;
	*len = source_prefix(shown_event_resource(), namespace,
	                     namespace.len > 0 ? name : (struct pl_span){0}, out);
	return true;
}

/* Behind the prefix of the list: a byte that no name begins with, then the pod's order and
 * the kind: "core/events/shop/" "~shop/web-0/" "1/". */
static void set_order(struct shown_walk *walk)
{
	struct pod_event *event = &walk->event;
	struct pl_span pod = source_object_order(&walk->pod);
	int len = snprintf(event->order, sizeof event->order,
	                   PL_SPAN_FMT "~" PL_SPAN_FMT "%u/", PL_SPAN_ARG(walk->prefix),
	                   PL_SPAN_ARG(pod), (unsigned)event->kind);

	PL_ASSERT(len > 0 && (size_t)len < sizeof event->order);
	event->order_len = (size_t)len;
}

static bool next_event(struct shown_walk *walk, struct object *out)
{
	for (;;) {
		while (walk->kinds != 0) {
			unsigned kind = (unsigned)__builtin_ctz(walk->kinds);

			walk->kinds &= walk->kinds - 1;
			if (!pod_event_make(&walk->pod, (enum pod_event_kind)kind,
			                    &walk->event))
				continue;
			set_order(walk);
			*out = pod_event_object(walk->resource, &walk->event);
			return true;
		}
		if (!walk->has_pods || !source_walk_next(&walk->pods, &walk->pod))
			return false;
		walk->kinds = pod_event_kinds(&walk->pod);
	}
}

/* Reads back an order of set_order. False: it is none. */
static bool read_order(struct shown_walk *walk, struct pl_span order, struct pl_span *pod,
                       unsigned *kind)
{
	struct pl_span rest;

	if (order.len < walk->prefix.len + 3 || order.at[walk->prefix.len] != '~')
		return false;
	rest = pl_span(order.at + walk->prefix.len + 1, order.len - walk->prefix.len - 3);
	*kind = (unsigned)(order.at[order.len - 2] - '0');
	*pod = rest;
	return *kind < POD_EVENT_KINDS && rest.len > 0 &&
	       rest.len < sizeof walk->pods_after && rest.at[rest.len - 1] == '/';
}

/* Goes on within the pod at whose event the last page ended. */
static void resume_pod(struct shown_walk *walk, struct pl_span pod, unsigned kind)
{
	struct pl_span namespace, name;

	source_order_names(true, pod, &namespace, &name);
	if (namespace.len > 0 && name.len > 0 &&
	    source_get_at(walk->sources, shown_event_resource(), namespace, name,
	                  walk->revision, &walk->pod))
		walk->kinds = pod_event_kinds(&walk->pod) & ~((2U << kind) - 1);
}

/* The namespace of a list by its prefix: "core/events/", "core/events/shop/". */
static struct pl_span namespace_of(struct pl_span prefix)
{
	struct pl_span first = PL_SPAN_LIT("core/events/");

	if (prefix.len <= first.len)
		return (struct pl_span){0};
	return pl_span(prefix.at + first.len, prefix.len - first.len - 1);
}

static enum pl_code begin_pods(struct shown_walk *walk, struct pl_span after,
                               const struct object_filter *filter)
{
	struct pl_span pod = {0};
	unsigned kind = 0;
	size_t len = 0;
	enum pl_code code;

	walk->kinds = 0;
	if (!shown_event_pods(namespace_of(walk->prefix), filter, walk->pods_prefix,
	                      &len))
		return PL_OK;
	if (read_order(walk, after, &pod, &kind)) {
		memcpy(walk->pods_after, pod.at, pod.len);
		pod = pl_span(walk->pods_after, pod.len);
		walk->stage = SHOWN_PODS;
		resume_pod(walk, pod, kind);
	}
	code = source_walk_begin(walk->sources, shown_event_resource(),
	                         pl_span(walk->pods_prefix, len), pod, walk->revision,
	                         &walk->pods);
	walk->has_pods = code == PL_OK;
	return code;
}

/* -- the walk ------------------------------------------------------------------------------ */

enum pl_code shown_walk_begin(struct sources *sources,
                              const struct schema_resource *resource,
                              struct pl_span prefix, struct pl_span after,
                              int64_t revision, const struct object_filter *filter,
                              struct shown_walk *out)
{
	enum pl_code code = PL_OK;
	struct pl_span stored_after = after, namespace, name;

	out->sources = sources;
	out->resource = resource;
	out->stage = SHOWN_STORED;
	out->revision = revision;
	out->next = 0;
	out->has_pods = false;
	out->kinds = 0;
	out->prefix = prefix;
	if (resource_is_events(resource))
		code = begin_pods(out, after, filter);
	if (out->stage == SHOWN_PODS)
		return code;
	if (shown_names_any(resource) && prefix.len == 0) {
		source_order_names(false, after, &namespace, &name);
		out->next =
			after.len == 0 ? 0 : shown_name_behind(sources, resource, name);
		out->stage = out->next == UINT32_MAX ? SHOWN_STORED : SHOWN_NAMES;
		if (out->stage == SHOWN_NAMES)
			stored_after = (struct pl_span){0};
	}
	return code != PL_OK ? code
	                     : source_walk_begin(sources, resource, prefix, stored_after,
	                                         revision, &out->stored);
}

bool shown_walk_next(struct shown_walk *walk, struct object *out)
{
	bool names = shown_names_any(walk->resource);

	if (walk->stage == SHOWN_NAMES) {
		if (next_name(walk, out))
			return true;
		walk->stage = SHOWN_STORED;
	}
	while (walk->stage == SHOWN_STORED) {
		if (!source_walk_next(&walk->stored, out)) {
			walk->stage = SHOWN_PODS;
			break;
		}
		if (!names || walk->prefix.len > 0 ||
		    shown_name_behind(walk->sources, walk->resource, out->name) ==
		            UINT32_MAX)
			return true;
	}
	return walk->has_pods && next_event(walk, out);
}

/* -- one object ------------------------------------------------------------------------- */

/* The pod of an event by the event's name: all but what stands behind the last dot. */
static bool get_event(struct sources *sources, const struct schema_resource *resource,
                      struct pl_span namespace, struct pl_span name,
                      struct shown_walk *walk, struct object *out)
{
	size_t len = name.len;

	while (len > 0 && name.at[len - 1] != '.')
		len--;
	if (len < 2 || len > 254 || namespace.len == 0 ||
	    !source_get(sources, shown_event_resource(), namespace,
	                pl_span(name.at, len - 1), &walk->pod))
		return false;
	for (unsigned kind = 0; kind < POD_EVENT_KINDS; kind++) {
		if (!pod_event_make(&walk->pod, (enum pod_event_kind)kind, &walk->event))
			continue;
		*out = pod_event_object(resource, &walk->event);
		if (pl_span_eq(out->name, name))
			return true;
	}
	return false;
}

bool shown_get(struct sources *sources, const struct schema_resource *resource,
               struct pl_span namespace, struct pl_span name, struct shown_walk *walk,
               struct object *out)
{
	walk->sources = sources;
	walk->resource = resource;
	if (source_get(sources, resource, namespace, name, out))
		return true;
	if (resource_is_events(resource))
		return get_event(sources, resource, namespace, name, walk, out);
	if (!shown_names_any(resource) ||
	    shown_name_behind(sources, resource, name) == UINT32_MAX)
		return false;
	(void)snprintf(walk->name, sizeof walk->name, PL_SPAN_FMT, PL_SPAN_ARG(name));
	make_absent(walk, out);
	return true;
}

int64_t shown_revision(const struct sources *sources,
                       const struct schema_resource *resource)
{
	enum source_kind kind;
	bool has_source = source_of_resource(resource, &kind);
	int64_t revision, pods;

	PL_ASSERT(has_source);
	revision = source_revision(sources, kind);
	if (!resource_is_events(resource))
		return revision;
	pods = source_revision(sources, SOURCE_PODS);
	return pods < revision ? pods : revision;
}
