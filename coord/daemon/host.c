#include "coord/daemon/host.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void append_file(const char *path, char *out, size_t size)
{
	size_t len = strlen(out);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, out + len, size - 1 - len);

	out[len + (got < 0 ? 0 : (size_t)got)] = 0;
	out[strcspn(out, "\n")] = 0;
	if (fd >= 0)
		(void)close(fd);
}

/* A process number is meaningful only within one start of the kernel and one process
 * namespace: two containers of one machine do not see each other's processes. */
void host_read(struct host *host)
{
	struct stat ns;
	size_t len;

	memset(host, 0, sizeof *host);
	append_file("/proc/sys/kernel/random/boot_id", host->boot, sizeof host->boot);
	len = strlen(host->boot);
	if (len != 0 && stat("/proc/self/ns/pid", &ns) == 0)
		(void)snprintf(host->boot + len, sizeof host->boot - len, ".%ju",
		               (uintmax_t)ns.st_ino);
	if (gethostname(host->name, sizeof host->name) != 0)
		host->name[0] = 0;
	host->name[sizeof host->name - 1] = 0;
	host->pid = getpid();
}

bool host_pid_lives(int64_t pid)
{
	if (pid <= 0 || pid > INT32_MAX || pid == getpid())
		return false;
	return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}
