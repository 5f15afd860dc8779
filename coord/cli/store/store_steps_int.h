/* Helpers that the steps share. */
#ifndef COORD_CLI_STORE_STORE_STEPS_INT_H
#define COORD_CLI_STORE_STORE_STEPS_INT_H

#include "coord/cli/store/store_steps.h"

enum { STEPS_KEY_SIZE = 96 };

/* The key of that name under the prefix; written to at[STEPS_KEY_SIZE]. */
struct pl_span steps_key(const struct store_steps *steps, const char *name, char *at);
PL_PRINTF(2, 3) void steps_note(struct store_steps *steps, const char *fmt, ...);

/* store_watch_steps.c */
PL_NODISCARD enum pl_code step_watch(struct store_steps *steps, struct pl_err *err);
PL_NODISCARD enum pl_code step_watch_silent(struct store_steps *steps,
                                            struct pl_err *err);

#endif
