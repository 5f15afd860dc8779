/* The execution of one request, shared by exec*.c. */
#ifndef STORE_MEMKV_EXEC_H
#define STORE_MEMKV_EXEC_H

#include "store/memkv/impl.h"

struct exec {
	struct memkv *mem;
	struct mvcc *mvcc;
	struct mem_call *call;
	bool *path; /* results of the compares, transaction by transaction */
	size_t path_at;
};

/* Makes an error the answer to the call. */
enum pl_code exec_refuse(struct exec *exec, enum pl_code code, const char *why);

/* Makes the call hold the versions until its answer has been delivered. */
PL_NODISCARD enum pl_code exec_hold(struct exec *exec,
                                    struct mem_version *const *versions, size_t count);

/* The operations, alone or inside a transaction. */
PL_NODISCARD enum pl_code exec_check_get(struct exec *exec, const struct kv_get *get);
PL_NODISCARD enum pl_code exec_get(struct exec *exec, const struct kv_get *get,
                                   struct kv_get_result *out);
PL_NODISCARD enum pl_code exec_put(struct exec *exec, const struct kv_put *put,
                                   struct kv_put_result *out);
PL_NODISCARD enum pl_code exec_delete(struct exec *exec, const struct kv_delete *del,
                                      struct kv_delete_result *out);

PL_NODISCARD enum pl_code exec_txn(struct exec *exec, const struct kv_txn *txn);
PL_NODISCARD enum pl_code exec_grant(struct exec *exec, const struct kv_lease_req *req);
PL_NODISCARD enum pl_code exec_lease(struct exec *exec, const struct kv_req *req);

/* Turns the changes so far into a revision and queues the notes of the watches. */
PL_NODISCARD enum pl_code exec_commit(struct memkv *mem);

#endif
