import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { z } from 'zod'
import { Executed } from './executed.ts'
import { firstHeight } from './slots.ts'

/** Everything that a local chain keeps across a stop. */
const ChainState = z.object({
  version: z.literal(1),
  /** Blockhashes are derived from it; it is random for each chain, so that no two share one. */
  seed: z.string(),
  height: z.number(),
  /** Hex of 32 bytes: the key that may mint test dollars here. */
  faucet: z.string(),
  accounts: z.array(
    z.object({
      address: z.string(),
      lamports: z.string(),
      owner: z.string(),
      executable: z.boolean(),
      data: z.string(),
    }),
  ),
  executed: z.array(Executed),
})
export type ChainState = z.output<typeof ChainState>

/** The state of a new chain. */
const newState = (): ChainState => ({
  version: 1,
  seed: randomBytes(32).toString('hex'),
  height: firstHeight,
  faucet: randomBytes(32).toString('hex'),
  accounts: [],
  executed: [],
})

/** Throws if the file exists but cannot be read. */
export function readState(path: string): ChainState {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return newState()
    throw error
  }
  return ChainState.parse(JSON.parse(text))
}

/** Writes atomically. */
export function writeState(path: string, state: ChainState): void {
  const draft = `${path}.${process.pid}`
  const file = openSync(draft, 'w', 0o600)
  try {
    writeSync(file, JSON.stringify(state))
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(draft, path)
}
