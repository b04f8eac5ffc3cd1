import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { FolderMediaStore } from '#media/media-store.ts'
import { temporaryFolder } from '../temporary-folder.ts'

let folder: string
beforeEach(() => {
  folder = join(temporaryFolder('media'), 'media')
})

test('a file that is not there is null; one that cannot be looked for is not', { tags: ['posix'] }, async () => {
  const store = new FolderMediaStore(folder)
  expect(await store.find('a.mp4')).toBeNull()
  await mkdir(folder)
  await writeFile(join(folder, 'a.mp4'), 'film')
  expect(await store.find('a.mp4')).toEqual({ bytes: 4 })
  expect(await store.find('b.mp4')).toBeNull()
  await rm(folder, { recursive: true })
  // As unreadable as a volume that is away, also to root.
  await symlink('media', folder)
  await expect(store.find('a.mp4')).rejects.toThrow('ELOOP')
})

test('services that start at once on one folder all find it usable, and leave nothing in it', async () => {
  await Promise.all(Array.from({ length: 50 }, () => new FolderMediaStore(folder).check()))
  expect(await readdir(folder)).toEqual([])
})
