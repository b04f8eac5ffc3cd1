#!/usr/bin/env node
// Plain JavaScript that an old Node can read, so that it answers with a sentence and not with a syntax error.
import * as module from 'node:module'
import { fileURLToPath } from 'node:url'

// An import would read every export of it, and so load streams and promises of files too.
const { existsSync } = process.getBuiltinModule?.('node:fs') ?? (await import('node:fs'))

// `node:sqlite` of older releases cannot bind the parameters of the ledger's statements.
const needed = { 22: 20, 24: 7 }
const source = new URL('../src/cli/main.ts', import.meta.url)
const bundle = new URL('../dist/cli.js', import.meta.url)
const isCheckout = existsSync(source)

const [major, minor] = process.versions.node.split('.').map(Number)
const isNewEnough = major > 24 || minor >= needed[major]
const canRun = isNewEnough && (!isCheckout || Boolean(process.features.typescript))

if (isCheckout && !existsSync(new URL('../node_modules/zod', import.meta.url))) {
  fail('The packages of farebox are not installed. Run npm ci in its folder, then try again.')
} else if (canRun) await run().catch(couldNotStart)
else if (!(await handOver())) {
  const remedy = isCheckout ? 'Run npm ci in its folder, which installs one, or install it' : 'Install it'
  fail(
    `farebox needs Node 24.${needed[24]} or newer (on Node 22, 22.${needed[22]} or newer), but this is Node ${process.versions.node}. ${remedy} from https://nodejs.org.`,
  )
}

async function run() {
  if (process.env.FAREBOX_HANDED_OVER === '1') endWithLauncher()
  delete process.env.FAREBOX_HANDED_OVER
  // Compiled code is kept beside the code itself, never in a folder that another user can write to.
  module.enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache/farebox', import.meta.url)))
  if (!isCheckout) useBundledZod()
  // node:sqlite is called experimental by Node 22; the person at the terminal can do nothing about it.
  process.removeAllListeners('warning')
  process.on('warning', warning => {
    if (warning.name !== 'ExperimentalWarning') process.stderr.write(`${warning.name}: ${warning.message}\n`)
  })
  const { main } = await import((isCheckout ? source : bundle).href)
  process.exitCode = await main(process.argv.slice(2))
}

/** One file in the place of a hundred. No program of a user runs here, whose schemas would have to be of the same zod. */
function useBundledZod() {
  const url = new URL('./zod.js', bundle).href
  module.registerHooks({
    resolve: (name, context, next) =>
      name === 'zod' ? { url, format: 'module', shortCircuit: true } : next(name, context),
  })
}

/** A launcher that was killed could pass no signal on, but its channel closes; it is the same as being told to stop. */
function endWithLauncher() {
  // On Windows, a signal to oneself ends the process at once, and runs no listener.
  process.once('disconnect', () => process.emit('SIGTERM', 'SIGTERM') || process.kill(process.pid, 'SIGTERM'))
  // The channel alone must not keep a command alive that is done.
  process.channel?.unref()
}

/** Runs the same command with the Node that a checkout brings along; false where there is none. */
async function handOver() {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  const pinned = fileURLToPath(new URL(`../node_modules/node/bin/${name}`, import.meta.url))
  if (process.env.FAREBOX_HANDED_OVER === '1' || !existsSync(pinned)) return false
  const { spawn } = await import('node:child_process')
  const child = spawn(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    // The last one carries nothing: it is there to close with this process, however that ends.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, FAREBOX_HANDED_OVER: '1' },
  })
  // Windows tells both processes of Ctrl-C and Ctrl-Break, and knows no signal that would let the child stop in order.
  const passOn = process.platform === 'win32' ? () => {} : signal => child.kill(signal)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGBREAK']
  for (const signal of signals) process.on(signal, passOn)
  child.on('error', error => {
    fail(`farebox could not start ${pinned} (${error.message}). Run npm ci again.`)
  })
  child.on('exit', (code, signal) => {
    for (const name of signals) process.removeListener(name, passOn)
    if (signal) process.kill(process.pid, signal)
    else process.exitCode = code ?? 1
  })
  return true
}

function couldNotStart(error) {
  const [reason] = String(error?.message ?? error).split('\n', 1)
  fail(`farebox could not start: ${reason.replace(/\.$/, '')}. FAREBOX_DEBUG=1 shows where.`)
  if (process.env.FAREBOX_DEBUG === '1') fail(error?.stack ?? '')
}

function fail(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exitCode = 1
}
