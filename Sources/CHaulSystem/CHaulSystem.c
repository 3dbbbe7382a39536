#define _GNU_SOURCE
#include "CHaulSystem.h"

#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000U
#endif
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000U
#endif

int haul_openat(int directory, const char *name, int flags, unsigned int mode) {
  // O_NONBLOCK: opening a FIFO must not wait for its other end; regular files do not mind.
  return openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, (mode_t)mode);
}

int haul_open_without_links(const char *path, int flags) {
#if defined(SYS_openat2)
  // As in <linux/openat2.h>, which older systems do not have.
  struct {
    uint64_t flags, mode, resolve;
  } how = {.flags = (uint64_t)(flags | O_CLOEXEC), .resolve = 0x04 /* RESOLVE_NO_SYMLINKS */};
  return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
#else
  (void)path;
  (void)flags;
  errno = ENOSYS;
  return -1;
#endif
}

int haul_fallocate(int file, int64_t offset, int64_t length) {
  return fallocate(file, 0, (off_t)offset, (off_t)length);
}

int haul_punch_hole(int file, int64_t offset, int64_t length) {
  return fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)length);
}

int haul_start_writeback(int file, int64_t offset, int64_t length) {
  return sync_file_range(file, (off_t)offset, (off_t)length, SYNC_FILE_RANGE_WRITE);
}

int haul_rename_noreplace(int directory, const char *from, const char *to) {
  return renameat2(directory, from, directory, to, RENAME_NOREPLACE);
}

long haul_get_attribute(int file, void *value, size_t size) {
  return fgetxattr(file, "user.haul", value, size);
}

int haul_set_attribute(int file, const void *value, size_t size) {
  return fsetxattr(file, "user.haul", value, size, 0);
}

long haul_get_default_acl(int directory, void *value, size_t size) {
  return fgetxattr(directory, "system.posix_acl_default", value, size);
}

int haul_take_access(int file, int former) {
  static const char name[] = "system.posix_acl_access";
  struct stat one, other;
  char acl[4096];
  if (fstat(file, &one) != 0 || fstat(former, &other) != 0) return -1;
  if ((one.st_uid != other.st_uid || one.st_gid != other.st_gid) &&
      fchown(file, other.st_uid, other.st_gid) != 0)
    return -1;
  ssize_t length = fgetxattr(former, name, acl, sizeof acl);
  if (length >= 0) return fsetxattr(file, name, acl, (size_t)length, 0);
  if (errno == EOPNOTSUPP || errno == ENOSYS) return 0;
  if (errno != ENODATA) return -1;
  if (fremovexattr(file, name) == 0 || errno == ENODATA || errno == EOPNOTSUPP) return 0;
  return -1;
}

int haul_duplicate(int file) { return fcntl(file, F_DUPFD_CLOEXEC, 0); }

int64_t haul_size(int file) {
  struct statx known;
  if (statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE, &known) == 0 &&
      (known.stx_mask & STATX_SIZE)) {
    return (int64_t)known.stx_size;
  }
  struct stat status;
  return fstat(file, &status) == 0 ? (int64_t)status.st_size : -1;
}

void haul_share_heap(void) {
#ifdef M_ARENA_MAX
  mallopt(M_ARENA_MAX, 1);
#endif
}

int haul_mount_id(int file, uint64_t *mount) {
  struct statx status;
  if (statx(file, "", AT_EMPTY_PATH, STATX_MNT_ID_UNIQUE, &status) == 0 &&
      (status.stx_mask & STATX_MNT_ID_UNIQUE)) {
    *mount = status.stx_mnt_id;
    return 0;
  }
  if (statx(file, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) != 0) return -1;
  if (!(status.stx_mask & STATX_MNT_ID)) {
    errno = ENOSYS;
    return -1;
  }
  *mount = status.stx_mnt_id;
  return 0;
}

int haul_try_lock(int file) { return flock(file, LOCK_EX | LOCK_NB); }
#endif
