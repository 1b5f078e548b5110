/* A disk that can be made slow: flushes sleep, reads of a page read much more.

   SLOW_DISK is a folder. While it has a file "redo", "binlog" or "pages", the calls on files of that kind are slow. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define MORE (4 << 20)

static int is_slow(const char *kind) {
    char path[512];
    const char *folder = getenv("SLOW_DISK");
    if (!folder) return 0;
    snprintf(path, sizeof path, "%s/%s", folder, kind);
    return access(path, F_OK) == 0;
}

static int is_of(int fd, const char *part) {
    char link[64], name[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, name, sizeof name - 1);
    if (length < 0) return 0;
    name[length] = 0;
    const char *file = strrchr(name, '/');
    return strstr(file ? file : name, part) != NULL;
}

static void before_flush(int fd) {
    struct timespec pause = {0, 20 * 1000 * 1000};
    if (is_slow("redo") && (is_of(fd, "ib_redo") || is_of(fd, "ib_logfile"))) nanosleep(&pause, NULL);
    if (is_slow("binlog") && is_of(fd, "binlog")) nanosleep(&pause, NULL);
}

int fsync(int fd) {
    before_flush(fd);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int fdatasync(int fd) {
    before_flush(fd);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}

static ssize_t slow_read(const char *name, int fd, void *buffer, size_t size, off_t at) {
    ssize_t (*real)(int, void *, size_t, off_t) = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, name);
    if (is_slow("pages") && is_of(fd, ".ibd")) {
        void *more;
        if (posix_memalign(&more, 4096, MORE) == 0) {
            real(fd, more, MORE, 0);
            free(more);
        }
    }
    return real(fd, buffer, size, at);
}

ssize_t pread(int fd, void *buffer, size_t size, off_t at) { return slow_read("pread", fd, buffer, size, at); }

ssize_t pread64(int fd, void *buffer, size_t size, off_t at) { return slow_read("pread64", fd, buffer, size, at); }
