import { hostname } from 'node:os'

/** Names this process in rows that other processes read. */
export const thisOwner = (): string => `${process.pid}@${hostname()}`

/** Whether the process that wrote a row still runs; of another machine nothing is known, so it counts as running. */
export function isAlive(owner: string): boolean {
  const [, pid = '', host = ''] = /^(\d+)@(.*)$/.exec(owner) ?? []
  if (host !== hostname()) return true
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
