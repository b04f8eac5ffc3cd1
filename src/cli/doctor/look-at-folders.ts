import { constants } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { DataFolder } from '../data/data-folder.ts'
import { broken, type Finding, note, ok } from './finding.ts'

/** Less is a day of videos, or an hour of a log. */
const fewFreeBytes = 1024 ** 3

/** Bits of everybody but the owner. */
const others = 0o077

/** Whether this user alone reads what is secret in the service's folder, and there is room. */
export async function lookAtData({ root, secret, admin, database }: DataFolder): Promise<Finding[]> {
  const check = 'data folder'
  const there = await stat(root).catch(() => null)
  if (!there) {
    const parent = dirname(root)
    return (await mayWrite(parent))
      ? [ok(check, `${root} is made at the first start.`)]
      : [broken(check, `${root} cannot be made.`, `Let this user write in ${parent}, or set \`data\`.`)]
  }
  if (!there.isDirectory()) return [broken(check, `${root} is a file.`, 'Move it away, or set `data`.')]
  if (!(await mayWrite(root))) return [broken(check, `This user may not write in ${root}.`, 'Let it, or set `data`.')]
  const open = await openToOthers([secret, admin, database])
  const { bavail, bsize } = await statfs(root)
  return [
    open.length
      ? broken(check, `Other users of this machine can read ${open.join(', ')}.`, `chmod 600 ${open.join(' ')}`)
      : ok(check, `${root} is this user’s alone.`),
    ...(bavail * bsize < fewFreeBytes
      ? [
          note(
            'disk',
            'Less than a gigabyte is free.',
            'Make room: the service takes no calls when it cannot write its ledger.',
          ),
        ]
      : []),
  ]
}

/** The folder of an assistant's wallet: whether it is its owner's alone. Nothing in it is read. */
export async function lookAtWallet(folder: string): Promise<Finding[]> {
  const check = 'wallet'
  if (!(await stat(folder).catch(() => null)))
    return [
      note(
        check,
        `There is no wallet in ${folder}.`,
        'Only an assistant needs one: `farebox wallet create --service URL`.',
      ),
    ]
  const { secretFileNames } = await import('#agent/media/readable-files.ts')
  const files = secretFileNames.map(name => join(folder, name))
  const open = await openToOthers(files)
  if (open.length)
    return [broken(check, `Other users of this machine can read ${open.join(', ')}.`, `chmod 600 ${open.join(' ')}`)]
  return [ok(check, `The files in ${folder} are this user’s alone.`)]
}

/** Whether this user may write in a folder, or make it where it is not there. */
export async function mayBeMade(path: string): Promise<boolean> {
  const there = await stat(path).catch(() => null)
  if (there) return there.isDirectory() && mayWrite(path)
  const parent = dirname(path)
  return parent !== path && mayBeMade(parent)
}

/** Windows has no such bits. */
async function openToOthers(paths: readonly string[]): Promise<string[]> {
  if (process.platform === 'win32') return []
  const open: string[] = []
  for (const path of paths) {
    const found = await stat(path).catch(() => null)
    if (found?.isFile() && (found.mode & others) !== 0) open.push(path)
  }
  return open
}

const mayWrite = (path: string): Promise<boolean> =>
  access(path, constants.W_OK).then(
    () => true,
    () => false,
  )
