import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { launcher } from '../build/built-product.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-stop-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Stops `up` as soon as it has written `mark`; Ctrl-C goes to the whole group, as from a terminal. */
async function stopped(by: 'Ctrl-C' | 'SIGTERM', mark: string, ...flags: string[]) {
  const args = [launcher, 'up', '--port', '0', '--data', folder, ...flags]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let [stdout, stderr, isStopping] = ['', '', false]
  child.stderr.on('data', text => {
    stderr += text
  })
  child.stdout.on('data', text => {
    stdout += text
    if (isStopping || !stdout.includes(mark)) return
    isStopping = true
    if (by === 'Ctrl-C') process.kill(-Number(child.pid), 'SIGINT')
    else child.kill('SIGTERM')
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}

test.each(['Ctrl-C', 'SIGTERM'] as const)(
  '%s in the middle of the journey is a stop and no failure',
  async by => {
    const { code, stdout, stderr } = await stopped(by, 'video create')
    expect(stdout).toMatch(/\nStopped\.\n$/)
    expect(stdout).not.toMatch(/✗|see the step above|Serving at/)
    expect([code, stderr]).toEqual([0, ''])
  },
  60_000,
)

test('in JSON a stopped journey tells no false step and no end', async () => {
  const { code, stdout, stderr } = await stopped('Ctrl-C', '"video create"', '--json')
  const events = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { event: string; ok?: boolean })
  expect(events.filter(({ event, ok }) => event === 'done' || ok === false)).toEqual([])
  expect([code, stderr]).toEqual([0, ''])
}, 60_000)

test('a stopped journey with --once counts as unfinished', async () => {
  const { code, stdout } = await stopped('SIGTERM', 'video create', '--once')
  expect([code, stdout]).toEqual([1, expect.stringMatching(/\nStopped\.\n$/)])
}, 60_000)

test('what is there is said once it serves', async () => {
  const { code, stdout } = await stopped('SIGTERM', 'ledger audit', '--no-journey')
  expect(stdout).toMatch(
    /\nServing at http:\/\/127\.0\.0\.1:\d+\/api\/v1 until Ctrl-C\. .*\nModels:\n {2}demo-chat +text\n {2}demo-embedding +embedding\n {2}demo-image +image\n/,
  )
  expect(stdout).toContain(`farebox keys create --usd 5 --data ${folder}`)
  expect(stdout).toContain(`install CLIENT --local ${folder}`)
  expect(stdout).toContain('farebox local fund ADDRESS')
  expect(stdout).toContain(`farebox console --data ${folder}`)
  expect(code).toBe(0)
}, 60_000)

test.each(['SIGTERM', 'SIGKILL'] as const)(
  '%s to the shell that npm puts between stops the service behind it',
  async by => {
    const script = [process.execPath, launcher, 'up', '--no-journey', '--port', '0', '--data', folder]
    const child = spawn('sh', ['-c', '"$@"; exit $?', 'sh', ...script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, npm_lifecycle_event: 'start' },
    })
    let stdout = ''
    child.stdout.on('data', text => {
      if (!stdout.includes('ledger audit') && `${stdout}${text}`.includes('ledger audit')) child.kill(by)
      stdout += text
    })
    // The pipe closes once the last process that writes to it has ended.
    await once(child, 'close')
    expect(stdout).toMatch(/\nStopped\.\n$/)
  },
  60_000,
)
