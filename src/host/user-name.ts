import { userInfo } from 'node:os'

/** Of the user who runs this process, for records; in a container, a user may have a number and no name. */
export function userName(read: () => { username: string } = userInfo): string {
  try {
    return read().username
  } catch {
    return `user ${process.getuid?.() ?? 'without a name'}`
  }
}
