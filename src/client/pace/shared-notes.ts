import type { z } from 'zod'
import { clockStepMs, memoryNotes } from '../limits.ts'

/** Small JSON texts by key. */
export interface Notes {
  read(key: string): string | null
  write(key: string, note: string): void
  /** Notes whose key starts so, in no order. */
  list(start: string): readonly (readonly [key: string, note: string])[]
}

/**
 * What the callers of a machine tell each other: failures, calls in flight, limits. A lost note costs a service's patience
 * and no money, so it need not outlive a power cut.
 */
export interface SharedNotes {
  /** Runs `use` alone among all who share these notes. It must not await. Throws where they are closed or cannot be had. */
  together<Result>(use: (notes: Notes) => Result): Result
  /** Absent where one process has them alone. */
  owner?: NoteOwner
  close(): void
}

/** Whose calls are noted as in flight, so that those of a process that has died are not waited for. */
export interface NoteOwner {
  /** Of this process. */
  name: string
  /** False only where it is certain that the process of that name has ended. */
  mayRun(name: string): boolean
}

/** Notes of one process alone. */
export function memorySharedNotes(): SharedNotes {
  const kept = new Map<string, string>()
  const notes: Notes = {
    read: key => kept.get(key) ?? null,
    write(key, note) {
      // The one that changed longest ago goes first.
      kept.delete(key)
      kept.set(key, note)
      const oldest = kept.size > memoryNotes ? kept.keys().next().value : undefined
      if (oldest !== undefined) kept.delete(oldest)
    },
    list: start => [...kept].filter(([key]) => key.startsWith(start)),
  }
  return { together: use => use(notes), close: () => kept.clear() }
}

/**
 * A note by its schema. Null where there is none, where another version wrote it, and where it is from the future: the
 * clock has been set back, so that none of its times means anything.
 */
export function readNote<Schema extends z.ZodType<{ changedAtMs: number }>>(
  schema: Schema,
  text: string | null,
  nowMs: number,
): z.output<Schema> | null {
  if (text === null) return null
  const note = schema.safeParse(jsonOf(text)).data
  return note && note.changedAtMs <= nowMs + clockStepMs ? note : null
}

/** Of calls in flight, those whose process has certainly ended. */
export function goneOf<Flight extends { owner?: string | undefined }>(
  flights: readonly Flight[],
  self: NoteOwner | undefined,
): Flight[] {
  if (!self) return []
  const others = new Set(flights.flatMap(({ owner }) => (owner === undefined || owner === self.name ? [] : [owner])))
  const gone = new Set([...others].filter(owner => !self.mayRun(owner)))
  return gone.size === 0 ? [] : flights.filter(({ owner }) => owner !== undefined && gone.has(owner))
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
