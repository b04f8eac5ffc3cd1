/** On Windows, other programs hold a file for a moment, and then it cannot be renamed. */
import { existsSync, type PathLike, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { renameFile, renameFileSync } from '#host/files.ts'
import { takePlace } from '#wallet/private-file.ts'
import { temporaryFolder } from '../temporary-folder.ts'

let from: string
let to: string
beforeEach(() => {
  const folder = temporaryFolder('files')
  from = join(folder, 'new')
  to = join(folder, 'old')
  writeFileSync(from, 'new')
  writeFileSync(to, 'old')
})

/** Fails so often, then renames. */
function heldFor(times: number, code: string) {
  const calls = { count: 0 }
  const move = (path: PathLike, target: PathLike): void => {
    if (calls.count++ < times) throw Object.assign(new Error(code), { code })
    writeFileSync(target, readFileSync(path))
  }
  return { calls, move }
}

type Move = ReturnType<typeof heldFor>['move']

const renames: Record<string, (move: Move, platform: string) => Promise<void>> = {
  renameFile: (move, platform) => renameFile(from, to, { platform, move: async (...paths) => move(...paths) }),
  renameFileSync: async (move, platform) => renameFileSync(from, to, { platform, move }),
  'the wallet': async (move, platform) => takePlace(from, to, { platform, move }),
}

describe.each(Object.entries(renames))('%s', (_, run) => {
  test.each(['EPERM', 'EACCES', 'EBUSY'])('waits on Windows while another program holds the file (%s)', async code => {
    const { move, calls } = heldFor(2, code)
    await run(move, 'win32')
    expect([readFileSync(to, 'utf8'), calls.count]).toEqual(['new', 3])
  })

  test.each([
    ['elsewhere', 'linux', 'EPERM', 1],
    ['for another error', 'win32', 'ENOENT', 1],
    ['for longer than half a second', 'win32', 'EPERM', 10],
  ])('does not wait %s', async (_name, platform, code, count) => {
    const { move, calls } = heldFor(Number.POSITIVE_INFINITY, code)
    await expect(run(move, platform)).rejects.toMatchObject({ code })
    expect([readFileSync(to, 'utf8'), calls.count]).toEqual(['old', count])
  })
})

test('the wallet leaves no file behind that could not take the place of another', () => {
  expect(() => takePlace(from, to, { move: heldFor(1, 'EIO').move })).toThrow('EIO')
  expect(existsSync(from)).toBe(false)
})
