/*
 * The configuration "access" as the server follows it, by the informer of configurations.
 *
 * Invariant: a version that does not pass its check is logged and not applied; the one that
 * was applied last stays, at first the default, by which only system:masters may anything.
 */
#ifndef COORD_API_SERVER_FOLLOWED_ACCESS_H
#define COORD_API_SERVER_FOLLOWED_ACCESS_H

#include "coord/access/roles/access_document.h"
#include "coord/api/objects/sources.h"

struct followed_access {
	struct access_document document;
	struct pl_arena arena[2]; /* of the document, and of the one that is read next */
	unsigned now;
	int64_t revision; /* that was looked at last; 0: there is none */
};

void followed_access_init(struct followed_access *access);
void followed_access_done(struct followed_access *access);
/* Looks at the configuration as the sources have it. True: another document is applied. */
bool followed_access_read(struct followed_access *access, struct sources *sources);

#endif
