#include "shardsched/gang/gang_int.h"

static const struct spec *spec_of(const struct gang *gang, uint32_t member)
{
	return gang->members[member].class->view->spec;
}

static enum gang_fault compare_member(const struct gang *gang, uint32_t member)
{
	const struct spec *one = spec_of(gang, 0), *two = spec_of(gang, member);

	if (two->template->gang != one->template->gang)
		return GANG_FAULT_GANG;
	if (two->namespace != one->namespace)
		return GANG_FAULT_NAMESPACE;
	if (two->template->scheduler != one->template->scheduler)
		return GANG_FAULT_SCHEDULER;
	if (two->template->gang_min != one->template->gang_min)
		return GANG_FAULT_MINIMUM;
	return two->template->gang_domain == one->template->gang_domain
	               ? GANG_FAULT_NONE
	               : GANG_FAULT_DOMAIN;
}

static bool exclude_gang(struct gang *gang, enum gang_fault fault, uint32_t member,
                         uint32_t other)
{
	gang->out->result = GANG_DISAGREES;
	gang->out->fault = fault;
	gang->out->member = member;
	gang->out->other = other;
	return false;
}

/* No two members may have the same text; 0 means not given. */
static bool check_unique(struct gang *gang, enum gang_fault fault)
{
	number_map_clear(&gang->seen);
	for (uint32_t i = 0; i < gang->count; i++) {
		const struct pod_self *self = &gang->members[i].self;
		uint32_t text = fault == GANG_FAULT_UID ? self->uid : self->name, other;

		if (text == 0)
			continue;
		if (number_map_get(&gang->seen, text, &other))
			return exclude_gang(gang, fault, i, other);
		if (!number_map_add(&gang->seen, text, i))
			return gang_fail(gang, PL_NOMEM,
			                 "members of a gang: out of memory");
	}
	return true;
}

bool gang_agrees(struct gang *gang)
{
	if (gang->count > SPEC_GANG_MOST)
		return exclude_gang(gang, GANG_FAULT_MANY, SPEC_GANG_MOST, 0);
	for (uint32_t i = 1; i < gang->count; i++) {
		enum gang_fault fault = compare_member(gang, i);

		if (fault != GANG_FAULT_NONE)
			return exclude_gang(gang, fault, i, 0);
	}
	return check_unique(gang, GANG_FAULT_UID) && check_unique(gang, GANG_FAULT_NAME);
}
