/*
 * Preloaded into a process (LD_PRELOAD), it writes down every change that the process makes to the files of one folder,
 * in their order: what was written where, cut, synced, made, deleted, renamed, linked. A folder in it is a file without bytes. From that any state can be built that a
 * loss of power could leave. It can also play a disk that is full.
 *
 *   FAREBOX_SHIM_FOLDER  absolute path; its direct children are followed
 *   FAREBOX_SHIM_LOG     where to write the recording; nothing is recorded where absent
 *   FAREBOX_SHIM_FULL    while a file of this name exists, nothing in the folder can grow
 *
 * A record is 24 bytes, little-endian: kind (4), file (4), offset (8), length (8), and then `length` bytes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { MADE = 1, WRITTEN, CUT, SYNCED, FOLDER_SYNCED, DELETED, RENAMED, LINKED };

#define MOST_DESCRIPTORS 65536
#define MOST_FILES 1024
#define MOST_NAME 256
#define IS_FOLDER (-1)

struct record {
  uint32_t kind, file;
  uint64_t offset, length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[4096];
static size_t folder_length;
static const char *full_marker;
static int log_fd = -1;
/* 0: not followed. */
static int file_of[MOST_DESCRIPTORS];
static dev_t devices[MOST_DESCRIPTORS];
static ino_t inodes[MOST_DESCRIPTORS];
/* Names of the folder as they are now, each with the number of its file; an empty one is free. No number is used twice. */
static char names[MOST_FILES][MOST_NAME];
static int numbers[MOST_FILES];
static int places, files;

static void fail(const char *words) {
  dprintf(2, "The recording shim: %s.\n", words);
  _exit(70);
}

__attribute__((constructor)) static void start(void) {
  const char *at = getenv("FAREBOX_SHIM_FOLDER");
  const char *log = getenv("FAREBOX_SHIM_LOG");
  if (!at) return;
  folder_length = strlen(at);
  if (folder_length >= sizeof folder) fail("the folder's name is too long");
  memcpy(folder, at, folder_length + 1);
  full_marker = getenv("FAREBOX_SHIM_FULL");
  if (log) {
    log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_fd < 0) fail("the recording cannot be written");
  }
}

/* The name in the folder, or null. SQLite's index of its log is left out: it is mapped, and made anew after a crash. */
static const char *name_in_folder(const char *path) {
  if (!folder_length || strncmp(path, folder, folder_length) || path[folder_length] != '/') return NULL;
  const char *name = path + folder_length + 1;
  size_t length = strlen(name);
  if (length == 0 || length >= MOST_NAME || strchr(name, '/')) return NULL;
  if (length > 4 && !strcmp(name + length - 4, "-shm")) return NULL;
  return name;
}

static void record(enum kind kind, int file, uint64_t offset, const void *bytes, uint64_t length) {
  if (log_fd < 0) return;
  struct record head = {kind, (uint32_t)file, offset, length};
  struct iovec parts[2] = {{&head, sizeof head}, {(void *)bytes, length}};
  if (syscall(SYS_writev, log_fd, parts, 2) != (long)(sizeof head + length)) fail("the recording was cut short");
}

static int place_of(const char *name) {
  for (int at = 0; at < places; at++)
    if (!strcmp(names[at], name)) return at;
  return -1;
}

static int number_of(const char *name) {
  int at = place_of(name);
  return at < 0 ? 0 : numbers[at];
}

static void free_name(const char *name) {
  int at = place_of(name);
  if (at >= 0) names[at][0] = 0;
}

static int add(const char *name, int file) {
  if (places == MOST_FILES) fail("there are too many files");
  strcpy(names[places], name);
  numbers[places++] = file;
  return file;
}

/*
 * The file that a descriptor was opened for, 0 where it is none of ours. libuv and the C library close some descriptors
 * past our close(), and the next socket gets their number: only the same inode is still the same file.
 */
static int file_at(int fd) {
  if (fd < 0 || fd >= MOST_DESCRIPTORS || !file_of[fd]) return 0;
  struct stat now;
  if (fstat(fd, &now) == 0 && now.st_dev == devices[fd] && now.st_ino == inodes[fd]) return file_of[fd];
  return file_of[fd] = 0;
}

static int is_followed(int fd) { return file_at(fd) > 0; }

static void follow(int fd, int file) {
  struct stat now;
  if (fstat(fd, &now) != 0) fail("a descriptor that was just opened cannot be read");
  devices[fd] = now.st_dev;
  inodes[fd] = now.st_ino;
  file_of[fd] = file;
}

static int open_followed(int at, const char *path, int flags, mode_t mode) {
  const char *name = at == AT_FDCWD || path[0] == '/' ? name_in_folder(path) : NULL;
  int is_folder = folder_length && !strcmp(path, folder);
  if (!name && !is_folder) return syscall(SYS_openat, at, path, flags, mode);
  pthread_mutex_lock(&lock);
  int was_there = syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
  int fd = syscall(SYS_openat, at, path, flags, mode);
  int error = errno;
  if (fd >= MOST_DESCRIPTORS) fail("there are too many descriptors");
  if (fd >= 0 && is_folder) follow(fd, IS_FOLDER);
  if (fd >= 0 && name) {
    int file = was_there ? number_of(name) : 0;
    if (!file) {
      file = add(name, ++files);
      record(MADE, file, 0, name, strlen(name));
    }
    follow(fd, file);
    if (flags & O_TRUNC) record(CUT, file, 0, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return fd;
}

static mode_t mode_of(int flags, va_list rest) {
  return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

#define OPENING(name)                                    \
  int name(const char *path, int flags, ...) {           \
    va_list rest;                                        \
    va_start(rest, flags);                               \
    mode_t mode = mode_of(flags, rest);                  \
    va_end(rest);                                        \
    return open_followed(AT_FDCWD, path, flags, mode);   \
  }
OPENING(open)
OPENING(open64)

#define OPENING_AT(name)                                 \
  int name(int at, const char *path, int flags, ...) {   \
    va_list rest;                                        \
    va_start(rest, flags);                               \
    mode_t mode = mode_of(flags, rest);                  \
    va_end(rest);                                        \
    return open_followed(at, path, flags, mode);         \
  }
OPENING_AT(openat)
OPENING_AT(openat64)

int close(int fd) {
  if (fd >= 0 && fd < MOST_DESCRIPTORS) file_of[fd] = 0;
  return syscall(SYS_close, fd);
}

/* Whether the disk is full and this would need more of it. */
static int has_no_room(int fd, uint64_t end) {
  struct stat now;
  if (!full_marker || syscall(SYS_faccessat, AT_FDCWD, full_marker, F_OK) != 0) return 0;
  return fstat(fd, &now) == 0 && end > (uint64_t)now.st_size;
}

static ssize_t write_followed(int fd, const void *bytes, size_t length, off_t offset) {
  pthread_mutex_lock(&lock);
  ssize_t written = -1;
  if (has_no_room(fd, offset + length)) errno = ENOSPC;
  else written = syscall(SYS_pwrite64, fd, bytes, length, offset);
  int error = errno;
  if (written > 0) record(WRITTEN, file_of[fd], offset, bytes, written);
  pthread_mutex_unlock(&lock);
  errno = error;
  return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  if (!is_followed(fd)) return syscall(SYS_pwrite64, fd, bytes, length, offset);
  return write_followed(fd, bytes, length, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) { return pwrite(fd, bytes, length, offset); }

ssize_t write(int fd, const void *bytes, size_t length) {
  if (!is_followed(fd)) return syscall(SYS_write, fd, bytes, length);
  int flags = fcntl(fd, F_GETFL);
  off_t offset = lseek(fd, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);
  ssize_t written = write_followed(fd, bytes, length, offset);
  if (written > 0) lseek(fd, offset + written, SEEK_SET);
  return written;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (log_fd >= 0 && is_followed(fd)) fail("a followed file is written in a way that is not recorded (writev)");
  return syscall(SYS_writev, fd, parts, count);
}

static int cut(int fd, off_t size) {
  if (!is_followed(fd)) return syscall(SYS_ftruncate, fd, size);
  pthread_mutex_lock(&lock);
  int result = -1;
  if (has_no_room(fd, size)) errno = ENOSPC;
  else result = syscall(SYS_ftruncate, fd, size);
  int error = errno;
  if (result == 0) record(CUT, file_of[fd], size, NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int ftruncate(int fd, off_t size) { return cut(fd, size); }
int ftruncate64(int fd, off64_t size) { return cut(fd, size); }

static int sync_followed(long call, int fd) {
  int file = file_at(fd);
  if (!file) return syscall(call, fd);
  pthread_mutex_lock(&lock);
  int result = syscall(call, fd);
  int error = errno;
  if (result == 0) record(file == IS_FOLDER ? FOLDER_SYNCED : SYNCED, file > 0 ? file : 0, 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int fsync(int fd) { return sync_followed(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_followed(SYS_fdatasync, fd); }

int unlink(const char *path) {
  const char *name = name_in_folder(path);
  if (!name) return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  pthread_mutex_lock(&lock);
  int result = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  int error = errno, file = number_of(name);
  if (result == 0 && file) {
    record(DELETED, file, 0, name, strlen(name));
    free_name(name);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

static void record_names(enum kind kind, int file, const char *from, const char *to) {
  char both[2 * MOST_NAME];
  record(kind, file, 0, both, snprintf(both, sizeof both, "%s/%s", from, to));
}

int link(const char *from, const char *to) {
  const char *name = name_in_folder(from), *next = name_in_folder(to);
  if (!name && !next) return syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
  if (!name || !next) fail("a followed file is linked across the folder's border");
  pthread_mutex_lock(&lock);
  int result = syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
  int error = errno, file = number_of(name);
  if (result == 0 && file) {
    add(next, file);
    record_names(LINKED, file, name, next);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

int mkdir(const char *path, mode_t mode) {
  const char *name = name_in_folder(path);
  if (!name) return syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  pthread_mutex_lock(&lock);
  int result = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  int error = errno;
  if (result == 0) record(MADE, add(name, ++files), 0, name, strlen(name));
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

int rename(const char *from, const char *to) {
  const char *name = name_in_folder(from), *next = name_in_folder(to);
  if (!name && !next) return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  if (!name || !next) fail("a followed file is renamed across the folder's border");
  pthread_mutex_lock(&lock);
  int result = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  int error = errno, file = number_of(name);
  if (result == 0 && file) {
    record_names(RENAMED, file, name, next);
    free_name(next);
    strcpy(names[place_of(name)], next);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
