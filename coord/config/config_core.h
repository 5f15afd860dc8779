/*
 * Which version of each configuration is to be applied, decided without I/O.
 *
 * The core is fed with the keys under /config/ in the order in which a list and then a
 * watch bring them. It decides only at the end of a list or of a note, so the order of
 * a version and its current does not matter, and of several changes at once only the
 * last one counts. If current names a body that did not come along, because it was
 * written earlier, the core has it read.
 *
 *	current says            the version's body     then
 *	nothing                                        the default is applied
 *	does not parse                                 refused
 *	a version               not seen yet           read; again after a moment
 *	                        not there, not valid   refused
 *	                        valid                  applied
 *
 * A refusal is reported once, and the version that was applied last stays.
 */
#ifndef COORD_CONFIG_CONFIG_CORE_H
#define COORD_CONFIG_CONFIG_CORE_H

#include "coord/config/config.h"
#include "store/base/rng.h"

enum config_body { CONFIG_UNSEEN, CONFIG_ABSENT, CONFIG_INVALID, CONFIG_VALID };

enum config_event_type {
	CONFIG_EV_BEGIN,       /* a list begins */
	CONFIG_EV_CURRENT,     /* name, revision, is, version */
	CONFIG_EV_BODY,        /* name, revision, version, body; UNSEEN: the body changed,
	                    * but there was no memory to check it */
	CONFIG_EV_END,         /* revision: the list is complete */
	CONFIG_EV_BATCH,       /* a note of the watch has been fed completely */
	CONFIG_EV_READ,        /* as BODY, the answer to DO_READ; if there is no such key,
	                    * the header's revision */
	CONFIG_EV_READ_FAILED, /* name */
	CONFIG_EV_LOST,        /* rewound: revisions start again */
	CONFIG_EV_TIMEOUT,
};

enum config_current { CONFIG_NONE, CONFIG_BROKEN, CONFIG_NAMED };

struct config_event {
	enum config_event_type type;
	uint64_t now_ms;
	enum config_name name;
	int64_t revision;
	enum config_current is;
	uint64_t version;
	enum config_body body;
	bool rewound;
};

enum config_action_type {
	CONFIG_DO_READ,        /* name, version: read the body, linearizably */
	CONFIG_DO_UNREAD,      /* name: the answer of the read is not wanted any more */
	CONFIG_REPORT_APPLIED, /* name, version; 0: the default */
	CONFIG_REPORT_REFUSED, /* name, version; 0: current does not parse */
	CONFIG_REPORT_SYNCED,
	CONFIG_REPORT_LOST,
};

struct config_action {
	enum config_action_type type;
	enum config_name name;
	uint64_t version;
};

enum { CONFIG_ACTIONS_MAX = 2 * CONFIG_NAME_COUNT + 1 };

struct config_actions {
	struct config_action item[CONFIG_ACTIONS_MAX];
	unsigned count;
};

struct config_track {
	enum config_current current;
	int64_t current_rev;
	bool current_seen; /* the current list has shown it */
	uint64_t wanted;   /* the version that current names; 0 unless NAMED */
	enum config_body body;
	int64_t body_rev;
	bool body_seen;
	bool settled; /* the present facts have been acted on */
	bool reading;
	uint64_t read_at_ms; /* UINT64_MAX: no read is to be repeated */
	uint32_t failures;
	uint64_t applied; /* 0: the default */
	int64_t applied_rev;
	bool refused;
};

struct config_core {
	struct config_track track[CONFIG_NAME_COUNT];
	struct pl_rng rng;
	bool listed; /* a list has ended since the watch was lost */
	bool synced; /* CONFIG_REPORT_SYNCED has been reported since */
};

void config_core_init(struct config_core *core, uint64_t seed);

/* Actions must be performed in order. READ and READ_FAILED are fed only as the answer
 * to the last DO_READ of that name. */
void config_step(struct config_core *core, const struct config_event *event,
                 struct config_actions *actions);

/* When to feed CONFIG_EV_TIMEOUT. UINT64_MAX: never. */
uint64_t config_deadline_ms(const struct config_core *core);

/* Whether the core needs to know the body of that version. */
bool config_core_wants(const struct config_core *core, enum config_name name,
                       uint64_t version);

#endif
