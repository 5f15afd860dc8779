/* An edit in progress, shared by config_edit.c (reads and checks) and
 * config_edit_write.c (writes). */
#ifndef COORD_CONFIG_CONFIG_EDIT_INT_H
#define COORD_CONFIG_CONFIG_EDIT_INT_H

#include "coord/config/config_edit.h"
#include "coord/config/config_scan.h"

struct config_edit {
	struct kv *kv;
	struct config_edit_opts opts; /* by and why point into the arena */
	bool rollback;
	config_edited_fn *done;
	void *ctx;
	uint64_t deadline_ms;
	uint64_t try_ms; /* timeout of one write */
	uint64_t nonce;
	struct pl_arena arena;
	struct pl_json config; /* the document to be written */
	struct config_scan scan;
	unsigned scans;
	struct kv_call *call; /* a read or the write; NULL: none is in flight */
	struct pl_timer timer;
	bool canceled;
	bool unsettled; /* a write was sent and its outcome is unknown */
	struct pl_err unknown;
	uint64_t target;  /* version to roll back to */
	uint64_t version; /* version that is written */
	struct pl_buf body;
};

/* Both end the edit and free it. */
void edit_finish(struct config_edit *edit, uint64_t version, const struct pl_err *err);
void edit_fail(struct config_edit *edit, struct pl_err *err); /* err is wrapped */

/* Scans again, because someone put a version by hand where the new one was to be. */
void edit_scan_again(struct config_edit *edit);

/* Writes edit->config under a version above all that the scan has seen. */
void edit_write(struct config_edit *edit);
void edit_on_timer(void *ctx);

#endif
