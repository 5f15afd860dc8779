/*
 * The client is the user of the simulated system, on a host of its own with its own
 * network: it submits pods and applies nodes, changes and removes them by the product's
 * own means (coord/service/submit, coord/service/nodes). In the recovery phase it checks
 * the store and repairs manual damage (coord/service/fsck), makes room for everything,
 * and submits pods that may have been lost.
 */
#ifndef TESTS_SIM_CLIENT_H
#define TESTS_SIM_CLIENT_H

#include "tests/sim/world.h"

struct client;

struct client *client_open(struct world *world);
void client_recover(struct client *client);
/* The client begins nothing new and closes when its operations have ended.
 * client_has_left(NULL) is true. */
void client_leave(struct client *client);
bool client_has_left(const struct client *client);
void client_free(struct client *client); /* the client has left; NULL does nothing */

/* The pod is desired: it was submitted, and not removed on purpose. */
bool client_wants_pod(const struct client *client, uint32_t pod);
/* The client asked for the pod's removal; or did so lately, and the store was restored,
 * so that the removal may be repeated. */
bool client_removes_pod(const struct client *client, uint32_t pod);
/* The incarnation may have ended by itself. */
bool client_has_run_pod(const struct client *client, uint32_t pod, uint32_t incarnation);
/* A check in the recovery phase found nothing, after everything was repaired and
 * submitted. */
bool client_is_satisfied(const struct client *client, char *why, size_t size);
/* A state says that the pod has ended. The report was by name, so it may have been meant
 * for an earlier incarnation, which a restored store shows, or for the next one. */
void client_note_ended(struct client *client, uint32_t pod);
/* The client dies at this moment, whatever it does, and restarts after a while. */
void client_crash(struct client *client);
/* Sets by how much its wall clock is ahead. */
void client_set_wall(struct client *client, int64_t ahead_ms);
/* Breaks its connection. */
void client_break(struct client *client, bool forget);

#endif
