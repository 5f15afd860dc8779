/*
 * A user of a launched etcd, for tests. With it, etcd refuses every request without a
 * password.
 *
 * The user is called ETCD_USERS_NAME, has ETCD_USERS_PASSWORD, and may do everything.
 */
#ifndef TESTS_SUPPORT_STORE_ETCD_ETCD_USERS_H
#define TESTS_SUPPORT_STORE_ETCD_ETCD_USERS_H

#include "store/etcd/launch.h"

#define ETCD_USERS_NAME "root"
#define ETCD_USERS_PASSWORD "secret"

/* Creates the user and enables authentication, with etcdctl, under TLS when the launch
 * has it. Blocks for etcdctl, which takes about a second; does not run the loop. */
PL_NODISCARD enum pl_code etcd_users_enable(const struct etcd_launch *launch,
                                            struct pl_err *err);

/* Sets the environment variables with which etcdctl and Placet's programs authenticate:
 * the launch's client certificate when it has TLS, user and password. They hold for this
 * process and for its later children. */
void etcd_users_setenv(const struct etcd_launch *launch);

#endif
