#define _GNU_SOURCE
#include "CHaulSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>

// Adds the actions that replace the files of the caller.
static int redirect(posix_spawn_file_actions_t *files, const char *log) {
  int error = posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
  if (error == 0)
    error = posix_spawn_file_actions_addopen(files, 1, log,
                                             O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  if (error == 0) error = posix_spawn_file_actions_adddup2(files, 1, 2);
#if defined(__linux__)
  if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(files, 3);
#endif
  return error;
}

// The signals of a new program, and more flags.
static int set(posix_spawnattr_t *attributes, short flags) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int error = posix_spawnattr_setsigmask(attributes, &none);
  if (error == 0) error = posix_spawnattr_setsigdefault(attributes, &all);
  if (error == 0)
    error = posix_spawnattr_setflags(
        attributes, (short)(flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  return error;
}

// The child inherits the limit of core dumps of this moment: there is no attribute for it.
static int spawn(pid_t *child, const char *path, const posix_spawn_file_actions_t *files,
                 const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]) {
  int was_lowered = haul_restore_core_limit();
  int error = posix_spawnp(child, path, files, attributes, arguments, environment);
  if (was_lowered) haul_forbid_core_dumps();
  return error;
}

int haul_run_quietly(char *const arguments[], char *const environment[]) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&files) != 0) return -1;
  int status = -1;
  if (posix_spawnattr_init(&attributes) == 0) {
    pid_t pid;
    if (redirect(&files, "/dev/null") == 0 && set(&attributes, 0) == 0 &&
        spawn(&pid, arguments[0], &files, &attributes, arguments, environment) == 0) {
      while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
      }
      status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&files);
  return status;
}

int haul_spawn_daemon(const char *path, const char *log, char *const arguments[],
                      char *const environment[], pid_t *child) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&files);
  if (error != 0) return error;
  error = posix_spawnattr_init(&attributes);
  if (error == 0) {
    error = redirect(&files, log);
    // The caller's directory may be on a disk that is to be unmounted.
    if (error == 0) error = posix_spawn_file_actions_addchdir_np(&files, "/");
    if (error == 0) error = set(&attributes, POSIX_SPAWN_SETSID);
    if (error == 0) error = spawn(child, path, &files, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&files);
  return error;
}

int haul_exit_status(pid_t child) {
  int status;
  if (waitpid(child, &status, WNOHANG) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
