/** The terminals in the documents show what the commands print today. */
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { terminalColumns, terminalImage, textOfImage } from '../../scripts/terminal-image.ts'

const launcher = join(import.meta.dirname, '..', '..', 'bin', 'farebox.mjs')
const imagesFolder = new URL('../../docs/images/', import.meta.url)

let home: string
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'farebox-terminal-'))
})
afterAll(() => rm(home, { recursive: true, force: true }))

interface TerminalImage {
  file: string
  title: string
  /** As a reader types it. */
  typed: string
  run(): readonly string[]
}

const images: readonly TerminalImage[] = [
  {
    file: 'first-run.svg',
    title: 'The first run of farebox in a terminal',
    typed: 'npm start',
    run: () => ['up', '--once', '--data', join(home, 'up'), '--port', '0'],
  },
  {
    file: 'install.svg',
    title: 'farebox install shows what it adds to a client',
    typed: 'node bin/farebox.mjs install cursor --service https://api.service.example/api/v1',
    run: () => ['install', 'cursor', '--service', 'https://api.service.example/api/v1', '--yes'],
  },
]

/** Without what is another one each time: figures, ids, and the places where the terminal wraps. */
const lasting = (image: string): string =>
  textOfImage(image)
    .replaceAll(/\s+/g, '')
    .replaceAll(/0x[0-9a-f]+/g, '0x')
    .replaceAll(/job_[0-9a-z]{16}/g, 'job')
    .replaceAll(/-[0-9a-z]{6}\.mp4/g, '.mp4')
    .replaceAll(/\d+/g, '0')

/** Shows only the first details of a step: the image is of the steps, not of the numbers. */
function isShown(line: string, index: number, lines: readonly string[]): boolean {
  const isDetail = (each: string | undefined) => /^ {4}\S/.test(each ?? '') && each?.includes('"') === false
  return !(isDetail(line) && isDetail(lines[index - 1]) && isDetail(lines[index - 2]))
}

test.each(images)('$typed', { timeout: 90_000, tags: ['linux'] }, async ({ file, title, typed, run }) => {
  const env = { PATH: process.env.PATH, HOME: home, TERM: 'xterm', NO_COLOR: '1' }
  const typedHere = [process.execPath, launcher, ...run()].map(word => `'${word}'`).join(' ')
  // `script` is a terminal without a window.
  const command = ['-qec', `stty cols ${terminalColumns}; ${typedHere}`, '/dev/null']
  const child = spawn('script', command, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const printed = stripVTControlCharacters(await text(child.stdout))
    .replaceAll('\r', '')
    .replaceAll(join(home, 'up'), '.farebox')
    .replaceAll(home, '~')
    .replaceAll(process.execPath, 'node')
    .replaceAll(dirname(dirname(launcher)), '/path/to/farebox')
    .replace(/127\.0\.0\.1:\d+/, '127.0.0.1:8402')
  const image = terminalImage(title, [`$ ${typed}`, ...printed.trimEnd().split('\n').filter(isShown)])
  const { SCREENSHOTS: folder } = process.env
  if (folder) await writeFile(join(folder, file), image)
  expect(lasting(await readFile(new URL(file, imagesFolder), 'utf8')), `SCREENSHOTS=docs/images renews it`).toBe(
    lasting(image),
  )
})
