/*
 * The life of a pin, decided without I/O.
 *
 *	GRANTING --lease--> PUTTING --there, under our lease--> HOLDING
 *	    from any of them: another's key, lease gone -> LOST
 *
 * A put with an unknown outcome is sent again. If the first one was applied, the
 * compare of the second does not hold, and the key that it reads is ours.
 */
#ifndef COORD_JANITOR_PIN_CORE_H
#define COORD_JANITOR_PIN_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/rng.h"

enum pin_event_type {
	PIN_EV_LEASE,  /* lease: granted or renewed */
	PIN_EV_GONE,   /* code: the lease has ended */
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
	PIN_REPORT_LOST,    /* code; PL_EXISTS: the name is in use */
	PIN_REPORT_TROUBLE, /* code; what failed is tried again */
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
	int64_t revision; /* HOLDING: the pinned revision */
	bool asked;
	uint32_t failures;
	uint64_t retry_ms;
};

void pin_core_init(struct pin_core *core, uint64_t seed);
/* Only the answer or the failure of the last put is fed. */
void pin_step(struct pin_core *core, const struct pin_event *event,
              struct pin_actions *actions);
uint64_t pin_deadline_ms(const struct pin_core *core);

#endif
