#include "shardsched/gang/inner.h"

static const struct spec *spec_of(const struct gang *gang, uint32_t member)
{
	return gang->members[member].class->view->spec;
}

static enum gang_fault differs(const struct gang *gang, uint32_t member)
{
	const struct spec *one = spec_of(gang, 0), *two = spec_of(gang, member);

	if (two->form->gang != one->form->gang)
		return GANG_FAULT_GANG;
	if (two->namespace != one->namespace)
		return GANG_FAULT_NAMESPACE;
	if (two->form->scheduler != one->form->scheduler)
		return GANG_FAULT_SCHEDULER;
	if (two->form->gang_min != one->form->gang_min)
		return GANG_FAULT_MINIMUM;
	return two->form->gang_domain == one->form->gang_domain ? GANG_FAULT_NONE
	                                                        : GANG_FAULT_DOMAIN;
}

static bool sets_aside(struct gang *gang, enum gang_fault fault, uint32_t member,
                       uint32_t other)
{
	gang->out->result = GANG_DISAGREES;
	gang->out->fault = fault;
	gang->out->member = member;
	gang->out->other = other;
	return false;
}

/* Each has a text of its own. 0: it was not said. */
static bool are_unique(struct gang *gang, enum gang_fault fault)
{
	number_map_clear(&gang->seen);
	for (uint32_t i = 0; i < gang->count; i++) {
		const struct pod_self *self = &gang->members[i].self;
		uint32_t text = fault == GANG_FAULT_UID ? self->uid : self->name, other;

		if (text == 0)
			continue;
		if (number_map_get(&gang->seen, text, &other))
			return sets_aside(gang, fault, i, other);
		if (!number_map_add(&gang->seen, text, i))
			return gang_fails(gang, PL_NOMEM, "members of a gang");
	}
	return true;
}

bool gang_agrees(struct gang *gang)
{
	if (gang->count > SPEC_GANG_MOST)
		return sets_aside(gang, GANG_FAULT_MANY, SPEC_GANG_MOST, 0);
	for (uint32_t i = 1; i < gang->count; i++) {
		enum gang_fault fault = differs(gang, i);

		if (fault != GANG_FAULT_NONE)
			return sets_aside(gang, fault, i, 0);
	}
	return are_unique(gang, GANG_FAULT_UID) && are_unique(gang, GANG_FAULT_NAME);
}
