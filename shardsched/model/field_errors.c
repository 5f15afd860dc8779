#include "shardsched/model/field_errors.h"

#define FAULT_WORD(name, word) word,
static const char *const words[FIELD_FAULT_COUNT] = {FIELD_FAULT_MAP(FAULT_WORD)};

const char *field_fault_word(enum field_fault fault)
{
	PL_ASSERT((unsigned)fault < FIELD_FAULT_COUNT);
	return words[fault];
}

void field_errors_init(struct field_errors *errors, struct pl_arena *arena)
{
	errors->arena = arena;
	errors->code = PL_OK;
	errors->count = 0;
	errors->more = 0;
}

void field_errors_add(struct field_errors *errors, enum field_fault fault,
                      const char *path, const char *detail)
{
	struct field_error *error;

	if (errors->count == FIELD_ERRORS_MAX) {
		errors->more++;
		return;
	}
	error = &errors->at[errors->count];
	error->fault = fault;
	error->path = pl_arena_printf(errors->arena, "%s", path);
	error->detail = pl_arena_printf(errors->arena, "%s", detail);
	if (error->path == NULL || error->detail == NULL)
		errors->code = PL_NOMEM;
	else
		errors->count++;
}

enum pl_code field_errors_verdict(const struct field_errors *errors, struct pl_err *err)
{
	uint32_t others = errors->count == 0 ? 0 : errors->count - 1 + errors->more;

	if (errors->code != PL_OK)
		return pl_err_set(err, errors->code, "list the invalid fields");
	if (errors->count == 0)
		return PL_OK;
	if (others == 0)
		return pl_err_set(err, PL_INVALID, "%s: %s", errors->at[0].path,
		                  errors->at[0].detail);
	return pl_err_set(err, PL_INVALID, "%s: %s (and %u more)", errors->at[0].path,
	                  errors->at[0].detail, (unsigned)others);
}
