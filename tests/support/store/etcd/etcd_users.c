#include "tests/support/store/etcd/etcd_users.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const script =
	"exec >/dev/null 2>&1\n"
	"etcdctl user add " ETCD_USERS_NAME ":" ETCD_USERS_PASSWORD "\n"
	"etcdctl user grant-role " ETCD_USERS_NAME " root\n"
	"etcdctl auth enable\n";

/* NULL leaves the variable as it is. */
static void set_env(const char *name, const char *value)
{
	if (value != NULL)
		(void)setenv(name, value, 1);
}

static void set_files(const struct etcd_launch *launch)
{
	set_env("ETCDCTL_API", "3");
	set_env("ETCDCTL_CACERT", etcd_launch_ca_file(launch));
	set_env("ETCDCTL_CERT", etcd_launch_cert_file(launch));
	set_env("ETCDCTL_KEY", etcd_launch_key_file(launch));
	set_env("PLACET_CACERT", etcd_launch_ca_file(launch));
	set_env("PLACET_CERT", etcd_launch_cert_file(launch));
	set_env("PLACET_KEY", etcd_launch_key_file(launch));
}

enum pl_code etcd_users_enable(const struct etcd_launch *launch, struct pl_err *err)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		set_files(launch);
		set_env("ETCDCTL_ENDPOINTS", etcd_launch_endpoint(launch, 0));
		(void)execl("/bin/sh", "sh", "-ec", script, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return pl_err_set(err, PL_IO, "users of etcd: etcdctl ended with %d",
		                  status);
	return PL_OK;
}

void etcd_users_setenv(const struct etcd_launch *launch)
{
	set_files(launch);
	set_env("ETCDCTL_USER", ETCD_USERS_NAME ":" ETCD_USERS_PASSWORD);
	set_env("PLACET_USER", ETCD_USERS_NAME);
	set_env("PLACET_PASSWORD", ETCD_USERS_PASSWORD);
}
