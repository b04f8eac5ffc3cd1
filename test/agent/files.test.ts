import { execFileSync } from 'node:child_process'
import { lstat, mkdir, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { Files, outputName } from '#agent/media/files.ts'
import { ToolFailure } from '#toolkit/tool-failure.ts'
import { temporaryFolder } from './open-agent.ts'

const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
const root = temporaryFolder()
const state = join(root, 'state')
const output = join(state, 'output')
const inputs = join(root, 'inputs')
const outside = join(root, 'outside')
const files = new Files({ output, inputs: [inputs, root], state })
const narrow = new Files({ output, inputs: [inputs], state })

beforeAll(async () => {
  for (const folder of [output, inputs, outside]) await mkdir(folder, { recursive: true })
  for (const path of [join(output, 'a.png'), join(inputs, 'b.png'), join(outside, 'c.png'), join(state, 'd.png')]) {
    await writeFile(path, png)
  }
  await writeFile(join(inputs, 'text.png'), 'not an image')
  await writeFile(join(inputs, 'empty.png'), '')
  await symlink(join(outside, 'c.png'), join(inputs, 'link.png'))
  await symlink(outside, join(inputs, 'folder'))
})

test.each([
  ['in the output folder, by its name', 'a.png'],
  ['in an input folder', join(inputs, 'b.png')],
  ['as a file URL', pathToFileURL(join(inputs, 'b.png')).href],
])('an image %s is read', async (_, source) => {
  expect(await narrow.asMediaUrl(source, 'image')).toBe(`data:image/png;base64,${png.toString('base64')}`)
})

test.each([
  ['outside of the folders', join(outside, 'c.png')],
  ['by a way around', join(inputs, '..', 'outside', 'c.png')],
  ['by a relative way around', '../d.png'],
  ['through a link', join(inputs, 'link.png')],
  ['through a linked folder', join(inputs, 'folder', 'c.png')],
  ['that is not there', join(inputs, 'none.png')],
  ['with a NUL', `${join(inputs, 'b.png')}\0`],
  ['that is a folder', inputs],
  ['of another type than its name', join(inputs, 'text.png')],
  ['without content', join(inputs, 'empty.png')],
  ['as a data URL of another kind', 'data:text/html;base64,AAAA'],
  ['as a data URL that is not base64', 'data:image/png,<svg>'],
])('an image %s is refused', async (_, source) => {
  await expect(narrow.asMediaUrl(source, 'image')).rejects.toBeInstanceOf(ToolFailure)
})

test('a path that is too long is answered with what to give instead', async () => {
  await expect(narrow.asMediaUrl('a'.repeat(5_000), 'image')).rejects.toThrow('Give a shorter path')
})

test('the folder of keys is not read, even inside an allowed one', async () => {
  await expect(files.asMediaUrl(join(state, 'd.png'), 'image')).rejects.toBeInstanceOf(ToolFailure)
  expect(await files.asMediaUrl(join(output, 'a.png'), 'image')).toContain('data:image/png')
})

test.each([
  ['is that of keys', state],
  ['holds that of keys', root],
])('nothing is read of the folder of keys where the output folder %s', async (_, wide) => {
  const misled = new Files({ output: wide, inputs: [wide], state })
  for (const kind of ['image', 'document'] as const)
    await expect(misled.asFormFile(join(state, 'd.png'), kind)).rejects.toThrow('tools may read')
})

test('a pipe without a writer is refused at once', { tags: ['posix'] }, async () => {
  const pipe = join(inputs, 'pipe.png')
  execFileSync('mkfifo', [pipe])
  await expect(narrow.asMediaUrl(pipe, 'image')).rejects.toThrow('not a file')
})

test('an image is not a video', async () => {
  await expect(narrow.asMediaUrl(join(inputs, 'b.png'), 'video')).rejects.toThrow('MP4, MOV or WebM')
})

describe('a text', () => {
  const text = 'a long text '.repeat(1_000)
  const texts = new Files({ output: join(root, 'texts'), inputs: [], state })

  test('is one file however often it is saved, at once and one after another, and no part of it stays', async () => {
    const saving = [1, 2, 3].map(() => texts.saveText(text, 'm'))
    const paths = (await Promise.all([...saving, texts.saveText(text, 'm')])).map(({ path }) => path)
    expect(new Set([...paths, (await texts.saveText(text, 'm')).path]).size).toBe(1)
    expect(await readdir(join(root, 'texts'))).toHaveLength(1)
  })

  test('of which a partial file exists is saved whole, and the partial file is not replaced', async () => {
    const { path } = await texts.saveText(text, 'cut')
    await truncate(path, 100)
    const again = await texts.saveText(text, 'cut')
    expect(await readFile(again.path, 'utf8')).toBe(text)
    expect(await readFile(path, 'utf8')).toBe(text.slice(0, 100))
    expect((await texts.saveText(text, 'cut')).path).toBe(again.path)
  })

  test.each([
    ['a pipe without a writer', async (path: string) => void execFileSync('mkfifo', [path])],
    ['a link to the same text elsewhere', async (path: string) => symlink(await elsewhere(), path)],
  ])('is not taken to be %s that waits under its name', async (what, plant) => {
    const name = what.slice(0, 6)
    const { path } = await texts.saveText(text, name)
    await rm(path)
    await plant(path)
    const saved = await texts.saveText(text, name)
    expect(saved.path).not.toBe(path)
    expect((await lstat(saved.path)).isFile()).toBe(true)
  })

  async function elsewhere(): Promise<string> {
    const path = join(root, 'elsewhere.txt')
    await writeFile(path, text)
    return path
  }
})

test('a name of a file is ours, whatever the model is called', () => {
  expect(outputName(0, '../../etc/Pass wd\0', 'job_abcdefgh', 'mp4')).toBe('19700101-0000-etc-pass-wd-cdefgh.mp4')
})

test('an address is offered only where one is taken', async () => {
  const next = (run: Promise<unknown>) => run.catch(({ facts }) => facts.next)
  expect(await next(files.asMediaUrl('missing.png', 'image'))).toContain('or give an https URL.')
  expect(await next(files.asFormFile('https://example.com/a.wav', 'audio'))).not.toContain('https')
})
