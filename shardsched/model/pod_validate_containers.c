#include "shardsched/model/pod_validate.h"
#include "shardsched/model/resources.h"

enum { PORT_MOST = 65535 };

static bool is_port(int32_t number)
{
	return number >= 1 && number <= PORT_MOST;
}

static void check_port_name(struct validate *v, const struct draft_container *container,
                            uint32_t at)
{
	struct pl_span name = container->ports[at].name;
	uint32_t faults = text_port(name);

	if (name.len == 0)
		return;
	validate_text(v, "name", faults);
	for (uint32_t i = 0; i < at && faults == 0; i++)
		if (pl_span_eq(container->ports[i].name, name)) {
			validate_add(v, "name", FIELD_DUPLICATE, "comes twice");
			return;
		}
}

static void check_port(struct validate *v, const struct draft_container *container,
                       uint32_t at)
{
	static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
	const struct draft_port *port = &container->ports[at];

	if (v->scope == VALIDATE_SUBMITTED) {
		check_port_name(v, container, at);
		if (port->container_port == 0)
			validate_add(v, "containerPort", FIELD_REQUIRED, "want a port");
	}
	if (port->container_port != 0 && !is_port(port->container_port))
		validate_add(v, "containerPort", FIELD_INVALID, "want 1 to 65535");
	if (port->host_port != 0 && !is_port(port->host_port))
		validate_add(v, "hostPort", FIELD_INVALID, "want 1 to 65535");
	validate_word(v, "protocol", port->protocol, protocols);
}

static const struct draft_amount *find_amount(const struct draft_amounts *amounts,
                                              struct pl_span name)
{
	for (uint32_t i = 0; i < amounts->count; i++)
		if (pl_span_eq(amounts->at[i].name, name))
			return &amounts->at[i];
	return NULL;
}

static void check_resource_name(struct validate *v, struct pl_span name)
{
	uint32_t faults = text_key(name);

	validate_text(v, NULL, faults);
	if (!text_has(name, PL_SPAN_LIT("/"))) {
		if (faults == 0 && !resource_is_standard(name))
			validate_add(v, NULL, FIELD_INVALID,
			             "want a standard resource, or one with a domain");
		if (!resource_is_container(name))
			validate_add(v, NULL, FIELD_INVALID,
			             "want a resource that containers can have");
	} else if (!resource_is_native(name) && !resource_is_extended(name)) {
		validate_add(v, NULL, FIELD_INVALID,
		             "want the name of an extended resource");
	}
}

/* "hugepages-2Mi": a whole number of such pages. */
static bool is_whole_pages(const struct draft_amount *amount)
{
	size_t prefix = sizeof "hugepages-" - 1;
	struct pl_span text =
		pl_span(amount->name.at + prefix, amount->name.len - prefix);
	struct pl_quantity page;
	int64_t size;

	if (pl_quantity_parse(text, &page, NULL) != PL_OK)
		return false;
	size = pl_quantity_units(page);
	return size > 0 && pl_quantity_units(amount->quantity) % size == 0;
}

/* Checks one list of amounts; the path of v is the list. */
static void check_amounts(struct validate *v, const struct draft_amounts *amounts)
{
	for (uint32_t i = 0; i < amounts->count; i++) {
		const struct draft_amount *amount = &amounts->at[i];
		size_t mark = validate_key(v, amount->name);

		check_resource_name(v, amount->name);
		validate_amount(v, amount);
		if (resource_is_huge_pages(amount->name) && !is_whole_pages(amount))
			validate_add(v, NULL, FIELD_INVALID,
			             "want a whole number of pages");
		validate_back(v, mark);
	}
}

static void compare_limit(struct validate *v, const struct draft_amount *request,
                          const struct draft_amounts *limits)
{
	const struct draft_amount *limit = find_amount(limits, request->name);
	bool over = resource_may_overcommit(request->name);

	if (limit == NULL && !over)
		validate_add(v, "limits", FIELD_REQUIRED,
		             "want a limit of what cannot be overcommitted");
	else if (limit != NULL && !over && request->quantity.nano != limit->quantity.nano)
		validate_add(v, "requests", FIELD_INVALID, "want what the limit says");
	else if (limit != NULL && over && request->quantity.nano > limit->quantity.nano)
		validate_add(v, "requests", FIELD_INVALID, "want at most the limit");
}

static bool has_huge_pages(const struct draft_amounts *amounts)
{
	for (uint32_t i = 0; i < amounts->count; i++)
		if (resource_is_huge_pages(amounts->at[i].name))
			return true;
	return false;
}

static bool has_base(const struct draft_amounts *amounts)
{
	return find_amount(amounts, PL_SPAN_LIT("cpu")) != NULL ||
	       find_amount(amounts, PL_SPAN_LIT("memory")) != NULL;
}

void pod_validate_resources(struct validate *v, const struct draft_amounts *limits,
                            const struct draft_amounts *requests)
{
	size_t mark = validate_into(v, "limits");

	check_amounts(v, limits);
	validate_back(v, mark);
	mark = validate_into(v, "requests");
	check_amounts(v, requests);
	validate_back(v, mark);
	/* Decisions read requests alone. */
	for (uint32_t i = 0; v->scope == VALIDATE_SUBMITTED && i < requests->count; i++)
		compare_limit(v, &requests->at[i], limits);
	if ((has_huge_pages(limits) || has_huge_pages(requests)) && !has_base(limits) &&
	    !has_base(requests))
		validate_add(v, NULL, FIELD_FORBIDDEN, "huge pages want cpu or memory");
}

static void check_name_and_image(struct validate *v,
                                 const struct draft_container *container)
{
	if (container->name.len == 0)
		validate_add(v, "name", FIELD_REQUIRED, "want a name");
	else
		validate_text(v, "name", text_label(container->name));
	if (container->image.len == 0)
		validate_add(v, "image", FIELD_REQUIRED, "want an image");
}

static void check_container(struct validate *v, const struct draft_container *container)
{
	size_t mark;

	if (v->scope == VALIDATE_SUBMITTED)
		check_name_and_image(v, container);
	for (uint32_t i = 0; i < container->port_count; i++) {
		mark = validate_index(v, "ports", i);
		check_port(v, container, i);
		validate_back(v, mark);
	}
	mark = validate_into(v, "resources");
	pod_validate_resources(v, &container->limits, &container->requests);
	validate_back(v, mark);
}

static bool has_name(const struct draft_containers *all, uint32_t count,
                     struct pl_span name)
{
	for (uint32_t i = 0; i < count; i++)
		if (pl_span_eq(all->at[i].name, name))
			return true;
	return false;
}

static bool same_port(const struct draft_port *a, const struct draft_port *b)
{
	return a->host_port == b->host_port && pl_span_eq(a->protocol, b->protocol) &&
	       pl_span_eq(a->host_ip, b->host_ip);
}

static bool is_taken(const struct draft_container *first,
                     const struct draft_container *last, uint32_t count,
                     const struct draft_port *port)
{
	for (const struct draft_container *at = first; at <= last; at++)
		for (uint32_t i = 0; i < (at == last ? count : at->port_count); i++)
			if (same_port(&at->ports[i], port))
				return true;
	return false;
}

/* Init containers run one after another, so each is checked alone. */
static void check_host_ports(struct validate *v, const char *name,
                             const struct draft_containers *all, bool together)
{
	for (uint32_t i = 0; i < all->count; i++) {
		const struct draft_container *last = &all->at[i];
		size_t mark = validate_index(v, name, i);

		for (uint32_t j = 0; j < last->port_count; j++) {
			size_t before = validate_index(v, "ports", j);

			if (last->ports[j].host_port != 0 &&
			    is_taken(together ? all->at : last, last, j, &last->ports[j]))
				validate_add(v, "hostPort", FIELD_DUPLICATE,
				             "comes twice");
			validate_back(v, before);
		}
		validate_back(v, mark);
	}
}

static void check_host_network(struct validate *v, const struct pod_draft *draft)
{
	for (uint32_t i = 0; draft->host_network && i < draft->containers.count; i++) {
		const struct draft_container *container = &draft->containers.at[i];
		size_t mark = validate_index(v, "containers", i);

		for (uint32_t j = 0; j < container->port_count; j++) {
			size_t before = validate_index(v, "ports", j);

			if (container->ports[j].host_port !=
			    container->ports[j].container_port)
				validate_add(v, "hostPort", FIELD_INVALID,
				             "want the containerPort with hostNetwork");
			validate_back(v, before);
		}
		validate_back(v, mark);
	}
}

void pod_validate_containers(struct validate *v, const struct pod_draft *draft)
{
	const struct draft_containers *all = &draft->containers, *init = &draft->init;

	if (all->count == 0 && v->scope == VALIDATE_SUBMITTED)
		validate_add(v, "containers", FIELD_REQUIRED, "want a container");
	for (uint32_t i = 0; i < all->count; i++) {
		size_t mark = validate_index(v, "containers", i);

		check_container(v, &all->at[i]);
		if (v->scope == VALIDATE_SUBMITTED && has_name(all, i, all->at[i].name))
			validate_add(v, "name", FIELD_DUPLICATE, "comes twice");
		validate_back(v, mark);
	}
	for (uint32_t i = 0; i < init->count; i++) {
		size_t mark = validate_index(v, "initContainers", i);

		check_container(v, &init->at[i]);
		if (v->scope == VALIDATE_SUBMITTED &&
		    (has_name(init, i, init->at[i].name) ||
		     has_name(all, all->count, init->at[i].name)))
			validate_add(v, "name", FIELD_DUPLICATE, "comes twice");
		validate_back(v, mark);
	}
	check_host_ports(v, "containers", all, true);
	check_host_ports(v, "initContainers", init, false);
	check_host_network(v, draft);
}
