#include "shardsched/framework/binding.h"

#include "shardsched/framework/cycle_int.h"

#define BINDING_STATE_NAME(state, name) name,
static const char *const names[] = {BINDING_STATE_MAP(BINDING_STATE_NAME)};

/* From where one may get where. */
static const bool follows[BINDING_STATES][BINDING_STATES] = {
	[BINDING_WAITING] = {[BINDING_ALLOWED] = true, [BINDING_UNDONE] = true},
	[BINDING_ALLOWED] = {[BINDING_COMMITTING] = true, [BINDING_UNDONE] = true},
	[BINDING_COMMITTING] = {[BINDING_BOUND] = true, [BINDING_UNDONE] = true},
};

const char *binding_state_name(enum binding_state state)
{
	PL_ASSERT((unsigned)state < BINDING_STATES);
	return names[state];
}

static enum binding_state enter(struct binding *binding, enum binding_state state)
{
	PL_ASSERT(follows[binding->state][state]);
	PL_ASSERT(state == BINDING_UNDONE || binding->waiting == 0);
	binding->state = state;
	return state;
}

static const struct plugin *row_of(const struct binding *binding, unsigned plugin)
{
	return binding->class->profile->table->row[plugin];
}

static const struct profile_point *at_point(const struct binding *binding,
                                            enum point point)
{
	return &binding->class->profile->at[point];
}

static struct plugin_call call_of(const struct binding *binding, unsigned plugin)
{
	struct plugin_call call;

	fw_class_call(binding->class, binding->cycle->snapshot, plugin, &call);
	call.pod = &binding->pod;
	call.arena = &binding->cycle->arena;
	return call;
}

static enum binding_state undo(struct binding *binding)
{
	const struct profile_point *at = at_point(binding, POINT_RESERVE);

	while (binding->reserved > 0) {
		unsigned plugin = at->plugin[--binding->reserved];
		struct plugin_call call = call_of(binding, plugin);

		call.change = binding->cycle->snapshot;
		if (row_of(binding, plugin)->unreserve != NULL)
			row_of(binding, plugin)->unreserve(&call, binding->slot);
	}
	binding->waiting = 0;
	return enter(binding, BINDING_UNDONE);
}

/* By that plugin, with what it said. */
static enum binding_state refused(struct binding *binding, int plugin,
                                  enum verdict_code code)
{
	binding->why.code = code;
	binding->why.plugin = plugin;
	return undo(binding);
}

static bool reserve(struct binding *binding)
{
	const struct profile_point *at = at_point(binding, POINT_RESERVE);

	while (binding->reserved < at->count) {
		unsigned plugin = at->plugin[binding->reserved++];
		struct plugin_call call = call_of(binding, plugin);
		enum verdict_code code = VERDICT_SUCCESS;

		call.change = binding->cycle->snapshot;
		verdict_clear(&binding->why);
		code = row_of(binding, plugin)
		               ->reserve(&call, binding->slot, &binding->why);
		if (code != VERDICT_SUCCESS) {
			(void)refused(binding, (int)plugin, code);
			return false;
		}
	}
	return true;
}

static void wait_for(struct binding *binding, unsigned plugin, uint64_t now_ms,
                     uint64_t wait_ms)
{
	if (wait_ms > BINDING_WAIT_MAX_MS)
		wait_ms = BINDING_WAIT_MAX_MS;
	binding->waiting |= UINT64_C(1) << plugin;
	binding->deadline_ms[plugin] = now_ms + wait_ms;
}

static bool permit(struct binding *binding, uint64_t now_ms)
{
	const struct profile_point *at = at_point(binding, POINT_PERMIT);

	for (unsigned i = 0; i < at->count; i++) {
		unsigned plugin = at->plugin[i];
		struct plugin_call call = call_of(binding, plugin);
		enum verdict_code code = VERDICT_SUCCESS;
		uint64_t wait_ms = 0;

		verdict_clear(&binding->why);
		code = row_of(binding, plugin)
		               ->permit(&call, binding->slot, &wait_ms, &binding->why);
		if (code == VERDICT_WAIT) {
			wait_for(binding, plugin, now_ms, wait_ms);
		} else if (code != VERDICT_SUCCESS) {
			(void)refused(binding, (int)plugin, code);
			return false;
		}
	}
	return true;
}

enum binding_state binding_start(struct binding *binding, struct cycle *cycle,
                                 struct fw_class *class, const struct pod_self *pod,
                                 uint32_t slot, uint64_t now_ms)
{
	binding->state = BINDING_WAITING;
	binding->slot = slot;
	binding->cycle = cycle;
	binding->class = class;
	binding->pod = *pod;
	binding->waiting = 0;
	binding->reserved = 0;
	verdict_clear(&binding->why);
	if (reserve(binding) && permit(binding, now_ms) && binding->waiting == 0)
		return enter(binding, BINDING_ALLOWED);
	return binding->state;
}

static bool is_waited_for(const struct binding *binding, unsigned plugin)
{
	PL_ASSERT(plugin < PLUGINS_MAX);
	return (binding->waiting >> plugin & 1) != 0;
}

enum binding_state binding_allow(struct binding *binding, unsigned plugin)
{
	if (!is_waited_for(binding, plugin))
		return binding->state;
	binding->waiting &= ~(UINT64_C(1) << plugin);
	return binding->waiting == 0 ? enter(binding, BINDING_ALLOWED) : binding->state;
}

enum binding_state binding_deny(struct binding *binding, unsigned plugin,
                                const struct verdict *say)
{
	if (!is_waited_for(binding, plugin))
		return binding->state;
	verdict_clear(&binding->why);
	if (say != NULL)
		binding->why = *say;
	return refused(binding, (int)plugin, VERDICT_UNSCHEDULABLE);
}

/* The one that is late first. */
static unsigned first_late(const struct binding *binding)
{
	unsigned first = PLUGINS_MAX;

	for (uint64_t left = binding->waiting; left != 0; left &= left - 1) {
		unsigned plugin = (unsigned)__builtin_ctzll(left);

		if (first == PLUGINS_MAX ||
		    binding->deadline_ms[plugin] < binding->deadline_ms[first])
			first = plugin;
	}
	return first;
}

uint64_t binding_deadline_ms(const struct binding *binding)
{
	unsigned first = first_late(binding);

	return first == PLUGINS_MAX ? UINT64_MAX : binding->deadline_ms[first];
}

enum binding_state binding_expire(struct binding *binding, uint64_t now_ms)
{
	struct verdict say;

	if (now_ms < binding_deadline_ms(binding) || binding->waiting == 0)
		return binding->state;
	verdict_clear(&say);
	verdict_add(&say, VERDICT_UNSCHEDULABLE,
	            &(struct reason){.code = REASON_PERMIT_LATE});
	return binding_deny(binding, first_late(binding), &say);
}

static bool pre_bind(struct binding *binding)
{
	const struct profile_point *at = at_point(binding, POINT_PRE_BIND);

	for (unsigned i = 0; i < at->count; i++) {
		unsigned plugin = at->plugin[i];
		struct plugin_call call = call_of(binding, plugin);
		enum verdict_code code = VERDICT_SUCCESS;

		verdict_clear(&binding->why);
		code = row_of(binding, plugin)
		               ->pre_bind(&call, binding->slot, &binding->why);
		if (code != VERDICT_SUCCESS) {
			(void)refused(binding, (int)plugin, code);
			return false;
		}
	}
	return true;
}

enum binding_state binding_commit(struct binding *binding)
{
	const struct profile_point *at = at_point(binding, POINT_BIND);

	PL_ASSERT(binding->state == BINDING_ALLOWED);
	if (!pre_bind(binding))
		return binding->state;
	for (unsigned i = 0; i < at->count; i++) {
		unsigned plugin = at->plugin[i];
		struct plugin_call call = call_of(binding, plugin);
		enum verdict_code code = VERDICT_SUCCESS;

		verdict_clear(&binding->why);
		code = row_of(binding, plugin)->bind(&call, binding->slot, &binding->why);
		if (code == VERDICT_SUCCESS)
			return enter(binding, BINDING_COMMITTING);
		if (code != VERDICT_SKIP)
			return refused(binding, (int)plugin, code);
	}
	verdict_clear(&binding->why);
	verdict_add(&binding->why, VERDICT_ERROR,
	            &(struct reason){.code = REASON_FAILED});
	return refused(binding, -1, VERDICT_ERROR);
}

enum binding_state binding_committed(struct binding *binding, bool written)
{
	const struct profile_point *at = at_point(binding, POINT_POST_BIND);

	PL_ASSERT(binding->state == BINDING_COMMITTING);
	verdict_clear(&binding->why);
	if (!written)
		return undo(binding);
	for (unsigned i = 0; i < at->count; i++) {
		struct plugin_call call = call_of(binding, at->plugin[i]);

		row_of(binding, at->plugin[i])->post_bind(&call, binding->slot);
	}
	return enter(binding, BINDING_BOUND);
}

enum binding_state binding_cancel(struct binding *binding)
{
	PL_ASSERT(binding->state != BINDING_COMMITTING);
	if (binding->state == BINDING_BOUND || binding->state == BINDING_UNDONE)
		return binding->state;
	verdict_clear(&binding->why);
	return undo(binding);
}
