/*
 * Tests only: a faulty etcd and a client of it, one pair a case, and what most cases do.
 */
#ifndef TESTS_SUPPORT_STORE_ETCD_FAULTY_ETCD_RIG_H
#define TESTS_SUPPORT_STORE_ETCD_FAULTY_ETCD_RIG_H

#include "tests/harness/t.h"
#include "tests/support/store/etcd/etcd_rig.h"
#include "tests/support/store/etcd/faulty_etcd.h"

extern struct etcd_rig rig;
extern struct faulty_etcd faulty;

void rig_up_with(faulty_etcd_fn *fn, const struct etcd_opts *opts);
void rig_up(faulty_etcd_fn *fn);
void rig_down(void);

/* Run a call to its end; rig.err is the error. */
enum pl_code read_key(uint64_t timeout_ms);
enum pl_code write_key(uint64_t timeout_ms);
enum pl_code keep_lease(uint64_t timeout_ms);

/* Removes the fault and checks that everything works. */
void check_recovered(void);

bool is_unary(const struct faulty_etcd_call *call);
bool is_silent(struct faulty_etcd *it, struct faulty_etcd_call *call,
               struct pl_span message);
bool answers_404(struct faulty_etcd *it, struct faulty_etcd_call *call,
                 struct pl_span message);

#endif
