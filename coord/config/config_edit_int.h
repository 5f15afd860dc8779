/* An edit under way: config_edit.c looks and checks, edit_write.c writes. */
#ifndef COORD_CONFIG_CONFIG_EDIT_INT_H
#define COORD_CONFIG_CONFIG_EDIT_INT_H

#include "coord/config/config_edit.h"
#include "coord/config/config_scan.h"

struct config_edit {
	struct kv *kv;
	struct config_edit_opts opts; /* by and why are in the arena */
	bool rollback;
	config_edited_fn *done;
	void *ctx;
	uint64_t deadline_ms;
	uint64_t try_ms; /* of one write */
	uint64_t nonce;
	struct pl_arena arena;
	struct pl_json config; /* what is to be current */
	struct config_scan scan;
	unsigned scans;
	struct kv_call *call; /* a read or the write; NULL: none is in flight */
	struct pl_timer timer;
	bool canceled;
	bool unsettled; /* a write left, and nobody knows what became of it */
	struct pl_err unknown;
	uint64_t target;  /* what is rolled back to */
	uint64_t version; /* that is written */
	struct pl_buf body;
};

/* Both end the edit, and it is gone. */
void edit_finish(struct config_edit *edit, uint64_t version, const struct pl_err *err);
void edit_fail(struct config_edit *edit, struct pl_err *err); /* err is wrapped */

/* A version that was put by hand is where ours was to be. */
void edit_scan_again(struct config_edit *edit);

/* edit->config, as the version behind all that the scan has seen. */
void edit_write(struct config_edit *edit);
void edit_on_timer(void *ctx);

#endif
