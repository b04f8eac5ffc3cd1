import type { z } from 'zod'
import { jsonOf } from '#contract/wire/json.ts'
import { clockStepMs, memoryNotes } from '../limits.ts'

/** Small JSON texts by key. */
export interface Notes {
  read(key: string): string | null
  write(key: string, note: string): void
  /** Returns the notes whose key has this prefix, in no order. */
  list(start: string): readonly (readonly [key: string, note: string])[]
}

/**
 * What callers on one machine share: failures, calls in flight, limits. If a note is lost, a service may get a few
 * requests too many, but no money is lost, so notes need not survive a power cut.
 */
export interface SharedNotes {
  /**
   * Runs `use` exclusively among all who share these notes. It must not await. Throws if they are closed or
   * unavailable.
   */
  together<Result>(use: (notes: Notes) => Result): Result
  /** Absent if only one process uses them. */
  owner?: NoteOwner
  close(): void
}

/** Identifies the process of a call in flight, so that we don't wait for calls of a dead process. */
export interface NoteOwner {
  name: string
  /** Returns false only if the process of that name has certainly ended. */
  mayRun(name: string): boolean
}

/** Notes for one process only. */
export function memorySharedNotes(): SharedNotes {
  const kept = new Map<string, string>()
  const notes: Notes = {
    read: key => kept.get(key) ?? null,
    write(key, note) {
      // Re-inserting keeps the least recently changed first.
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
 * Parses a note by its schema. Null if it is missing, was written by another version, or is from the future: in that
 * case the clock was set back, and its times mean nothing.
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

/** Returns the calls in flight whose process has certainly ended. */
export function goneOf<Flight extends { owner?: string | undefined }>(
  flights: readonly Flight[],
  self: NoteOwner | undefined,
): Flight[] {
  if (!self) return []
  const others = new Set(flights.flatMap(({ owner }) => (owner === undefined || owner === self.name ? [] : [owner])))
  const gone = new Set([...others].filter(owner => !self.mayRun(owner)))
  return gone.size === 0 ? [] : flights.filter(({ owner }) => owner !== undefined && gone.has(owner))
}
