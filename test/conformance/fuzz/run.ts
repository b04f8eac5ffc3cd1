/** `npm run fuzz -- --inputs N --seed S`: inputs of every operation, good and bad, to a real service. */
import { parseArgs } from 'node:util'
import { fuzz } from './fuzz-run.ts'

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '2000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    from: { type: 'string', default: '0' },
  },
})
const [inputs, seed, from] = [values.inputs, values.seed, values.from].map(Number) as [number, number, number]
const print = (line: string) => process.stdout.write(`${line}\n`)

print(`seed ${seed}, ${inputs} inputs from ${from}`)
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, error => {
    print(`CRASH ${event}: ${error instanceof Error ? error.stack : error}`)
    process.exitCode = 1
  })
}
const { findings, statuses } = await fuzz({ inputs, seed, from, stalls: true })
print(
  Object.entries(statuses)
    .map(([status, count]) => `${status}: ${count}`)
    .join(', '),
)
for (const { number, operation, what } of findings) {
  print(`FOUND ${operation} ${what}`)
  print(`      again with: npm run fuzz -- --inputs 1 --seed ${seed} --from ${number}`)
}
print(findings.length ? `${findings.length} findings.` : 'Nothing was found.')
if (findings.length) process.exitCode = 1
