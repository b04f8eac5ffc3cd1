/* Preloaded: every sync of a file takes SLOW_SYNC_MS milliseconds more, as on a disk that is far away. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait_longer(void) {
  const char *text = getenv("SLOW_SYNC_MS");
  long ms = text ? atol(text) : 0;
  struct timespec pause = {ms / 1000, (ms % 1000) * 1000000L};
  nanosleep(&pause, NULL);
}

int fsync(int file) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
  wait_longer();
  return real(file);
}

int fdatasync(int file) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
  wait_longer();
  return real(file);
}
