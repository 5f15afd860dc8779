#include "shardsched/framework/binding.h"

#include "shardsched/framework/cycle_int.h"

#define BINDING_STATE_NAME(state, name) name,
static const char *const names[] = {BINDING_STATE_MAP(BINDING_STATE_NAME)};

/* Which state may follow which. */
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

static enum binding_state binding_enter(struct binding *binding, enum binding_state state)
{
	PL_ASSERT(follows[binding->state][state]);
	PL_ASSERT(state == BINDING_UNDONE || binding->waiting == 0);
	binding->state = state;
	return state;
}

static const struct plugin *plugin_row(const struct binding *binding, unsigned plugin)
{
	return binding->class->profile->table->row[plugin];
}

static const struct profile_point *plugins_at(const struct binding *binding,
                                              enum point point)
{
	return &binding->class->profile->at[point];
}

static struct plugin_call make_call(const struct binding *binding, unsigned plugin)
{
	struct plugin_call call;

	fw_class_call(binding->class, binding->cycle->snapshot, plugin, &call);
	call.pod = &binding->pod;
	call.arena = &binding->cycle->arena;
	return call;
}

static enum binding_state binding_undo(struct binding *binding)
{
	const struct profile_point *at = plugins_at(binding, POINT_RESERVE);

	while (binding->reserved > 0) {
		unsigned plugin = at->plugin[--binding->reserved];
		struct plugin_call call = make_call(binding, plugin);

		call.change = binding->cycle->snapshot;
		if (plugin_row(binding, plugin)->unreserve != NULL)
			plugin_row(binding, plugin)->unreserve(&call, binding->slot);
	}
	binding->waiting = 0;
	return binding_enter(binding, BINDING_UNDONE);
}

/* Undoes the binding, refused by that plugin with that code. */
static enum binding_state binding_refuse(struct binding *binding, int plugin,
                                         enum verdict_code code)
{
	binding->why.code = code;
	binding->why.plugin = plugin;
	return binding_undo(binding);
}

static bool run_reserve(struct binding *binding)
{
	const struct profile_point *at = plugins_at(binding, POINT_RESERVE);

	while (binding->reserved < at->count) {
		unsigned plugin = at->plugin[binding->reserved++];
		struct plugin_call call = make_call(binding, plugin);
		enum verdict_code code = VERDICT_SUCCESS;

		call.change = binding->cycle->snapshot;
		verdict_clear(&binding->why);
		code = plugin_row(binding, plugin)
		               ->reserve(&call, binding->slot, &binding->why);
		if (code != VERDICT_SUCCESS) {
			(void)binding_refuse(binding, (int)plugin, code);
			return false;
		}
	}
	return true;
}

static void wait_for_plugin(struct binding *binding, unsigned plugin, uint64_t now_ms,
                            uint64_t wait_ms)
{
	if (wait_ms > BINDING_WAIT_MAX_MS)
		wait_ms = BINDING_WAIT_MAX_MS;
	binding->waiting |= UINT64_C(1) << plugin;
	binding->deadline_ms[plugin] = now_ms + wait_ms;
}

static bool run_permit(struct binding *binding, uint64_t now_ms)
{
	const struct profile_point *at = plugins_at(binding, POINT_PERMIT);

	for (unsigned i = 0; i < at->count; i++) {
		unsigned plugin = at->plugin[i];
		struct plugin_call call = make_call(binding, plugin);
		enum verdict_code code = VERDICT_SUCCESS;
		uint64_t wait_ms = 0;

		verdict_clear(&binding->why);
		code = plugin_row(binding, plugin)
		               ->permit(&call, binding->slot, &wait_ms, &binding->why);
		if (code == VERDICT_WAIT) {
			wait_for_plugin(binding, plugin, now_ms, wait_ms);
		} else if (code != VERDICT_SUCCESS) {
			(void)binding_refuse(binding, (int)plugin, code);
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
	if (run_reserve(binding) && run_permit(binding, now_ms) && binding->waiting == 0)
		return binding_enter(binding, BINDING_ALLOWED);
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
	return binding->waiting == 0 ? binding_enter(binding, BINDING_ALLOWED)
	                             : binding->state;
}

enum binding_state binding_deny(struct binding *binding, unsigned plugin,
                                const struct verdict *verdict)
{
	if (!is_waited_for(binding, plugin))
		return binding->state;
	verdict_clear(&binding->why);
	if (verdict != NULL)
		binding->why = *verdict;
	return binding_refuse(binding, (int)plugin, VERDICT_UNSCHEDULABLE);
}

/* The plugin with the first deadline among the plugins that are waited for; PLUGINS_MAX:
 * none. */
static unsigned first_deadline(const struct binding *binding)
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
	unsigned first = first_deadline(binding);

	return first == PLUGINS_MAX ? UINT64_MAX : binding->deadline_ms[first];
}

enum binding_state binding_expire(struct binding *binding, uint64_t now_ms)
{
	struct verdict verdict;

	if (now_ms < binding_deadline_ms(binding) || binding->waiting == 0)
		return binding->state;
	verdict_clear(&verdict);
	verdict_add(&verdict, VERDICT_UNSCHEDULABLE,
	            &(struct reason){.code = REASON_PERMIT_LATE});
	return binding_deny(binding, first_deadline(binding), &verdict);
}

static bool run_pre_bind(struct binding *binding)
{
	const struct profile_point *at = plugins_at(binding, POINT_PRE_BIND);

	for (unsigned i = 0; i < at->count; i++) {
		unsigned plugin = at->plugin[i];
		struct plugin_call call = make_call(binding, plugin);
		enum verdict_code code = VERDICT_SUCCESS;

		verdict_clear(&binding->why);
		code = plugin_row(binding, plugin)
		               ->pre_bind(&call, binding->slot, &binding->why);
		if (code != VERDICT_SUCCESS) {
			(void)binding_refuse(binding, (int)plugin, code);
			return false;
		}
	}
	return true;
}

enum binding_state binding_commit(struct binding *binding)
{
	const struct profile_point *at = plugins_at(binding, POINT_BIND);

	PL_ASSERT(binding->state == BINDING_ALLOWED);
	if (!run_pre_bind(binding))
		return binding->state;
	for (unsigned i = 0; i < at->count; i++) {
		unsigned plugin = at->plugin[i];
		struct plugin_call call = make_call(binding, plugin);
		enum verdict_code code = VERDICT_SUCCESS;

		verdict_clear(&binding->why);
		code = plugin_row(binding, plugin)
		               ->bind(&call, binding->slot, &binding->why);
		if (code == VERDICT_SUCCESS)
			return binding_enter(binding, BINDING_COMMITTING);
		if (code != VERDICT_SKIP)
			return binding_refuse(binding, (int)plugin, code);
	}
	verdict_clear(&binding->why);
	verdict_add(&binding->why, VERDICT_ERROR,
	            &(struct reason){.code = REASON_FAILED});
	return binding_refuse(binding, -1, VERDICT_ERROR);
}

enum binding_state binding_committed(struct binding *binding, bool written)
{
	const struct profile_point *at = plugins_at(binding, POINT_POST_BIND);

	PL_ASSERT(binding->state == BINDING_COMMITTING);
	verdict_clear(&binding->why);
	if (!written)
		return binding_undo(binding);
	for (unsigned i = 0; i < at->count; i++) {
		struct plugin_call call = make_call(binding, at->plugin[i]);

		plugin_row(binding, at->plugin[i])->post_bind(&call, binding->slot);
	}
	return binding_enter(binding, BINDING_BOUND);
}

enum binding_state binding_cancel(struct binding *binding)
{
	PL_ASSERT(binding->state != BINDING_COMMITTING);
	if (binding->state == BINDING_BOUND || binding->state == BINDING_UNDONE)
		return binding->state;
	verdict_clear(&binding->why);
	return binding_undo(binding);
}
