import type { Log } from '#service/service.ts'
import type { Output } from './output.ts'

/** Warnings and errors of a service on stderr, one line of JSON each, with its time in UTC; what went well is not told. */
export function stderrLog(output: Output): Log {
  const line = (level: string) => (facts: object, message: string) =>
    output.note(
      JSON.stringify({ time: new Date().toISOString(), level, message, ...facts }, (_, value) => readable(value)),
    )
  return { info: () => undefined, warn: line('warn'), error: line('error') }
}

function readable(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  return value instanceof Error ? { name: value.name, message: value.message, stack: value.stack } : value
}
