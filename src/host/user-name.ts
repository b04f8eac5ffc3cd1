import { userInfo } from 'node:os'

/** Returns the name of the user who runs this process, for records. In a container, a user may have only a number. */
export function userName(read: () => { username: string } = userInfo): string {
  try {
    return read().username
  } catch {
    return `user ${process.getuid?.() ?? 'without a name'}`
  }
}
