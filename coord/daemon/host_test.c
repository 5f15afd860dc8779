#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coord/daemon/host.h"
#include "tests/harness/t.h"

T_CASE(processes_that_run_and_that_do_not)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	T_TRUE(pid > 0);
	T_TRUE(host_pid_lives(pid));
	T_TRUE(!host_pid_lives(getpid())); /* no other process has our number */
	T_TRUE(!host_pid_lives(0) && !host_pid_lives(-1));
	T_TRUE(!host_pid_lives(INT64_MAX));
	T_EQ(kill(pid, SIGKILL), 0);
	T_EQ(waitpid(pid, &status, 0), pid);
	T_TRUE(!host_pid_lives(pid));
}

T_CASE(a_host_has_a_name_and_a_boot_of_its_own)
{
	struct host host, again;

	host_read(&host);
	host_read(&again);
	T_EQ(host.pid, getpid());
	T_TRUE(host.name[0] != 0);
	T_STR(host.boot, again.boot);
	T_TRUE(strchr(host.boot, '\n') == NULL);
	T_TRUE(strchr(host.boot, '.') != NULL); /* and the namespace's number */
}
