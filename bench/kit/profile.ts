import { mkdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Side } from './load.ts'
import type { BenchOptions } from './options.ts'
import type { RunningSide } from './sides.ts'

const preload = new URL('profile-on-signal.ts', import.meta.url).href

/** How long a profiler may take to start and a profile to be written, in milliseconds. */
const startMs = 300
const writeMs = 1_500

/** For a Node that is to be profiled; none where no folder for profiles was named. */
export const profileArgs = ({ profile }: BenchOptions): string[] =>
  profile ? ['--import', `${preload}?folder=${encodeURIComponent(profile)}`] : []

/** Writes a CPU profile of farebox's main thread while it is measured, if there is a folder for them. */
export async function profiled<Measured>(
  { profile }: BenchOptions,
  side: Side & Partial<Pick<RunningSide, 'server'>>,
  measure: () => Promise<Measured>,
): Promise<Measured> {
  if (!profile || !side.name.startsWith('farebox')) return measure()
  await mkdir(profile, { recursive: true })
  side.server?.signal('SIGUSR2')
  await sleep(startMs)
  try {
    return await measure()
  } finally {
    side.server?.signal('SIGUSR2')
    await sleep(writeMs)
  }
}
