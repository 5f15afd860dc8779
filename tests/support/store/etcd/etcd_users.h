/*
 * Users of a launched etcd, for tests: with one, etcd lets nobody in without a password.
 * The user is called ETCD_USERS_NAME, has ETCD_USERS_PASSWORD, and may do everything.
 */
#ifndef TESTS_SUPPORT_STORE_ETCD_ETCD_USERS_H
#define TESTS_SUPPORT_STORE_ETCD_ETCD_USERS_H

#include "store/etcd/launch.h"

#define ETCD_USERS_NAME "root"
#define ETCD_USERS_PASSWORD "secret"

/* Makes the user and switches authentication on, with etcdctl, under TLS where the launch
 * has it. Waits for etcdctl, which takes about a second; does not run the loop. */
PL_NODISCARD enum pl_code etcd_users_enable(const struct etcd_launch *launch,
                                            struct pl_err *err);

/* Sets what etcdctl and Placet's programs read from the environment to get in: the
 * launch's client certificate where it has TLS, user and password. For this process and
 * those that it starts from then on. */
void etcd_users_setenv(const struct etcd_launch *launch);

#endif
