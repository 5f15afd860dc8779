/* The steps of placet store check, each of which tests one promise of a store. */
#ifndef COORD_CLI_STORE_STORE_STEPS_H
#define COORD_CLI_STORE_STORE_STEPS_H

#include "coord/cli/session/store_session.h"

enum { STEP_NOTE_SIZE = 240, STEP_PREFIX_SIZE = 64 };

struct store_steps {
	struct store_session *session;
	char prefix[STEP_PREFIX_SIZE]; /* of all keys that are touched */
	char note[STEP_NOTE_SIZE];     /* the finding of the last step */
	int64_t revision;              /* of the key "a" */
};

struct store_step {
	const char *name;
	/* An error, or PL_OK and a sentence in note. */
	enum pl_code (*run)(struct store_steps *steps, struct pl_err *err);
};

extern const struct store_step store_steps[];
extern const unsigned store_step_count;

/* Removes every key that the other steps made: always run, as the last one. */
extern const struct store_step store_cleanup_step;

#endif
