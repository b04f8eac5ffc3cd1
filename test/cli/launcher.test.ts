import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, expect, test } from 'vitest'
import { version } from '#contract/version.generated.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const launcher = fileURLToPath(new URL('../../bin/farebox.mjs', import.meta.url))
let house: string

/** A tiny checkout: the real launcher before a `main` that tells what it was given. */
beforeEach(() => {
  house = temporaryFolder('launcher')
  cpSync(launcher, join(house, 'bin/farebox.mjs'))
})

const tell = (where: string) => `export async function main(args) {
  if (args[0] === 'wait') {
    const held = setTimeout(() => {}, 30_000)
    process.on('SIGTERM', () => { console.log('stopping'); clearTimeout(held); process.exitCode = 7 })
  }
  console.log(JSON.stringify({ where: '${where}', args, handedOver: process.env.FAREBOX_HANDED_OVER ?? null }))
  return 3
}\n`

const checkout = () => {
  mkdirSync(join(house, 'src/cli'), { recursive: true })
  mkdirSync(join(house, 'node_modules/zod'), { recursive: true })
  writeFileSync(join(house, 'src/cli/main.ts'), `const typed: number = 1\nvoid typed\n${tell('source')}`)
}
const bundled = () => {
  mkdirSync(join(house, 'dist'))
  writeFileSync(join(house, 'dist/cli.js'), tell('bundle'))
  writeFileSync(join(house, 'package.json'), '{"type":"module"}')
}
const pinned = () => {
  mkdirSync(join(house, 'node_modules/node/bin'), { recursive: true })
  symlinkSync(process.execPath, join(house, 'node_modules/node/bin/node'))
}

/** Loaded before the launcher, it makes this Node say it is another release, an old one by default. */
function asNode(release = '20.20.2'): string[] {
  const preload = join(house, 'old.mjs')
  writeFileSync(
    preload,
    `if (!process.env.FAREBOX_HANDED_OVER) Object.defineProperty(process.versions, 'node', { value: '${release}' })\n`,
  )
  return ['--import', preload]
}

const start = (flags: string[], ...args: string[]) =>
  spawn(process.execPath, [...flags, join(house, 'bin/farebox.mjs'), ...args])

async function ended(child: ChildProcess) {
  const told = { stdout: '', stderr: '' }
  child.stdout?.on('data', text => {
    told.stdout += text
  })
  child.stderr?.on('data', text => {
    told.stderr += text
  })
  const code = await new Promise<number | null>(resolve => child.on('close', resolve))
  return { code, ...told }
}

test('a checkout runs its source and passes arguments and exit code on', async () => {
  checkout()
  bundled()
  const result = await ended(start([], 'up', '--port', '0'))
  expect(JSON.parse(result.stdout)).toEqual({ where: 'source', args: ['up', '--port', '0'], handedOver: null })
  expect(result).toMatchObject({ code: 3, stderr: '' })
})

test('a package runs its bundle', async () => {
  bundled()
  const result = await ended(start([], 'mcp'))
  expect(JSON.parse(result.stdout)).toMatchObject({ where: 'bundle', args: ['mcp'] })
})

test('an old Node hands over to the Node of the checkout', async () => {
  checkout()
  pinned()
  const result = await ended(start(asNode(), 'up', '--once'))
  expect(JSON.parse(result.stdout)).toEqual({ where: 'source', args: ['up', '--once'], handedOver: null })
  expect(result).toMatchObject({ code: 3, stderr: '' })
})

test('a signal reaches the command behind the old Node, and its exit code comes back', async () => {
  checkout()
  pinned()
  const child = start(asNode(), 'wait')
  child.stdout.once('data', () => child.kill('SIGTERM'))
  const result = await ended(child)
  expect(result.stdout.match(/stopping/g)).toHaveLength(1)
  expect(result.code).toBe(7)
})

test('a launcher that is killed takes the command with it, which still stops cleanly', async () => {
  checkout()
  pinned()
  const child = start(asNode(), 'wait')
  child.stdout.once('data', () => child.kill('SIGKILL'))
  // The pipe closes once no process holds it, including the command.
  const result = await ended(child)
  expect(result.stdout.match(/stopping/g)).toHaveLength(1)
  expect(child.signalCode).toBe('SIGKILL')
})

test('it does so where a signal to oneself ends the process at once, as on Windows', async () => {
  checkout()
  pinned()
  const preload = join(house, 'windows.mjs')
  writeFileSync(preload, `if (process.env.FAREBOX_HANDED_OVER) process.kill = () => process.exit(1)\n`)
  const env = { ...process.env, NODE_OPTIONS: `--import ${preload}` }
  const child = spawn(process.execPath, [...asNode(), join(house, 'bin/farebox.mjs'), 'wait'], { env })
  child.stdout.once('data', () => child.kill('SIGKILL'))
  expect((await ended(child)).stdout.match(/stopping/g)).toHaveLength(1)
})

test('a command behind the old Node that nothing keeps alive ends by itself', async () => {
  checkout()
  pinned()
  expect(await ended(start(asNode(), 'up'))).toMatchObject({ code: 3, stderr: '' })
})

test('an old Node alone answers with one sentence that names the needed version', async () => {
  checkout()
  const result = await ended(start(asNode(), 'up'))
  expect(result.stdout).toBe('')
  const says =
    /^farebox needs Node 24\.7 or newer \(on Node 22, 22\.20 or newer\), but this is Node 20\.20\.2\. [^\n]*\n$/
  expect(result.stderr).toMatch(says)
  expect(result.code).toBe(1)
})

test.each(['22.19.0', '23.11.1', '24.0.0', '24.6.0'])('Node %s cannot bind numbered parameters', async release => {
  bundled()
  expect(await ended(start(asNode(release), 'up'))).toMatchObject({ code: 1, stdout: '' })
})

test.each(['22.20.0', '22.23.5', '24.7.0', '25.0.0', '26.12.1'])('Node %s is used as it is', async release => {
  bundled()
  expect(await ended(start(asNode(release), 'up'))).toMatchObject({ stderr: '' })
})

test('a checkout without its packages says which command brings them', async () => {
  checkout()
  rmSync(join(house, 'node_modules'), { recursive: true })
  const result = await ended(start([], 'up'))
  expect(result.stderr).toMatch(/^The packages of farebox are not installed\. Run npm ci [^\n]*\n$/)
  expect(result.code).toBe(1)
})

test('what cannot be loaded is reported in a sentence', async () => {
  bundled()
  writeFileSync(join(house, 'dist/cli.js'), `import './gone.js'\n`)
  const result = await ended(start([], 'up'))
  expect(result).toMatchObject({ code: 1, stdout: '' })
  expect(result.stderr).toMatch(/^farebox could not start: [^\n]*gone\.js[^\n]*\. FAREBOX_DEBUG=1 shows where\.\n$/)
})

test('the real launcher starts the real table', () => {
  expect(execFileSync(process.execPath, [launcher, '--version'], { encoding: 'utf8' })).toBe(`${version}\n`)
})
