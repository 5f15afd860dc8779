/*
 * A pin from its lease to its end, decided without I/O.
 *
 *	GRANTING --lease--> PUTTING --there, under our lease--> HOLDING
 *	    from any of them: another's key, lease gone -> LOST
 *
 * A put of which nobody knows what became of it is sent again: its compare does not
 * hold then, and what is read instead is ours.
 */
#ifndef COORD_JANITOR_PIN_CORE_H
#define COORD_JANITOR_PIN_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/rng.h"

enum pin_event_type {
	PIN_EV_LEASE,  /* lease: it is held */
	PIN_EV_GONE,   /* code: the lease */
	PIN_EV_ANSWER, /* lease, create_revision: of the key as it is now */
	PIN_EV_FAILED, /* code */
	PIN_EV_TIMEOUT,
};

struct pin_event {
	enum pin_event_type type;
	uint64_t now_ms;
	int64_t lease;
	int64_t create_revision;
	enum pl_code code;
};

enum pin_action_type {
	PIN_DO_PUT, /* lease: create the key if it is absent, else read it */
	PIN_REPORT_HELD,
	PIN_REPORT_LOST,    /* code; PL_EXISTS: another has that name */
	PIN_REPORT_TROUBLE, /* code; goes on trying */
};

struct pin_action {
	enum pin_action_type type;
	int64_t lease;
	int64_t revision;
	enum pl_code code;
};

enum { PIN_ACTIONS_MAX = 2 };

struct pin_actions {
	struct pin_action item[PIN_ACTIONS_MAX];
	unsigned count;
};

enum pin_state { PIN_GRANTING, PIN_PUTTING, PIN_HOLDING, PIN_ENDED };

struct pin_core {
	enum pin_state state;
	struct pl_rng rng;
	int64_t lease;
	int64_t revision; /* HOLDING */
	bool asked;
	uint32_t failures;
	uint64_t retry_ms;
};

void pin_core_init(struct pin_core *core, uint64_t seed);
/* An answer or a failure is fed only as that of the last put. */
void pin_step(struct pin_core *core, const struct pin_event *event,
              struct pin_actions *actions);
uint64_t pin_deadline_ms(const struct pin_core *core);

#endif
