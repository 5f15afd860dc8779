/* For tests of commands about pods: pods as they are submitted, and states as shards
 * write them. */
#ifndef TESTS_SUPPORT_COORD_CLI_PODS_FIXTURE_H
#define TESTS_SUPPORT_COORD_CLI_PODS_FIXTURE_H

#include "store/keys/partition.h"
#include "tests/support/coord/cli/placet_rig.h"

enum { PARTITIONS = 8, KEY = 160 };

#define POD(name, more)                                                          \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name "\"},\"spec\":{" more \
	"\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}\n"

#define LABELED(name, labels)                                                       \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name "\",\"labels\":{" labels \
	"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}\n"

/* A pod of a gang: the gang's pods stand together, and pointers lead there. */
#define MEMBER(name)                                                                    \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                              \
	"\",\"annotations\":{\"placet.io/gang\":\"train\"}},\"spec\":{\"containers\":[" \
	"{\"name\":\"c\",\"image\":\"i\"}]}}\n"

#define RUN(input, ...) placet_run(input, (const char *const[]){__VA_ARGS__, NULL})

static inline void put_state(const char *namespace, const char *name, const char *state)
{
	uint32_t partition;
	char key[KEY];

	T_EQ(partition_of_pod(pl_span_str(namespace), pl_span_str(name), PARTITIONS,
	                      &partition, NULL),
	     PL_OK);
	(void)snprintf(key, sizeof key, "/schedules/%04u/%s/%s/state", partition,
	               namespace, name);
	if (state == NULL)
		placet_delete(key);
	else
		placet_put(key, state);
}

#define BOUND                                                                       \
	"{\"v\":1,\"uid\":\"u\",\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":" \
	"\"n-1\",\"shard\":\"east-0\",\"epoch\":\"7\",\"attempts\":1,"              \
	"\"since\":\"2999-01-01T00:00:00.000Z\"}"
#define PENDING                                                                   \
	"{\"v\":1,\"uid\":\"u\",\"phase\":\"Pending\",\"attempts\":4,\"reason\":" \
	"\"fit.cpu\",\"message\":\"12 nodes lack 2 cpu\","                        \
	"\"since\":\"2999-01-01T00:00:00.000Z\"}"

#endif
