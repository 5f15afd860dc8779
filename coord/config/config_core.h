/*
 * Which version of each configuration is to be applied, decided without I/O.
 *
 * Told of what stands under /config/, in the order in which a list and then a watch
 * brings it. Nothing is decided before a list or a note is through, so it does not
 * matter whether a version or its current comes first, and of several changes at once
 * only the last one counts. A body that current speaks of and that did not come with
 * it (it was written earlier) is read.
 *
 *	current says            the version's body     then
 *	nothing                                        the default is applied
 *	what can not be read                           refused
 *	a version               not seen yet           read; again after a moment
 *	                        not there, not valid   refused
 *	                        valid                  applied
 *
 * Refused: told once, and what was applied last stands.
 */
#ifndef COORD_CONFIG_CONFIG_CORE_H
#define COORD_CONFIG_CONFIG_CORE_H

#include "coord/config/config.h"
#include "store/base/rng.h"

enum config_body { CONFIG_UNSEEN, CONFIG_ABSENT, CONFIG_INVALID, CONFIG_VALID };

enum config_event_type {
	CONFIG_EV_BEGIN,   /* a list */
	CONFIG_EV_CURRENT, /* name, revision, is, version */
	CONFIG_EV_BODY,    /* name, revision, version, body; UNSEEN: it changed, and we
	                    * could not look at it */
	CONFIG_EV_END,     /* revision: the list is complete */
	CONFIG_EV_BATCH,   /* a note of the watch is through */
	CONFIG_EV_READ,    /* as BODY, the answer to DO_READ; revision of the header
	                    * where there is no such key */
	CONFIG_EV_READ_FAILED, /* name */
	CONFIG_EV_LOST,        /* rewound: revisions start anew */
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
	CONFIG_DO_READ,        /* name, version: its body, linearizable */
	CONFIG_DO_UNREAD,      /* name: hears nothing more of it */
	CONFIG_REPORT_APPLIED, /* name, version; 0: the default */
	CONFIG_REPORT_REFUSED, /* name, version; 0: it is current that can not be read */
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
	bool current_seen; /* in the list under way */
	uint64_t wanted;   /* NAMED */
	enum config_body body;
	int64_t body_rev;
	bool body_seen;
	bool settled; /* what is known has been acted upon */
	bool reading;
	uint64_t read_at_ms; /* UINT64_MAX: not to be repeated */
	uint32_t failures;
	uint64_t applied; /* 0: the default */
	int64_t applied_rev;
	bool refused;
};

struct config_core {
	struct config_track track[CONFIG_NAME_COUNT];
	struct pl_rng rng;
	bool listed; /* since it was lost */
	bool synced; /* and told so */
};

void config_core_init(struct config_core *core, uint64_t seed);

/* The actions must be performed in order. READ and READ_FAILED are fed only as the
 * answer to the last DO_READ of that name. */
void config_step(struct config_core *core, const struct config_event *event,
                 struct config_actions *actions);

/* When to feed CONFIG_EV_TIMEOUT. UINT64_MAX: never. */
uint64_t config_deadline_ms(const struct config_core *core);

/* Whether that version's body is worth looking at. */
bool config_core_wants(const struct config_core *core, enum config_name name,
                       uint64_t version);

#endif
