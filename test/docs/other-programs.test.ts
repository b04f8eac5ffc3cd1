/**
 * The settings for other programs in documents: nginx and HAProxy run with them in front of a real service, and systemd
 * reads its units.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { bodyBytes } from '#contract/limits.ts'
import { systemClock } from '#contract/time.ts'
import { Listener } from '#service/http/listener.ts'
import { freePort } from '../postgres/cluster.ts'
import { type OpenedService, openService, type TestClock } from '../service/open-service.ts'
import { blocksOf } from './pages.ts'

const run = promisify(execFile)
const install = 'docs/operations/install.md'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-programs-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const blockOf = (language: string): string => blocksOf(install).find(block => block.language === language)?.text ?? ''

interface Proxy {
  program: string
  /** A whole configuration around the block of the document. */
  configuration(block: string, port: number): string
  /** Checks the file at this path, and runs with it. */
  check(path: string): string[]
  run(path: string): string[]
}

const nginx: Proxy = {
  program: 'nginx',
  configuration: (block, port) => `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
pid ${folder}/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server {
    listen 127.0.0.1:${port};
    ${block}
  }
}
`,
  check: path => ['-t', '-q', '-e', 'stderr', '-c', path],
  run: path => ['-e', 'stderr', '-c', path],
}

const haproxy: Proxy = {
  program: 'haproxy',
  configuration: (block, port) => `defaults
  mode http
  timeout connect 5s
  timeout client 600s
frontend public
  bind 127.0.0.1:${port}
  default_backend farebox
${block}
`,
  check: path => ['-c', '-q', '-f', path],
  run: path => ['-db', '-f', path],
}

describe.each([
  { ...nginx, tags: ['nginx'] },
  { ...haproxy, tags: ['haproxy'] },
])('$program', ({ tags, ...proxy }) => {
  let service: OpenedService
  let listener: Listener
  let child: ChildProcess | undefined
  let origin: string
  afterEach(async () => {
    if (child?.exitCode === null) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    await listener?.close(0)
    await service?.close()
  })

  /** The service, with the proxy of the document as its public address. */
  async function open() {
    const port = await freePort()
    origin = `http://127.0.0.1:${port}`
    listener = await Listener.open({ host: '127.0.0.1', port: 0 })
    const settings = { publicUrl: origin, trustedProxies: ['127.0.0.1'] }
    service = await openService({ clock: systemClock as TestClock, settings })
    listener.serve(service.service.app.fetch)
    const path = join(folder, `${proxy.program}.conf`)
    const block = blockOf(proxy.program)
    expect(block).toContain('127.0.0.1:8402')
    await writeFile(path, proxy.configuration(block.replace(':8402', `:${listener.port}`), port))
    // It complains on the standard error, of warnings too.
    expect(await run(proxy.program, proxy.check(path))).toEqual({ stdout: '', stderr: '' })
    child = spawn(proxy.program, proxy.run(path), { stdio: ['ignore', 'ignore', 'inherit'] })
    await vi.waitUntil(() => isOpen(port), { timeout: 20_000, interval: 50 })
  }

  const chat = (content: string, headers: Record<string, string> = {}) =>
    fetch(`${origin}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content }], stream: true }),
    })

  test('passes on the host, streams and the largest bodies', { tags, timeout: 60_000 }, async () => {
    await open()
    expect((await fetch(`${origin}/account`)).status).toBe(200)
    const authorization = `Bearer ${await service.key(1)}`
    expect(await (await chat('Hello', { authorization })).text()).toMatch(/^data: .*\[DONE\]\n\n$/s)
    const large = await chat('x'.repeat(bodyBytes.json), { authorization })
    // The service’s own refusal of a chat above its limit.
    expect([large.status, large.headers.has('cf-ray')]).toEqual([413, true])
    const video = await fetch(`${origin}/api/v1/video/queue`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization },
      body: JSON.stringify({ model: 'x'.repeat(bodyBytes.video - 1_000) }),
    })
    expect([video.status, video.headers.has('cf-ray')]).toEqual([400, true])
  })

  test('lets no caller choose an address', { tags, timeout: 60_000 }, async () => {
    await open()
    const statuses = []
    for (let sent = 0; sent < 23; sent++) {
      const forged = `203.0.113.${sent}`
      statuses.push((await chat('Hello', { 'x-forwarded-for': forged, forwarded: `for=${forged}` })).status)
    }
    // Each failure counts against the one who sent it.
    expect(statuses.at(-1)).toBe(429)
  })
})

const isOpen = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

describe('systemd', { tags: ['systemd'] }, () => {
  const units = [install, 'docs/wallet.md'].flatMap(place =>
    blocksOf(place)
      .filter(({ language }) => language === 'ini')
      .map(({ text }) => [place, text] as const),
  )

  test('there are such units', () => expect(units.length).toBeGreaterThanOrEqual(2))

  test.each(units)('reads the unit of %s', async (_, text) => {
    const path = join(folder, 'farebox.service')
    // Here, Node is in another folder.
    await writeFile(path, `[Unit]\nDescription=farebox\n${text.replaceAll('/usr/bin/node', process.execPath)}\n`)
    const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', path])
    // A machine may have faulty units of its own, which systemd reads along.
    expect(`${stdout}${stderr}`.split('\n').filter(line => line.includes('farebox'))).toEqual([])
  })
})
