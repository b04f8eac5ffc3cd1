import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { CommandEntry, CommandIo } from '#cli/command.ts'
import { commands } from '#cli/commands.ts'
import { dataFolder } from '#cli/data/data-folder.ts'
import { main } from '#cli/main.ts'
import { createOutput } from '#cli/output.ts'
import { proofOfSecret } from '#host/signatures/signatures.ts'
import { lockFolderOf } from '#ledger/store/sqlite/connection.ts'
import { localServer } from '../local-server.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { served } from './served-folder.ts'

let root: string
beforeEach(() => {
  root = temporaryFolder('folder')
})

async function run(args: string[], table: readonly CommandEntry[] = commands) {
  const stdout = new PassThrough({ encoding: 'utf8' })
  const stderr = new PassThrough({ encoding: 'utf8' })
  const io: CommandIo = {
    output: createOutput(stdout, stderr),
    env: {},
    stdin: process.stdin,
    self: ['node', 'farebox.mjs'],
    untilStopped: () => new AbortController().signal,
  }
  return { code: await main(args, io, table), stdout: stdout.read() ?? '', stderr: String(stderr.read() ?? '') }
}

const nobody = 65_534

/** The superuser may use every folder, so it is another user meanwhile; what `work` imports was imported before. */
async function asPlainUser<Value>(work: () => Promise<Value>): Promise<Value> {
  if (process.geteuid?.() !== 0) return work()
  process.seteuid?.(nobody)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}

const oneSentence = /^[^\n]+\. [^\n]+ or choose another folder: `--data DIR`[^\n]*\n$/

describe('a data folder that cannot be used is reported in one sentence with the next step', () => {
  const rows: [args: string[]][] = [
    [['up', '--no-journey', '--port', '0']],
    [['keys', 'create', '--usd', '5']],
    [['keys', 'list']],
    [['ledger', 'audit']],
    [['ledger', 'export']],
    [['backup', 'books.db']],
  ]
  test.each(rows)('%j with a file for a folder', async args => {
    const file = join(root, 'file')
    await writeFile(file, '')
    const { code, stderr } = await run([...args, '--data', file])
    expect([code, stderr]).toEqual([1, expect.stringMatching(oneSentence)])
    expect(stderr).toContain('must be a folder')
  })

  test.each(rows)('%j below a file', async args => {
    const file = join(root, 'file')
    await writeFile(file, '')
    const { code, stderr } = await run([...args, '--data', join(file, 'below')])
    expect([code, stderr]).toEqual([1, expect.stringMatching(oneSentence)])
  })

  test.each(rows)('%j in a folder of another', { tags: ['posix'] }, async args => {
    const shut = join(root, 'shut')
    await mkdir(shut)
    await chmod(shut, 0o000)
    const { code, stderr } = await asPlainUser(() => run([...args, '--data', join(shut, 'below')]))
    await chmod(shut, 0o700)
    expect([code, stderr]).toEqual([1, expect.stringMatching(oneSentence)])
    expect(stderr).toContain('You don’t have permission for')
  })

  const codes = ['EACCES', 'EPERM', 'EEXIST', 'ENOTDIR', 'EROFS', 'ENOSPC']
  const throwing = (error: Error): CommandEntry => ({
    name: 'break',
    summary: 'Breaks.',
    load: async () => ({ usage: '', run: () => Promise.reject(error) }),
  })
  test.each(codes)('%s, also as the cause of another error', async code => {
    const error = Object.assign(new Error('raw words of the system'), { code, path: '/a/place', syscall: 'open' })
    for (const thrown of [error, new Error('wrapped', { cause: error })]) {
      const { code: exit, stderr } = await run(['break'], [throwing(thrown)])
      expect([exit, stderr]).toEqual([1, expect.stringMatching(oneSentence)])
      expect(stderr).toContain('/a/place')
      expect(stderr).not.toContain('raw words')
    }
  })

  test('an error that does not concern a file stays unexpected', async () => {
    const error = Object.assign(new Error('no such right'), { code: 'EPERM', syscall: 'kill' })
    expect((await run(['break'], [throwing(error)])).stderr).toContain('unexpected error: no such right')
  })
})

test('an address that this machine has not leaves no folder behind', async () => {
  const folder = join(root, 'data')
  const { code, stderr } = await run(['up', '--no-journey', '--port', '0', '--host', '192.0.2.1', '--data', folder])
  expect([code, stderr]).toEqual([1, expect.stringContaining('This machine has no address 192.0.2.1.')])
  expect(existsSync(folder)).toBe(false)
})

describe('a folder that another process is using', () => {
  let lock: { release(): void }
  beforeEach(async () => {
    await mkdir(join(root, 'service'))
    await writeFile(join(root, 'service', 'secret'), 'a secret of a test, 32 bytes long')
    lock = lockFolderOf(join(root, 'service', 'farebox.db'))
  })
  afterEach(() => lock.release())

  test('is said once, with what to do', async () => {
    const { code, stderr } = await run(['keys', 'create', '--usd', '5', '--data', root])
    expect([code, stderr]).toEqual([
      1,
      `Another farebox process is using the folder ${root}. Stop it, or choose another folder with \`--data\`.\n`,
    ])
  })

  test('names the process where it has left its record and answers', async () => {
    const server = await localServer(({ url = '' }, response) => {
      const challenge = new URLSearchParams(url.split('?')[1]).get('challenge') ?? ''
      response.end(
        JSON.stringify({ proof: proofOfSecret('x', challenge, { address: '127.0.0.1', port: server.port }) }),
      )
    })
    const record = { url: server.url, token: 'x', pid: process.pid }
    await writeFile(join(root, 'service', 'admin.json'), JSON.stringify(record))
    const { code, stderr } = await run(['up', '--no-journey', '--port', '0', '--data', root])
    await server.close()
    expect([code, stderr]).toEqual([
      1,
      `farebox already serves the folder ${root} at ${server.url} (process ${process.pid}). Stop it with \`kill ${process.pid}\`, or choose another folder with \`--data\`.\n`,
    ])
  })

  test('does not tell to kill a process that has only the number of a service that was killed', async () => {
    const record = { url: 'http://127.0.0.1:1', token: 'x', pid: process.pid }
    await writeFile(join(root, 'service', 'admin.json'), JSON.stringify(record))
    for (const args of [
      ['up', '--no-journey', '--port', '0'],
      ['keys', 'rotate-secret'],
    ]) {
      const { code, stderr } = await run([...args, '--data', root])
      expect([code, stderr]).toEqual([1, expect.stringContaining(`remove ${join(root, 'service', 'admin.json')}`)])
      expect(stderr).not.toContain('kill')
    }
  })
})

test('a port that the service of this very folder has taken names that one', async () => {
  const server = await localServer(() => undefined)
  await mkdir(join(root, 'service'))
  const record = { url: server.url, token: 'x', pid: process.pid }
  await writeFile(join(root, 'service', 'admin.json'), JSON.stringify(record))
  const { code, stderr } = await run(['up', '--no-journey', '--port', String(server.port), '--data', root])
  await server.close()
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(`farebox already serves the folder ${root} at ${record.url}`),
  ])
})

test('a negative amount is named as what it is', async () => {
  const { code, stderr } = await run(['keys', 'create', '--usd', '-5', '--data', root])
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/^`--usd` is `-5`; use an amount such as 5 or 0\.25, at most 1000000, or 0\. /),
  ])
})

describe('A12: another program at the address of a service that was killed', () => {
  test.each([
    [['console']],
    [['console', '--sign-out']],
    [['keys', 'create', '--usd', '5', '--label', 'a secret label']],
    [['customers', 'list']],
  ])('%j sends it nothing, and does not believe it', async args => {
    const seen: string[] = []
    const believed = { link: 'https://evil.example/#x', sessions: 0, key: 'k', keyId: 'k', account: 'a', rows: [] }
    const server = await localServer(async (request, response) => {
      seen.push(`${request.url} ${JSON.stringify(request.headers)}`)
      for await (const piece of request) seen.push(String(piece))
      response.end(JSON.stringify({ ...believed, proof: 'p'.repeat(43) }))
    })
    const token = 'the token of the service'
    await mkdir(join(root, 'service'))
    await writeFile(join(root, 'service', 'secret'), 'a secret of a test, 32 bytes long')
    await writeFile(join(root, 'service', 'admin.json'), JSON.stringify({ url: server.url, token, pid: process.pid }))
    const { code, stdout, stderr } = await run([...args, '--data', root])
    await server.close()
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('Another program answers at')])
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatch(/^\/admin\/v1\/proof\?challenge=/)
    expect(seen[0]).not.toMatch(/authorization|token|label/)
  })

  test('a relay to the service, which listens at another port by now, gets no token', async () => {
    await mkdir(join(root, 'service'))
    await served(root, async () => {
      const { admin } = dataFolder(root)
      const record = JSON.parse(await readFile(admin, 'utf8')) as { url: string; token: string }
      const seen: string[] = []
      // It passes everything on, with the headers that it got.
      const relay = await localServer((incoming, response) => {
        seen.push(`${incoming.url} ${JSON.stringify(incoming.headers)}`)
        const { method, headers } = incoming
        const passed = request(`${record.url}${incoming.url}`, { method, headers }, answer => {
          response.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(response)
        })
        incoming.pipe(passed)
      })
      await writeFile(admin, JSON.stringify({ ...record, url: relay.url }))
      const { code, stdout, stderr } = await run(['keys', 'create', '--usd', '5', '--data', root])
      await relay.close()
      expect([code, stdout, stderr]).toEqual([
        1,
        '',
        expect.stringContaining(`Another program answers at ${relay.url}`),
      ])
      expect(seen).toEqual([expect.stringMatching(/^\/admin\/v1\/proof/)])
      expect(seen[0]).not.toContain(record.token)
    })
  })
})

test('a service that listens at `localhost` proves itself to a command', async () => {
  await mkdir(join(root, 'service'))
  const list = () => run(['keys', 'list', '--data', root])
  expect(await served(root, list, 'localhost')).toMatchObject({ code: 0, stderr: '' })
})
