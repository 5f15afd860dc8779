#include "tests/faultlab/wire_host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static enum pl_code write_file(const char *path, const char *text, struct pl_err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		(void)close(fd);
	if (got < 0)
		return pl_err_set(err, PL_UNSUPPORTED, "write %s: %s", path,
		                  strerror(errno));
	return PL_OK;
}

/* Without the right to make namespaces one may still own a user namespace, and
 * in there make all the others. */
static enum pl_code unshare_as_user(struct pl_err *err)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
		return pl_err_set(err, PL_UNSUPPORTED,
		                  "new user and network namespace: %s", strerror(errno));
	(void)snprintf(map, sizeof map, "0 %u 1", uid);
	if (write_file("/proc/self/uid_map", map, err) != PL_OK ||
	    write_file("/proc/self/setgroups", "deny", err) != PL_OK)
		return PL_UNSUPPORTED;
	(void)snprintf(map, sizeof map, "0 %u 1", gid);
	return write_file("/proc/self/gid_map", map, err);
}

static enum pl_code new_netns(int *out, struct pl_err *err)
{
	if (unshare(CLONE_NEWNET) != 0) {
		if (errno != EPERM)
			return pl_err_set(err, PL_UNSUPPORTED,
			                  "new network namespace: %s", strerror(errno));
		if (unshare_as_user(err) != PL_OK)
			return PL_UNSUPPORTED;
	}
	*out = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (*out < 0)
		return pl_err_set(err, PL_IO, "own network namespace: %s",
		                  strerror(errno));
	return PL_OK;
}

static enum pl_code tun_open(int *out, struct ifreq *device, struct pl_err *err)
{
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return pl_err_set(err, PL_UNSUPPORTED, "/dev/net/tun: %s",
		                  strerror(errno));
	memset(device, 0, sizeof *device);
	(void)snprintf(device->ifr_name, sizeof device->ifr_name, "wire");
	device->ifr_flags = IFF_TUN | IFF_NO_PI;
	if (ioctl(fd, TUNSETIFF, device) != 0) {
		pl_err_set(err, PL_UNSUPPORTED, "TUN device: %s", strerror(errno));
		(void)close(fd);
		return PL_UNSUPPORTED;
	}
	*out = fd;
	return PL_OK;
}

static bool link_up(int sock, const char *name)
{
	struct ifreq req = {0};

	memcpy(req.ifr_name, name, strlen(name) + 1);
	if (ioctl(sock, SIOCGIFFLAGS, &req) != 0)
		return false;
	req.ifr_flags = (short)(req.ifr_flags | IFF_UP | IFF_RUNNING);
	return ioctl(sock, SIOCSIFFLAGS, &req) == 0;
}

static bool set_addr(int sock, const char *name, unsigned long what, const char *ip)
{
	struct ifreq req = {0};
	struct sockaddr_in addr = {.sin_family = AF_INET};

	memcpy(req.ifr_name, name, strlen(name) + 1);
	if (inet_pton(AF_INET, ip, &addr.sin_addr) != 1)
		return false;
	memcpy(&req.ifr_addr, &addr, sizeof addr);
	return ioctl(sock, what, &req) == 0;
}

/* The mask takes in the ghosts' addresses, so that these are routed too. */
static enum pl_code configure_device(const char *name, const char *ip, struct pl_err *err)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq mtu = {.ifr_mtu = WIRE_MTU};
	bool good;

	if (sock < 0)
		return pl_err_set(err, PL_IO, "socket: %s", strerror(errno));
	memcpy(mtu.ifr_name, name, strlen(name) + 1);
	good = link_up(sock, "lo") && set_addr(sock, name, SIOCSIFADDR, ip) &&
	       set_addr(sock, name, SIOCSIFNETMASK, "255.255.0.0") &&
	       ioctl(sock, SIOCSIFMTU, &mtu) == 0 && link_up(sock, name);
	if (!good)
		pl_err_set(err, PL_UNSUPPORTED, "configure %s: %s", name,
		           strerror(errno));
	(void)close(sock);
	return good ? PL_OK : PL_UNSUPPORTED;
}

enum pl_code wire_host_make(struct wire_host *host, unsigned index, struct pl_err *err)
{
	struct ifreq device;
	enum pl_code code;

	host->netns_fd = -1;
	host->tun_fd = -1;
	(void)snprintf(host->ip, sizeof host->ip, "10.77.0.%u", index + 1);
	code = new_netns(&host->netns_fd, err);
	if (code == PL_OK)
		code = tun_open(&host->tun_fd, &device, err);
	if (code == PL_OK)
		code = configure_device(device.ifr_name, host->ip, err);
	if (code != PL_OK)
		wire_host_done(host);
	return code;
}

void wire_host_done(struct wire_host *host)
{
	if (host->tun_fd >= 0)
		(void)close(host->tun_fd);
	if (host->netns_fd >= 0)
		(void)close(host->netns_fd);
	host->tun_fd = -1;
	host->netns_fd = -1;
}
