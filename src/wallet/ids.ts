import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

let startId: string | undefined

/** Names this process in rows that others read. In a container every start has the same number, so each start has an id of its own. */
export function thisProcess(): string {
  startId ??= randomUUID()
  return `${process.pid}@${hostname()}#${startId}`
}

let machine: string | undefined

/**
 * Where a process's number means something: this start of this machine, in this space of numbers. Containers and hosts may
 * have one name, and records in a database are read by all of them.
 */
export function thisMachine(): string {
  machine ??= readMachine()
  return machine
}

function readMachine(): string {
  try {
    const start = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${start}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}

/** Whether the process of that name still runs; of another machine nothing is known, so it counts as running. */
export function isRunning(name: string): boolean {
  const [, pid = '', host = ''] = /^(\d+)@(.*)#[\w-]+$/.exec(name) ?? []
  if (host !== hostname()) return true
  if (Number(pid) === process.pid) return name === thisProcess()
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Names this process and where its number means something, for records that other machines may read too. */
export const thisOwner = (): string => `${thisProcess()} ${thisMachine()}`

/** Whether the process of such a name may still run; of one elsewhere nothing is known. */
export function mayRun(owner: string): boolean {
  const [process = '', machine = thisMachine()] = owner.split(' ')
  return machine !== thisMachine() || isRunning(process)
}

/** No letter that is taken for another when the user types it. */
const letters = '0123456789abcdefghjkmnpqrstvwxyz'
const idLetters = 16

/** Sixteen random letters, 80 bits, after a prefix that says what it names: `pay_…`, `ask_…`. */
export const newId = (prefix: string): string =>
  `${prefix}_${Array.from(randomBytes(idLetters), byte => letters[byte & 31]).join('')}`
