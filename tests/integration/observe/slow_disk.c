/* A disk that can be made slow: a flush, a read or a write of a page comes with much more of the same on a file beside
   it. That is direct I/O of large blocks, so that the kernel shows what it shows of a slow disk, and the processors have
   little to do.

   SLOW_DISK is a folder. While it has a file "redo", "binlog", "reads" or "writes", the calls on files of that kind
   are slow. With a file "far", a read of a page sleeps for 8 ms, which leaves the disk to others. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define MORE (4 << 20)

static char more[MORE] __attribute__((aligned(4096)));

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

/* Read or write a file of this name in the folder for so long. */
static void busy(const char *name, int is_write, int ms) {
    char path[512];
    struct timespec begun, now;
    snprintf(path, sizeof path, "%s/%s", getenv("SLOW_DISK"), name);
    int fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0600);
    if (fd < 0) return;
    ssize_t (*get)(int, void *, size_t, off_t) = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    ssize_t (*put)(int, const void *, size_t, off_t) =
        (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    struct stat known;
    if (fstat(fd, &known) == 0 && known.st_size < MORE) put(fd, more, MORE, 0);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do {
        if ((is_write ? put(fd, more, MORE, 0) : get(fd, more, MORE, 0)) < 0) break;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000 < ms);
    close(fd);
}

static void before_flush(int fd) {
    if (is_slow("redo") && (is_of(fd, "ib_redo") || is_of(fd, "ib_logfile"))) busy("#ib_redo1", 0, 20);
    if (is_slow("binlog") && is_of(fd, "binlog")) busy("binlog.000001", 0, 20);
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
    if (is_slow("reads") && is_of(fd, ".ibd")) busy("more.ibd", 0, 1);
    if (is_slow("far") && is_of(fd, ".ibd")) nanosleep(&(struct timespec){.tv_nsec = 8000000}, NULL);
    return real(fd, buffer, size, at);
}

ssize_t pread(int fd, void *buffer, size_t size, off_t at) { return slow_read("pread", fd, buffer, size, at); }

ssize_t pread64(int fd, void *buffer, size_t size, off_t at) { return slow_read("pread64", fd, buffer, size, at); }

static ssize_t slow_write(const char *name, int fd, const void *buffer, size_t size, off_t at) {
    ssize_t (*real)(int, const void *, size_t, off_t) =
        (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, name);
    ssize_t written = real(fd, buffer, size, at);
    if (is_slow("writes") && is_of(fd, ".ibd")) busy("more.ibd", 1, 1);
    return written;
}

ssize_t pwrite(int fd, const void *buffer, size_t size, off_t at) { return slow_write("pwrite", fd, buffer, size, at); }

ssize_t pwrite64(int fd, const void *buffer, size_t size, off_t at) {
    return slow_write("pwrite64", fd, buffer, size, at);
}
