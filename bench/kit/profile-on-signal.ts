/** Starts this process's CPU profiler at one SIGUSR2 and writes the profile at the next, numbered. */
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'

const folder = new URL(import.meta.url).searchParams.get('folder') ?? '.'
let session: Session | null = null
let written = 0

process.on('SIGUSR2', async () => {
  if (session === null) {
    session = new Session()
    session.connect()
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: 200 })
    await session.post('Profiler.start')
    return
  }
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  session = null
  written++
  writeFileSync(join(folder, `${process.pid}-${written}.cpuprofile`), JSON.stringify(profile))
})
