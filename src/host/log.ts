/** Facts first, then a sentence. No fact may be a secret, a prompt or a signature. */
export interface Log {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** For work whose errors are reported in another way. */
export const silentLog: Log = { info() {}, warn() {}, error() {} }

const levels = ['error', 'warn', 'info'] as const
type Level = (typeof levels)[number]

interface LineLogOptions {
  /** Logs this level and more severe ones. */
  level?: Level
  /** Texts that no line may contain. */
  hidden?: () => Iterable<string>
}

/** Creates a log with one line of JSON per entry and the time in UTC; by default only errors are logged. */
export function lineLog(
  write: (line: string) => void,
  { level: most = 'warn', hidden = () => [] }: LineLogOptions = {},
): Log {
  const line = (level: Level) => {
    if (levels.indexOf(level) > levels.indexOf(most)) return () => undefined
    return (facts: object, message: string) =>
      write(without(hidden(), printed({ time: new Date().toISOString(), level, message, ...facts })))
  }
  return { info: line('info'), warn: line('warn'), error: line('error') }
}

/**
 * Writes the lines of one turn of the event loop together, because each write is a system call. `flush` writes what
 * waits, such as before the process exits.
 */
export function writtenPerTurn(write: (lines: string) => void): { line: (line: string) => void; flush: () => void } {
  let waiting: string[] = []
  const flush = () => {
    const lines = waiting
    waiting = []
    if (lines.length > 0) write(lines.join('\n'))
  }
  const line = (line: string) => {
    if (waiting.push(line) === 1) setImmediate(flush)
  }
  return { line, flush }
}

/** Every request logs an entry of texts and numbers, which JSON prints faster without our function. */
const printed = (entry: object): string =>
  Object.values(entry).some(value => typeof value === 'bigint' || (typeof value === 'object' && value !== null))
    ? JSON.stringify(entry, (_, value) => readable(value))
    : JSON.stringify(entry)

/** Searches for the text as JSON prints it, so that one with a quotation mark is found too. */
function without(hidden: Iterable<string>, line: string): string {
  let shown = line
  for (const text of hidden) shown = shown.replaceAll(JSON.stringify(text).slice(1, -1), '[hidden]')
  return shown
}

function readable(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  return value instanceof Error ? { name: value.name, message: value.message, stack: value.stack } : value
}
