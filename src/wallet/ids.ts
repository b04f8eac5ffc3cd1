import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

let startId: string | undefined

/**
 * Identifies this process in rows that others read. In a container every start may have the same process id, so each
 * start gets an id of its own.
 */
export function thisProcess(): string {
  startId ??= randomUUID()
  return `${process.pid}@${hostname()}#${startId}`
}

let machine: string | undefined

/**
 * Identifies where a process id is meaningful: this boot of this machine, in this pid namespace. Containers and hosts
 * may share a name, and records in a database are read by all of them.
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

/** Whether the named process still runs; one on another machine counts as running. */
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

/** Identifies this process and its machine, for records that other machines may read too. */
export const thisOwner = (): string => `${thisProcess()} ${thisMachine()}`

/** Whether the named process may still run. If it is on another machine, that is unknown, so it may. */
export function mayRun(owner: string): boolean {
  const [process = '', machine] = owner.split(' ')
  return machine !== thisMachine() || isRunning(process)
}

/** No letters that are easily confused when typed. */
const letters = '0123456789abcdefghjkmnpqrstvwxyz'
const idLetters = 16

/** Sixteen random letters, 80 bits, after a prefix for the kind of id: `pay_…`, `ask_…`. */
export const newId = (prefix: string): string =>
  `${prefix}_${Array.from(randomBytes(idLetters), byte => letters[byte & 31]).join('')}`
