import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Check } from './mutant.ts'

/** What a check said of a tree: sound, what it found, or that it could not even look. */
export type Verdict = { is: 'sound' } | { is: 'caught'; by: string } | { is: 'broken'; why: string }

/** A check that takes longer hangs, which is as good as a failure of the mutant and as bad for a sound tree. */
const checkMs = 300_000

export const runCheck = (folder: string, check: Check): Promise<Verdict> =>
  'tests' in check ? runTests(folder, check) : runFaults(folder, check)

interface TestReport {
  numPassedTests: number
  testResults: { assertionResults: { status: string; fullName: string }[]; message: string }[]
}

async function runTests(folder: string, { tests, title }: { tests: string; title?: string }): Promise<Verdict> {
  const report = join(folder, 'mutant-report.json')
  const named = title ? ['-t', title] : []
  const args = ['run', tests, '--bail', '1', '--reporter', 'json', '--outputFile', report, ...named]
  const { output } = await start(folder, join(folder, 'node_modules/vitest/vitest.mjs'), args)
  const read = await readFile(report, 'utf8').catch(() => null)
  await rm(report, { force: true })
  if (!read) return { is: 'broken', why: lastLine(output) }
  const { testResults, numPassedTests } = JSON.parse(read) as TestReport
  const failed = testResults.flatMap(file => file.assertionResults.filter(({ status }) => status === 'failed'))
  if (failed[0]) return { is: 'caught', by: `${tests}: ${failed[0].fullName}` }
  const stuck = testResults.find(({ message }) => message)
  if (stuck) return { is: 'broken', why: stuck.message }
  return numPassedTests > 0 ? { is: 'sound' } : { is: 'broken', why: 'No test of that name ran.' }
}

async function runFaults(
  folder: string,
  { faults, says = '' }: { faults: readonly string[]; says?: string },
): Promise<Verdict> {
  const { code, output } = await start(folder, join(folder, 'test/faults/run.ts'), [...faults, '--quiet'])
  if (code === 0) return { is: 'sound' }
  const findings = output.split('\n').filter(line => line.startsWith('✗'))
  const found = findings.find(line => line.includes(says))
  if (found) return { is: 'caught', by: `faults ${faults.join(' ')}: ${found}` }
  return { is: 'broken', why: findings[0] ? `It found something else: ${findings[0]}` : lastLine(output) }
}

const lastLine = (output: string): string => output.trim().split('\n').at(-1) ?? ''

async function start(folder: string, script: string, args: readonly string[]) {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: checkMs,
    killSignal: 'SIGTERM',
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}
