import { expect, test } from 'vitest'
import { runSubprocess, type SubprocessRun } from '#host/workers/subprocess.ts'

/** Runs a line of JavaScript as a program of its own. */
async function ran(line: string, change: Partial<SubprocessRun> = {}, path = process.execPath) {
  const [out, log]: [Buffer[], Buffer[]] = [[], []]
  const end = await runSubprocess(path, {
    args: ['-e', line],
    onOutput: piece => out.push(piece),
    onLog: piece => log.push(piece),
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    ...change,
  })
  return [end, Buffer.concat(out).toString(), Buffer.concat(log).toString()]
}

const forever = 'setInterval(() => {}, 1000)'

test.each<[rule: string, line: string, change: Partial<SubprocessRun>, answer: unknown[]]>([
  ['its output and its log are told apart', 'console.log(1); console.error(2)', {}, [0, '1\n', '2\n']],
  ['its code is told', 'process.exit(3)', {}, [3, '', '']],
  ['it reads what it is given', 'process.stdin.pipe(process.stdout)', { input: Buffer.from('a') }, [0, 'a', '']],
  ['it need not read it', '', { input: Buffer.alloc(1_000_000) }, [0, '', '']],
])('%s', { timeout: 60_000 }, async (_rule, line, change, [code, ...said]) => {
  expect(await ran(line, change)).toEqual([{ kind: 'exited', code }, ...said])
})

test('one that writes too much is ended, and the rest is dropped', { timeout: 60_000 }, async () => {
  const [end, out] = await ran(`process.stdout.write('x'.repeat(99)); ${forever}`, { outputBytes: 10 })
  expect([end, out]).toEqual([{ kind: 'too-long' }, ''])
})

test('one that takes too long is ended', { timeout: 60_000 }, async () => {
  expect(await ran(forever, { timeoutMs: 1 })).toEqual([{ kind: 'late' }, '', ''])
})

test('one that is cancelled ends with the signal’s reason', { timeout: 60_000 }, async () => {
  const leaving = new AbortController()
  const reason = new Error('nobody')
  const run = ran(`console.log(1); ${forever}`, { onOutput: () => leaving.abort(reason), signal: leaving.signal })
  await expect(run).rejects.toBe(reason)
  await expect(ran('', { signal: leaving.signal })).rejects.toBe(reason)
})

test('a missing one is reported by the system’s own error', async () => {
  await expect(ran('', {}, '/nowhere/program')).rejects.toMatchObject({ code: 'ENOENT' })
})

test('it sees no key of the service', { timeout: 60_000 }, async () => {
  process.env.FAREBOX_TEST_KEY = 'canary'
  try {
    const [, out] = await ran('console.log(JSON.stringify(process.env))')
    expect(out).toContain('PATH')
    expect(out).not.toContain('canary')
  } finally {
    delete process.env.FAREBOX_TEST_KEY
  }
})
