import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** Runs the journey of `npm start` and draws what it prints as `docs/images/first-run.svg`, the image of the README. */

const root = fileURLToPath(new URL('../', import.meta.url))
const columns = 100
const lineHeight = 20
const charWidth = 8.43
const margin = 20
const bar = 34

const folder = await mkdtemp(join(tmpdir(), 'farebox-terminal-'))
try {
  const run = spawn(process.execPath, ['bin/farebox.mjs', 'up', '--once', '--data', folder, '--port', '0'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const printed = await text(run.stdout)
  const lines = printed
    .trimEnd()
    .replaceAll(folder, '.farebox')
    .replace(/127\.0\.0\.1:\d+/, '127.0.0.1:8402')
    .split('\n')
    .filter(isShown)
    .flatMap(fold)
  await mkdir(join(root, 'docs/images'), { recursive: true })
  await writeFile(join(root, 'docs/images/first-run.svg'), draw(['$ npm start', ...lines]))
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** Of a step with many details the first ones: a reader of the README wants the round, not the numbers. */
function isShown(line: string, index: number, lines: readonly string[]): boolean {
  const isDetail = (each: string | undefined) => each?.startsWith('  ') === true
  return !(isDetail(line) && isDetail(lines[index - 1]) && isDetail(lines[index - 2]))
}

/** A terminal continues a long line on the next one. */
function fold(line: string): string[] {
  const parts = []
  for (let at = 0; at === 0 || at < line.length; at += columns) parts.push(line.slice(at, at + columns))
  return parts
}

function draw(lines: readonly string[]): string {
  const width = Math.ceil(columns * charWidth + 2 * margin)
  const height = bar + lines.length * lineHeight + margin
  const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
    (color, index) => `<circle cx="${margin + index * 20}" cy="${bar / 2}" r="6" fill="${color}"/>`,
  )
  const texts = lines.map(
    (line, index) =>
      `<text x="${margin}" y="${bar + (index + 0.75) * lineHeight}" fill="${colorOf(line)}" xml:space="preserve">${escaped(line)}</text>`,
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`,
    ' font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">',
    '<title>The first run of farebox in a terminal</title>',
    `<rect width="${width}" height="${height}" rx="10" fill="#15181e"/>`,
    ...dots,
    ...texts,
    '</svg>\n',
  ].join('\n')
}

function colorOf(line: string): string {
  if (line.startsWith('✓')) return '#7ee787'
  return line.startsWith('$') || line.startsWith('ready') ? '#79c0ff' : '#c9d1d9'
}

function escaped(line: string): string {
  return line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
